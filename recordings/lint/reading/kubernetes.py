"""Kubernetes' workloads: what a container's environment configures, and whether its pods keep their names.

Spring binds `SPRING_KAFKA_CONSUMER_MAX_POLL_RECORDS` to `spring.kafka.consumer.max-poll-records`, and below
`…_PROPERTIES_` to the dotted keys of Kafka.
"""

import re
from typing import Final

from recordings.lint.kafka_keys import number_of
from recordings.lint.parts import Setting
from recordings.lint.reading.yaml_text import YamlEntry

_POD_NAMES: Final = {"Deployment": "changing", "StatefulSet": "stable"}
_ENVIRONMENT: Final = ("spec", "template", "spec", "containers")
_SPRING: Final = re.compile(r"SPRING_KAFKA_(?:(CONSUMER|PRODUCER|LISTENER)_)?(PROPERTIES_)?([A-Z0-9_]+)")
_INSTANCE_ID: Final = re.compile(r"[A-Z0-9_]*GROUP_INSTANCE_ID")
_POD_NAME: Final = "${POD_NAME}"


def workload_settings(document: list[YamlEntry], file: str) -> tuple[list[Setting], dict[str, Setting]] | None:
    """The Spring keys that a workload's environment sets, and the facts that it says; None for another document."""
    kind = next(((value, line) for path, value, line in document if path == ("kind",)), ("", 0))
    if kind[0] not in _POD_NAMES:
        return None
    facts = {"pod-names": Setting(_POD_NAMES[kind[0]], file, kind[1], "kind")}
    for path, value, line in document:
        if path == ("spec", "replicas") and (number_of(value, "INT") or 0) >= 1:
            facts["instances"] = Setting(value, file, line, "spec.replicas")
    return [setting for setting in map(_bound, _variables(document, file)) if setting is not None], facts


def _variables(document: list[YamlEntry], file: str) -> list[Setting]:
    """The environment of all containers: `written` is the variable; a pod's own name is `${POD_NAME}`."""
    names: dict[tuple[str, ...], tuple[str, int]] = {}
    values: dict[tuple[str, ...], str] = {}
    for path, value, line in document:
        if path[:4] != _ENVIRONMENT or len(path) < 8 or path[5] != "env":
            continue
        place, below = path[:7], path[7:]
        if below == ("name",):
            names[place] = (value, line)
        elif below == ("value",):
            values[place] = value
        elif below == ("valueFrom", "fieldRef", "fieldPath"):
            values[place] = _POD_NAME if value == "metadata.name" else "${" + "}"
        else:
            values[place] = "${" + "}"  # of a Secret or ConfigMap: known to the process only
    return [Setting(values.get(place, ""), file, line, name) for place, (name, line) in names.items()]


def _bound(variable: Setting) -> Setting | None:
    """A variable as the key of Spring's that it sets; None for another variable."""
    match = _SPRING.fullmatch(variable.written)
    if match is not None:
        section = f"{match[1].lower()}." if match[1] else ""
        key = match[3].lower().replace("_", "." if match[2] else "-")
        written = f"spring.kafka.{section}{'properties.' if match[2] else ''}{key}"
    elif _INSTANCE_ID.fullmatch(variable.written) and variable.value == _POD_NAME:
        written = "spring.kafka.consumer.properties.group.instance.id"
    else:
        return None
    return Setting(variable.value, variable.file, variable.line, written, variable.value or "")
