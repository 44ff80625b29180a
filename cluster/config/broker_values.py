"""Broker keys of a configuration that may lack them: then they have Kafka's defaults."""

from collections.abc import Mapping

from cluster.config.keys import CONFIG_KEYS

_DEFAULTS = {key.name: key.default for key in CONFIG_KEYS if key.scope == "broker"}


def broker_number(config: Mapping[str, object], name: str) -> int:
    """A broker key that is a whole number."""
    value = config.get(name, _DEFAULTS[name])
    assert isinstance(value, int)
    return value


def broker_word(config: Mapping[str, object], name: str) -> str:
    """A broker key that is one of some words."""
    value = config.get(name, _DEFAULTS[name])
    assert isinstance(value, str)
    return value


def broker_names(config: Mapping[str, object], name: str) -> tuple[str, ...]:
    """A broker key that is a list of names."""
    value = config.get(name, _DEFAULTS[name])
    assert isinstance(value, tuple)
    return value
