"""A view with its invariants, and the events that these tests feed it: each made by hand."""

import msgspec
import pytest
from msgspec.structs import force_setattr

from cluster import events as e
from cluster.invariants import SENTENCES, Invariants, InvariantViolated
from cluster.invariants.replicas import LogLookup
from cluster.spec import AutoscalerSpec, GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec, TransactionsSpec
from cluster.storage.partition_log import PartitionLog
from cluster.view import ClusterView, fold

P = "orders-0"
SPEC = ScenarioSpec(
    title="told",
    topics=(TopicSpec("orders", config={"cleanup.policy": ("compact", "delete")}),),
    producers=(ProducerSpec("p", ("orders",), transactions=TransactionsSpec("t-{n}")),),
    groups=(
        GroupSpec(
            "g",
            ("orders",),
            members=2,
            config={"isolation.level": "read_committed"},
            autoscaler=AutoscalerSpec(100, least=2, most=4),
        ),
        GroupSpec("c", ("orders",), config={"group.protocol": "consumer"}),
    ),
)
VERSION_1 = msgspec.structs.replace(SPEC, config={"transaction.version": 1})


class World:
    """A view and the invariants of it, told one event at a time; broker 1 leads orders-0 of brokers 1, 2 and 3."""

    def __init__(self, spec: ScenarioSpec = SPEC, log_of: LogLookup | None = None) -> None:
        self.view = ClusterView()
        self.invariants = Invariants(spec, self.view, log_of)
        self.emit(
            e.TopicCreated(topic="orders", partitions=1, replication_factor=3, min_insync_replicas=1, internal=False)
        )
        for broker in (1, 2, 3):
            self.emit(e.BrokerStarted(broker=broker, rack=""), e.BrokerUnfenced(broker=broker, broker_epoch=1))
        topics, names = ("orders",), ("range",)
        self.emit(
            e.GroupDeclared(
                group="g", topics=topics, assignors=names, offset_reset="earliest", read_committed=True,
                coordinator_partition="__consumer_offsets-0",
            ),
            e.ProducerDeclared(producer="p-1", topics=topics, rate_per_second=1.0, transactional_id="t-1"),
        )  # fmt: skip
        for member in ("g-1", "g-2"):
            self.emit(
                e.MemberDeclared(
                    group="g", member=member, instance_id="", topics=topics, session_timeout_ms=1,
                    heartbeat_interval_ms=1, max_poll_interval_ms=1,
                ),
                e.MemberStarted(group="g", member=member),
            )  # fmt: skip
        self.emit(elected(1, 0), taken(1, 0, 0))
        self.emit(
            e.TopicCreated(
                topic="__transaction_state", partitions=1, replication_factor=1, min_insync_replicas=1, internal=True
            ),
            coordinates(1, 0),
        )

    def emit(self, *events: e.Event) -> None:
        for event in events:
            force_setattr(event, "seq", self.view.seq + 1)
            fold(self.view, event)
            self.invariants(event)

    def breaks(self, invariant: str, *events: e.Event) -> None:
        """The last of these events is what breaks it."""
        self.emit(*events[:-1])
        with pytest.raises(InvariantViolated) as caught:
            self.emit(events[-1])
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


def lengthened(session_ms: int) -> e.Event:
    return e.SettingChanged(
        scope="g", key="session.timeout.ms", value=str(session_ms), before="1", processes=("g-1",), effect="now"
    )


def rejoined(session_ms: int) -> e.Event:
    return e.JoinReceived(
        group="g", member="g-1", member_id="g-1-id", newcomer=False, session_timeout_ms=session_ms,
        rebalance_timeout_ms=1,
    )  # fmt: skip


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


def copied(event: e.Event) -> e.Event:
    """A copy that was not told before."""
    return type(event)(**{field: getattr(event, field) for field in event.__struct_fields__})


def world_of(**logs: PartitionLog) -> World:
    known = {int(name[1:]): log for name, log in logs.items()}
    return World(log_of=lambda broker, partition: known.get(broker) if partition == P else None)


def epoch_bumped(epoch: int) -> e.Event:
    return e.ConsumerGroupEpochBumped(group="g", epoch=epoch, cause="member joined", broker=1, metadata_hash=0)


def targeted(
    member: str, epoch: int, assigned: tuple[str, ...] = (), pending: tuple[str, ...] = ()
) -> list[e.Event]:  # fmt: skip
    """The coordinator moves a member of the new protocol towards its target, and the client is RECONCILING."""
    return [
        e.ConsumerMemberSubscribed(
            group="g", member=member, member_id=f"{member}-id", instance_id="", epoch=epoch, topics=("orders",),
            topic_regex="", assignor="", rebalance_timeout_ms=1,
        ),
        e.MemberStateChanged(
            group="g", member=member, member_id=f"{member}-id", generation=epoch, state="RECONCILING", reason=""
        ),
        e.MemberAssignmentChanged(
            group="g", member=member, member_id=f"{member}-id", state="STABLE", epoch=epoch, previous_epoch=0,
            assigned=assigned, pending_revocation=pending,
        ),
    ]  # fmt: skip


def gives_up(member: str) -> list[e.Event]:
    """It gives its partition up, and acknowledges that."""
    return [
        e.PartitionsRevoked(group="g", member=member, partitions=(P,), lost=False),
        e.MemberStateChanged(
            group="g", member=member, member_id=f"{member}-id", generation=1, state="ACKNOWLEDGING", reason=""
        ),
    ]
