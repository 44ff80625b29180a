"""What `__consumer_offsets` and `__transaction_state` hold, as `kafka-dump-log.sh` decodes it: JSON, a line a record.

Printed is what a new coordinator would load: the newest committed record of each key. No event tells at which offset it
stands. What no event tells stands as "-". Source: `DumpLogSegments.CoordinatorRecordMessageParser`,
`GroupCoordinatorRecordHelpers`, `TransactionLog.valueToBytes`; `…Value.json` has the fields and their order.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from cluster.protocol.names import TopicPartition, coordinator_partition
from cluster.view.document import partition_order
from cluster.view.state import NEVER, ClusterView, GroupView
from cluster.view.transactions import TransactionView
from recordings.kafka_tools.printed import MISSING, Printed
from recordings.kafka_tools.tool_lines import ToolLine

OFFSETS_TOPIC, TRANSACTION_TOPIC = "__consumer_offsets", "__transaction_state"
DECODERS: Final = {"offsets-decoder": OFFSETS_TOPIC, "transaction-log-decoder": TRANSACTION_TOPIC}
"""Option → the topic that it decodes."""

TRANSACTION, OFFSET_COMMIT, GROUP_METADATA, GROUP_EPOCH = "0", "1", "2", "3"
"""Kinds of keys: the `apiKey` of TransactionLogKey, OffsetCommitKey, GroupMetadataKey, ConsumerGroupMetadataKey."""
VERSIONS: Final = {TRANSACTION: "1", OFFSET_COMMIT: "4", GROUP_METADATA: "3", GROUP_EPOCH: "0"}
"""The version of the value that 4.3.1 writes; of transactions under `transaction.version` 2."""
STATUS: Final = {
    "Empty": 0, "Ongoing": 1, "PrepareCommit": 2, "PrepareAbort": 3, "CompleteCommit": 4, "CompleteAbort": 5,
}  # fmt: skip
"""`TransactionState.id`."""
MS: Final = 1_000

Json = dict[str, Any]
Record = tuple[str, Json, Json]
"""A kind of key, the key's fields, the value's fields."""


def decoder_of(line: ToolLine) -> str:
    """The decoder that a line asks for; "" for none."""
    return next((option for option in DECODERS if line.has(option)), "")


def decoded(view: ClusterView, partition: str, line: ToolLine) -> Printed:
    """The records of a partition. Raises CommandError where the decoder is one of another topic."""
    decoder = decoder_of(line)
    place = view.partitions[partition]
    if place.topic != DECODERS[decoder]:
        raise line.wrong(f"--{decoder} decodes {DECODERS[decoder]}, and not {place.topic}", decoder)
    records = _READERS[decoder](view, partition)
    lines = [f"Dumping {partition}", *(_line(*record) for record in records)]
    return Printed("".join(f"{one}\n" for one in lines))


def _line(kind: str, key: Json, value: Json) -> str:
    """As with `--skip-record-metadata`. Source: `prepareKey`, `prepareValue`, `printRecordContents`."""
    text = [json.dumps(one, separators=(",", ":")) for one in
            ({"type": kind, "data": key}, {"version": VERSIONS[kind], "data": value})]  # fmt: skip
    return f"| key: {text[0]} payload: {text[1]}"


def transactions(view: ClusterView, partition: str) -> Iterator[Record]:
    """The transactional ids of a partition of `__transaction_state`."""
    partitions = view.topics[TRANSACTION_TOPIC].partitions
    for name, one in sorted(view.transactions.items()):
        if one.state in STATUS and f"{TRANSACTION_TOPIC}-{coordinator_partition(name, partitions)}" == partition:
            yield TRANSACTION, {"transactionalId": name}, _transaction(one)


def _transaction(one: TransactionView) -> Json:
    under_way = one.start_us != NEVER
    known = None if one.state == "Empty" else _by_topic(one.partitions, "partitionIds") if under_way else []
    start: int | str = one.start_us // MS if under_way else -1 if one.state == "Empty" else MISSING
    return {
        "producerId": one.producer_id,
        "producerEpoch": one.epoch,
        "transactionTimeoutMs": one.timeout_ms,
        "transactionStatus": STATUS[one.state],
        "transactionPartitions": known,
        "transactionLastUpdateTimestampMs": MISSING,
        "transactionStartTimestampMs": start,
        "clientTransactionVersion": MISSING,
    }


def _by_topic(partitions: tuple[str, ...], field: str) -> list[Json]:
    """`[{"topic": …, "partitions": [0, 1]}]`."""
    found: dict[str, list[int]] = {}
    for name in sorted(partitions, key=partition_order):
        topic, number = TopicPartition.parse(name)
        found.setdefault(topic, []).append(number)
    return [{"topic": topic, field: numbers} for topic, numbers in found.items()]


def group_records(view: ClusterView, partition: str) -> Iterator[Record]:
    """The committed offsets of a partition's groups, and the last generation of those that do not rebalance."""
    for name, group in sorted(view.groups.items()):
        if group.coordinator_partition != partition or group.state == "Dead":
            continue
        if group.consumer is not None and group.consumer.group_epoch:
            yield GROUP_EPOCH, {"groupId": name}, {"epoch": group.consumer.group_epoch, "metadataHash": MISSING}
        elif group.consumer is None and group.generation and group.state in {"Stable", "Empty"}:
            yield GROUP_METADATA, {"group": name}, _generation(view, group)
        for place in sorted(group.readers, key=partition_order):
            offset = group.readers[place].committed
            if offset != NEVER:
                topic, number = TopicPartition.parse(place)
                key = {"group": name, "topic": topic, "partition": number}
                unknown = {"leaderEpoch": MISSING, "metadata": MISSING, "commitTimestamp": MISSING, "topicId": MISSING}
                yield OFFSET_COMMIT, key, {"offset": offset, **unknown}


def _generation(view: ClusterView, group: GroupView) -> Json:
    leader = next((member_id for member_id, name in group.members.items() if name == group.leader), None)
    return {
        "protocolType": "consumer",
        "generation": group.generation,
        "protocol": group.assignor if group.members else None,
        "leader": leader,
        "currentStateTimestamp": MISSING,
        "members": [_member(view, group, member_id, name) for member_id, name in group.members.items()],
    }


def _member(view: ClusterView, group: GroupView, member_id: str, name: str) -> Json:
    member = view.members[name]
    unknown = {"userData": MISSING, "ownedPartitions": MISSING, "generationId": MISSING, "rackId": MISSING}
    assigned = _by_topic(group.assignment.get(member_id, ()), "partitions")
    return {
        "memberId": member_id,
        "groupInstanceId": member.instance_id or None,
        "clientId": name,
        "clientHost": MISSING,
        "rebalanceTimeout": member.max_poll_interval_ms,
        "sessionTimeout": member.session_timeout_ms,
        "subscription": {"topics": sorted(member.topics), **unknown},
        "assignment": {"assignedPartitions": assigned, "userData": MISSING},
    }


_READERS: Final[dict[str, Callable[[ClusterView, str], Iterator[Record]]]] = {
    "offsets-decoder": group_records,
    "transaction-log-decoder": transactions,
}
