"""Judges the place of a member: its facts, its owned partitions, its generations."""

import re
from collections.abc import Callable

from cluster import events as e
from tests.console.judge.books import Books
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.members_judge import STATES
from tests.console.judge.named_faults import all_said, naming
from tests.console.judge.partition_judge import state_of
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import DURATION, counts, instant, says

D = f"({DURATION})"
KEPT = 12
DEFAULTS_US = {
    "session.timeout.ms": 45_000_000,
    "heartbeat.interval.ms": 3_000_000,
    "max.poll.interval.ms": 300_000_000,
}
OF_NEW_US = {"session.timeout.ms": 45_000_000, "heartbeat.interval.ms": 5_000_000, "max.poll.interval.ms": 300_000_000}
OWNED = {"position": 9, "committed": 9, "buffered": 8, "lag": 6, "held back": 9, "time lag": 8, "owned for": 9}
STAYS = {"gen": 5, "epoch": 5, "joined": 8, "took": 7, "got": 4, "revoked": 7, "stayed": 7}


def _bytes_say(number: str, unit: str, truth: int) -> bool:
    """Whether bytes are written as they are, cut to the unit or to a tenth of it."""
    size = 1 << {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]
    step = size / 10 if "." in number else size
    return 0 <= truth - float(number.replace(",", "")) * size < max(1, step)


class MemberPlaceJudge:
    """One member at one instant."""

    def __init__(self, books: Books, name: str, now_us: int, verdict: Verdict) -> None:
        self.books, self.name, self.now_us, self.verdict = books, name, now_us, verdict
        self.member, self.place = books.members[name], f"place of {name}"
        self.group, self.lives = books.groups[self.member.group], books.lives

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, self.place, words)

    # --- facts ------------------------------------------------------------------------------------------------------

    def facts(self, rows: list[str]) -> None:
        """Every label once, each with its sentences."""
        judges: dict[str, Callable[[], Sentences]] = {
            "state": self._states, "poll()": self._polls, "buffer": self._buffers, "commit": self._commits,
            "heartbeat": self._heartbeats,
            "group": self._groups, "coordinator": self._coordinators, "identity": self._identities,
            "assignors": self._assignors, "settings": self._settings, "process": self._processes,
        }  # fmt: skip
        said = {row.strip().split()[0]: row.strip() for row in rows}
        faults = naming(self.books, [self.name, self.group.name])
        parts = said.pop("faults", "faults").removeprefix("faults").strip().split(" · ")
        self._claim(all_said(parts if parts != [""] else [], faults, self.now_us), f"faults {parts}")
        self._claim(list(said) == list(judges), f"facts {list(said)}")
        for label, row in said.items():
            for part in row.removeprefix(label).strip().split(" · "):
                self.verdict.read(f"{self.place}, {label}", part, judges[label]())
        self._must("state", said, "frozen", self.member.frozen)
        self._must("state", said, "calls no poll()", self.member.stalled)
        self._must("state", said, "heartbeat thread is paused", self.member.beats_held)
        mine = self.member.member_id
        outside = not (mine and mine in self.group.members)
        former = outside and self.name in self.group.members.values()
        self._must("group", said, "not a member", outside and not former)
        self._must("group", said, "a member by the id of its former process only", former)

    def _must(self, label: str, said: dict[str, str], words: str, true: bool) -> None:
        self._claim((words in said.get(label, "")) == true, f"{said.get(label)!r}: {words}")

    def _states(self) -> Sentences:
        state, since_us, why = self.lives.state(self.name)
        member = self.member
        return (
            ("○ not started yet", lambda _: not member.phases),
            (rf"(\S) (\w+) for {D}",
             lambda m: (m[1], m[2]) == (STATES[state], state) and says(m[3], self.now_us - since_us)),
            ("its process is frozen", lambda _: member.frozen),
            (rf"starts up, first poll\(\) in {D}", lambda m: says(m[1], member.first_poll_us - self.now_us)),
            (rf"its application calls no poll\(\)(?:, for {D} more)?", lambda _: member.stalled),
            ("its heartbeat thread is paused", lambda _: member.beats_held),
            ("(.+)", lambda m: member.alive and m[1] == why != ""),
        )  # fmt: skip

    def _polls(self) -> Sentences:
        member, last, done = self.member, self.lives.polls.get(self.name), self.lives.done.get(self.name, [])
        now_us = self.now_us
        return (
            ("no process", lambda _: not member.alive),
            (r"in poll\(\)", lambda _: member.alive and (member.in_poll or member.busy_since_us == now_us)),
            (rf"not in poll\(\) for {D}", lambda m: not member.in_poll and says(m[1], now_us - member.busy_since_us)),
            ("none has returned yet", lambda _: last is None),
            (r"the last one returned (\d+) records?", lambda m: last is not None and last.records == int(m[1])),
            (r"(\d+) finished since", lambda m: int(m[1]) == self.lives.finished_since_poll(self.name)),
            (r"(\S+) finished up to (\d+)",
             lambda m: bool(done) and (done[-1].partition, done[-1].next_offset) == (m[1], int(m[2]))),
        )  # fmt: skip

    def _buffers(self) -> Sentences:
        member, held = self.member, self.member.held()
        whole, left = 0, 0
        gaps = False
        for name, (told, position) in held.items():
            rest = told.next_offsets[name] - member.positions[name]
            left += min(rest, told.records[name])
            whole += told.bytes[name]
            gaps |= told.next_offsets[name] - position != told.records[name]

        def records(match: "re.Match[str]") -> bool:
            return (match[1] is not None) == gaps and counts(match[2], left) and int(match[4]) == len(held)

        return (
            ("no process", lambda _: not member.alive),
            ("empty", lambda _: member.alive and not held),
            (r"(at most )?(\S+) record(?P<s>s?) of (\d+) partition(?P<p>s?)",
             lambda m: bool(held) and records(m) and bool(m["s"]) == (m[2] != "1") and bool(m["p"]) == (m[4] != "1")),
            (r"([\d.,]+) (B|KiB|MiB|GiB) as fetched", lambda m: _bytes_say(m[1], m[2], whole)),
            (f"the oldest fetched {D} ago",
             lambda m: says(m[1], self.now_us - min(told.at_us for told, _ in held.values()))),
            (r"(\d+) of them paused", lambda m: int(m[1]) == len(held.keys() & member.paused.keys())),
        )  # fmt: skip

    def _commits(self) -> Sentences:
        last = self.lives.commits.get(self.name)
        error = "" if last is None or isinstance(last, e.OffsetsCommitted) else last.error
        return (
            ("none of its own yet", lambda _: last is None),
            (f"{D} ago", lambda m: last is not None and says(m[1], self.now_us - last.at_us)),
            ("stored", lambda _: isinstance(last, e.OffsetsCommitted)),
            (r"failed: (\w+)", lambda m: m[1] == error),
            (r"(\d+) partitions?", lambda m: last is not None and int(m[1]) == len(last.offsets)),
        )

    def _heartbeats(self) -> Sentences:
        beats = self.member.beats
        at_us, error = beats[-1] if beats else (-1, "")
        return (
            ("none answered yet", lambda _: not beats),
            (f"answered {D} ago", lambda m: bool(beats) and says(m[1], self.now_us - at_us)),
            (r"(\w+)", lambda m: m[1] == error),
        )

    def _groups(self) -> Sentences:
        group, mine = self.group, self.member.member_id
        known = bool(mine) and mine in group.members
        named = self.name in group.members.values()
        removed = self.lives.removed.get(self.name)
        return (
            (re.escape(group.name), lambda _: True),
            (r"generation (\d+)", lambda m: group.new is None and int(m[1]) == group.generation),
            (r"group epoch (\d+)", lambda m: group.new is not None and int(m[1]) == group.new.epoch),
            ("its leader", lambda _: known and group.leader == self.name and group.new is None),
            ("not a member", lambda _: not named),
            ("a member by the id of its former process only", lambda _: named and not known),
            (rf"removed {D} ago: (.+)",
             lambda m: removed is not None and says(m[1], self.now_us - removed.at_us) and m[2] == removed.reason),
            (r"\S (\w+)", lambda m: m[1] == group.state),
        )  # fmt: skip

    def _coordinators(self) -> Sentences:
        broker, state = self.books.coordinator(self.group)
        mine = self.member.coordinator
        return (
            (r"broker-(\d+) is (\w+)", lambda m: (int(m[1]), m[2]) == (broker, state)),
            ("no leader", lambda _: broker < 0),
            (re.escape(self.group.coordinator_partition), lambda _: True),
            ("the member looks it up", lambda _: self.member.alive and mine < 0),
            (r"the member talks to broker-(\d+)", lambda m: self.member.alive and int(m[1]) == mine != broker),
        )

    def _identities(self) -> Sentences:
        member = self.member
        return (
            (r"member id (\S+)", lambda m: m[1] == member.member_id),
            ("no member id", lambda _: not member.member_id),
            (r"static: group\.instance\.id (\S+)", lambda m: m[1] == member.instance_id),
            (r"dynamic: no group\.instance\.id", lambda _: not member.instance_id),
        )

    @property
    def _new(self) -> bool:
        """Whether it speaks the new protocol, whose clients' states are in capitals."""
        state = self.lives.state(self.name)[0]
        return state.isupper() or (self.group.new is not None and state in {"", "Left", "Dead"})

    def _assignors(self) -> Sentences:
        member, elected = self.member, self.group.assignor
        return (
            ("consumer protocol: the coordinator assigns", lambda _: self._new),
            ("classic protocol, offers (.+)", lambda m: not self._new and tuple(m[1].split(", ")) == member.offers),
            ("elected: (.+)", lambda m: self.group.new is None and m[1] == elected),
            ("from its next start on (.+)", lambda m: tuple(m[1].split(", ")) == member.next_offers != member.offers),
            ("none yet", lambda _: self._new and not elected),
            (r"([\w-]+)", lambda m: self._new and m[1] == elected),
        )

    def _settings(self) -> Sentences:
        mine = {
            "session.timeout.ms": self.member.session_us,
            "heartbeat.interval.ms": self.member.beat_us,
            "max.poll.interval.ms": self.member.poll_us,
        }
        usual = OF_NEW_US if self._new else DEFAULTS_US
        peers = [one for one in self.books.members.values() if one.group == self.group.name and one is not self.member]
        others = {
            "session.timeout.ms": {one.session_us for one in peers},
            "heartbeat.interval.ms": {one.beat_us for one in peers},
            "max.poll.interval.ms": {one.poll_us for one in peers},
        }
        alone = {key for key, value in mine.items() if others[key] and value not in others[key]}

        def known(match: "re.Match[str]") -> bool:
            key = match[1].removeprefix("group.consumer.")
            default, peer = match[3], match[4]
            right = (default is None) == (mine[key] == usual[key]) and (peer is not None) == (key in alone)
            values = default is None or says(default, usual[key])
            return (
                right
                and values
                and says(match[2], mine[key])
                and (peer is None or any(says(peer, other) for other in others[key]))
            )

        return (
            ("its timeouts are Kafka's defaults", lambda _: mine == usual and not alone),
            (rf"([a-z.]+) {D} \((?:default {D})?(?:, )?(?:peers {D})?\)", known),
        )

    def _processes(self) -> Sentences:
        member, started_us = self.member, self.lives.started_us(self.name)
        told = [event for events in self.books.cluster.by_ms.values() for event in events]
        mine = [one for one in told if getattr(one, "member", "") == self.name]
        crashes = [one.reason for one in mine if isinstance(one, e.MemberStopped) and one.how == "crash"]
        fenced = sum(isinstance(one, e.MemberStateChanged) and one.state == "Fenced" for one in mine)
        return (
            (rf"(is running|is not running)(?:, started {D} ago)?",
             lambda m: (m[1] == "is running") == member.alive and (m[2] is None) == (started_us < 0)
             and (m[2] is None or says(m[2], self.now_us - started_us))),
            (r"(\S+) records finished", lambda m: counts(m[1], self.lives.finished.get(self.name, 0))),
            (r"(\d+) crash(?:es)?, last: (.+)", lambda m: (int(m[1]), m[2]) == (len(crashes), crashes[-1])),
            (r"fenced (\d+)×", lambda m: int(m[1]) == fenced),
        )  # fmt: skip

    # --- partitions -------------------------------------------------------------------------------------------------

    def owned(self, keys: list[str], header: str, rows: list[str], vacant: str) -> None:
        """Every partition that it owns, with its offsets."""
        self._claim(set(keys) == set(self.member.owned), f"owns {keys}, not {list(self.member.owned)}")
        if not keys:
            self._claim(vacant == "owns none", vacant)
        for name, row in zip(keys, rows, strict=True):
            self._owned(name, Table(header, row, OWNED, ("partition", "fetched from")))

    def _owned(self, name: str, table: Table) -> None:
        partition, member = self.books.cluster.partitions[name], self.member
        truth = {"position": member.positions.get(name, -1), "committed": self.group.committed.get(name, -1)}
        for title, offset in truth.items():
            text = table.cell(title)
            self._claim(text == (str(offset) if offset >= 0 else "–"), f"{name} {title} {text}, not {offset}")
        told = member.held().get(name)
        text = table.cell("buffered")
        rest = told[0].next_offsets[name] - member.positions[name] if told else -1
        known = text is None or (counts(text, rest) if told and text != "–" else (text == "–") == (told is None))
        self._claim(known, f"{name} buffered {text}, not {rest}")
        lag = self.books.lag_in(self.group, name)
        self._claim(counts(table.cell("lag") or "", lag), f"{name} lag {table.cell('lag')}, not {lag}")
        held = partition.high_watermark - self.books.stable_offset(name) if self.group.read_committed else 0
        text = table.cell("held back")
        self._claim(text is None or counts(text, held), f"{name} held back {text}, not {held}")
        since_us = [
            one.at_us
            for one in self.lives.stories.get(self.name, [])
            if isinstance(one, e.PartitionsAssigned) and name in one.partitions
        ][-1]
        text = table.cell("owned for")
        self._claim(text is None or says(text, self.now_us - since_us), f"{name} owned for {text}")
        if (text := table.cell("time lag")) is not None:
            self._claim(text == "–" or lag > 0, f"{name} time lag {text} without lag")
        if (text := table.cell("fetched from")) is not None:
            self.verdict.read(f"{self.place}, {name}", text.strip(), self._sources(name))

    def _sources(self, name: str) -> Sentences:
        cluster, paused = self.books.cluster, name in self.member.paused
        follower = self.lives.followers.get((self.name, name), -1)
        broker = follower if follower >= 0 else cluster.partitions[name].leader

        def serves(match: "re.Match[str]") -> bool:
            state = state_of(cluster.brokers[broker])
            right = (int(match[1]), bool(match[2])) == (broker, follower >= 0)
            return right and not paused and (match[3] or "up") == state

        return (
            (r"pause\(\) was called", lambda _: paused),
            ("✖ no leader", lambda _: broker < 0 and not paused),
            (r"(?:\S )?broker-(\d+)( \(follower\))?(?: (\w+))?", serves),
        )

    # --- generations ------------------------------------------------------------------------------------------------

    def generations(self, header: str, rows: list[str], vacant: str) -> None:
        """The present join, then its last generations, newest first."""
        stays, (joins_us, why) = self.lives.stays(self.name), self.lives.joins(self.name)
        truth = list(reversed(stays))[:KEPT]
        self._claim(len(rows) == len(truth) + (joins_us >= 0), f"{len(rows)} generations, not {len(truth)}")
        if not rows:
            self._claim(vacant == "it has been in none yet", vacant)
        left = ("it joined because", "until")
        if joins_us >= 0 and rows:
            table = Table(header, rows[0], STAYS, left)
            self._claim("joins" in rows[0] and says(table.cell("took") or "", self.now_us - joins_us), rows[0])
            self._because(table.cell("it joined because"), why, self.now_us + 1)
            rows = rows[1:]
        places = [one.place for one in stays] + [len(self.lives.stories.get(self.name, []))]
        for number, (row, stay) in enumerate(zip(rows, truth, strict=False)):
            table = Table(header, row, STAYS, left)
            asked_us, why = stay.asked()
            assigned_us, got = stay.assigned()
            ended_us, because = stay.ended()
            upto = places[len(stays) - number]
            if stay.after == upto < len(stay.story):  # the next generation ended it
                ended_us, because = stay.story[upto].at_us, ""
            title = "epoch" if "epoch" in header else "gen"
            self._claim(table.cell(title) == str(stay.generation), f"{row!r}, not {stay.generation}")
            text = table.cell("joined") or ""
            self._claim(instant(text) <= stay.joined_us < instant(text) + 100_000, f"joined {text}")
            text = table.cell("took") or ""
            took = text == "–" if assigned_us < 0 else says(text, assigned_us - asked_us)
            self._claim(took, f"took {text} for {stay.generation}: {assigned_us - asked_us}")
            self._because(table.cell("it joined because"), why, stay.joined_us)
            for title, known in (("got", got), ("revoked", stay.revoked(upto))):
                text = (table.cell(title) or "0").removeprefix("+")
                self._claim(text == str(known) or table.cell(title) is None, f"{title} {text}, not {known}")
            until_us = ended_us if ended_us >= 0 else self.now_us
            self._claim(says(table.cell("stayed") or "", until_us - stay.joined_us), f"stayed {table.cell('stayed')}")
            words = (table.cell("until") or "").strip()
            right = words == "now" if ended_us < 0 else words == (because or "–") or words.endswith("…")
            self._claim(right, f"until {words!r}, not {because!r}")

    def _because(self, words: str | None, why: str, joined_us: int) -> None:
        if words is None or words.strip().endswith("…"):
            return
        started_us = self.lives.started_us(self.name)
        since = [one for one in self.lives.stays(self.name) if started_us <= one.joined_us < joined_us]
        unnamed = "its process started" if not since and started_us <= joined_us else "–"
        self._claim(words.strip() == (why or unnamed), f"joined because {words!r}, not {why!r}")
