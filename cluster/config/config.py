"""Kafka's configuration: defaults, overrides, and the checks that Kafka itself makes when a client or broker starts.

Configurations are plain dictionaries keyed by Kafka's names, values in Kafka's own units (ms and bytes as integers,
lists as tuples, None for a key that is not set). The table of keys is `cluster.config.keys`.
"""

from collections.abc import Mapping
from typing import Final

from cluster.config.assignor_names import KAFKA_ASSIGNORS, KAFKA_PACKAGE, assignor_of
from cluster.config.keys import CONFIG_KEYS, CONSUMER_GROUP_BOUNDS, TOPIC_FALLBACK, ConfigKey, Scope, Value
from cluster.config.other_keys import default_of_unbuilt, other_names, without_effect
from cluster.config.suggestions import brief, nearest
from cluster.config.units import MICROSECONDS, parse_duration, parse_iso_duration, parse_size

__all__ = [
    "CONFIG_KEYS",
    "FORBIDDEN_WITH",
    "ConfigError",
    "ConfigKey",
    "Scope",
    "Value",
    "coerce",
    "cross_errors",
    "defaults",
    "find",
    "in_flight_keys",
    "resolve",
    "resolve_topic",
    "scopes_of",
    "skipped",
]

_BY_SCOPE: dict[Scope, dict[str, ConfigKey]] = {"broker": {}, "topic": {}, "producer": {}, "consumer": {}}
for _entry in CONFIG_KEYS:
    _BY_SCOPE[_entry.scope][_entry.name] = _entry

MOST_DIGITS: Final = 20
"""Of a whole number in a text: no key of Kafka's takes one of more."""

ELSEWHERE = {
    "transactional.id": 'it is `transactions = { id = "…" }` of the producer, or a group\'s `commit = "transaction"`',
    "group.id": "it is the group's name",
    "client.id": "it is the instance's name",
    "broker.id": "it is the broker's place in [cluster] brokers",
    "node.id": "it is the broker's place in [cluster] brokers",
    "broker.rack": "it is `rack` of the broker in [cluster] brokers",
}
"""Keys that a scenario says in another way."""


class ConfigError(ValueError):
    """A configuration that Kafka would refuse: the `key`, the reason, and the nearest right word if there is one."""

    def __init__(self, key: str, reason: str, suggestion: str | None = None) -> None:
        reason = brief(reason)
        self.key, self.reason, self.suggestion = key, reason, suggestion
        super().__init__(f"{reason} (did you mean {suggestion}?)" if suggestion else reason)


def find(scope: Scope, name: str) -> ConfigKey:
    """The key of this name in a scope. Raises ConfigError with the nearest right word."""
    key = _BY_SCOPE[scope].get(name)
    if key is not None:
        return key
    if name in ELSEWHERE:
        raise ConfigError(name, f"{name} is not configured here: {ELSEWHERE[name]}")
    if scope == "broker" and name in TOPIC_FALLBACK:
        raise ConfigError(name, f"{name} is a topic key, not a broker key", TOPIC_FALLBACK[name])
    reason = without_effect(scope, name)
    if reason is not None:
        raise ConfigError(name, f"{name} has no effect: {reason}")
    if default_of_unbuilt(scope, name) is not None:
        raise ConfigError(name, f"not built yet: {name} other than Kafka's default")
    others = [other for other in scopes_of(name) if other != scope]
    if others:
        raise ConfigError(name, f"{name} is a {' and '.join(others)} key, not a {scope} key")
    known = (*_BY_SCOPE[scope], *other_names(scope))
    raise ConfigError(name, f"unknown {scope} configuration key {name}", nearest(name, known))


def skipped(scope: Scope, name: str, raw: object) -> bool:
    """Whether a file may give this key, and nothing reads it: it has no effect, or is not built and has its default."""
    if name in _BY_SCOPE[scope]:
        return False
    text = str(raw).lower() if isinstance(raw, bool) else str(raw)
    return without_effect(scope, name) is not None or default_of_unbuilt(scope, name) == text


def scopes_of(name: str) -> tuple[Scope, ...]:
    """The scopes that have a key of this name, in the order broker, topic, producer, consumer; empty when none has."""
    return tuple(scope for scope, keys in _BY_SCOPE.items() if name in keys)


def in_flight_keys(scope: Scope) -> tuple[str, ...]:
    """The keys of a scope that `set` changes at once in a running cluster."""
    return tuple(key.name for key in _BY_SCOPE[scope].values() if key.in_flight)


def defaults(scope: Scope) -> dict[str, Value]:
    """Kafka's default for every key of a scope."""
    return {key.name: key.default for key in _BY_SCOPE[scope].values()}


def resolve(scope: Scope, overrides: Mapping[str, Value]) -> dict[str, Value]:
    """Every key of a scope with its value: the defaults, the overrides, and what Kafka derives from them.

    Derived as Kafka does (ProducerConfig): idempotence that is not configured is off with acks other than all or no
    retries; a delivery timeout that is not configured is at least linger + request timeout. Raises ConfigError for the
    first mistake.
    """
    values = _merged(scope, {name: coerce(scope, name, value) for name, value in overrides.items()})
    for error in _cross(scope, values, overrides):
        raise error
    return values


def resolve_topic(cluster: Mapping[str, Value], overrides: Mapping[str, Value]) -> dict[str, Value]:
    """A topic's configuration: its own overrides, else the broker's key it falls back to, else Kafka's default.

    `cluster`: overrides of broker keys. Source: LogConfig, `log.retention.ms` before `log.retention.hours`.
    """
    broker = resolve("broker", cluster)
    values = defaults("topic")
    for name, fallback in TOPIC_FALLBACK.items():
        if broker[fallback] is not None:
            values[name] = broker[fallback]
    for name, setting, hours in (
        ("retention.ms", broker["log.retention.ms"], broker["log.retention.hours"]),
        ("segment.ms", None, broker["log.roll.hours"]),
    ):
        if setting is None and isinstance(hours, int):
            values[name] = hours * 3_600_000 if hours >= 0 else -1
    return values | {name: coerce("topic", name, value) for name, value in overrides.items()}


def cross_errors(scope: Scope, overrides: Mapping[str, Value]) -> list[ConfigError]:
    """What does not fit together among keys that are each right alone (all of it); `overrides` must be coerced."""
    return _cross(scope, _merged(scope, overrides), overrides)


def coerce(scope: Scope, name: str, raw: object) -> Value:
    """A value as it stands in a file or a command, in the key's own type and unit.

    Numbers and booleans may be text. Raises ConfigError for an unknown key, a wrong type or a value out of bounds.
    """
    key = find(scope, name)
    if raw is None and key.default is None:
        return None
    match key.kind:
        case "bool":
            return _boolean(key, raw)
        case "float":
            return _number(key, raw)
        case "list":
            return _list(key, raw)
        case "string":
            return _string(key, raw)
        case "enum":
            return _choice(key, str(raw) if isinstance(raw, str | int) and not isinstance(raw, bool) else raw)
        case _:
            return _integer(key, raw)


def _boolean(key: ConfigKey, raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if raw in ("true", "false"):
        return raw == "true"
    raise ConfigError(key.name, f"{key.name} is true or false, not {_shown(raw)}")


def _integer(key: ConfigKey, raw: object) -> int:
    digits = raw.removeprefix("-") if isinstance(raw, str) else ""
    if isinstance(raw, str) and digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS:
        raw = int(raw)
    elif isinstance(raw, str) and key.unit in _TEXTS:
        raw = _in_unit(key, raw)
    if not isinstance(raw, int) or isinstance(raw, bool):
        unit = f" of {key.unit}" if key.unit else ""
        raise ConfigError(key.name, f"{key.name} is a whole number{unit}, not {_shown(raw)}{_or_text(key)}")
    _within(key, raw)
    return raw


_US_OF = {"ms": MICROSECONDS["ms"], "s": MICROSECONDS["s"], "min": MICROSECONDS["m"], "h": MICROSECONDS["h"]}
_TEXTS = {"bytes": "64KiB", **dict.fromkeys(_US_OF, "30s"), "h": "12h", "min": "30m"}
"""How a value with a unit is written, for the unit of each kind of key: a number is in the unit of its key."""


def _in_unit(key: ConfigKey, text: str) -> int | str:
    """A size or duration as a number in the key's unit; the text itself when it is neither."""
    try:
        if key.unit == "bytes":
            return parse_size(text)
        count, rest = divmod(parse_duration(text), _US_OF[key.unit])
    except ValueError:
        return text
    if rest:
        raise ConfigError(key.name, f"{key.name}: {_shown(text)} is not a whole number of {key.unit}")
    return count


def _or_text(key: ConfigKey) -> str:
    """The other way to write a value of this key, if there is one."""
    return f' (or text like "{_TEXTS[key.unit]}")' if key.unit in _TEXTS else ""


def _number(key: ConfigKey, raw: object) -> float:
    wrong = ConfigError(key.name, f"{key.name} is a number, not {_shown(raw)}")
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise wrong
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        raise wrong from None
    _within(key, value)
    return value


def _within(key: ConfigKey, value: float) -> None:
    unit = f" {key.unit}" if key.unit else ""
    if key.low is not None and not value >= key.low:
        raise ConfigError(key.name, f"{key.name} is at least {key.low}{unit}, not {_shown(value)}")
    if key.high is not None and not value <= key.high:
        raise ConfigError(key.name, f"{key.name} is at most {key.high}{unit}, not {_shown(value)}")


def _string(key: ConfigKey, raw: object) -> str:
    if not isinstance(raw, str):
        raise ConfigError(key.name, f"{key.name} is text, not {_shown(raw)}")
    return raw


def _choice(key: ConfigKey, raw: object) -> str:
    if isinstance(raw, str) and any(raw == word or (word[-1] == ":" and raw.startswith(word)) for word in key.choices):
        if raw.startswith("by_duration:"):
            try:
                parse_iso_duration(raw.removeprefix("by_duration:"))
            except ValueError as error:
                raise ConfigError(key.name, f"{key.name}: {error}") from None
        return "all" if key.name == "acks" and raw == "-1" else raw
    known = ", ".join(word + ("…" if word[-1] == ":" else "") for word in key.choices)
    suggestion = nearest(raw, key.choices) if isinstance(raw, str) else None
    raise ConfigError(key.name, f"{key.name} is one of {known}, not {_shown(raw)}", suggestion)


def _list(key: ConfigKey, raw: object) -> tuple[str, ...]:
    """A list as Kafka's `ConfigDef.ValidList` accepts it: each word once, and none only for a cleanup policy."""
    words = ([] if not raw.strip() else raw.split(",")) if isinstance(raw, str) else raw
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ConfigError(key.name, f"{key.name} is a list of words, not {_shown(raw)}")
    if not words and key.name not in _MAY_BE_EMPTY:
        raise ConfigError(key.name, f"{key.name} must not be empty: it is a list of {', '.join(key.choices)}")
    words = [word.strip() for word in words]
    if "" in words:
        raise ConfigError(key.name, f"{key.name}: a value must not be empty")
    choose = _assignor if key.name == "partition.assignment.strategy" else _choice
    found = tuple(choose(key, word) for word in words)
    twice = next((word for place, word in enumerate(found) if word in found[:place]), None)
    if twice is not None:
        raise ConfigError(key.name, f"{key.name}: values must not be duplicated, and {twice} is there twice")
    return found


_MAY_BE_EMPTY: Final = frozenset({"cleanup.policy", "log.cleanup.policy"})
"""Lists that may be empty: without a policy a log is kept for ever."""


def _assignor(key: ConfigKey, word: str) -> str:
    """An assignor by the name of its protocol, by Kafka's class, or by the dotted path of a class of one's own."""
    try:
        return assignor_of(word)
    except ValueError:
        short, known = word.removeprefix(KAFKA_PACKAGE), ", ".join(key.choices)
        suggestion = nearest(short, KAFKA_ASSIGNORS if short[:1].isupper() else key.choices)
        raise ConfigError(key.name, f"{key.name} is one of {known}, not {_shown(word)}", suggestion) from None


def _shown(raw: object) -> str:
    text = str(raw).lower() if isinstance(raw, bool) else repr(raw)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _merged(scope: Scope, overrides: Mapping[str, Value]) -> dict[str, Value]:
    values = defaults(scope) | dict(overrides)
    if scope == "producer":
        asked = "enable.idempotence" in overrides
        if not asked and (values["acks"] != "all" or values["retries"] == 0):
            values["enable.idempotence"] = False
        if "delivery.timeout.ms" not in overrides:
            at_least = _int(values, "linger.ms") + _int(values, "request.timeout.ms")
            values["delivery.timeout.ms"] = max(_int(values, "delivery.timeout.ms"), at_least)
    return values


def _int(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def _cross(scope: Scope, values: Mapping[str, Value], overrides: Mapping[str, Value]) -> list[ConfigError]:
    match scope:
        case "consumer":
            return _consumer_errors(values, overrides)
        case "producer":
            return _producer_errors(values)
        case "broker" | "topic":
            return _order_errors(scope, values, overrides)


FORBIDDEN_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "classic": ("group.remote.assignor",),
    "consumer": ("partition.assignment.strategy", "heartbeat.interval.ms", "session.timeout.ms"),
}
"""Keys of the other group protocol. Source: `ConsumerConfig.checkUnsupportedConfigsPostProcess`."""


def _consumer_errors(values: Mapping[str, Value], overrides: Mapping[str, Value]) -> list[ConfigError]:
    protocol = str(values["group.protocol"])
    forbidden = [name for name in FORBIDDEN_WITH[protocol] if overrides.get(name) not in (None, "", ())]
    if forbidden or protocol == "consumer":
        reason = f"cannot be set when group.protocol={protocol.upper()}"
        return [ConfigError(name, f"{name} {reason}") for name in forbidden]
    heartbeat, session = _int(values, "heartbeat.interval.ms"), _int(values, "session.timeout.ms")
    if heartbeat < session:
        return []
    key = "heartbeat.interval.ms" if "heartbeat.interval.ms" in overrides else "session.timeout.ms"
    return [ConfigError(key, f"heartbeat.interval.ms ({heartbeat}) must be below session.timeout.ms ({session})")]


def _producer_errors(values: Mapping[str, Value]) -> list[ConfigError]:
    errors = []
    linger, request = _int(values, "linger.ms"), _int(values, "request.timeout.ms")
    if _int(values, "delivery.timeout.ms") < linger + request:
        reason = f"must be at least linger.ms + request.timeout.ms ({linger} + {request})"
        errors.append(ConfigError("delivery.timeout.ms", f"delivery.timeout.ms {reason}"))
    if values["partitioner"] is not None:
        java = [name for name in ("partitioner.class", "partitioner.ignore.keys") if values[name]]
        reason = "is a key of Java's clients and partitioner one of librdkafka's: a producer is one of them"
        errors += [ConfigError(name, f"{name} {reason}") for name in java]
    if values["enable.idempotence"]:
        if values["acks"] != "all":
            errors.append(ConfigError("acks", "enable.idempotence needs acks=all"))
        if values["retries"] == 0:
            errors.append(ConfigError("retries", "enable.idempotence needs retries above 0"))
        if _int(values, "max.in.flight.requests.per.connection") > 5:
            name = "max.in.flight.requests.per.connection"
            errors.append(ConfigError(name, f"enable.idempotence needs {name} of at most 5"))
    return errors


_PAIRS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "topic": (("min.compaction.lag.ms", "max.compaction.lag.ms", "at most"),),
    "broker": (
        ("group.min.session.timeout.ms", "group.max.session.timeout.ms", "at most"),
        *CONSUMER_GROUP_BOUNDS,
        ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "at most"),
        ("broker.heartbeat.interval.ms", "broker.session.timeout.ms", "below"),
    ),
}


def _order_errors(scope: Scope, values: Mapping[str, Value], overrides: Mapping[str, Value]) -> list[ConfigError]:
    errors = []
    for low, high, word in _PAIRS[scope]:
        small, large = _int(values, low), _int(values, high)
        if small > large or (word == "below" and small == large):
            key = high if high in overrides and low not in overrides else low
            errors.append(ConfigError(key, f"{low} ({small}) must be {word} {high} ({large})"))
    return errors
