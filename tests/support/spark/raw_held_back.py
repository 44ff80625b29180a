"""Transactions in each partition, and what held its last stable offset, from the raw lines of a journal.

Every broker has a log of its own here, as its events tell it: what it appended as leader, what it truncated, and what
it had copied of the log of the leader before when it takes over. No event class, no view, no query.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Line = dict[str, Any]

LONG_US = 15_000_000
LONGEST = 100


class Batch(NamedTuple):
    """A batch of a log; `marker`: "COMMIT" or "ABORT", else ""."""

    base_offset: int
    end: int
    producer_id: int
    producer: str
    transactional: bool
    marker: str


class Held(NamedTuple):
    """A transaction in a partition as `HeldBack` of a report has it."""

    partition: str
    producer: str
    from_us: int
    until_us: int | None
    outcome: str | None
    first_offset: int
    waiting: int
    held_from_us: int | None
    groups: tuple[str, ...] = ()


class _Open(NamedTuple):
    producer: str
    from_us: int
    first_offset: int


class _Partition:
    """The logs of a partition's brokers, and the transactions that are open in the log of its leader."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.logs: dict[int, list[Batch]] = {}
        self.valid: list[list[Batch]] = [[]]
        """The logs of all leaders so far, as far as they were valid, the last one's at the end."""
        self.leaders: dict[int, int] = {}
        self.epoch = -1
        self.high_watermark = 0
        self.known: dict[int, _Open] = {}
        self.open: dict[int, Batch] = {}
        self.held_from_us: dict[int, int] = {}
        self.ended: list[Held] = []

    def take(self, line: Line) -> None:
        before = self.high_watermark
        match line["kind"]:
            case "leadership_taken":
                self.leaders[line["leader_epoch"]] = line["broker"]
                if line["leader_epoch"] >= self.epoch:
                    self._lead(line)
            case "records_appended":
                self._append(line)
            case "log_truncated":
                self._truncate(line)
            case "high_watermark_advanced" if line["leader_epoch"] >= self.epoch:
                self.high_watermark = line["offset"]
        self._compare(line, before)

    def _lead(self, line: Line) -> None:
        """The new leader has its own log, if that ends there, or what it copied of the last leader's that does."""
        own, log_end = self.logs.get(line["broker"], []), line["log_end"]
        for log in (own, *reversed(self.valid)):
            begin = [batch for batch in log if batch.end <= log_end]
            if log_end == (begin[-1].end if begin else 0):
                break
        else:
            raise AssertionError(f"no log of {self.name} ends at {log_end}, where broker-{line['broker']} has its end")
        self.logs[line["broker"]] = begin
        self.valid.append(list(begin))
        self.epoch, self.high_watermark = line["leader_epoch"], line["high_watermark"]
        self.open.clear()
        for batch in begin:
            self._note(batch)

    def _append(self, line: Line) -> None:
        """A deposed leader's batch is in no other log."""
        names = ("producer_id", "producer", "transactional", "marker")
        batch = Batch(line["base_offset"], line["base_offset"] + line["count"], *(line[name] for name in names))
        self.logs[self.leaders[line["leader_epoch"]]].append(batch)
        if line["leader_epoch"] >= self.epoch:
            self.valid[-1].append(batch)
            self._note(batch)

    def _truncate(self, line: Line) -> None:
        """What a leader's crash took is gone only when one leads that lacks it."""
        log = self.logs.get(line["broker"], [])
        log[:] = [batch for batch in log if batch.end <= line["offset"]]
        if line["broker"] == self.leaders[self.epoch]:
            self.high_watermark = min(self.high_watermark, line["offset"])

    def _note(self, batch: Batch) -> None:
        """`open` has the first batch behind the last marker of each producer id."""
        if batch.marker:
            self.open.pop(batch.producer_id, None)
        elif batch.transactional:
            self.open.setdefault(batch.producer_id, batch)

    def _compare(self, line: Line, mark: int) -> None:
        for producer_id, one in list(self.known.items()):
            now = self.open.get(producer_id)
            if now is None or now.base_offset != one.first_offset:
                ends = line["kind"] == "records_appended" and line["producer_id"] == producer_id
                self._end(producer_id, line["at_us"], (line["marker"] if ends else "") or "truncated", mark)
        for producer_id, batch in self.open.items():
            self.known.setdefault(producer_id, _Open(batch.producer, line["at_us"], batch.base_offset))
        if self.open:
            first = min(self.open, key=lambda producer_id: self.open[producer_id].base_offset)
            self.held_from_us.setdefault(first, line["at_us"])

    def _end(self, producer_id: int, until_us: int | None, outcome: str | None, mark: int) -> None:
        one = self.known.pop(producer_id)
        waiting = max(0, mark - one.first_offset)
        since_us = self.held_from_us.pop(producer_id, None)
        self.ended.append(
            Held(self.name, one.producer, one.from_us, until_us, outcome, one.first_offset, waiting, since_us)
        )

    def finish(self) -> None:
        for producer_id in list(self.known):
            self._end(producer_id, None, None, self.high_watermark)


ABOUT_TOPICS = {"group_declared", "subscription_changed", "topic_regex_resolved"}
ABOUT_LOGS = {"leadership_taken", "records_appended", "log_truncated", "high_watermark_advanced"}


def raw_held_back(lines: Iterable[Line], end_us: int) -> list[Held]:
    """The longest hundred transactions in a partition of a user's topic, and all of more than 15 s."""
    ended, readers = _read(lines)

    def took_us(one: Held) -> int:
        return (end_us if one.until_us is None else one.until_us) - one.from_us

    ended.sort(key=lambda one: (-took_us(one), one.from_us, one.partition))
    return [
        one._replace(groups=readers[_topic(one.partition)])
        for place, one in enumerate(ended)
        if place < LONGEST or took_us(one) > LONG_US
    ]


def _read(lines: Iterable[Line]) -> tuple[list[Held], dict[str, tuple[str, ...]]]:
    """Every transaction of users' topics, and the groups that read committed records of each topic."""
    partitions: dict[str, _Partition] = {}
    users: set[str] = set()
    committed: set[str] = set()
    topics: dict[str, set[str]] = {}
    for line in lines:
        kind = line["kind"]
        if kind == "topic_created" and not line["internal"]:
            users.add(line["topic"])
        elif kind in ABOUT_TOPICS:
            topics.setdefault(line["group"], set()).update(line["topics"])
            if line.get("read_committed"):
                committed.add(line["group"])
        elif kind in ABOUT_LOGS and _topic(line["partition"]) in users:
            partitions.setdefault(line["partition"], _Partition(line["partition"])).take(line)
    for partition in partitions.values():
        partition.finish()
    every = [one for partition in partitions.values() for one in partition.ended]
    return every, {topic: tuple(sorted(group for group in committed if topic in topics[group])) for topic in users}


def _topic(partition: str) -> str:
    return partition.rpartition("-")[0]
