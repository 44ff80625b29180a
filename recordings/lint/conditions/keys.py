"""Keys that nothing reads, and values that Kafka refuses."""

from collections.abc import Iterator, Mapping
from typing import Final

from recordings.lint.kafka_keys import kafka_keys
from recordings.lint.parts import Part
from recordings.lint.reading.plain_files import REMOVED
from recordings.lint.world import Condition, Hit, World


def unknown_key(part: Part, _world: World) -> Iterator[Hit]:
    """A key that is nearly one of Kafka's or the framework's. Source: `AbstractConfig.logUnused`."""
    for unknown in part.unknown:
        if unknown.meant:
            yield Hit((), {"meant": unknown.meant}, unknown.setting)


def key_of_another_role(part: Part, _world: World) -> Iterator[Hit]:
    """A key that other clients or brokers have."""
    for unknown in part.unknown:
        if unknown.of:
            yield Hit((), {"roles": " and ".join(unknown.of), "kind": part.kind}, unknown.setting)


def removed_key(part: Part, _world: World) -> Iterator[Hit]:
    """A key of an earlier release."""
    for key in part.settings:
        if key in REMOVED:
            yield Hit((key,), {"key": key, "instead": REMOVED[key][1]})


def impossible_value(part: Part, _world: World) -> Iterator[Hit]:
    """A value that `ConfigDef` does not parse, or a validator refuses; the value is not shown."""
    if part.kind == "client" or part.frame == "scenario":  # a scenario's reader has bounds of its own
        return
    known = kafka_keys(part.kind)
    for key, setting in part.settings.items():
        if setting.value is None or key not in known:
            continue
        problem = known[key].problem(setting.value) or _mixed_up(key, setting.value)
        if problem is not None:
            yield Hit((key,), {"key": key, "problem": problem})


def _mixed_up(key: str, value: str) -> str | None:
    """A deserializer where Kafka needs a serializer, or the reverse: `AbstractConfig.getConfiguredInstance`."""
    if key.endswith(".deserializer") and value.endswith("Serializer"):
        return "is a serializer"
    return "is a deserializer" if key.endswith(".serializer") and value.endswith("Deserializer") else None


CONDITIONS: Final[Mapping[str, Condition]] = {
    "unknown-key": unknown_key,
    "key-of-another-role": key_of_another_role,
    "removed-key": removed_key,
    "impossible-value": impossible_value,
}
