"""Each invariant, told events that break it, and the neighbours of those events that are legal."""

import msgspec
import pytest
from msgspec.structs import force_setattr

from cluster import events as e
from cluster.invariants import SENTENCES, Invariants, InvariantViolated
from cluster.invariants.replicas import Look
from cluster.invariants.sentences import NEED_LOGS
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec, TransactionsSpec
from cluster.view import ClusterView, fold

P = "orders-0"
SPEC = ScenarioSpec(
    title="told",
    topics=(TopicSpec("orders"),),
    producers=(ProducerSpec("p", ("orders",), transactions=TransactionsSpec("t-{n}")),),
    groups=(GroupSpec("g", ("orders",), members=2, config={"isolation.level": "read_committed"}),),
)

VERSION_1 = msgspec.structs.replace(SPEC, config={"transaction.version": 1})


class World:
    """A view and the invariants of it, told one event at a time; broker 1 leads orders-0 of brokers 1, 2 and 3."""

    def __init__(self, spec: ScenarioSpec = SPEC, look: Look | None = None) -> None:
        self.view = ClusterView()
        self.invariants = Invariants(spec, self.view, look)
        self.tell(
            e.TopicCreated(topic="orders", partitions=1, replication_factor=3, min_insync_replicas=1, internal=False)
        )
        for broker in (1, 2, 3):
            self.tell(e.BrokerStarted(broker=broker, rack=""), e.BrokerUnfenced(broker=broker, broker_epoch=1))
        topics, names = ("orders",), ("range",)
        self.tell(
            e.GroupDeclared(
                group="g", topics=topics, assignors=names, offset_reset="earliest", read_committed=True,
                coordinator_partition="__consumer_offsets-0",
            ),
            e.ProducerDeclared(producer="p-1", topics=topics, rate_per_second=1.0, transactional_id="t-1"),
        )  # fmt: skip
        for member in ("g-1", "g-2"):
            self.tell(
                e.MemberDeclared(
                    group="g", member=member, instance_id="", topics=topics, session_timeout_ms=1,
                    heartbeat_interval_ms=1, max_poll_interval_ms=1,
                ),
                e.MemberStarted(group="g", member=member),
            )  # fmt: skip
        self.tell(elected(1, 0), taken(1, 0, 0))
        self.tell(
            e.TopicCreated(
                topic="__transaction_state", partitions=1, replication_factor=1, min_insync_replicas=1, internal=True
            ),
            coordinates(1, 0),
        )

    def tell(self, *events: e.Event) -> None:
        for event in events:
            force_setattr(event, "seq", self.view.seq + 1)
            fold(self.view, event)
            self.invariants(event)

    def breaks(self, invariant: str, *events: e.Event) -> None:
        """The last of these events is what breaks it."""
        self.tell(*events[:-1])
        with pytest.raises(InvariantViolated) as caught:
            self.tell(events[-1])
        violation = caught.value.violation
        assert (violation.invariant, violation.seq) == (invariant, self.view.seq)
        assert SENTENCES[invariant].words in str(violation)


def elected(leader: int, epoch: int, isr: tuple[int, ...] = (1, 2, 3), reason: str = "broker fenced") -> e.Event:
    return e.LeaderElected(partition=P, leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr, reason=reason)


def coordinates(broker: int, epoch: int) -> e.Event:
    """Who keeps transactions."""
    return e.LeaderElected(
        partition="__transaction_state-0",
        leader=broker,
        leader_epoch=epoch,
        replicas=(1, 2),
        isr=(1, 2),
        reason="moved",
    )


def taken(broker: int, epoch: int, end: int, *, start: int = 0, watermark: int | None = None) -> e.Event:
    return e.LeadershipTaken(
        partition=P, broker=broker, leader_epoch=epoch, log_start=start,
        high_watermark=end if watermark is None else watermark, log_end=end, bytes=0,
    )  # fmt: skip


def appended(
    base: int, count: int = 10, *, epoch: int = 0, sequence: int = -1, pid: int = -1, producer_epoch: int = 0,
    transactional: bool = False, marker: str = "",
) -> e.Event:  # fmt: skip
    return e.RecordsAppended(
        partition=P, base_offset=base, count=count, bytes=1, producer="p-1", producer_id=pid, epoch=producer_epoch,
        base_sequence=sequence, first_serial=base, leader_epoch=epoch, transactional=transactional, marker=marker,
    )  # fmt: skip


def watermark(offset: int, epoch: int = 0) -> e.Event:
    return e.HighWatermarkAdvanced(partition=P, leader_epoch=epoch, offset=offset)


def acknowledged(base: int, records: int = 10) -> e.Event:
    return e.BatchAcknowledged(
        producer="p-1", partition=P, base_offset=base, records=records, freed_bytes=0, latency_us=1, duplicate=False,
        first_serial=base,
    )  # fmt: skip


def lost(first: int, records: int) -> e.Event:
    return e.RecordsLost(
        partition=P, broker=1, first_offset=first, records=records, leader_epoch=0, producer="p-1", first_serial=first
    )


def truncated(broker: int, offset: int, end: int, reason: str = "diverged") -> e.Event:
    return e.LogTruncated(partition=P, broker=broker, offset=offset, log_end=end, reason=reason)


def transaction(state: str, *, pid: int = 7, epoch: int = 0) -> e.Event:
    return e.TransactionStateChanged(
        transactional_id="t-1", broker=1, state=state, producer_id=pid, epoch=epoch + (state != "Ongoing"),
        timeout_ms=1, start_us=0, partitions=(P,),
    )  # fmt: skip


def in_transaction(base: int, sequence: int, epoch: int = 0) -> e.Event:
    return appended(base, sequence=sequence, pid=7, producer_epoch=epoch, transactional=True)


def marker(base: int, kind: str, epoch: int = 0) -> e.Event:
    return appended(base, 1, pid=7, producer_epoch=epoch, transactional=True, marker=kind)


def barrier(generation: int, *members: str) -> e.Event:
    return e.JoinBarrierCompleted(
        group="g", generation=generation, protocol="range", leader="g-1",
        members={f"{name}-id": name for name in members}, session_deadlines_us={}, last_joined="", waited_us=0,
    )  # fmt: skip


def stable(generation: int, **assignment: tuple[str, ...]) -> list[e.Event]:
    joining = [
        e.MemberStateChanged(
            group="g", member=f"g-{name[1:]}", member_id=f"g-{name[1:]}-id", generation=generation, state="Stable",
            reason="",
        )
        for name in assignment
    ]  # fmt: skip
    dealt = {f"g-{name[1:]}-id": partitions for name, partitions in assignment.items()}
    return [
        e.RebalanceStarted(
            group="g", generation=generation - 1, cause="member joined", trigger="", initial=False, closes_at_us=1,
            broker=1,
        ),
        barrier(generation, *(f"g-{name[1:]}" for name in assignment)),
        *joining,
        e.GroupStabilized(group="g", generation=generation, assignment=dealt, session_deadlines_us={}),
    ]  # fmt: skip


def given(member: str, generation: int = 1) -> e.Event:
    return e.PartitionsAssigned(group="g", member=member, generation=generation, partitions=(P,))


def committed(offset: int, generation: int = 1, member: str = "g-1") -> e.Event:
    return e.OffsetsCommitted(
        group="g", member=member, generation=generation, offsets={P: offset}, session_deadline_us=-1,
        member_id=f"{member}-id",
    )  # fmt: skip


def polled(position: int) -> list[e.Event]:
    return [
        e.PositionsReset(group="g", member="g-1", positions={P: 0}, reason="earliest"),
        e.PollReturned(group="g", member="g-1", records=1, positions={P: position}, fetches=1),
    ]


def loaded(*partitions: str) -> e.Event:
    return e.GroupLoaded(
        group="g", broker=2, state="Stable", generation=1, protocol="range", leader="g-1", members={}, assignment={},
        session_deadlines_us={}, offsets=dict.fromkeys(partitions, 0),
    )  # fmt: skip


def beat(at_us: int, deadline_us: int = 1) -> e.Event:
    return e.HeartbeatAnswered(
        group="g", member="g-1", member_id="g-1-id", error="NONE", session_deadline_us=deadline_us, at_us=at_us
    )


def removed(at_us: int, reason: str = "session expired") -> e.Event:
    return e.MemberRemoved(group="g", member="g-1", member_id="g-1-id", reason=reason, at_us=at_us)


def counted(offset: int = 0) -> e.Event:
    return e.OffsetsCommitted(group="g", member="", generation=-1, offsets={P: offset}, session_deadline_us=-1)


def offsets_marker(kind: str) -> list[e.Event]:
    partition = "__consumer_offsets-0"
    return [
        e.LeaderElected(partition=partition, leader=1, leader_epoch=0, replicas=(1,), isr=(1,), reason="created"),
        e.LeadershipTaken(
            partition=partition, broker=1, leader_epoch=0, log_start=0, high_watermark=0, log_end=0, bytes=0
        ),
        e.RecordsAppended(
            partition=partition, base_offset=0, count=1, bytes=78, producer="", producer_id=9, epoch=0,
            base_sequence=-1, first_serial=-1, leader_epoch=0, transactional=True, marker=kind,
        ),
    ]  # fmt: skip


ALONE = [  # of two that are needed
    e.TopicCreated(
        topic="__consumer_offsets", partitions=1, replication_factor=1, min_insync_replicas=1, internal=True
    ),
    e.TopicCreated(topic="orders", partitions=1, replication_factor=3, min_insync_replicas=2, internal=False),
    appended(0),
    e.IsrChanged(partition=P, isr=(1,), reason="shrink"),
]


def late_watermark(at_us: int) -> e.Event:
    return e.HighWatermarkAdvanced(partition=P, leader_epoch=0, offset=10, at_us=at_us)


FENCED = e.BrokerFenced


DIVERGED = [
    appended(0, sequence=0, pid=7), elected(2, 1), taken(2, 1, 0), appended(0, epoch=1, sequence=0, pid=7),
]  # fmt: skip
"""Broker-2 leads without the records that broker-3 may still have (seed 14928)."""

CRASHED = [
    appended(0, sequence=0, pid=7), watermark(10), truncated(1, 0, 10, "crash"), elected(1, 1), taken(1, 1, 0),
    appended(0, epoch=1, sequence=0, pid=7, producer_epoch=1),
]  # fmt: skip
"""The leader's host took its log, and it leads on with nothing (seed 11123)."""


BREAKS: list[tuple[str, list[e.Event]]] = [
    ("R1", [elected(2, 1), taken(3, 1, 0)]),
    ("R2", [elected(2, 1), elected(3, 1)]),
    ("R3", [elected(1, 1, isr=(2, 3))]),
    ("R3", [elected(1, 1, isr=(1, 4))]),
    ("R3", [FENCED(broker=2, reason="session expired"), elected(1, 1)]),
    ("R3", [e.IsrChanged(partition=P, isr=(), reason="shrink")]),
    ("R4", [appended(0), watermark(10), watermark(9)]),
    ("R4", [appended(0), watermark(10), elected(2, 1), taken(2, 1, 10), elected(1, 2), taken(1, 2, 10, watermark=9)]),
    ("R5", [appended(0), watermark(10), elected(2, 1), taken(2, 1, 9)]),
    ("R5", [appended(0), watermark(10), truncated(1, 5, 10, "crash"), elected(2, 1), taken(2, 1, 9)]),
    ("R13", [*ALONE, late_watermark(4_000_000)]),
    ("R9", [appended(0), watermark(10), truncated(2, 9, 10)]),
    ("R9", [appended(0), watermark(5), e.IsrChanged(partition=P, isr=(1, 3), reason="shrink"), watermark(10),
            truncated(2, 4, 6)]),
    ("R10", [appended(0), watermark(10), acknowledged(0), lost(5, 1)]),
    ("R10", [appended(0), watermark(10), lost(5, 1), acknowledged(0)]),
    ("R11", [appended(0), watermark(10), *polled(11)]),
    ("A1", [appended(0), watermark(9), acknowledged(0)]),
    ("L1", [appended(0), appended(11)]),
    ("L1", [appended(0), appended(5)]),
    ("L1", [appended(0), watermark(11)]),
    ("L1", [appended(0), watermark(5), e.LogStartAdvanced(
        partition=P, broker=1, leader_epoch=0, log_start=6, bytes=0, reason="retention")]),
    ("P1", [appended(0, sequence=0, pid=7), appended(10, sequence=0, pid=7)]),
    ("P1", [appended(0, sequence=0, pid=7), appended(10, sequence=11, pid=7)]),
    ("P1", [appended(0, sequence=0, pid=7), appended(10, sequence=10, pid=7, producer_epoch=1)]),
    ("P1", [appended(0, sequence=0, pid=7), elected(2, 1), taken(2, 1, 10, watermark=0),
            appended(10, epoch=1, sequence=0, pid=7)]),
    ("P1", [*DIVERGED, watermark(10, 1), elected(3, 2), taken(3, 2, 10), appended(10, epoch=2, sequence=0, pid=7)]),
    ("P1", [*DIVERGED, elected(3, 2), taken(3, 2, 0), appended(0, epoch=2, sequence=0, pid=7),
            appended(10, epoch=2, sequence=0, pid=7)]),
    ("P1", [*DIVERGED, elected(3, 2), taken(3, 2, 10, watermark=0), appended(10, epoch=2, sequence=10, pid=7),
            appended(20, epoch=2, sequence=10, pid=7)]),
    ("P1", [*CRASHED, watermark(10, 1), appended(10, epoch=1, sequence=10, pid=7, producer_epoch=1), elected(3, 2),
            taken(3, 2, 20, watermark=10), appended(20, epoch=2, sequence=10, pid=7, producer_epoch=1)]),
    ("P2", [appended(0, sequence=0, pid=7, producer_epoch=1), appended(10, sequence=10, pid=7)]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), marker(10, "ABORT")]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), transaction("CompleteCommit")]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), marker(10, "ABORT", 2)]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit"), coordinates(2, 1),
            marker(10, "ABORT", 1)]),
    ("T2", [transaction("Ongoing"), in_transaction(0, 0), coordinates(2, 1), transaction("PrepareCommit"),
            marker(10, "ABORT", 2)]),
    ("T3", [in_transaction(0, 0), watermark(10), *polled(1)]),
    ("T3", [transaction("PrepareAbort"), in_transaction(0, 0), marker(10, "ABORT"), watermark(11), *polled(11),
            e.RecordsProcessed(group="g", member="g-1", partition=P, first_offset=0, next_offset=2)]),
    ("T5", [*ALONE[:1], *offsets_marker("ABORT"), counted()]),
    ("T5", [*ALONE[:1], *offsets_marker("COMMIT"), counted(), counted()]),
    ("T4", [transaction("Ongoing"), in_transaction(0, 0), marker(10, "COMMIT")]),
    ("T4", [transaction("Ongoing", epoch=3), transaction("PrepareAbort", epoch=2)]),
    ("G1", stable(1, g1=(P,), g2=(P,))),
    ("G2", [*stable(1, g1=(P,), g2=()), given("g-1"), given("g-2")]),
    ("G3", [barrier(2, "g-1")]),
    ("G6", [*stable(1, g1=(P,)), *stable(2, g1=(P,)), committed(0, 1)]),
    ("G6", [*stable(1, g1=(P,)), committed(0, 1, "g-2")]),
    ("G7", [*stable(1, g1=(P,)), committed(1)]),
    ("G9", [*stable(1, g1=(P,)), beat(5_000), removed(5_900)]),
    ("G10", [*stable(1, g1=(P,)), committed(0), loaded()]),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "events"), BREAKS, ids=[f"{each[0]}-{n}" for n, each in enumerate(BREAKS)])
def test_an_invariant_is_broken_by_what_breaks_it(invariant: str, events: list[e.Event]) -> None:
    World().breaks(invariant, *(_again(event) for event in events))


def _again(event: e.Event) -> e.Event:
    """A copy that was not told before."""
    return type(event)(**{field: getattr(event, field) for field in event.__struct_fields__})


def test_only_a_replica_that_was_cut_or_started_anew_may_forget_deleted_producers() -> None:
    """A follower that lived through the deletion remembers; who reads its disk knows what is left there."""
    deleted = [appended(0, sequence=0, pid=7), watermark(10), elected(2, 1), taken(2, 1, 10, start=10)]
    World().breaks("P1", *(_again(event) for event in [*deleted, appended(10, epoch=1, sequence=0, pid=7)]))
    world = World()
    again = e.BrokerStarted(broker=2, rack="")
    force_setattr(again, "at_us", 1)
    world.tell(again)
    world.tell(*deleted, appended(10, epoch=1, sequence=0, pid=7))


def test_a_last_stable_offset_that_falls_is_noticed() -> None:
    world = World()
    world.tell(in_transaction(0, 0), watermark(5))
    partition = world.view.partitions[P]
    assert partition.transactions is not None
    world.tell(transaction("PrepareCommit"), marker(10, "COMMIT"), watermark(11))
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
    [*ALONE, late_watermark(2_000_000)],
    [*ALONE, e.FaultStarted(fault=1, text="cut broker-1 broker-2", ends_at_us=-1), late_watermark(4_000_000)],
    [*ALONE, e.FaultStarted(fault=1, text="cut broker-1 broker-2", ends_at_us=-1),
     e.FaultEnded(fault=1, at_us=3_000_000), late_watermark(4_000_000)],
    [*ALONE, e.IsrChanged(partition=P, isr=(1, 2), reason="expand"), late_watermark(4_000_000)],
    [*ALONE[:1], *offsets_marker("COMMIT"), counted()],
    [*stable(1, g1=(P,)), beat(5_000), removed(6_000)],
    [*stable(1, g1=(P,)), beat(5_000, deadline_us=-1), removed(5_900)],
    [*stable(1, g1=(P,)), beat(5_000), removed(5_900, "member left")],
    [*stable(1, g1=(P,)), committed(0), loaded(P)],
    [*stable(1, g1=(P,)), loaded(P), loaded()],
    [*stable(1, g1=(P,)), committed(0), e.OffsetsExpired(group="g", partitions=(P,)), loaded()],
    [appended(0), watermark(10), elected(2, 1), taken(2, 1, 10), truncated(1, 4, 10, "crash"), elected(1, 2),
     taken(1, 2, 4)],
]  # fmt: skip


@pytest.mark.parametrize("events", LEGAL)
def test_what_kafka_allows_breaks_nothing(events: list[e.Event]) -> None:
    World().tell(*(_again(event) for event in events))


def test_a_deposed_coordinator_under_version_1_ends_only_what_was_not_decided_before() -> None:
    told = [transaction("Ongoing"), in_transaction(0, 0), transaction("PrepareCommit")]
    World(VERSION_1).breaks("T2", *(_again(event) for event in told), coordinates(2, 1), marker(10, "ABORT", 1))
    next_one = [marker(10, "COMMIT", 1), coordinates(2, 1), in_transaction(11, 10, 1), marker(21, "ABORT", 1)]
    World(VERSION_1).tell(*(_again(event) for event in told), *next_one)


def test_producers_without_acks_all_are_promised_nothing() -> None:
    careless = ScenarioSpec(title="x", producers=(ProducerSpec("p", ("orders",), config={"acks": "1"}),))
    world = World(careless)
    world.tell(appended(0), watermark(5), acknowledged(0), lost(5, 5))
    assert "R10" not in world.invariants.in_force
    assert "T3" not in world.invariants.in_force
    assert set(World().invariants.in_force) == set(SENTENCES) - set(NEED_LOGS)
    assert set(World(look=lambda *_: None).invariants.in_force) == set(SENTENCES)
