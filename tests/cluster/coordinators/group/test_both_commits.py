"""Plain and transactional commits of one group, in any order: what counts is Kafka's rule, and mutants break it.

No scenario can have both (how a group commits is its application's, for all its members), so the coordinator is driven
directly. The oracle is `OffsetMetadataManager` said in one sentence: of a partition's records in the log that count (a
plain commit at once, a transaction's from its COMMIT marker on, an aborted one's never), the one that stands last is
the committed offset. Where the marker stands does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.coordinators.group import coordinator as group_coordinator
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.offset_commit import TransactionProducer
from cluster.coordinators.group.offset_replay import replay_marker, replay_offset
from cluster.coordinators.records import CommittedOffset, GroupRecord
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import OffsetCommitRequest
from cluster.protocol.record_batch import NO_PRODUCER_ID
from tests.support.coordinator_driver import Call, Desk
from tests.support.group_client import GROUP, Client, committed, error_of, stable

PARTITIONS = ("orders-0", "orders-1")
PRODUCERS = (7, 8)
PLAIN = 0
UNSTABLE = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)


class Marker(NamedTuple):
    """The end of a producer's transaction."""

    producer_id: int
    committed: bool


class BothDesk(Desk):
    """A desk whose log keeps markers, too, so that a new coordinator loads all of it."""

    def __init__(self) -> None:
        self.markers: list[tuple[int, Marker]] = []  # after how many records each stands
        super().__init__({"group.initial.rebalance.delay.ms": 0})

    def end(self, marker: Marker) -> None:
        self.markers.append((len(self.log), marker))
        self.run(self.coordinator.end_transaction(marker.producer_id, marker.committed, self.now_us))

    def whole_log(self) -> list[GroupRecord | Marker]:
        whole: list[GroupRecord | Marker] = []
        for place in range(len(self.log) + 1):
            whole += [marker for after, marker in self.markers if after == place]
            whole += self.log[place : place + 1]
        return whole

    def fail_over(self, *, loses: bool = False) -> GroupCoordinator:
        assert not loses, "this log is committed at once"
        old = self.coordinator
        self.run(old.unload(self.now_us))
        self.coordinator = self._new()
        for entry in self.whole_log():
            if isinstance(entry, Marker):
                self.coordinator.end_transaction(entry.producer_id, entry.committed, self.now_us)
            else:
                self.coordinator.replay(entry)
        self.run(self.coordinator.loaded(self.now_us))
        return old


def expected(log: list[GroupRecord | Marker], partition: str) -> tuple[int, bool]:
    """The partition's committed offset by the whole log, and whether a transaction that is open has one for it."""
    counting, pending = -1, False
    for place, entry in enumerate(log):
        if isinstance(entry, CommittedOffset) and entry.partition == partition:
            markers = [e for e in log[place:] if isinstance(e, Marker) and e.producer_id == entry.producer_id]
            plain = entry.producer_id == NO_PRODUCER_ID
            if plain or (markers and markers[0].committed):
                counting = entry.offset
            pending = pending or (not plain and not markers)
    return counting, pending


class Flight:
    """One group: a member that commits plainly, producers whose transactions carry its offsets; judged after each step.

    `partition`: the n-th of two; `source`: PLAIN, or the n-th producer.
    """

    def __init__(self) -> None:
        self.desk = BothDesk()
        self.member = Client(self.desk, "a")
        stable(self.desk, self.member)
        self.offset = 0

    def act(self, action: str, source: int, partition: int) -> None:
        if action == "commit":
            self._commit(source, PARTITIONS[partition])
        elif action == "fail over":
            self.desk.fail_over()
        elif source != PLAIN:
            self.desk.end(Marker(PRODUCERS[source - 1], committed=action == "end"))
        self.judge()

    def _commit(self, source: int, partition: str) -> None:
        self.offset += 1
        if source == PLAIN:
            assert error_of(self.member.commit(self.offset, partition)) is ErrorCode.NONE
            return
        offsets = {partition: (self.offset, 0, "")}
        request = OffsetCommitRequest(GROUP, self.member.generation, self.member.member_id, None, offsets)
        producer, call = TransactionProducer(PRODUCERS[source - 1], 0, "tx"), Call(request)
        self.desk.run(self.desk.coordinator.commit_in_transaction(request, producer, call, self.desk.now_us))
        assert error_of(call) is ErrorCode.NONE

    def judge(self) -> None:
        log = self.desk.whole_log()
        for partition in PARTITIONS:
            offset, pending = expected(log, partition)
            assert committed(self.desk, partition) == (ErrorCode.NONE, offset), partition
            stable_one = UNSTABLE if pending else (ErrorCode.NONE, offset)
            assert committed(self.desk, partition, stable=True) == stable_one, partition


ACTIONS = ("commit", "commit", "commit", "end", "abort", "fail over")
Steps = list[tuple[str, int, int]]


def fly(steps: Steps) -> None:
    flight = Flight()
    for action, source, partition in steps:
        flight.act(action, source, partition)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 2), st.integers(0, 1)), max_size=40))
def test_the_last_record_that_counts_is_the_committed_offset(steps: Steps) -> None:
    fly(steps)


def test_the_oracle_is_kafkas_rule() -> None:
    """Cases of `OffsetMetadataManagerTest`: a transaction's offset is pending, replaced, overtaken, dropped."""

    def record(offset: int, producer_id: int = NO_PRODUCER_ID) -> CommittedOffset:
        return CommittedOffset(GROUP, "orders-0", offset, 0, "", 0, producer_id, 0)

    def ended(*entries: CommittedOffset | Marker) -> tuple[int, bool]:
        return expected([*entries], "orders-0")

    assert ended(record(1), record(2, 7)) == (1, True)
    assert ended(record(1), record(2, 7), Marker(7, committed=True)) == (2, False)
    assert ended(record(1), record(2, 7), Marker(7, committed=False)) == (1, False)
    assert ended(record(2, 7), record(1), Marker(7, committed=True)) == (1, False)
    assert ended(record(2, 7), record(3, 8), Marker(8, committed=True), Marker(7, committed=True)) == (3, False)
    assert ended(record(2, 7), Marker(7, committed=True), record(3, 7)) == (2, True)


# --- broken on purpose ------------------------------------------------------------------------------------------------


def counts_by_the_marker(group: ClassicGroup, producer_id: int, *, committed: bool) -> dict[str, int]:
    """The end of a transaction wins over whatever was committed meanwhile."""
    group.log_positions.clear()
    return replay_marker(group, producer_id, committed=committed)


def counts_what_was_aborted(group: ClassicGroup, producer_id: int, *, committed: bool) -> dict[str, int]:
    del committed
    return replay_marker(group, producer_id, committed=True)


def forgets_a_transaction_after_a_plain_commit(group: ClassicGroup, record: CommittedOffset) -> None:
    replay_offset(group, record)
    if record.producer_id == NO_PRODUCER_ID:
        for pending in group.transactional_offsets.values():
            pending.pop(record.partition, None)


def counts_at_once(group: ClassicGroup, record: CommittedOffset) -> None:
    """A transaction's offset is visible before its transaction commits."""
    replay_offset(group, record)
    if record.producer_id != NO_PRODUCER_ID:
        group.offsets[record.partition] = record


MUTANTS: tuple[tuple[str, Callable[..., object]], ...] = (
    ("replay_marker", counts_by_the_marker),
    ("replay_marker", counts_what_was_aborted),
    ("replay_offset", forgets_a_transaction_after_a_plain_commit),
    ("replay_offset", counts_at_once),
)
WALKS = 40


@pytest.mark.parametrize(("name", "broken"), MUTANTS, ids=[broken.__name__ for _, broken in MUTANTS])
def test_a_coordinator_that_breaks_the_rule_is_caught(
    name: str, broken: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = Random(1)
    walks: list[Steps] = [
        [(draws.choice(ACTIONS), draws.randrange(3), draws.randrange(2)) for _ in range(30)] for _ in range(WALKS)
    ]
    for walk in walks:
        fly(walk)
    monkeypatch.setattr(group_coordinator, name, broken)
    caught = 0
    for walk in walks:
        try:
            fly(walk)
        except AssertionError:
            caught += 1
    assert caught >= WALKS // 4, f"{broken.__name__} is caught in {caught} of {WALKS} walks"
