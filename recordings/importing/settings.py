"""Kafka's keys as text become those of a scenario; what a flight does not have is said, and never its value."""

from collections.abc import Mapping
from typing import Final

from cluster.config import ConfigError, Scope, Value, coerce, cross_errors, refused_config, scopes_of

_SAID_OTHERWISE: Final = frozenset({"group.id", "client.id", "group.instance.id", "enable.auto.commit",
                                    "partition.assignment.strategy", "transactional.id"})  # fmt: skip


def scenario_config(scope: Scope, owner: str, texts: Mapping[str, str], left_out: list[str]) -> dict[str, Value]:
    """The keys that a flight obeys; `left_out` gets a sentence for the others."""
    config: dict[str, Value] = {}
    unknown = []
    for key, text in texts.items():
        if key in _SAID_OTHERWISE:
            continue
        if scope not in scopes_of(key):
            unknown.append(key)
            continue
        try:
            value = coerce(scope, key, text.strip())
        except ConfigError:
            left_out.append(f"{key} of {owner}: Kafka does not accept its value, or a flight does not")
            continue
        if (reason := refused_config(key, value)) is not None:
            left_out.append(f"{key} of {owner}: {reason}")
            continue
        config[key] = value
    if unknown:
        left_out.append(f"keys of {owner} that a flight does not have: {', '.join(sorted(unknown))}")
    return _fitting(scope, owner, config, left_out)


def _fitting(scope: Scope, owner: str, config: dict[str, Value], left_out: list[str]) -> dict[str, Value]:
    """The keys without those that contradict others, as Kafka would refuse them."""
    while errors := [error for error in cross_errors(scope, config) if error.key in config]:
        left_out.append(f"{errors[0].key} of {owner}: {errors[0].reason}")
        del config[errors[0].key]
    return config
