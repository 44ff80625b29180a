"""`describe records` beside what `kafka-dump-log.sh` of 4.3.1 printed, and decoded records beside the simulated log.

The segments were written by Kafka's own classes (`tests/fidelity/recorder/dumped/Segments.java`).
"""

import json
import re
from typing import Any, cast

import pytest
import trio

from cluster import events as e
from cluster.coordinators.records import (
    CommittedOffset,
    ConsumerGroupEpoch,
    GroupMetadataValue,
    GroupTombstone,
    OffsetTombstone,
    TransactionMetadata,
    TransactionTombstone,
)
from cluster.protocol.record_batch import COMMIT, KeyedRecord
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.state import NEVER, PartitionView, TopicView
from recordings.kafka_tools.coordinator_records import (
    OFFSETS_TOPIC,
    STATUS,
    TRANSACTION_TOPIC,
    Record,
    group_records,
    transactions,
)
from recordings.kafka_tools.leader_logs import LeaderLog
from recordings.kafka_tools.log_dump import dump_log
from recordings.kafka_tools.tool_lines import read_tool_line
from recordings.scenarios.loader import load
from tests.support.repository import ROOT
from tests.support.unpacked_logs import batches_of

SECOND_US = 1_000_000
PRINTED = (ROOT / "tests/fidelity/tools/dump-log-4.3.1.txt").read_text().splitlines()
UNKNOWN = re.compile(r"\b(position|compresscodec|crc|isvalid|valueSize|coordinatorEpoch): \S+")
LONGER = ("read-process-write", "coordinator-failover", "consumer-coordinator-failover", "stuck-last-stable-offset")
RECORD = re.compile(r".* key: (\{.*\}) payload: (\{.*\})")


def as_here(line: str) -> str:
    """A printed line with what a flight does not know as "-"; a key is a number, a control record's value has 6 bytes.

    A batch has the instant of its append instead of that of its newest record, and one record of a batch its own.
    """
    if line.startswith("baseOffset"):
        line = line.replace("CreateTime", "LogAppendTime")
    elif line.startswith("| offset: 1 "):
        line = line.replace("CreateTime: 11", "CreateTime: -")
    unknown = UNKNOWN.sub(r"\1: -", line.replace(" key: k1", " key: 17"))
    return unknown.replace("valueSize: -", "valueSize: 6") if "endTxnMarker" in line else unknown


def appended(at_ms: int, base: int, count: int, **fields: Any) -> e.RecordsAppended:  # noqa: ANN401 - of the event
    known = {"partition": "orders-0", "first_serial": 0, "transactional": False, "marker": "", "epoch": 0}
    known |= {"created_us": at_ms * 1_000, "base_offset": base, "count": count}
    return e.RecordsAppended(at_us=at_ms * 1_000, **{**known, **fields})


def test_batches_records_and_markers_are_printed_as_kafka_does() -> None:
    log = LeaderLog()
    keyed = {"producer": "checkout-1", "producer_id": 7, "leader_epoch": 0, "keys": (17, -1)}
    log.appended(appended(11, 0, 2, bytes=101, base_sequence=0, **keyed))
    of = {"producer": "mover-1", "producer_id": 1_000, "leader_epoch": 1, "transactional": True}
    log.appended(appended(9_120, 2, 1, bytes=77, base_sequence=0, **of))
    log.appended(appended(9_125, 3, 1, bytes=78, base_sequence=-1, marker=COMMIT, **of))
    view = ClusterView()
    view.topics["orders"] = TopicView("orders", 1, 3, 1, internal=False)
    view.partitions["orders-0"] = PartitionView("orders-0", "orders", 0)
    line = read_tool_line("kafka-dump-log.sh --print-data-log --topic orders --partition 0")
    said = dump_log(view, {"orders-0": log}.__getitem__, line).out.splitlines()
    real = [as_here(one) for one in PRINTED[1 : PRINTED.index("Dumping __consumer_offsets-0/00000000000000000000.log")]]
    assert said[1:] == real


def shape(value: object) -> object:
    """The names of an object's fields in their order, without values; lists by their first element."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


def shapes(records: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, tuple[str, str]]:
    """Kind of key → the shapes of the newest key and value of that kind."""
    return {key["type"]: (json.dumps(shape(key["data"])), json.dumps(shape(value["data"]))) for key, value in records}


# --- decoded records beside the log of the simulated coordinator ----------------------------------------------------


def loaded(simulation: Simulation, partition: str) -> dict[tuple[str, ...], object]:
    """The newest committed record of each key in the leader's log, as a new coordinator would load it."""
    replica = simulation.brokers[simulation.view.partitions[partition].taken_by].replicas[partition]
    found: dict[tuple[str, ...], object] = {}
    waiting: dict[int, list[KeyedRecord]] = {}
    for batch in batches_of(replica.log):
        if batch.next_offset > replica.high_watermark:
            break
        if batch.marker:
            decided = waiting.pop(batch.producer_id, [])
            found |= {one.compaction_key: one for one in decided if batch.marker == COMMIT}
        for record in cast("tuple[KeyedRecord, ...]", batch.payload):
            if isinstance(record, OffsetTombstone):
                found.pop((record.group, record.partition), None)
            elif isinstance(record, GroupTombstone):
                found.pop((record.group,), None)
            elif isinstance(record, TransactionTombstone):
                found.pop((record.transactional_id,), None)
            elif record.decided_by >= 0:
                waiting.setdefault(record.decided_by, []).append(record)
            else:
                found[record.compaction_key] = record
    return found


def wrong_records(simulation: Simulation) -> tuple[int, list[str]]:
    """How many decoded records there are, and those that the log does not have so."""
    view, count, wrong = simulation.view, 0, list[str]()
    for topic, read in ((OFFSETS_TOPIC, group_records), (TRANSACTION_TOPIC, transactions)):
        for name in view.partitions_by_topic.get(topic, ()):
            if view.partitions[name].taken_by == NEVER:
                continue
            known = loaded(simulation, name)
            told = list(read(view, name))
            count += len(told)
            wrong += [f"{name}: {record}" for record in told if not holds(record, known)]
            offsets = {key for key, one in known.items() if isinstance(one, CommittedOffset)}
            said = {(key["group"], f"{key['topic']}-{key['partition']}") for kind, key, _ in told if kind == "1"}
            wrong += [f"{name}: {offsets} are in the log, not {said}"] if offsets != said else []
    return count, wrong


def holds(record: Record, known: dict[tuple[str, ...], object]) -> bool:
    """Whether the log has a decoded record."""
    kind, key, value = record
    match kind:
        case "1":
            offset = known.get((key["group"], f"{key['topic']}-{key['partition']}"))
            return isinstance(offset, CommittedOffset) and offset.offset == value["offset"]
        case "2":
            return of_group(known.get((key["group"],)), value)
        case "3":
            epoch = known.get((key["groupId"], ConsumerGroupEpoch.KEY))
            return isinstance(epoch, ConsumerGroupEpoch) and epoch.epoch == value["epoch"]
        case _:
            return of_transaction(known.get((key["transactionalId"],)), value)


def of_group(stored: object, value: dict[str, Any]) -> bool:
    """A generation and its members."""
    if not isinstance(stored, GroupMetadataValue):
        return False
    said = {
        one["memberId"]: (
            one["groupInstanceId"], one["clientId"], one["rebalanceTimeout"], one["sessionTimeout"],
            one["subscription"]["topics"],
            {f"{at['topic']}-{place}" for at in one["assignment"]["assignedPartitions"] for place in at["partitions"]},
        )
        for one in value["members"]
    }  # fmt: skip
    truth = {
        one.member_id: (
            one.instance_id, one.client_id, one.rebalance_timeout_ms, one.session_timeout_ms,
            sorted(one.metadata.topics), set(one.assignment),
        )
        for one in stored.members
    }  # fmt: skip
    group = value["generation"], value["protocol"] or "", value["leader"] or "", said
    return group == (stored.generation, stored.protocol if stored.members else "", stored.leader or "", truth)


def of_transaction(stored: object, value: dict[str, Any]) -> bool:
    """A transactional id."""
    if not isinstance(stored, TransactionMetadata):
        return False
    places = {
        f"{one['topic']}-{number}" for one in value["transactionPartitions"] or () for number in one["partitionIds"]
    }
    said = (
        value["producerId"],
        value["producerEpoch"],
        value["transactionTimeoutMs"],
        value["transactionStatus"],
        places,
    )
    start = value["transactionStartTimestampMs"]
    started = start == "-" or start == (stored.start_us // 1_000 if stored.start_us >= 0 else -1)
    truth = stored.producer_id, stored.epoch, stored.timeout_ms, STATUS[stored.state], set(stored.partitions)
    return said == truth and started


def decoded_in(spec: ScenarioSpec, every_s: int, until_s: int, *, spoilt: bool = False) -> tuple[int, list[str]]:
    """Fly, and compare at many instants; with `spoilt` the view has committed offsets that are one too high."""
    count, wrong = 0, list[str]()
    simulation = Simulation(spec, spec.seed, sinks=[])

    async def main() -> None:
        nonlocal count
        async with simulation.running():
            for now_us in range(0, min(spec.until_us, until_s * SECOND_US) + 1, every_s * SECOND_US):
                await simulation.timeline.fly(now_us)
                readers = [one for group in simulation.view.groups.values() for one in group.readers.values()]
                for reader in readers if spoilt else ():
                    reader.committed += 1
                some, false = wrong_records(simulation)
                count += some
                wrong.extend(f"{now_us / SECOND_US} s {one}" for one in false)

    trio.run(main, clock=simulation.timeline)
    return count, wrong


@pytest.mark.parametrize(("name", "until_s"), [("transaction-step-by-step", 60), ("coordinator-failover", 40)])
def test_decoded_records_are_those_of_the_log(name: str, until_s: int) -> None:
    count, wrong = decoded_in(load(name).spec, 3, until_s)
    assert not wrong
    assert count > 20


@pytest.mark.campaign
@pytest.mark.parametrize("name", LONGER)
def test_decoded_records_of_longer_flights(name: str) -> None:
    assert not decoded_in(load(name).spec, 2, 300)[1]


def test_decoded_records_have_the_shape_of_kafkas() -> None:
    real = [(json.loads(found[1]), json.loads(found[2])) for line in PRINTED if (found := RECORD.fullmatch(line))]
    seen: list[Record] = []
    simulation = Simulation(load("transaction-step-by-step").spec, 7, sinks=[])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(12 * SECOND_US)
            for name in simulation.view.partitions_by_topic[OFFSETS_TOPIC]:
                seen.extend(group_records(simulation.view, name))
            for name in simulation.view.partitions_by_topic[TRANSACTION_TOPIC]:
                seen.extend(transactions(simulation.view, name))

    trio.run(main, clock=simulation.timeline)
    own = shapes([({"type": kind, "data": key}, {"data": value}) for kind, key, value in seen])
    kafkas = shapes([pair for pair in real if pair[1]["data"].get("transactionPartitions", True)])
    assert own.keys() == {"0", "1", "2"}
    assert {kind: kafkas[kind] for kind in own} == own
