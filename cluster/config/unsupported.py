"""Commands, keys and values that are known but not supported yet. A change that supports one deletes its line.

Each line is a feature's id and the words that a person reads; scenario files and commands that ask for one are refused
with those words, never half obeyed. The ids: `command NAME` (a command's tag), and `KEY=VALUE` or `KEY` (a key of
Kafka's configuration).
"""

from cluster.config.keys import CONFIG_KEYS, ROUND_ROBIN

UNBUILT: dict[str, str] = {
    "partitioner.class": "a partitioner of one's own",
}


NOT_READ_YET: tuple[str, ...] = (
    "fetch.min.bytes",
    "default.api.timeout.ms",
    "group.coordinator.append.linger.ms",
    "group.coordinator.rebalance.protocols",
    "replica.fetch.min.bytes",
    "replica.fetch.max.bytes",
    "log.flush.interval.ms",
    "flush.ms",
)
"""Configuration keys that nothing obeys yet: they may be given Kafka's own default, and no other value."""


def refusal(feature: str) -> str | None:
    """Why a feature cannot be had, in words for a person; None when it can."""
    words = UNBUILT.get(feature)
    return f"not built yet: {words}" if words is not None else None


def refused_config(name: str, value: object) -> str | None:
    """Why a configuration key cannot have this value yet; None when it can, and for a key that is not set."""
    if value is None or (name == "partitioner.class" and value in ROUND_ROBIN):
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
