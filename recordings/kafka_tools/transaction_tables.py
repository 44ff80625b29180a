"""`kafka-transactions.sh` of a flight: its looks, and not what it aborts. Source: `TransactionsCommand`."""

import re
from typing import Final

from cluster.protocol.names import coordinator_partition
from cluster.view.state import NEVER, ClusterView
from cluster.view.transactions import TransactionView, is_hanging
from recordings.kafka_tools.leader_logs import LogOf
from recordings.kafka_tools.printed import Printed, pretty_table
from recordings.kafka_tools.producer_states import producers_in
from recordings.kafka_tools.tool_lines import ToolLine

MS: Final = 1_000
MINUTE_MS: Final = 60_000
TRANSACTION_TOPIC: Final = "__transaction_state"
_LIST = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
_DESCRIBE = ("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState",
             "TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs",
             "TopicPartitions")  # fmt: skip
_PRODUCERS = ("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
              "CurrentTransactionStartOffset")  # fmt: skip
_HANGING = ("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
            "Duration(min)")  # fmt: skip

_NO_SCOPE = "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"


def error(message: str) -> Printed:
    """An error of the tool. Source: `printErrorAndExit`."""
    return Printed(err=f"{message}\n", ok=False)


def coordinator_of(view: ClusterView, transactional_id: str) -> int:
    """The broker that leads the id's partition of `__transaction_state`; -1 for none."""
    topic = view.topics.get(TRANSACTION_TOPIC)
    if topic is None:
        return NEVER
    return view.partitions[f"{TRANSACTION_TOPIC}-{coordinator_partition(transactional_id, topic.partitions)}"].leader


def _known(view: ClusterView) -> list[TransactionView]:
    """Transactional ids with a coordinator, by coordinator and id; a Dead one is none any more."""
    known = [one for one in view.transactions.values() if one.state and one.state != "Dead"]
    live = [one for one in known if coordinator_of(view, one.transactional_id) != NEVER]
    return sorted(live, key=lambda one: (coordinator_of(view, one.transactional_id), one.transactional_id))


def list_transactions(view: ClusterView, now_us: int, line: ToolLine) -> Printed:
    """`list`: the ids that coordinators have. Raises CommandError for a pattern that is none."""
    least_ms = line.number("duration-filter")
    pattern = line.one("transactional-id-pattern", ".*")
    try:
        wanted = re.compile(pattern)
    except re.error as reason:
        raise line.wrong(f"`{pattern[:80]}` is no regular expression: {reason}", "transactional-id-pattern") from None
    rows = [
        (one.transactional_id, str(coordinator_of(view, one.transactional_id)), str(one.producer_id), one.state)
        for one in _known(view)
        if wanted.fullmatch(one.transactional_id)
        and (least_ms is None or least_ms < 0 or (one.start_us != NEVER and now_us - one.start_us > least_ms * MS))
    ]
    return pretty_table(_LIST, rows)


def describe_transaction(view: ClusterView, now_us: int, line: ToolLine) -> Printed:
    """`describe --transactional-id`. Raises CommandError without an id."""
    if not line.has("transactional-id"):
        raise line.wrong("argument --transactional-id is required")
    name = line.one("transactional-id")
    one = next((one for one in _known(view) if one.transactional_id == name), None)
    if one is None:
        return error(f"Failed to describe transaction state of transactional-id `{name}`")
    running = one.start_us != NEVER
    row = (
        *(str(coordinator_of(view, name)), name, str(one.producer_id), str(one.epoch), one.state, str(one.timeout_ms)),
        str(one.start_us // MS) if running else "None",
        str(now_us // MS - one.start_us // MS) if running else "None",
        ",".join(one.partitions),
    )
    return pretty_table(_DESCRIBE, [row])


def describe_producers(view: ClusterView, log_of: LogOf, line: ToolLine) -> Printed:
    """`describe-producers --topic --partition`, as the leader has them. Raises CommandError for a wrong partition."""
    name = partition_of(view, line, required=True)
    rows = [
        (
            *(str(one.producer_id), str(one.epoch), one.coordinator_epoch, str(one.last_sequence)),
            *(str(one.last_timestamp_ms), "None" if one.start_offset < 0 else str(one.start_offset)),
        )
        for one in producers_in(view.partitions[name], log_of(name))
    ]
    return pretty_table(_PRODUCERS, rows)


def partition_of(view: ClusterView, line: ToolLine, *, required: bool) -> str:
    """The partition that --topic and --partition name; "" if not both are given. Raises CommandError."""
    for option in ("topic", "partition") if required else ():
        if not line.has(option):
            raise line.wrong(f"argument --{option} is required")
    number = line.number("partition", least=0)
    if number is not None and not line.has("topic"):
        raise line.wrong("The --partition argument requires --topic to be provided", "partition")
    topic = line.one("topic")
    if topic and topic not in view.topics:
        raise line.wrong(f"there is no topic `{topic}`", "topic")
    if number is None:
        return ""
    if f"{topic}-{number}" not in view.partitions:
        raise line.wrong(f"{topic} has no partition {number}", "partition")
    return f"{topic}-{number}"


def searched(view: ClusterView, line: ToolLine) -> list[str]:
    """The partitions that `find-hanging` or `describe-producers` looks at. Raises CommandError."""
    name = partition_of(view, line, required=line.action == "describe-producers")
    if name:
        return [name]
    broker = line.number("broker-id")
    return [
        partition.partition
        for partition in view.partitions.values()
        if partition.topic == line.one("topic", partition.topic) and broker in (None, *partition.replicas)
    ]


def find_hanging(view: ClusterView, log_of: LogOf, now_us: int, line: ToolLine) -> Printed:
    """`find-hanging`: open transactions older than --max-transaction-timeout that no coordinator will end."""
    if not line.has("topic") and not line.has("broker-id"):
        if line.has("partition"):
            partition_of(view, line, required=False)
        return error(_NO_SCOPE)
    most_ms = MINUTE_MS * (line.number("max-transaction-timeout", 15) or 0)
    owners = {one.producer_id: one for one in view.transactions.values()}
    rows = []
    for name in searched(view, line):
        place = view.partitions[name]
        for one in producers_in(place, log_of(name)):
            age_ms = now_us // MS - one.last_timestamp_ms
            if one.start_offset >= 0 and age_ms > most_ms and is_hanging(owners.get(one.producer_id), name):
                rows.append((
                    *(place.topic, str(place.number), str(one.producer_id), str(one.epoch), one.coordinator_epoch),
                    *(str(one.start_offset), str(one.last_timestamp_ms), str(age_ms // MINUTE_MS)),
                ))  # fmt: skip
    return pretty_table(_HANGING, rows)
