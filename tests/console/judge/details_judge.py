"""Judges completed rebalances: the rows of the table and the details."""

import re

from tests.console.judge.books import Books
from tests.console.judge.consumer_group_judge import reconciliation_sentences, slowest
from tests.console.judge.event_log_judge import judge_entry
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook, RebalanceBook
from tests.console.judge.phase_judge import departure
from tests.console.judge.spoken import DURATION, counts, instant, partition_seconds, says, stopped_says
from tests.console.judge.vote_judge import offers_of, vote_sentences

D = f"({DURATION})"
VOTE, LOG = "vote for the assignor", "in the coordinator's log"
HEADINGS = ("what happened", "waited for", "what moved", "what it cost")
RECONCILED = ("what happened", "reconciliation", "what moved", "what it cost")
KEPT = 12


class DetailsJudge:
    """The details of one rebalance."""

    def __init__(self, books: Books, group: GroupBook, rebalance: RebalanceBook, now_us: int, verdict: Verdict) -> None:
        self.books, self.group, self.rebalance, self.now_us, self.verdict = books, group, rebalance, now_us, verdict
        self.place = f"details of {group.name}, generation {rebalance.generation}"

    def judge(self, rows: list[str]) -> None:
        """Judge all lines, section by section; wrapped lines are joined again."""
        sections: dict[str, list[str]] = {"": []}
        section = ""
        headings = HEADINGS if self.rebalance.revoked is None else RECONCILED
        for row in rows:
            if row in (*headings, VOTE, LOG):
                section = row
                sections[section] = []
            elif row.startswith("what "):
                self.verdict.claim(False, self.place, f"unknown claim: {row!r}")
            elif row.strip():
                sections[section].append(row)
        told = {VOTE} if self.rebalance.elected is not None else set()
        told |= {LOG} if self.rebalance.detail else set()
        logged = " ".join(" ".join(sections.get(LOG, ())).split())
        self.verdict.claim(logged == " ".join(self.rebalance.detail.split()), self.place, f"log {logged!r}")
        self.verdict.claim(set(sections) == {"", *headings, *told}, self.place, f"sections {list(sections)}")
        if self.rebalance.elected is not None and VOTE in sections and self.rebalance.completed is not None:
            offers = offers_of(self.rebalance.elected, self.rebalance.completed.members)
            self._paragraphs(VOTE, sections[VOTE], vote_sentences(offers, self.rebalance.completed.protocol))
        self._cause(sections[""])
        self._chain(sections["what happened"])
        for heading, sentences in (
            (headings[1], self._waits() if self.rebalance.revoked is None else self._reconciled()),
            ("what moved", self._moves()),
            ("what it cost", self._costs()),
        ):
            self._paragraphs(heading, sections[heading], sentences)
        self._first_cause_is_in_the_chain(sections)

    def _paragraphs(self, heading: str, rows: list[str], sentences: Sentences) -> None:
        """Judge sentences of one or more rows: the longest run of rows that forms a sentence."""
        rows = [row.strip() for row in rows]
        at = 0
        while at < len(rows):
            for end in range(len(rows), at, -1):
                text = " ".join(rows[at:end])
                if any(re.fullmatch(pattern, text) for pattern, _ in sentences):
                    self.verdict.read(f"{self.place}, {heading}", text, sentences)
                    at = end
                    break
            else:
                self.verdict.read(f"{self.place}, {heading}", rows[at], sentences)
                at += 1

    # --- cause ------------------------------------------------------------------------------------------------------

    def _cause(self, rows: list[str]) -> None:
        rebalance = self.rebalance
        who = f" ({rebalance.trigger})" if rebalance.trigger else ""
        self.verdict.claim(
            rows[0] == f"{rebalance.cause}{who}  {self._number()} {rebalance.generation}", self.place, rows[0]
        )
        text = " ".join(rows[1:])
        match = re.search(rf"from ([\d:.]+) to ([\d:.]+), {D}$", text)
        self.verdict.claim(match is not None, self.place, f"unknown claim: {text!r}")
        if match is None:
            return
        began, over = instant(match[1]), instant(match[2])
        when = began // 1_000 == rebalance.started_us // 1_000 and over // 1_000 == rebalance.over_us // 1_000
        self.verdict.claim(when, self.place, f"{match[0]}: {rebalance.started_us}, {rebalance.over_us}")
        self.verdict.claim(says(match[3], rebalance.over_us - rebalance.started_us), self.place, f"took {match[3]}")
        why = text[: match.start()]
        if before := re.search(r"unowned for (\S+) partition-seconds until then", why):
            low, high = partition_seconds(before[1])
            self.verdict.claim(low <= rebalance.unowned_before_us / 1e6 < high, self.place, before[0])
        member = self.books.members.get(rebalance.trigger)
        limit = re.search(rf"((?:group.consumer.)?session.timeout.ms|max.poll.interval.ms) \({D}\)", why)
        if limit is not None and member is not None:
            truth_us = member.session_us if "session" in limit[1] else member.poll_us
            self.verdict.claim(says(limit[2], truth_us), self.place, limit[0])

    def _number(self) -> str:
        return "generation" if self.rebalance.revoked is None else "group epoch"

    def _reconciled(self) -> Sentences:
        said = ("new in the group", "left during the rebalance", "was removed during", "restarted")
        return (
            *reconciliation_sentences(self.rebalance),
            *(one for one in self._waits() if any(w in one[0] for w in said[:3])),
        )

    # --- what happened ----------------------------------------------------------------------------------------------

    def _chain(self, rows: list[str]) -> None:
        joined: list[str] = []
        for row in rows:
            if joined and row.startswith("   "):
                joined[-1] += " " + row.strip()
            else:
                joined.append(row.strip())
        for text in joined:
            if text == "no other event is known" or re.fullmatch(r"… \d+ earlier", text):
                continue
            if text.startswith("rolling restart: "):
                self.verdict.read(f"{self.place}, chain", text, self._rolling())
                continue
            match = re.fullmatch(rf"([\d:.]+) +([-+]){D} +(.+)", text)
            if match is None:
                self.verdict.claim(False, f"{self.place}, chain", f"unknown claim: {text!r}")
                continue
            at_us = instant(match[1])
            low = abs(at_us + (999 if at_us < self.rebalance.started_us else 0) - self.rebalance.started_us)
            near = says(match[3], low) or any(says(match[3], low + by) for by in range(-1_000, 1_001, 100))
            self.verdict.claim(near, f"{self.place}, chain", f"offset {text!r} from {self.rebalance.started_us}")
            judge_entry(self.books, at_us, match[4], f"{self.place}, chain", self.verdict)

    def _rolling(self) -> Sentences:
        def closed(match: "re.Match[str]") -> bool:
            since, until = instant(match[3]), instant(match[4])
            names = match[1].split(", ")
            found = {
                event.member  # type: ignore[attr-defined]
                for ms in range(since // 1_000, until // 1_000 + 1)
                for event in self.books.cluster.by_ms.get(ms, ())
                if type(event).__name__ == "MemberStopped" and event.how == "stop"  # type: ignore[attr-defined]
            }
            mine = {name for name in found if self.books.members[name].group == self.group.name}
            return (
                set(names) <= mine
                and len(names) + int(match[2] or 0) == len(mine)
                and until <= self.rebalance.started_us
            )

        said = r"rolling restart: (.+?)(?: and (\d+) more)? closed one after another, ([\d:.]+) to ([\d:.]+)"
        return ((said, closed),)

    def _first_cause_is_in_the_chain(self, sections: dict[str, list[str]]) -> None:
        """A fault of the awaited member or the trigger is the first cause: the chain has to hold it."""
        rebalance, text = self.rebalance, " ".join(" ".join(sections["what happened"]).split())
        if "earlier" in text or rebalance.initial:
            return
        awaited = rebalance.completed.last_joined if rebalance.completed is not None else ""
        for at_ms, events in self.books.cluster.by_ms.items():
            if not rebalance.started_us - 30_000_000 <= at_ms * 1_000 <= rebalance.started_us:
                continue
            for event in events:
                words = getattr(event, "text", "") if type(event).__name__ == "FaultStarted" else ""
                if words and {awaited, rebalance.trigger} & set(words.split()):
                    begun = text.count(words) > text.count(f"ended: {words}")
                    self.verdict.claim(begun, f"{self.place}, chain", f"{words!r} is left out")

    # --- waited for, moved, cost ------------------------------------------------------------------------------------

    def _waits(self) -> Sentences:
        rebalance, completed = self.rebalance, self.rebalance.completed
        waited_us = completed.waited_us if completed is not None else 0
        last = completed.last_joined if completed is not None and completed.members else ""
        opened = rf"{D} after it was opened( last)?"
        arrivals = {name: at_us for at_us, _, name in rebalance.joins[-KEPT:]}

        def timed(text: str, again: str | None) -> bool:
            return says(text, waited_us) and (again is not None) == (len(rebalance.opened_us) > 1)

        def order(match: "re.Match[str]") -> bool:
            listed = re.findall(rf"(\S+) \+{D}", match[1])
            said = [name for name, _ in listed]
            times = all(
                says(text, max(0, arrivals[name] - rebalance.started_us)) for name, text in listed if name in arrivals
            )
            return said == list(arrivals) and times and ("last 12" in match[0]) == (len(arrivals) == KEPT)

        def gone(name: str, reason: str) -> bool:
            return any(one == name and why == reason for _, _, one, why in rebalance.gone)

        return (
            (
                rf"for no member: group.initial.rebalance.delay.ms closed the barrier, {opened}",
                lambda m: rebalance.initial and timed(m[1], m[2]),
            ),
            ("for no member", lambda _: not last and not rebalance.initial),
            (
                rf"(\S+) joined last and closed the barrier, {opened}",
                lambda m: not rebalance.initial and m[1] == last and departure(rebalance) is None and timed(m[2], m[3]),
            ),
            (
                rf"(\S+) did not join: it (left|was removed), which closed the barrier, {opened}",
                lambda m: m[1] == last and departure(rebalance) == m[2].removeprefix("was ") and timed(m[3], m[4]),
            ),
            (
                rf"(\S+) did not join: max.poll.interval.ms closed the barrier, {opened}",
                lambda m: m[1] == last and departure(rebalance) == "did not join" and timed(m[2], m[3]),
            ),
            (rf"(?:joined in this order|the last 12 that joined): ((?:\S+ \+{DURATION}, )*\S+ \+{DURATION})", order),
            (
                r"new in the group: ((?:\S+, )*\S+)",
                lambda m: m[1].split(", ") == list(rebalance.newcomers.values())[:KEPT],
            ),
            (r"(\S+) left during the rebalance", lambda m: gone(m[1], "member left")),
            (r"(\S+) was removed during the rebalance: ([a-z ]+)", lambda m: gone(m[1], m[2])),
            (
                r"extended (once|twice|(\d+) times): (?:new members were still arriving|no member had rejoined)",
                lambda m: _times(m[1]) == len(rebalance.extensions),
            ),
            (
                r"restarted (once|twice|(\d+) times): something changed before it was Stable",
                lambda m: _times(m[1]) == len(rebalance.opened_us) - 1,
            ),
        )

    def _moves(self) -> Sentences:
        rebalance = self.rebalance

        def voted(match: "re.Match[str]") -> bool:
            before, after = int(match[1]), int(match[2])
            broker = match[5] is None or int(match[5]) == rebalance.broker
            assignor = rebalance.completed is None or match[3] == (rebalance.completed.protocol or None)
            return (before, after) == (rebalance.before, rebalance.generation) and assignor and broker

        def got(match: "re.Match[str]") -> bool:
            named = []
            for part in match[2].split(" · "):
                topic, _, runs = part.rpartition(" ")
                for run in runs.split(","):
                    first, _, last = run.partition("-")
                    named += [f"{topic}-{number}" for number in range(int(first), int(last or first) + 1)]
            return all(rebalance.moves.get(name) == (match[3], match[1]) for name in named)

        return (
            (
                (
                    r"generation (\d+) → (\d+)(?:, assignor (\S+))?(?:, leader (\S+) computed the assignment)?"
                    r"(?:, coordinator broker-(\d+))?"
                ),
                lambda m: voted(m) and (m[4] or "") == rebalance.leader,
            ),
            (
                (
                    r"group epoch (\d+) → (\d+)(?:, assignor (\S+))?()"
                    r"(?:, coordinator broker-(\d+) computed the target assignment)?"
                ),
                lambda m: (
                    rebalance.revoked is not None
                    and (int(m[1]), int(m[2])) == (rebalance.before, rebalance.generation)
                    and m[3] == (rebalance.assignor or None)
                    and (m[5] is None or int(m[5]) == rebalance.broker)
                ),
            ),
            (
                r"(?:generation|group epoch) (\d+): no member is left; the group is Empty and its offsets are kept",
                lambda m: int(m[1]) == rebalance.generation and not rebalance.members,
            ),
            ("no partition changed its owner", lambda _: not rebalance.moves),
            (
                r"(\d+) partitions? changed owners:",
                lambda m: int(m[1]) == len(rebalance.moves) and ("partitions" in m[0]) == (m[1] != "1"),
            ),
            (r"(\S+) got ((?:(?! got )[^:])+?) from (\S+)", got),
            (r"… and (\d+) more", lambda m: int(m[1]) < len(rebalance.moves)),
        )

    def _costs(self) -> Sentences:
        rebalance = self.rebalance
        halted, kept = len(rebalance.unowned), rebalance.kept

        def paused(match: "re.Match[str]") -> bool:
            said = int(match[1]), int(match[2] or 0)
            return said == (halted, kept) and ("partitions" in match[0]) == (halted != 1)

        def before(match: "re.Match[str]") -> bool:
            low, high = partition_seconds(match[1])
            return low <= rebalance.unowned_before_us / 1e6 < high

        why = r"(?: \((?:eager|cooperative): [^)]*\)| \(a member revokes only what moves\))?"
        return (
            ("nothing was owned before", lambda _: not halted and not kept),
            (rf"no pause: all (\d+) stayed owned{why}", lambda m: not halted and int(m[1]) == kept),
            (r"(?:all )?(\d+) partitions? paused() \(a member revokes only what moves\)", paused),
            (rf"stop-the-world: (?:all )?(\d+) partitions? paused()?{why}", paused),
            (rf"(\d+) partitions? paused[,;] (\d+) stayed (?:owned|with a member that did not take part){why}", paused),
            (r"(\S+) partition-seconds unowned", lambda m: stopped_says(m[1], self.group.stopped_us(rebalance))),
            (r"plus (\S+) partition-seconds before the rebalance began", before),
            (
                r"(nothing|[\d,]+ records?) re-read · (\d+) members?",
                lambda m: (
                    (0 if m[1] == "nothing" else int(m[1].split()[0].replace(",", ""))) == rebalance.reread
                    and int(m[2]) == rebalance.members
                    and m[0].endswith("member") == (rebalance.members == 1)
                ),
            ),
        )


def _times(words: str) -> int:
    return {"once": 1, "twice": 2}.get(words) or int(words.split(maxsplit=1)[0])


def judge_row(group: GroupBook, rebalance: RebalanceBook, header: str, row: str, verdict: Verdict) -> None:
    """One line of the table of rebalances; the header says where columns end."""
    number = "gen" if "gen" in header else "epoch"
    names = (number, "began", "cause", "triggered by", "took", "stopped", "moved", "re-read", "waited for")
    left = {name: header.index(name) for name in names}
    right = {name: left[name] + len(name) for name in names}
    place = f"rebalances, generation {rebalance.generation}"

    def cell(name: str, width: int) -> str:
        return row[right[name] - width : right[name]].strip()

    verdict.claim(cell(number, 4) == str(rebalance.generation), place, cell(number, 4))
    verdict.claim(instant(cell("began", 8)) // 100_000 == rebalance.started_us // 100_000, place, cell("began", 8))
    verdict.claim(row[left["cause"] :].startswith(rebalance.cause), place, row[left["cause"] :])
    verdict.claim(row[left["triggered by"] :].startswith(rebalance.trigger[:11]), place, rebalance.trigger)
    verdict.claim(says(cell("took", 7), rebalance.over_us - rebalance.started_us), place, f"took {cell('took', 7)}")
    stopped_us = group.stopped_us(rebalance)
    stopped = cell("stopped", 7)
    verdict.claim(stopped_says(stopped, stopped_us), place, f"stopped {stopped}, not {stopped_us / 1e6} partition-s")
    verdict.claim(cell("re-read", 7) == "0" or counts(cell("re-read", 7), rebalance.reread), place, cell("re-read", 7))
    verdict.claim((cell("re-read", 7) == "0") == (not rebalance.reread), place, f"re-read, not {rebalance.reread}")
    verdict.claim(cell("moved", 5) == str(len(rebalance.moves)), place, f"moved {cell('moved', 5)}")
    completed = rebalance.completed
    waited = row[left["waited for"] :].strip()
    if rebalance.revoked is not None:
        name, took_us = slowest(rebalance)
        told = re.fullmatch(rf"(\S+) {D}(?: \(removed\))?", waited)
        true = waited == name if told is None else told[1] == name and says(told[2], took_us)
        verdict.claim(true or "…" in waited, place, f"waited for {waited!r}")
    elif rebalance.initial:
        verdict.claim(waited == "initial delay", place, f"waited for {waited!r}")
    elif waited and completed is not None and completed.members:
        match = re.fullmatch(
            rf"(\S+)(?: {D})?(?: \((left|removed|did not join)\))?", re.sub(r" \([a-z ]*…$", "", waited)
        )
        known = match is not None and match[1] == completed.last_joined
        timed = match is not None and (match[2] is None or says(match[2], completed.waited_us))
        how = match is not None and (match[2] is None or match[3] == departure(rebalance) or "…" in waited)
        verdict.claim(known and timed and how, place, f"waited for {waited!r}")
