"""The work of folding and judging: a rebalance costs members plus partitions; a new leader, its partition alone."""

import gc
from typing import Any

import pytest

from cluster import events as e
from cluster.view.state import GroupView
from tests.support.counted_work import instructions
from tests.support.invariant_world import World

EACH = 2  # partitions of each member


class Rebalances:
    """A group whose members all join every rebalance; each owns the next partitions after it."""

    def __init__(self, members: int) -> None:
        self.world = World()
        self.members = [f"w-{number}" for number in range(members)]
        self.generation = 0
        self.names = [f"jobs-{number}" for number in range(members * EACH)]
        self.world.emit(
            e.TopicCreated(topic="jobs", partitions=len(self.names), replication_factor=1, min_insync_replicas=1,
                           internal=False)
        )  # fmt: skip
        for name in self.names:
            self.world.emit(
                e.LeaderElected(partition=name, leader=1, leader_epoch=0, replicas=(1,), isr=(1,), reason="created"),
                e.LeadershipTaken(
                    partition=name, broker=1, leader_epoch=0, log_start=0, high_watermark=0, log_end=0, bytes=0
                ),
            )
        topics = ("jobs",)
        for member in self.members:
            self.world.emit(
                e.MemberDeclared(
                    group="g", member=member, instance_id="", topics=topics, session_timeout_ms=1,
                    heartbeat_interval_ms=1, max_poll_interval_ms=1,
                ),
                e.MemberStarted(group="g", member=member),
            )  # fmt: skip

    @property
    def group(self) -> GroupView:
        return self.world.view.groups["g"]

    def _state(self, member: str, state: str) -> e.Event:
        return e.MemberStateChanged(
            group="g", member=member, member_id=f"{member}-id", generation=self.generation, state=state, reason=""
        )

    def rebalance(self, unaware: int = 0) -> None:
        """All members join; the first `unaware` ones are removed and keep their partitions."""
        joining, world = self.members[unaware:], self.world
        for member in joining:
            owned = tuple(world.view.members[member].owned)
            world.emit(e.PartitionsRevoked(group="g", member=member, partitions=owned, lost=False))
            world.emit(self._state(member, "Joining"))
        self.generation += 1
        world.emit(
            e.JoinBarrierCompleted(
                group="g", generation=self.generation, protocol="range", leader=joining[0], last_joined="",
                waited_us=0, members={f"{member}-id": member for member in joining}, session_deadlines_us={},
            )
        )  # fmt: skip
        moved = self.names[self.generation :] + self.names[: self.generation]
        dealt = {member: tuple(moved[start :: len(joining)]) for start, member in enumerate(joining)}
        ids = {f"{member}-id": each for member, each in dealt.items()}
        world.emit(e.GroupStabilized(group="g", generation=self.generation, assignment=ids, session_deadlines_us={}))
        for member, each in dealt.items():
            world.emit(
                self._state(member, "Syncing"),
                self._state(member, "Stable"),
                e.PartitionsAssigned(group="g", member=member, generation=self.generation, partitions=each),
            )


def _work(members: int, unaware: int) -> int:
    group = Rebalances(members)
    group.rebalance()
    group.rebalance(unaware)
    assert len(group.group.other_holders) == unaware * EACH
    return instructions(group.rebalance)


@pytest.mark.parametrize("unaware", [0, 10])
def test_twice_the_members_and_partitions_are_twice_the_work(unaware: int) -> None:
    assert _work(80, 2 * unaware) <= 2.2 * _work(40, unaware)


def test_a_quadratic_step_would_be_counted() -> None:
    """The counter sees loops inside of one function."""

    def pairs(members: int) -> int:
        return instructions(lambda: [None for _ in range(members) for _ in range(members)])

    assert pairs(80) > 3.5 * pairs(40)


def test_finalizers_of_what_earlier_tests_left_are_not_counted() -> None:
    """A link's fault was 951 instructions once and 843 the next time: a collection had begun in the first."""

    class Left:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            self.cycle = self

    def call() -> list[list[int]]:
        return [[number] for number in range(1_000)]

    alone, threshold = instructions(call), gc.get_threshold()
    try:
        gc.collect()
        gc.set_threshold(200)
        Left()
        assert instructions(call) == alone
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)


def test_the_latest_holder_that_reads_on_owns_a_partition_again() -> None:
    group = Rebalances(5)
    for unaware in (0, 1, 3):
        group.rebalance(unaware)
    name = next(name for name, others in group.group.other_holders.items() if len(others) == 2)
    holders = [*group.group.other_holders[name], group.group.owners[name]]
    while holders:
        owner = holders.pop()
        assert group.group.owners[name] == owner
        group.world.emit(e.PartitionsRevoked(group="g", member=owner, partitions=(name,), lost=False))
    assert name not in group.group.owners
    assert name in group.group.unowned_since_us


def test_a_fenced_holder_gets_no_partition_back() -> None:
    group = Rebalances(3)
    for unaware in (0, 1):
        group.rebalance(unaware)
    (name, (fenced,)), *_ = group.group.other_holders.items()
    group.world.emit(group._state(fenced, "Fenced"))
    owner = group.group.owners[name]
    group.world.emit(e.PartitionsRevoked(group="g", member=owner, partitions=(name,), lost=False))
    assert not group.group.other_holders
    assert name not in group.group.owners


def _work_of_a_leader(partitions: int) -> int:
    group = Rebalances(partitions)
    sent: dict[str, Any] = {"count": 1, "bytes": 1, "producer": "p-1", "producer_id": 7, "epoch": 0, "leader_epoch": 0}
    for name in group.names:
        first = e.RecordsAppended(partition=name, base_offset=0, base_sequence=0, first_serial=0, **sent)
        group.world.emit(e.BatchOpened(producer="p-1", partition=name, bytes=1), first)
    taken = e.LeadershipTaken(
        partition=group.names[0], broker=1, leader_epoch=0, log_start=0, high_watermark=0, log_end=1, bytes=1
    )
    return instructions(lambda: group.world.emit(taken))


def test_a_new_leader_is_no_work_for_other_partitions() -> None:
    assert _work_of_a_leader(40) == _work_of_a_leader(20)
