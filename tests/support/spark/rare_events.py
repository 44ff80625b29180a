"""A short flight written by hand, of things that seldom happen and must be counted right all the same.

A batch is acknowledged, never read, and lost; another is lost and yet reaches a follower; a leader that was deposed
goes on talking; a coordinator resigns after its successor is at work; an assignment arrives when the next rebalance has
begun; two members hold a partition.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from cluster import events as e
from recordings.journal.format import Settings
from recordings.journal.writer import Recorder, new_header

SECOND_US = 1_000_000
P = "t-0"


def record_rare(path: Path) -> None:
    """Write the flight as a recording; it ends between two seconds."""
    header = new_header("rare", 'title = "What seldom happens"', Settings(seed=0, until_us=13_400_000))
    recorder = Recorder(path, header)
    for seq, (at_s, event) in enumerate(_events(), start=1):
        recorder(msgspec.structs.replace(event, seq=seq, at_us=round(at_s * SECOND_US)))
    recorder.close(turns=0, virtual_us=13_400_000)


def _events() -> Iterator[tuple[float, e.Event]]:
    yield from _beginning()
    yield from _two_rebalances()
    yield from _log()


def _beginning() -> Iterator[tuple[float, e.Event]]:
    yield 0, e.TopicCreated(topic="t", partitions=1, replication_factor=3, min_insync_replicas=1, internal=False)
    yield 0, e.LeaderElected(partition=P, leader=1, leader_epoch=0, replicas=(1, 2, 3), isr=(1, 2), reason="created")
    yield 0, _taken(1, 0, 0)
    yield (
        0,
        e.GroupDeclared(
            group="g",
            topics=("t",),
            assignors=("range",),
            offset_reset="earliest",
            read_committed=False,
            coordinator_partition="c-0",
        ),
    )
    for member in ("a", "b"):
        yield (
            0,
            e.MemberDeclared(
                group="g",
                member=member,
                instance_id="",
                topics=("t",),
                session_timeout_ms=6_000,
                heartbeat_interval_ms=1_000,
                max_poll_interval_ms=10_000,
            ),
        )
        yield 0, e.MemberStarted(group="g", member=member)
    yield 0, e.ProducerDeclared(producer="p-1", topics=("t",), rate_per_second=1.0, transactional_id="")


def _two_rebalances() -> Iterator[tuple[float, e.Event]]:
    yield 0.1, _started(1, 0, "member joined", "a", initial=True)
    yield 0.2, _joined("a")
    yield 0.25, e.GroupUnloaded(group="g", broker=2)  # it was deposed, and learns of it now: nothing changes
    yield 0.3, _completed(1, {"a-id": "a"})
    yield 0.4, _stable(1, {"a-id": (P,)})
    yield 0.5, _started(1, 1, "member joined", "b")
    yield 0.6, _joined("b")
    yield 0.65, e.PartitionsAssigned(group="g", member="a", generation=1, partitions=(P,))  # late
    yield 0.7, e.PositionsReset(group="g", member="a", positions={P: 0}, reason="earliest")
    yield 0.8, _completed(2, {"b-id": "b"})
    yield 0.9, _stable(2, {"b-id": (P,)})
    yield 0.95, e.PartitionsAssigned(group="g", member="b", generation=2, partitions=(P,))  # a holds it as well


def _log() -> Iterator[tuple[float, e.Event]]:
    yield 1, _appended(0, 10, 0)
    yield 1.1, e.HighWatermarkAdvanced(partition=P, offset=10, leader_epoch=0)
    yield 1.4, e.PollReturned(group="g", member="b", records=10, positions={P: 10}, fetches=1)
    yield 1.5, e.OffsetsCommitted(group="g", member="b", generation=2, offsets={P: 10}, session_deadline_us=-1)
    yield 2, _appended(10, 5, 0)
    yield 2.1, e.HighWatermarkAdvanced(partition=P, offset=15, leader_epoch=0)
    yield 2.2, _acknowledged(10, 5)
    yield 3.5, _taken(2, 1, 10)  # the five are not in its log
    yield 3.6, e.HighWatermarkAdvanced(partition=P, offset=15, leader_epoch=0)  # says who was deposed
    yield 3.7, _appended(10, 2, 0)
    yield 4, _taken(1, 0, 20)
    yield 4.5, _appended(10, 3, 1)
    yield 4.6, e.HighWatermarkAdvanced(partition=P, offset=13, leader_epoch=1)
    yield 4.7, _lost(10, 5)  # they are in no log any more, neither at their place nor elsewhere
    yield 4.75, _appended(20, 2, 1)
    yield 4.8, _acknowledged(20, 2)
    yield 4.85, _lost(20, 2)
    yield 4.9, e.RecordsRecovered(**_run(20, 2) | {"broker": 2})  # a follower had them still to come
    yield 6.2, e.MemberStopped(group="g", member="b", how="kill")  # a still holds it, and owns it again
    yield 7, e.PositionsReset(group="g", member="a", positions={P: 4}, reason="committed")
    yield 7.5, e.PartitionsRevoked(group="g", member="a", partitions=(P,), lost=True)
    yield 9, e.RecordsProcessed(group="g", member="a", partition=P, first_offset=0, next_offset=8)
    yield 9, e.RecordsProcessed(group="g", member="a", partition=P, first_offset=4, next_offset=6)
    replaced = {key: value for key, value in _run(10, 2).items() if key != "broker"}
    yield 9.5, e.TruncatedRecordsProcessed(group="g", member="a", **replaced)  # fetched before broker-2 led
    yield 9.5, e.RecordsProcessed(group="g", member="a", partition=P, first_offset=10, next_offset=12)
    yield 11, e.GroupUnloaded(group="g", broker=1)
    yield (
        12,
        e.GroupLoaded(
            group="g",
            broker=3,
            state="Empty",
            generation=3,
            protocol="range",
            leader="",
            members={},
            assignment={},
            session_deadlines_us={},
            offsets={P: 6},
        ),
    )
    yield 13.3, e.OffsetsExpired(group="g", partitions=(P,))
    yield 13.4, e.OffsetsDeleted(group="g", partitions=(P,))


def _taken(broker: int, epoch: int, log_end: int) -> e.Event:
    return e.LeadershipTaken(
        partition=P,
        broker=broker,
        leader_epoch=epoch,
        log_start=0,
        high_watermark=log_end,
        log_end=log_end,
        bytes=0,
    )


def _lost(base: int, records: int) -> e.Event:
    return e.RecordsLost(**_run(base, records))


def _run(base: int, records: int) -> dict[str, Any]:
    return {
        "partition": P,
        "broker": 1,
        "first_offset": base,
        "records": records,
        "leader_epoch": 0,
        "producer": "p-1",
        "first_serial": base,
    }


def _acknowledged(base: int, records: int) -> e.Event:
    return e.BatchAcknowledged(
        producer="p-1",
        partition=P,
        base_offset=base,
        records=records,
        freed_bytes=0,
        latency_us=1,
        duplicate=False,
        first_serial=base,
    )


def _appended(base: int, count: int, epoch: int) -> e.Event:
    return e.RecordsAppended(
        partition=P,
        base_offset=base,
        count=count,
        bytes=count,
        producer="p-1",
        producer_id=1,
        epoch=0,
        base_sequence=base,
        first_serial=base,
        leader_epoch=epoch,
    )


def _started(broker: int, generation: int, cause: str, trigger: str, *, initial: bool = False) -> e.Event:
    return e.RebalanceStarted(
        group="g",
        generation=generation,
        cause=cause,
        trigger=trigger,
        initial=initial,
        closes_at_us=SECOND_US,
        broker=broker,
    )


def _joined(member: str) -> e.Event:
    return e.JoinReceived(
        group="g",
        member=member,
        member_id=f"{member}-id",
        newcomer=True,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=10_000,
    )


def _completed(generation: int, members: dict[str, str]) -> e.Event:
    last = next(iter(members.values()))
    return e.JoinBarrierCompleted(
        group="g",
        generation=generation,
        protocol="range",
        leader=last,
        members=members,
        session_deadlines_us={},
        last_joined=last,
        waited_us=100_000,
    )


def _stable(generation: int, assignment: dict[str, tuple[str, ...]]) -> e.Event:
    return e.GroupStabilized(group="g", generation=generation, assignment=assignment, session_deadlines_us={})
