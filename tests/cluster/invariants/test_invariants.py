"""Each invariant, told events that break it, and the neighbours of those events that are legal."""

import pytest
from msgspec.structs import force_setattr

from cluster import events as e
from cluster.invariants import SENTENCES
from cluster.invariants.sentences import NEED_LOGS
from cluster.spec import ProducerSpec, ScenarioSpec
from tests.support.invariant_breaches import BREAKS
from tests.support.invariant_world import (
    ALONE,
    CRASHED,
    DIVERGED,
    FENCED,
    VERSION_1,
    P,
    World,
    acknowledged,
    appended,
    barrier,
    beat,
    committed,
    coordinates,
    copied,
    counted,
    elected,
    epoch_bumped,
    given,
    gives_up,
    in_transaction,
    late_watermark,
    loaded,
    lost,
    marker,
    offsets_marker,
    polled,
    removed,
    stable,
    taken,
    targeted,
    transaction,
    truncated,
    watermark,
)


@pytest.mark.parametrize(("invariant", "events"), BREAKS, ids=[f"{each[0]}-{n}" for n, each in enumerate(BREAKS)])
def test_an_invariant_is_broken_by_what_breaks_it(invariant: str, events: list[e.Event]) -> None:
    World().breaks(invariant, *(copied(event) for event in events))


def test_only_a_replica_that_was_cut_or_started_anew_may_forget_deleted_producers() -> None:
    """A follower that lived through the deletion remembers; who reads its disk knows what is left there."""
    deleted = [appended(0, sequence=0, pid=7), watermark(10), elected(2, 1), taken(2, 1, 10, start=10)]
    World().breaks("P1", *(copied(event) for event in [*deleted, appended(10, epoch=1, sequence=0, pid=7)]))
    world = World()
    again = e.BrokerStarted(broker=2, rack="")
    force_setattr(again, "at_us", 1)
    world.emit(again)
    world.emit(*deleted, appended(10, epoch=1, sequence=0, pid=7))


def test_a_last_stable_offset_that_falls_is_noticed() -> None:
    world = World()
    world.emit(in_transaction(0, 0), watermark(5))
    partition = world.view.partitions[P]
    assert partition.transactions is not None
    world.emit(transaction("PrepareCommit"), marker(10, "COMMIT"), watermark(11))
    partition.transactions.index.open[8] = 3  # as if a transaction had begun where others were read already
    world.breaks("T1", appended(11), watermark(12))


LEGAL: list[list[e.Event]] = [
    [appended(0), watermark(10), elected(2, 1, reason="unclean"), taken(2, 1, 5), appended(5, epoch=1)],
    [appended(0), watermark(10), acknowledged(0), elected(2, 1, reason="unclean"), taken(2, 1, 5), lost(5, 5)],
    [appended(0), watermark(5), e.IsrChanged(partition=P, isr=(1, 3), reason="shrink"), watermark(10),
     truncated(2, 5, 6)],
    [appended(0), watermark(10), truncated(1, 5, 10, "crash"), elected(1, 1), taken(1, 1, 5)],
    [appended(0), watermark(10), elected(2, 1), taken(2, 1, 10, watermark=5), watermark(7, 1)],
    [appended(0), elected(2, 1), taken(2, 1, 10), appended(10, epoch=0), appended(10, epoch=1)],
    [elected(-1, 1, isr=(2,)), FENCED(broker=2, reason="session expired")],
    [appended(0, sequence=0, pid=7), appended(10, sequence=0, pid=7, producer_epoch=1)],
    [appended(0, sequence=0, pid=7), elected(2, 1), taken(2, 1, 0), appended(0, epoch=1, sequence=0, pid=7)],
    [*DIVERGED, appended(10, epoch=1, sequence=10, pid=7), elected(3, 2), taken(3, 2, 10, watermark=0),
     appended(10, epoch=2, sequence=10, pid=7)],
    [*DIVERGED, appended(10, epoch=1, sequence=10, pid=7), elected(3, 2), taken(3, 2, 20, watermark=0),
     appended(20, epoch=2, sequence=10, pid=7), elected(2, 3), taken(2, 3, 30, watermark=0),
     appended(30, epoch=3, sequence=10, pid=7)],
    [*CRASHED, elected(2, 2), taken(2, 2, 10), appended(10, epoch=2, sequence=0, pid=7, producer_epoch=1)],
    [appended(0, sequence=0, pid=7), watermark(10), elected(2, 1), taken(2, 1, 10), appended(10, sequence=10, pid=7),
     elected(1, 2), taken(1, 2, 20, watermark=10), appended(20, epoch=2, sequence=20, pid=7)],
    [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), marker(10, "COMMIT"),
     transaction("CompleteCommit"), watermark(11), *polled(11)],
    [transaction("Ongoing"), in_transaction(0, 0), coordinates(2, 1), marker(10, "COMMIT")],
    [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), coordinates(2, 1),
     marker(10, "ABORT", 2)],
    [*stable(1, g1=(P,), g2=()), given("g-1"), *stable(2, g2=(P,)), given("g-2", 2)],
    [*stable(1, g1=(P,)), barrier(2, "g-1"), committed(0, 1)],
    [*targeted("g-1", 3, (P,)), committed(0, 2), committed(0, 3)],
    [epoch_bumped(2), e.GroupDeleted(group="g", broker=1), epoch_bumped(1)],
    [*targeted("g-1", 3, (P,)), removed(1), *targeted("g-2", 1, (P,))],
    [*targeted("g-1", 3, (P,)), *targeted("g-1", 3, (), (P,)), given("g-1"), *gives_up("g-1"), *targeted("g-1", 4),
     *targeted("g-2", 4, (P,))],
    [*ALONE, late_watermark(2_000_000)],
    [*ALONE, e.FaultStarted(fault=1, text="cut broker-1 broker-2", fault_kind="cut", ends_at_us=-1),
     late_watermark(4_000_000)],
    [*ALONE, e.FaultStarted(fault=1, text="cut broker-1 broker-2", fault_kind="cut", ends_at_us=-1),
     e.FaultEnded(fault=1, at_us=3_000_000), late_watermark(4_000_000)],
    [*ALONE, e.IsrChanged(partition=P, isr=(1, 2), reason="expand"), late_watermark(4_000_000)],
    [*ALONE[:1], *offsets_marker("COMMIT"), counted()],
    [*stable(1, g1=(P,)), beat(5_000), removed(6_000)],
    [*stable(1, g1=(P,)), beat(5_000, deadline_us=-1), removed(5_900)],
    [*stable(1, g1=(P,)), beat(5_000), removed(5_900, "member left")],
    [*stable(1, g1=(P,)), committed(0), loaded(P)],
    [*stable(1, g1=(P,)), loaded(P), loaded()],
    [*stable(1, g1=(P,)), committed(0), e.OffsetsExpired(group="g", partitions=(P,)), loaded()],
    [*stable(1, g1=(P,)), committed(0), e.OffsetsDeleted(group="g", partitions=(P,)), loaded()],
    [appended(0), watermark(10), elected(2, 1), taken(2, 1, 10), truncated(1, 4, 10, "crash"), elected(1, 2),
     taken(1, 2, 4)],
]  # fmt: skip


@pytest.mark.parametrize("events", LEGAL)
def test_what_kafka_allows_breaks_nothing(events: list[e.Event]) -> None:
    World().emit(*(copied(event) for event in events))


def test_a_deposed_coordinator_under_version_1_ends_only_what_was_not_decided_before() -> None:
    told = [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit")]
    World(VERSION_1).breaks("T2", *(copied(event) for event in told), coordinates(2, 1), marker(10, "ABORT", 1))
    next_one = [marker(10, "COMMIT", 1), coordinates(2, 1), in_transaction(11, 10, 1), marker(21, "ABORT", 1)]
    World(VERSION_1).emit(*(copied(event) for event in told), *next_one)


def test_producers_without_acks_all_are_promised_nothing() -> None:
    careless = ScenarioSpec(title="x", producers=(ProducerSpec("p", ("orders",), config={"acks": "1"}),))
    world = World(careless)
    world.emit(appended(0), watermark(5), acknowledged(0), lost(5, 5))
    assert "R10" not in world.invariants.in_force
    assert "T3" not in world.invariants.in_force
    assert set(World().invariants.in_force) == set(SENTENCES) - set(NEED_LOGS)
    assert set(World(log_of=lambda *_: None).invariants.in_force) == set(SENTENCES)


def downgraded(**targets: tuple[str, ...]) -> e.Event:
    members = {f"g-{name[1:]}-id": f"g-{name[1:]}" for name in targets}
    return e.ConsumerGroupDowngraded(
        group="g", broker=1, generation=2, protocol="range", leader="g-1-id", members=members,
        assignment=dict(zip(members, targets.values(), strict=True)), session_deadlines_us=dict.fromkeys(members, -1),
    )  # fmt: skip


def test_a_downgrade_hides_what_a_member_reads_beyond_its_target() -> None:
    """ClassicGroup.fromConsumerGroup: the coordinator knows the targets, not what members still own."""
    begun = [*stable(1, g1=(P,), g2=()), given("g-1")]
    World().breaks("G2", *(copied(event) for event in [*begun, downgraded(g1=(P,), g2=()), given("g-2", 2)]))
    World().emit(*(copied(event) for event in [*begun, downgraded(g1=(), g2=(P,)), given("g-2", 2)]))
    known = [*begun, downgraded(g1=(), g2=()), gives_up("g-1")[0], given("g-1", 2), given("g-2", 2)]
    World().breaks("G2", *(copied(event) for event in known))
