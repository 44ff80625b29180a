"""Judges the members' table: three clocks, two lanes, states, lag and owned partitions."""

import re
from collections.abc import Iterable

from tests.console.judge.books import Books
from tests.console.judge.consumer_group_judge import ConsumerGroupJudge
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.group_books import GroupBook
from tests.console.judge.lanes_judge import judge_beats, judge_lane
from tests.console.judge.member_books import MemberBook
from tests.console.judge.reasons import Reasons
from tests.console.judge.spoken import DURATION, bar_says, counts, says

D = f"({DURATION})"
BAR = r"([ ▏▎▍▌▋▊▉█]+)"
LATE_US = 250_000
PAUSED = " · paused "
STATES = {
    "Joining": "↻",
    "Syncing": "↻",
    "Revoking": "↻",
    "Stable": "●",
    "Assigned": "●",
    "Fenced": "✖",
    "Left": "○",
    "Dead": "✖",
    "UNSUBSCRIBED": "○",
    "JOINING": "↻",
    "RECONCILING": "↻",
    "ACKNOWLEDGING": "↻",
    "STABLE": "●",
    "FENCED": "✖",
    "PREPARE_LEAVING": "○",
    "LEAVING": "○",
    "STALE": "○",
    "FATAL": "✖",
}
FAULT_LABELS = {
    "slowed": "slow",
    "slow link": "slow",
    "link cut": "cut",
    "link held": "hold",
    "isolated": "isolate",
    "slow disk": "slow",
    "pause()": "pause",
    "disk full": "fill",
    "response lost": "lose",
}


class MembersJudge:
    """One group's members at one instant."""

    def __init__(self, books: Books, group: GroupBook, now_us: int, verdict: Verdict) -> None:
        self.books, self.group, self.now_us, self.verdict = books, group, now_us, verdict
        self.coordinator = books.coordinator(group)
        rebalance = group.under_way
        reasons = Reasons(books, group, now_us)
        self.awaited: set[str] = set()
        if group.new is not None:
            judge = ConsumerGroupJudge(books, group, group.new, now_us)
            self.awaited = {judge.name(one) for one in judge.awaited}
        elif rebalance is not None and group.state == "PreparingRebalance":
            self.awaited = set(reasons.absent_from(rebalance).values())
        elif rebalance is not None and group.state == "CompletingRebalance" and self.coordinator.state == "up":
            ids = {one for one, name in group.members.items() if name == group.leader and one not in rebalance.synced}
            self.awaited = {group.members[one] for one in ids}

    def note(self, text: str) -> None:
        """`4 in the group, 3 of 4 run`."""
        known = [one for one in self.books.members.values() if one.group == self.group.name]
        numbers = (len(self.group.members), sum(one.alive for one in known), len(known))
        self.verdict.read(
            f"members of {self.group.name}",
            text,
            (
                (
                    r"(?:unread: past the position · )?(\d+) in the group, (\d+) of (\d+) run",
                    lambda m: tuple(map(int, m.groups())) == numbers,
                ),
            ),
        )

    def member(self, name: str, header: str, top: str, under: str) -> None:
        """The two lines of one member; the header says where columns begin."""
        member, place = self.books.members[name], f"member {name}"
        owns, lane_end = header.index("owns"), header.index("now") + 3
        starts = [header.index("-60 s"), *(header.index(one, lane_end) for one in ("heartbeat", "session", "poll"))]
        upper = [top[a:b].strip() for a, b in zip(starts[1:], [*starts[2:], owns], strict=True)]
        lower = [under[a:b].strip() for a, b in zip(starts[1:], [*starts[2:], owns], strict=True)]
        poll, _, lag = upper[2].rpartition(" ")
        read = self.verdict.read
        read(f"{place}, state", under[: starts[0]].strip(), self._states(member))
        read(f"{place}, heartbeat", f"{upper[0]} | {lower[0]}", self._heartbeats(member))
        read(f"{place}, session", f"{top[starts[2] : starts[3]].rstrip()} | {lower[1]}", self._sessions(member))
        read(f"{place}, poll", f"{poll.strip()} | {lower[2]}", self._polls(member))
        self.verdict.claim(self._lag(member, lag), place, f"unread {lag}")
        owned = " · ".join(part for part in (top[owns:].strip(), under[owns:].strip()) if part)
        owned, _, paused = owned.partition(PAUSED)
        self.verdict.claim(holds_these(owned, member.owned), place, f"owns {owned!r}, not {sorted(member.owned)}")
        known = owned.endswith("…") or holds_these(paused, member.paused)
        self.verdict.claim(known, place, f"paused {paused!r}, not {sorted(member.paused)}")
        judge_lane(member, self.now_us, top[starts[0] : lane_end], self.verdict)
        judge_beats(member, self.now_us, under[starts[0] : lane_end], self.verdict)

    def lane_tone(self, name: str, *, amber: bool) -> None:
        """Whether processing is drawn in amber: only what took more than a quarter of max.poll.interval.ms."""
        member = self.books.members[name]
        now = [(member.busy_since_us, self.now_us + 1)] if member.alive and not member.in_poll else []
        recent = [(a, b) for a, b in [*member.busy, *now] if b > self.now_us - 62_000_000]
        late = any(4 * (b - a) > member.poll_us for a, b in recent)
        self.verdict.claim(not amber or late, f"lane of {name}", "amber, where no processing took long")

    def _states(self, member: MemberBook) -> Sentences:
        rebalance, in_group = self.group.under_way, member.name in self.group.members.values()
        opened = self.group.new is None and rebalance is not None and rebalance.completed is None
        here = {one for _, one, _ in rebalance.joins} if opened and rebalance is not None else set()
        ordinary = member.alive and not member.frozen
        faults = [fault.text.split() for fault in self.books.cluster.faults.values()]
        return (
            ("◀ awaited", lambda _: member.name in self.awaited),
            ("○ not up", lambda _: not member.phases and member.name not in self.awaited),
            ("○ away", lambda _: bool(member.instance_id) and not member.alive and in_group),
            ("‖ frozen", lambda _: member.frozen),
            ("○ starting", lambda _: member.alive and self.now_us < member.first_poll_us),
            ("✓ joined", lambda _: ordinary and member.member_id in here),
            (
                "▲ (.+)",
                lambda m: (
                    m[1] in FAULT_LABELS
                    and any(text[0] == FAULT_LABELS[m[1]] and member.name in text for text in faults)
                    and member.state in {"Stable", "STABLE"}
                ),
            ),
            (
                r"(\S) (\w+)",
                lambda m: (
                    (m[1], m[2]) == (STATES[member.state], member.state)
                    and not (ordinary and self.now_us < member.first_poll_us)
                    and member.name not in self.awaited
                    and (m[2] in {"Dead", "Left"}) == (not member.alive or member.state == "Left")
                ),
            ),
        )

    def _known(self, member: MemberBook) -> bool:
        return member.alive or member.name in self.group.members.values()

    def _heartbeats(self, member: MemberBook) -> Sentences:
        due_us, now_us = member.next_beat_us(), self.now_us
        every = rf"(?:every|of) {D}"
        beats = member.alive and not member.frozen and not member.beats_held and member.coordinator >= 0

        def interval(text: str) -> bool:
            return says(text, member.beat_us)

        return (
            (r"– \| ", lambda _: not self._known(member)),
            (rf"– \| {every}", lambda m: interval(m[1]) and (due_us < 0 or member.generation < 0)),
            (rf"✖ silent \| {every}", lambda m: interval(m[1]) and not member.alive and self._known(member)),
            (rf"‖ paused \| {every}", lambda m: interval(m[1]) and (member.frozen or member.beats_held)),
            (rf"– \| {every}", lambda m: interval(m[1]) and member.alive and now_us < member.first_poll_us),
            (r"suspended \| in a join", lambda _: member.alive and member.state == "Joining"),
            (r"suspended \| no coord\.", lambda _: member.alive and member.coordinator < 0),
            (rf"▲ {D} \| late", lambda m: beats and 0 <= due_us < now_us - LATE_US and says(m[1], now_us - due_us)),
            (
                rf"in {D} \| {every}",
                lambda m: beats and due_us >= now_us - LATE_US and says(m[1], due_us - now_us) and interval(m[2]),
            ),
        )

    def _sessions(self, member: MemberBook) -> Sentences:
        rebalance = self.group.under_way
        ids = [one for one, name in self.group.members.items() if name == member.name]
        deadlines = [self.group.sessions.get(one, -1) for one in ids]
        new = self.group.new is None and rebalance is not None and any(one in rebalance.newcomers for one in ids)
        up, of = self.coordinator.state == "up", rf"of {D}"

        def drains(match: "re.Match[str]") -> bool:
            for deadline_us in deadlines:
                left_us = deadline_us - self.now_us
                if deadline_us >= 0 and says(match[2], left_us) and says(match[3], member.session_us):
                    return up and not new and bar_says(match[1], left_us / member.session_us)
            return False

        return (
            (r"– \| ", lambda _: not self._known(member)),
            (rf"– \| {of}", lambda m: not ids and says(m[1], member.session_us)),
            (r"suspended \| no coord\.", lambda _: bool(ids) and not up),
            (r"suspended \| during join", lambda _: up and -1 in deadlines),
            (
                rf"{D} \| join limit",
                lambda m: new and any(at_us >= 0 and says(m[1], at_us - self.now_us) for at_us in deadlines),
            ),
            (rf"{BAR} {D} \| {of}", drains),
        )

    def _polls(self, member: MemberBook) -> Sentences:
        of = rf"of {D}"
        age_us = 0 if member.in_poll else self.now_us - member.busy_since_us
        left_us = member.first_poll_us - self.now_us

        def ages(match: "re.Match[str]") -> bool:
            known = member.alive and says(match[2], age_us) and says(match[3], member.poll_us)
            return known and bar_says(match[1].ljust(6), age_us / member.poll_us)

        return (
            (r"– \| ", lambda _: not self._known(member)),
            (rf"– \| {of}", lambda m: not member.alive and says(m[1], member.poll_us)),
            (rf"in {D} \| first poll", lambda m: member.alive and left_us >= 0 and says(m[1], left_us)),
            (
                rf"polling \| {of}",
                lambda m: member.alive and left_us <= 0 and age_us < 1_000_000 and says(m[1], member.poll_us),
            ),
            (rf"{BAR} +{D} \| {of}", ages),
        )

    def _lag(self, member: MemberBook, text: str) -> bool:
        if text == "–":
            return not member.owned
        partitions = self.books.cluster.partitions
        behind = sum(max(0, partitions[name].high_watermark - at) for name, at in member.positions.items())
        if self.group.read_committed:  # up to its last stable offset, which is not above
            return counts(text, behind) or float(text.rstrip("kMG")) <= behind
        return counts(text, behind)


def holds_these(text: str, names: Iterable[str]) -> bool:
    """Whether `orders 0-2,10 · payments 4` are these partitions; a cut list is not judged."""
    named = set()
    for part in text.split(" · ") if text else []:
        if "…" in part:
            return True
        topic, _, runs = part.rpartition(" ")
        for run in runs.split(","):
            first, _, last = run.partition("-")
            named |= {f"{topic}-{number}" for number in range(int(first), int(last or first) + 1)}
    return named == set(names)
