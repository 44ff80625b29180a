"""Strimzi's resources: `Kafka` and `KafkaTopic` of Kubernetes, whose `config` has Kafka's own keys."""

from recordings.lint.kafka_keys import Role, kafka_keys, roles_of
from recordings.lint.parts import Part, Setting, UnknownKey
from recordings.lint.reading.near import meant_by
from recordings.lint.reading.placeholders import resolved
from recordings.lint.reading.yaml_text import YamlEntry

_GROUP = "kafka.strimzi.io/"


def resource_parts(document: list[YamlEntry], file: str) -> list[Part] | None:
    """The broker or topic of a resource; None for another document."""
    top = {path[0]: value for path, value, _ in document if len(path) == 1}
    if not top.get("apiVersion", "").startswith(_GROUP):
        return None
    name = next((value for path, value, _ in document if path == ("metadata", "name")), "")
    if top.get("kind") == "Kafka":
        facts = _facts(document, file, {("spec", "kafka", "replicas"): "brokers"})
        return [_part("broker", name, document, ("spec", "kafka", "config"), facts, file)]
    if top.get("kind") == "KafkaTopic":
        places: dict[tuple[str, ...], str] = {
            ("spec", "replicas"): "replication-factor",
            ("spec", "partitions"): "partitions",
        }
        return [_part("topic", name, document, ("spec", "config"), _facts(document, file, places), file)]
    return []


def _facts(document: list[YamlEntry], file: str, places: dict[tuple[str, ...], str]) -> dict[str, Setting]:
    return {
        places[path]: Setting(resolved(value, with_defaults=False), file, line, ".".join(path))
        for path, value, line in document
        if path in places
    }


def _part(
    role: Role, name: str, document: list[YamlEntry], below: tuple[str, ...], facts: dict[str, Setting], file: str
) -> Part:
    settings: dict[str, Setting] = {}
    unknown = list[UnknownKey]()
    for path, value, line in document:
        if path[: len(below)] != below or len(path) == len(below):
            continue
        key = ".".join(path[len(below) :])
        setting = Setting(resolved(value, with_defaults=False), file, line, key, value)
        if key in kafka_keys(role):
            settings[key] = setting
        elif roles_of(key):
            unknown.append(UnknownKey(setting, of=roles_of(key)))
        elif (meant := meant_by(key, role)) is not None:
            unknown.append(UnknownKey(setting, meant))
    first = min((line for _, _, line in document), default=1)
    return Part(role, name, file, first, settings, facts, unknown=tuple(unknown), frame="strimzi")
