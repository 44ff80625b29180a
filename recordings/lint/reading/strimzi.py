"""Strimzi's resources: `Kafka` and `KafkaTopic` of Kubernetes, whose `config` has Kafka's own keys."""

from typing import Final

from recordings.lint.kafka_keys import Role, kafka_keys, number_of, roles_of
from recordings.lint.parts import Part, Setting, UnknownKey
from recordings.lint.reading.near import MOST_LOOKED_UP, meant_by
from recordings.lint.reading.placeholders import resolved
from recordings.lint.reading.yaml_text import YamlEntry

_GROUP: Final = "kafka.strimzi.io/"
_CLUSTER: Final = "strimzi.io/cluster"


def resource_parts(document: list[YamlEntry], file: str, documents: list[list[YamlEntry]]) -> list[Part] | None:
    """The broker or topic of a resource; None for another document. `documents`: all of the file, for node pools."""
    top = _top(document)
    if not top.get("apiVersion", "").startswith(_GROUP):
        return None
    name = next((value for path, value, _ in document if path == ("metadata", "name")), "")
    if top.get("kind") == "Kafka":
        facts = _facts(document, file, {("spec", "kafka", "replicas"): "brokers"}) or _of_pools(documents, name, file)
        return [_part("broker", name, document, ("spec", "kafka", "config"), facts, file)]
    if top.get("kind") == "KafkaTopic":
        places: dict[tuple[str, ...], str] = {
            ("spec", "replicas"): "replication-factor",
            ("spec", "partitions"): "partitions",
        }
        return [_part("topic", name, document, ("spec", "config"), _facts(document, file, places), file)]
    return []


def _top(document: list[YamlEntry]) -> dict[str, str]:
    return {path[0]: value for path, value, _ in document if len(path) == 1}


def _of_pools(documents: list[list[YamlEntry]], cluster: str, file: str) -> dict[str, Setting]:
    """The number of brokers in the cluster's `KafkaNodePool`s; nothing without one, or when a number is unknown."""
    counts, line = list[int](), 1
    for document in documents:
        label = next((value for path, value, _ in document if path == ("metadata", "labels", _CLUSTER)), "")
        if _top(document).get("kind") != "KafkaNodePool" or label != cluster:
            continue
        replicas = next(((value, at) for path, value, at in document if path == ("spec", "replicas")), ("", 1))
        roles = next((value for path, value, _ in document if path == ("spec", "roles")), "")
        if "broker" in roles.split(","):
            count, line = number_of(replicas[0], "INT"), replicas[1]
            if count is None:
                return {}
            counts.append(int(count))
    return {"brokers": Setting(str(sum(counts)), file, line, "spec.replicas")} if counts else {}


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
    looked_up = 0
    for path, value, line in document:
        if path[: len(below)] != below or len(path) == len(below):
            continue
        key = ".".join(path[len(below) :])
        setting = Setting(resolved(value, with_defaults=False), file, line, key, value)
        if key in kafka_keys(role):
            settings[key] = setting
        elif roles_of(key):
            unknown.append(UnknownKey(setting, of=roles_of(key)))
        else:
            looked_up += 1
            meant = meant_by(key, role) if looked_up <= MOST_LOOKED_UP else None
            unknown += [UnknownKey(setting, meant)] if meant is not None else []
    first = min((line for _, _, line in document), default=1)
    return Part(role, name, file, first, settings, facts, unknown=tuple(unknown), frame="strimzi")
