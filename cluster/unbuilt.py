"""What Flightdeck knows of but cannot do yet. Whoever builds something deletes its line here.

Each line is a feature's id and the words that a person reads; scenario files and commands that ask for one are refused
with those words, never half obeyed. The ids: `command NAME` (a command's tag), `commit POLICY`, `assignor NAME`,
`KEY=VALUE` or `KEY` (a configuration key), and fields of scenario files by their names.
"""

from cluster.config_keys import CONFIG_KEYS

DEFAULT_ASSIGNORS: tuple[str, ...] = ("range",)
"""What a group uses that names no assignor; Kafka's list is range, cooperative-sticky."""

UNBUILT: dict[str, str] = {
    "transactions": "transactions",
    "commit transaction": 'commit = "transaction"',
    "isolation.level=read_committed": "isolation.level = read_committed",
    "static": "static membership",
    "group.instance.id": "static membership (group.instance.id)",
    "assignor roundrobin": "the assignor roundrobin",
    "assignor sticky": "the assignor sticky",
    "assignor cooperative-sticky": "the assignor cooperative-sticky",
    "writes": "an application that writes",
    "sink": "an outside store",
    "poison": "poison records",
    "acks=0": "acks other than all",
    "acks=1": "acks other than all",
    "enable.idempotence=false": "a producer without idempotence",
    "partitioner.class": "a partitioner of one's own",
    "group.protocol=consumer": "group.protocol = consumer",
    "auto.offset.reset=by_duration": "auto.offset.reset = by_duration",
    "unclean.leader.election.enable=true": "unclean.leader.election.enable = true",
    "command crash": "crash",
    "command rolling_restart": "rolling restart",
    "command hold": "hold",
    "command release": "release",
    "command lose_responses": "lose next … responses",
    "command add_partitions": "add partitions",
    "command subscribe": "subscribe",
    "command set": "set",
    "command seek": "seek",
    "command abandon_transaction": "abandon transaction",
    "command abort_hanging_transaction": "abort hanging transaction",
    "command elect": "elect",
    "command isolate": "isolate",
    "command fail_over_controller": "fail over controller",
    "command move_coordinator": "move coordinator",
    "command slow_disk": "slow disk",
    "command fill_disk": "fill disk",
    "command delete_records": "delete records",
    "command nemesis": "nemesis",
}


NOT_READ_YET: tuple[str, ...] = (
    "fetch.min.bytes",
    "default.api.timeout.ms",
    "client.rack",
    "max.block.ms",
    "compression.type",
    "partitioner.ignore.keys",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
    "transaction.timeout.ms",
    "transaction.version",
    "auto.leader.rebalance.enable",
    "controlled.shutdown.enable",
    "unclean.leader.election.enable",
    "replica.fetch.min.bytes",
    "replica.fetch.max.bytes",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
    "log.retention.bytes",
    "log.segment.bytes",
    "log.cleanup.policy",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "message.max.bytes",
    "retention.ms",
    "retention.bytes",
    "segment.bytes",
    "flush.messages",
    "flush.ms",
    "cleanup.policy",
    "max.message.bytes",
)
"""Configuration keys that nothing obeys yet: they may be given Kafka's own default, and no other value."""


def refusal(feature: str) -> str | None:
    """Why a feature cannot be had, in words for a person; None when it can."""
    words = UNBUILT.get(feature)
    return f"not built yet: {words}" if words is not None else None


def refused_config(name: str, value: object) -> str | None:
    """Why a configuration key cannot have this value yet; None when it can, and for a key that is not set."""
    if value is None:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value).partition(":")[0]
    refused = refusal(name) or refusal(f"{name}={text}")
    if (
        refused is None
        and name in NOT_READ_YET
        and all(value != key.default for key in CONFIG_KEYS if key.name == name)
    ):
        return f"not built yet: {name} other than Kafka's default"
    return refused
