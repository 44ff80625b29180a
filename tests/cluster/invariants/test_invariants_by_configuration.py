"""The invariants about durations, assignments, replicas and orders: what breaks each, and its legal neighbours."""

import msgspec
import pytest

from cluster import events as e
from cluster.invariants import SENTENCES
from cluster.spec import ProducerSpec, TransactionsSpec
from tests.support.invariant_breaches import BREAKS, reloaded
from tests.support.invariant_world import (
    SPEC,
    World,
    acknowledged,
    appended,
    barrier,
    beat,
    committed,
    copied,
    elected,
    given,
    loaded,
    offsets_marker,
    polled,
    stable,
    taken,
    transaction,
    truncated,
    watermark,
    world_of,
)
from tests.support.partition_logs import log_of

P = "orders-0"
MS = 1_000


def declared(session: int = 10_000, interval: int = 500, poll: int = 4_000, instance: str = "") -> list[e.Event]:
    """Both members, configured so."""
    return [
        e.MemberDeclared(
            group="g", member=member, instance_id=instance, topics=("orders",), session_timeout_ms=session,
            heartbeat_interval_ms=interval, max_poll_interval_ms=poll,
        )
        for member in ("g-1", "g-2")
    ]  # fmt: skip


def paused() -> e.Event:
    """pause() was called for the partition."""
    return e.PartitionsPaused(group="g", member="g-1", partitions=(P,))


def listened(offset: int) -> e.Event:
    """onPartitionsRevoked returns, and says that commitSync stored this offset."""
    return e.RebalanceListenerReturned(group="g", member="g-1", partitions=(P,), commit="stored", offsets={P: offset})


def said(member: str, member_id: str = "") -> e.Event:
    """A JoinGroup leaves."""
    return e.MemberStateChanged(
        group="g", member=member, member_id=member_id, generation=-1, state="Joining", reason=""
    )


def received(member: str, member_id: str) -> e.Event:
    """A JoinGroup has come."""
    return e.JoinReceived(
        group="g", member=member, member_id=member_id, newcomer=False, session_timeout_ms=1, rebalance_timeout_ms=1
    )


def joining(member: str, *owned: str) -> list[e.Event]:
    """A member joins and says what it holds."""
    has = [e.PartitionsAssigned(group="g", member=member, generation=0, partitions=owned)] if owned else []
    return [*has, said(member, f"{member}-id"), received(member, f"{member}-id")]


def gave_up(member: str) -> e.Event:
    return e.PartitionsRevoked(group="g", member=member, partitions=(P,), lost=False)


def loaded_again() -> e.Event:
    """A new coordinator finds generation 1: the JoinGroups for the next one went with the coordinator before."""
    members = {"g-1-id": "g-1", "g-2-id": "g-2"}
    return msgspec.structs.replace(loaded(), protocol="cooperative-sticky", members=members)


def at(ms: float, event: e.Event) -> e.Event:
    """The event, at this instant."""
    return msgspec.structs.replace(event, at_us=int(ms * MS))


def started(ms: float, *, initial: bool = False) -> e.Event:
    return e.RebalanceStarted(
        group="g", generation=0, cause="member joined", trigger="", initial=initial, closes_at_us=1, broker=1,
        at_us=int(ms * MS),
    )  # fmt: skip


def removed(ms: float, reason: str, member: str = "g-1", client_reason: str = "") -> e.Event:
    return e.MemberRemoved(
        group="g", member=member, member_id=f"{member}-id", reason=reason, at_us=int(ms * MS),
        client_reason=client_reason,
    )  # fmt: skip


def cooperative(generation: int, **assignment: tuple[str, ...]) -> list[e.Event]:
    return [
        msgspec.structs.replace(event, protocol="cooperative-sticky")
        if isinstance(event, e.JoinBarrierCompleted)
        else event
        for event in stable(generation, **assignment)
    ]


def replaced(ms: float) -> e.Event:
    return e.StaticMemberReplaced(
        group="g", member="g-1", old_member_id="g-1-id", member_id="new", session_deadline_us=1, at_us=int(ms * MS)
    )


def returned_as_itself(ms: float) -> e.Event:
    """A static member of the new protocol, which had left because of its slow poll()."""
    return msgspec.structs.replace(replaced(ms), member_id="g-1-id")


def not_replaced(ms: float) -> e.Event:
    """The new id could not be written: the old one is back, and its session begins."""
    return msgspec.structs.replace(replaced(ms), old_member_id="new", member_id="g-1-id", goes_on=False)


def other_beat(ms: float) -> e.Event:
    return msgspec.structs.replace(beat(int(ms * MS)), member="g-2", member_id="g-2-id")


def fenced(ms: float, reason: str = "timeout") -> e.Event:
    return e.TransactionFenced(
        transactional_id="t-1", broker=1, producer_id=7, epoch=1, reason=reason, at_us=int(ms * MS)
    )


def gone(ms: float) -> e.Event:
    return e.BrokerFenced(broker=2, reason="session expired", at_us=int(ms * MS))


def killed(ms: float) -> e.Event:
    return e.BrokerStopped(broker=2, how="kill", at_us=int(ms * MS))


def frozen(ms: float, until_ms: float) -> list[e.Event]:
    return [e.BrokerPaused(broker=2, at_us=int(ms * MS)), e.BrokerResumed(broker=2, at_us=int(until_ms * MS))]


def opened(ms: float) -> e.Event:
    return e.BatchOpened(producer="p-1", partition=P, bytes=1, at_us=int(ms * MS))


def failed(ms: float) -> e.Event:
    return e.BatchFailed(
        producer="p-1", partition=P, records=1, freed_bytes=1, error="TimeoutException", sent=True, at_us=int(ms * MS)
    )


def done(first: int, end: int) -> e.Event:
    return e.RecordsProcessed(group="g", member="g-1", partition=P, first_offset=first, next_offset=end)


def began(first: int, end: int) -> list[e.Event]:
    """Offsets up to 15 are read, and these are processed."""
    return [appended(0, 15), watermark(15), *polled(15), done(first, end)]


def positioned(offset: int) -> e.Event:
    return e.PositionsReset(group="g", member="g-1", positions={P: offset}, reason="committed")


def renewed(ms: float) -> e.Event:
    """A commit arrives."""
    return e.SessionRenewed(group="g", member="g-1", member_id="g-1-id", session_deadline_us=1, at_us=int(ms * MS))


def refused(ms: float) -> e.Event:
    """A commit that was accepted could not be written in time."""
    return e.OffsetCommitRefused(
        group="g", member="g-1", member_id="g-1-id", generation=1, error="COORDINATOR_NOT_AVAILABLE",
        offsets={P: 0}, at_us=int(ms * MS),
    )  # fmt: skip


def left(ms: float) -> e.Event:
    return e.MemberStateChanged(
        group="g", member="g-1", member_id="", generation=-1, state="Left", at_us=int(ms * MS),
        reason="max.poll.interval.ms passed without poll()",
    )  # fmt: skip


def answered(latency_ms: int) -> e.Event:
    return msgspec.structs.replace(acknowledged(0), latency_us=latency_ms * MS)


def returned(ms: float) -> e.Event:
    return e.PollReturned(group="g", member="g-1", records=0, positions={}, fetches=0, at_us=int(ms * MS))


DEALT = [*joining("g-1"), *joining("g-2")]
OFFSETS = [
    e.TopicCreated(
        topic="__consumer_offsets", partitions=1, replication_factor=1, min_insync_replicas=1, internal=True
    ),
    *offsets_marker("COMMIT"),
]
CHANGED = e.SubscriptionChanged(group="g", member="g-1", topics=("payments",))
GIVEN_UP = e.CoordinatorLost(group="g", member="g-1", broker=1, cause="null", disconnected=True)
WRITTEN = [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,))]
HOLD = e.FaultStarted(fault=1, text="pause broker-1", fault_kind="pause", ends_at_us=-1)
KILL = e.FaultStarted(fault=1, text="kill broker-3", fault_kind="kill", ends_at_us=-1)
RELEASED = e.FaultEnded(fault=1)
CALM = [*declared(), *stable(1, g1=(P,), g2=()), beat(10_000 * MS)]
FAULT = e.FaultStarted(fault=1, text="cut broker-1 broker-2", fault_kind="cut", ends_at_us=-1, at_us=8_000 * MS)
HEALED = [*CALM[:-1], FAULT, e.FaultEnded(fault=1, at_us=9_000 * MS), CALM[-1]]
HELD_UP = [*CALM, renewed(10_100), other_beat(14_000)]

ACCEPTED = [*declared(), *stable(1, g1=(P,), g2=()), beat(1_000 * MS), renewed(6_000), refused(11_000)]


def sent(base: int, serial: int, epoch: int = 0, *, sequence: int = -1) -> e.Event:
    """Ten records of p-1 stand at this offset of a log; the sequence is the serial's unless it has begun anew."""
    told = appended(base, epoch=epoch, sequence=serial if sequence < 0 else sequence, pid=7)
    return msgspec.structs.replace(told, first_serial=serial)


def others(base: int, count: int = 10) -> e.Event:
    """Records of another producer, in epoch 0."""
    return msgspec.structs.replace(appended(base, count), producer="p-2")


def of_next_life(base: int, serial: int, sequence: int = 0) -> e.Event:
    """The same, under the id that p-1's next process got."""
    return msgspec.structs.replace(sent(base, serial, sequence=sequence), producer_id=8)


KILLED = e.ProducerStateChanged(producer="p-1", state="Dead", reason="killed")
LEFT_OUT = [sent(0, 0), others(10), elected(2, 1), taken(2, 1, 0), sent(0, 0, 1), sent(10, 10, 1)]
"""Broker-2 leads without what broker-1 appended, and broker-3 may have fetched."""

BACK_UNCLEAN = [
    sent(0, 0), sent(10, 10), watermark(20), elected(2, 1, reason="unclean"), taken(2, 1, 10, watermark=0),
    sent(10, 20, 1, sequence=10), watermark(20, 1),
]  # fmt: skip
"""Broker-2 leads without the committed records 10 … 19, and more are committed."""

LATE = [
    msgspec.structs.replace(sent(0, 20), epoch=4),
    *(msgspec.structs.replace(sent(10 * n, 10 * n, sequence=10 * n - 10), epoch=5) for n in (1, 2)),
]
"""A log that knows nothing of p-1 takes what it sent last; what had been refused before comes in the next epoch."""

BEGUN_ANEW = msgspec.structs.replace(sent(20, 10, 1, sequence=0), epoch=5)
RESTARTED = e.BrokerStarted(broker=2, rack="", at_us=9)
SHRUNK, GROWN = (e.IsrChanged(partition=P, isr=isr, reason="test") for isr in ((1, 3), (1, 2, 3)))
DELETED = e.LogStartAdvanced(partition=P, broker=1, leader_epoch=0, log_start=20, bytes=0, reason="delete records")

MORE: list[tuple[str, list[e.Event]]] = [
    ("G11", [*DEALT, *stable(1, g1=(), g2=())]),
    ("G11", [*DEALT, *stable(1, g1=(P, "payments-0"), g2=())]),
    ("G12", [*joining("g-1", P), *joining("g-2"), *cooperative(1, g1=(), g2=(P,))]),
    ("G12", [*joining("g-1", P), *joining("g-2"), said("g-1", "g-1-id"), *cooperative(1, g1=(), g2=(P,))]),
    ("G12", [*joining("g-1", P), *joining("g-2"), *cooperative(1, g1=(P,), g2=()), gave_up("g-1"), *joining("g-1"),
             barrier(2, "g-1", "g-2"), loaded_again(), *joining("g-2"), *cooperative(2, g1=(), g2=(P,))]),
    ("G13", [*stable(1, g1=(P,)), replaced(1), beat(2 * MS)]),
    ("G13", [*declared(instance="i"), *stable(1, g1=(P,)), replaced(1), at(20_000, committed(0))]),
    ("G16", [*declared(), appended(0), watermark(10), *polled(0)[:1], paused(), polled(1)[1]]),
    ("G17", [*OFFSETS, *declared(), appended(0), watermark(10), *stable(1, g1=(P,)), committed(4), listened(5)]),
    ("G15", [*declared(), given("g-1", -1), received("g-1", "g-1-id")]),
    ("G15", [*declared(), given("g-1", -1), *stable(1, g1=(P,)), given("g-1", 1)]),
    ("G15", [*declared(), msgspec.structs.replace(given("g-1", -1), partitions=()), *polled(0)[:1]]),
    ("G14", [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,)), committed(5), committed(4)]),
    ("G14", [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,)), committed(5), loaded(P)]),
    ("G14", [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,)), committed(5), reloaded(1, P)]),
    ("G14", [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,)), GIVEN_UP, *map(committed, (5, 4, 5, 4))]),
    ("G14", [*WRITTEN, committed(5), GIVEN_UP, at(13_001, committed(4))]),
    ("G14", [*WRITTEN, committed(5), GIVEN_UP, HOLD, at(30_000, RELEASED), at(43_001, committed(4))]),
    ("G14", [*WRITTEN, committed(5), GIVEN_UP, KILL, at(13_001, committed(4))]),
    ("S1", [*declared(), *stable(1, g1=(P,)), beat(5_000 * MS, -1), removed(14_900, "session expired")]),
    ("S1", [*CALM, e.FaultStarted(fault=1, text="stall g-2", fault_kind="stall", ends_at_us=-1), beat(17_000 * MS)]),
    ("S1", [*declared(), *stable(1, g1=(P,), g2=()), replaced(1_000), other_beat(12_100)]),
    ("S1", [*ACCEPTED, other_beat(17_100)]),
    ("S1", [*ACCEPTED, removed(15_900, "session expired")]),
    ("S1", [*ACCEPTED, renewed(11_500), at(15_500, committed(0)), removed(21_400, "session expired")]),
    ("S2", [*declared(), started(0), removed(3_900, "poll interval exceeded")]),
    ("S2", [*declared(), started(0), at(5_100, barrier(1, "g-1"))]),
    ("S2", [*declared(), started(0), barrier(1, "g-1"), removed(3_900, "sync timed out")]),
    ("S2", [*declared(), returned(1_000), left(4_900)]),
    ("S3", [*declared(), started(0, initial=True), at(2_900, barrier(1, "g-1"))]),
    ("S4", [*CALM, beat(10_300 * MS)]),
    ("S4", [*CALM, beat(10_500 * MS), beat(13_500 * MS)]),
    ("S4", [*CALM, renewed(10_100), beat(17_700 * MS)]),
    ("S4", [*CALM, renewed(9_900), beat(13_500 * MS)]),
    ("S4", [*HELD_UP, beat(14_500 * MS), beat(15_100 * MS), beat(15_400 * MS)]),
    ("S5", [transaction("Empty"), fenced(59_000)]),
    ("S5", [transaction("CompleteCommit"), at(30_000, transaction("Ongoing")),
            at(40_000, transaction("CompleteCommit")), fenced(99_000)]),
    ("S6", [gone(20_000)]),
    ("S6", [killed(20_000), gone(23_000)]),
    ("S6", [killed(20_000), gone(31_000)]),
    ("S6", [*frozen(13_300, 20_000), killed(22_100), gone(22_400)]),
    ("S6", [*frozen(19_000, 20_000), killed(20_000), gone(22_400)]),
    ("S7", [opened(0), failed(119_000)]),
    ("S7", [appended(0), watermark(10), opened(0), answered(122_000)]),
    ("J2", [*began(0, 5), done(4, 6)]),
    ("J3", [appended(0, sequence=0, pid=7), appended(10, 5, sequence=10, pid=7), *[
        msgspec.structs.replace(appended(15, sequence=15, pid=7), first_serial=5)]]),
    ("J3", [sent(0, 0), sent(10, 10), elected(2, 1), taken(2, 1, 20, watermark=0), sent(20, 10, 1, sequence=20)]),
    ("J3", [*LEFT_OUT, watermark(20, 1), elected(3, 2), taken(3, 2, 20), sent(20, 10, 2, sequence=20)]),
    ("J3", [*LEFT_OUT, elected(3, 2), taken(3, 2, 20, watermark=0), sent(20, 10, 2), sent(30, 10, 2, sequence=20)]),
    ("J3", [*BACK_UNCLEAN, sent(20, 10, 1, sequence=20)]),
    ("J3", [sent(0, 0), sent(10, 10), elected(2, 1), taken(2, 1, 20), BEGUN_ANEW]),
    ("P1", [sent(0, 0), sent(10, 10), SHRUNK, RESTARTED, GROWN, watermark(20), DELETED, elected(2, 1),
            taken(2, 1, 20, start=20), sent(20, 20, 1, sequence=5)]),
    ("J3", [sent(0, 10), KILLED, of_next_life(10, 5)]),
    ("J3", [sent(0, 0), KILLED, of_next_life(10, 20), of_next_life(20, 10, 10)]),
    ("J3", [*LATE, msgspec.structs.replace(sent(30, 10, sequence=20), epoch=5)]),
    ("J3", [sent(0, 0), sent(10, 10), msgspec.structs.replace(sent(20, 0, sequence=0), epoch=5)]),
]  # fmt: skip

LEGAL: list[list[e.Event]] = [
    [*OFFSETS, *declared(), appended(0), watermark(10), *stable(1, g1=(P,)), committed(5), listened(5)],
    [*declared(), appended(0), watermark(10), *polled(0)[:1], paused(),
     e.PartitionsResumed(group="g", member="g-1", partitions=(P,)), polled(1)[1]],
    [sent(0, 0), KILLED, of_next_life(10, 20), sent(20, 10), of_next_life(30, 30, 10)],
    [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,)), GIVEN_UP, *map(committed, (5, 4, 5))],
    [*WRITTEN, committed(5), GIVEN_UP, at(13_000, committed(4))],
    [*WRITTEN, committed(5), GIVEN_UP, at(12_000, GIVEN_UP), at(24_000, committed(4))],
    [*WRITTEN, committed(5), GIVEN_UP, HOLD, at(30_000, committed(4))],
    [*WRITTEN, committed(5), GIVEN_UP, HOLD, at(30_000, RELEASED), at(43_000, committed(4))],
    [*DEALT, *stable(1, g1=(P,), g2=())],
    [*DEALT, CHANGED, said("g-1"), said("g-1", "new"), received("g-1", "new"), *stable(1, g1=(P,), g2=())],
    [*DEALT, *cooperative(1, g1=(P,), g2=()), given("g-1"), *joining("g-1"), barrier(2, "g-1", "g-2"), loaded_again(),
     *joining("g-2"), *cooperative(2, g1=(), g2=(P,))],
    [*joining("g-1", P), *joining("g-2"), *cooperative(1, g1=(), g2=())],
    [*joining("g-1", P), *joining("g-2"), *stable(1, g1=(), g2=(P,))],
    [*stable(1, g1=(P,)), replaced(1), loaded(), beat(2 * MS)],
    [*declared(instance="i"), *stable(1, g1=(P,)), replaced(1), at(3_000, committed(0))],
    [*OFFSETS, appended(0), watermark(10), *stable(1, g1=(P,)), committed(5),
     e.PositionsReset(group="g", member="g-1", positions={P: 1}, reason="seek"), committed(1)],
    [*declared(), *stable(1, g1=(P,)), beat(5_000 * MS), removed(15_000, "session expired")],
    [*ACCEPTED, other_beat(16_900)],
    [*ACCEPTED, at(15_000, committed(0)), removed(16_000, "session expired")],
    [*declared(), *stable(1, g1=(P,), g2=()), replaced(6_000), not_replaced(11_000), other_beat(12_100)],
    [*declared(), started(0), removed(100, "poll interval exceeded", client_reason="consumer poll timeout")],
    [*declared(), started(0), removed(4_000, "poll interval exceeded")],
    [*declared(), started(0), loaded(), at(9_000, barrier(2, "g-1"))],
    [*declared(), returned(1_000), left(5_000)],
    [*declared(), started(0, initial=True), at(3_000, barrier(1, "g-1"))],
    [*CALM, beat(10_500 * MS), beat(11_000 * MS)],
    [*CALM, renewed(10_200), beat(10_800 * MS), beat(10_950 * MS)],  # the first waited behind the commit
    [*CALM, renewed(10_200), beat(10_420 * MS), renewed(10_430), beat(10_840 * MS), beat(11_000 * MS)],
    [*HELD_UP, beat(14_500 * MS), beat(14_500 * MS), beat(14_900 * MS)],
    [*HEALED, renewed(10_100), other_beat(14_000), beat(14_500 * MS), beat(14_500 * MS)],
    [*CALM, e.FaultStarted(fault=1, text="hold g-1 broker-1", fault_kind="hold", ends_at_us=-1), beat(10_100 * MS)],
    [transaction("Empty"), fenced(60_000)],
    [transaction("CompleteCommit"), at(30_000, transaction("CompleteCommit")), fenced(60_000)],
    [transaction("Empty"), fenced(10, "InitProducerId")],
    [killed(20_000), gone(28_000)],
    [*frozen(13_300, 20_000), killed(20_000), gone(22_000)],  # seed 9612: its disk was full when it was resumed
    [e.FaultStarted(fault=1, text="cut broker-1 broker-2", fault_kind="cut", ends_at_us=-1), gone(20_000)],
    [opened(0), failed(120_000)],
    [*began(0, 5), given("g-1"), done(0, 6)],
    [*began(0, 5), positioned(5), done(5, 9), polled(9)[1], done(5, 9)],  # a worker's record of the last assignment
    [*stable(1, g1=(P,)), returned_as_itself(1), beat(2 * MS)],
    [*stable(1, g1=(P,)), replaced(1), reloaded(1), beat(2 * MS)],
    [*began(0, 5), e.PositionsReset(group="g", member="g-1", positions={P: 1}, reason="seek"), done(1, 6)],
    [*LEFT_OUT, elected(3, 2), taken(3, 2, 20, watermark=0), sent(20, 10, 2)],
    [sent(0, 0), truncated(1, 0, 10, "crash"), elected(1, 1), taken(1, 1, 0), sent(0, 0, 1), sent(10, 10, 1),
     elected(2, 2), taken(2, 2, 20, watermark=0), sent(20, 10, 2)],
    [elected(2, 1), taken(2, 1, 0), others(0, 20), sent(0, 0, 1), sent(10, 10, 1), elected(1, 2),
     taken(1, 2, 20, watermark=0), sent(20, 0, 2)],
    LATE,
    [sent(0, 0), sent(10, 10), RESTARTED, elected(2, 1), taken(2, 1, 20), BEGUN_ANEW],
    [sent(0, 0), sent(10, 10), SHRUNK, RESTARTED, watermark(20), DELETED, GROWN, elected(2, 1),
     taken(2, 1, 20, start=20), sent(20, 20, 1, sequence=5)],
    [*BACK_UNCLEAN, elected(3, 2, (3,), "unclean"), taken(3, 2, 10, watermark=0), sent(10, 10, 2)],
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "events"), MORE, ids=[f"{each[0]}-{n}" for n, each in enumerate(MORE)])
def test_an_invariant_is_broken_by_what_breaks_it(invariant: str, events: list[e.Event]) -> None:
    World().breaks(invariant, *(copied(event) for event in events))


@pytest.mark.parametrize("events", LEGAL)
def test_what_kafka_allows_breaks_nothing(events: list[e.Event]) -> None:
    World().emit(*(copied(event) for event in events))


@pytest.mark.parametrize("timeouts_ms", [(10_000, 60_000), (60_000, 10_000)])
def test_a_transactional_id_of_several_producers_may_time_out_by_each_ones_timeout(
    timeouts_ms: tuple[int, int],
) -> None:
    """A coordinator has the timeout of the last InitProducerId: no transaction is aborted before the shortest."""
    one_id = TransactionsSpec("t-1")
    producers = tuple(
        ProducerSpec(name, ("orders",), transactions=one_id, config={"transaction.timeout.ms": timeout_ms})
        for name, timeout_ms in zip("pq", timeouts_ms, strict=True)
    )
    twins = msgspec.structs.replace(SPEC, producers=producers)
    World(twins).emit(transaction("Empty"), fenced(10_000))
    World(twins).breaks("S5", copied(transaction("Empty")), fenced(9_000))


# --- with the replicas' logs ------------------------------------------------------------------------------------------


def test_a_high_watermark_above_what_an_in_sync_replica_has_is_noticed() -> None:
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of(10)).emit(appended(0), watermark(10))
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of(5)).breaks("R6", appended(0), watermark(10))


def test_a_follower_that_comes_in_without_what_is_committed_is_noticed() -> None:
    shrunk, grown = (e.IsrChanged(partition=P, isr=isr, reason="") for isr in ((1, 2), (1, 2, 3)))
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of(10)).emit(appended(0), shrunk, watermark(10), grown)
    again = (copied(event) for event in (appended(0), shrunk, watermark(10), grown))
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of(5)).breaks("R6", *again)


def crashed(broker: int, offset: int, end: int) -> list[e.Event]:
    return [e.BrokerStopped(broker=broker, how="crash"), truncated(broker, offset, end, "crash")]


def let_in(broker: int, epoch: int) -> list[e.Event]:
    return [e.BrokerStarted(broker=broker, rack=""), e.BrokerUnfenced(broker=broker, broker_epoch=epoch)]


OUT, IN = (e.IsrChanged(partition=P, isr=isr, reason="") for isr in ((1, 2), (1, 2, 3)))


def test_a_replica_whose_host_took_its_end_may_be_in_sync_until_it_is_registered_again() -> None:
    """Its leader hears of what its former life had fetched: seed 421, a leader that was frozen meanwhile."""
    before = [OUT, appended(0), watermark(5), *crashed(3, 0, 10), watermark(10)]
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of()).emit(*(copied(event) for event in (*before, IN)))
    registered = [*before, *let_in(3, 4), IN]
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of()).breaks("R6", *(copied(event) for event in registered))


def test_a_replica_whose_host_took_its_end_while_in_sync_owes_nothing_and_the_others_all() -> None:
    events = [appended(0), watermark(5), *crashed(3, 5, 10), watermark(10)]
    world_of(b1=log_of(10), b2=log_of(10), b3=log_of(5)).emit(*(copied(event) for event in events))
    world_of(b1=log_of(10), b2=log_of(5), b3=log_of(5)).breaks("R6", *(copied(event) for event in events))


def test_a_replica_that_leads_without_what_its_host_took_before_it_was_committed_breaks_nothing() -> None:
    """Its leader had it in memory, and is gone (seed 5912): KIP-966 is not built."""
    led = [elected(3, 1, (3,)), taken(3, 1, 0)]
    World().emit(*(copied(event) for event in (appended(0), *crashed(3, 0, 10), watermark(10), *led)))
    World().breaks("R5", *(copied(event) for event in (appended(0), watermark(10), *led)))


def test_a_replica_that_came_in_after_a_crash_owes_everything_again() -> None:
    events = [appended(0), watermark(10), *crashed(3, 0, 10), OUT, *let_in(3, 4), IN, appended(10), watermark(20)]
    world_of(b1=log_of(20), b2=log_of(20), b3=log_of(20)).emit(*(copied(event) for event in events))
    world_of(b1=log_of(20), b2=log_of(20), b3=log_of(15)).breaks("R6", *(copied(event) for event in events))


def test_replicas_that_differ_below_what_is_committed_are_noticed() -> None:
    events = [appended(0), watermark(10), elected(2, 1), taken(2, 1, 10)]
    world_of(b1=log_of(5, 5), b2=log_of(5, 5), b3=log_of(5, 5)).emit(*events)
    other = log_of(5, 5, first_serial=3)
    world_of(b1=log_of(5, 5), b2=log_of(5, 5), b3=other).breaks("R8", *(copied(event) for event in events))


def test_a_reader_that_passes_records_is_noticed() -> None:
    world = world_of(b1=log_of(5, 5, 5), b2=log_of(5, 5, 5), b3=log_of(5, 5, 5))
    world.emit(*began(0, 5))
    world.breaks("J1", done(10, 15))


def test_the_last_commit_counts_where_consumers_call_assign() -> None:
    """Each commits its own position; the same consumer's moves on, and so does that of a group's members."""
    group = msgspec.structs.replace(SPEC.groups[0], assign={"g-1": (P,), "g-2": (P,)})
    spec = msgspec.structs.replace(SPEC, groups=(group,))
    begun = [*OFFSETS, appended(0), watermark(10), committed(5, -1)]
    World(spec).emit(*map(copied, (*begun, committed(4, -1, "g-2"), committed(6, -1), committed(5, -1, "g-2"))))
    World(spec).breaks("G14", *map(copied, (*begun, committed(4, -1))))
    World(spec).breaks("G14", *map(copied, (*begun, committed(4, 1, "g-2"))))
    World(SPEC).breaks("G14", *map(copied, (*begun, committed(4, -1, "g-2"))))


def test_every_invariant_is_broken_by_one_of_these_tests() -> None:
    assert {name for name, _ in BREAKS} | {name for name, _ in MORE} | {"T1", "R6", "R8", "J1", "L2"} == set(SENTENCES)
