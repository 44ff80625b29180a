"""Settings: `[SCOPE:]KEY=VALUE` written over a scenario, from the command line, a sweep or a what-if.

KEY is a Kafka key or a scenario field; SCOPE is a topic, group or producer name, `broker-2` or `cluster`. Without one,
`NAME.KEY` names its scope when NAME is declared; else a Kafka key is the cluster's or, if only clients or topics have
it, that of all of them, and a field is that of everything that has it. A group's scope writes consumer keys.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from cluster.config import CONFIG_KEYS, Scope, Value, coerce, scopes_of
from cluster.spec import BrokerSpec, GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec
from cluster.words import nearest
from recordings.scenario_checks import check_scenario
from recordings.scenario_reader import assignors
from recordings.scenario_tables import duration, flag, positive_rate, whole

Setting = tuple[str | None, str, object]
S = TypeVar("S", bound=msgspec.Struct)
Declared = TopicSpec | GroupSpec | ProducerSpec | BrokerSpec

_SCOPES: dict[type, Scope] = {
    TopicSpec: "topic",
    GroupSpec: "consumer",
    ProducerSpec: "producer",
    BrokerSpec: "broker",
}
_NOUNS = {TopicSpec: "topic", GroupSpec: "group", ProducerSpec: "producer", BrokerSpec: "broker"}


class SettingError(ValueError):
    """A setting that cannot be made: the text says which, why, and the nearest right word."""


class Field(msgspec.Struct, frozen=True):
    """A scenario field that may be set: whose it is, how its value is read, and where it stands in the spec."""

    owner: type[GroupSpec] | type[ProducerSpec]
    read: Callable[[object], object]
    place: tuple[str, ...]


def _number(value: object) -> int:
    return whole(0)(int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value)


def _truth(value: object) -> bool:
    return flag({"true": True, "false": False}.get(value, value) if isinstance(value, str) else value)


def _list(value: object) -> tuple[str, ...]:
    return assignors([word.strip() for word in value.split(",")] if isinstance(value, str) else value)


FIELDS: dict[str, Field] = {
    "members": Field(GroupSpec, _number, ("members",)),
    "assignors": Field(GroupSpec, _list, ("assignors",)),
    "static": Field(GroupSpec, _truth, ("static",)),
    "per_record": Field(GroupSpec, duration, ("application", "per_record_us")),
    "rate": Field(ProducerSpec, positive_rate, ("rate_per_second",)),
}
"""Every scenario field that a setting may write."""


def parse_setting(text: str) -> tuple[str | None, str, str]:
    """Read `[SCOPE:]KEY=VALUE` into scope, key and value. Raises SettingError."""
    left, equals, value = text.partition("=")
    scope, colon, key = left.rpartition(":")
    if not equals or not key.strip() or (colon and not scope.strip()):
        raise SettingError(f"{text!r} is not a setting: write it like KEY=VALUE or SCOPE:KEY=VALUE")
    return scope.strip() or None, key.strip(), value.strip()


def apply_settings(spec: ScenarioSpec, settings: Iterable[Setting]) -> ScenarioSpec:
    """A new spec with the settings written over it in order; what they make together is checked at the end.

    A value is text, or already a number, truth value or list. Raises SettingError for the first that is wrong.
    """
    before = list(check_scenario(spec))
    labels = []
    for scope, key, value in settings:
        labels.append(f"{scope}:{key}={value}" if scope else f"{key}={value}")
        try:
            spec = _apply(spec, scope, key, value)
        except ValueError as error:
            raise SettingError(f"{labels[-1]}: {error}") from None
    wrong = next((problem for problem in check_scenario(spec) if problem not in before), None)
    if wrong is not None:
        raise SettingError(_did_you_mean(f"{', '.join(labels)}: {wrong.reason}", wrong.suggestion))
    return spec


def _did_you_mean(text: str, suggestion: str | None) -> str:
    return f"{text} (did you mean {suggestion}?)" if suggestion else text


def _apply(spec: ScenarioSpec, scope: str | None, key: str, value: object) -> ScenarioSpec:
    names = spec.names().scopes()
    if scope is None:
        name, dot, rest = key.partition(".")
        if dot and name in names:
            scope, key = name, rest
        elif "broker" in scopes_of(key):
            scope = "cluster"
    if scope is None:
        return _replace(spec, _having(key), key, value)
    if scope == "cluster":
        return msgspec.structs.replace(spec, config=spec.config | {key: coerce("broker", key, value)})
    if scope not in names:
        raise SettingError(_did_you_mean(f"nothing is named {scope}", nearest(scope, names)))
    return _replace(spec, lambda thing: thing.name == scope, key, value)


def _having(key: str) -> Callable[[Declared], bool]:
    """Whatever has this key or field."""
    scopes = scopes_of(key)
    if key not in FIELDS and not scopes:
        near = nearest(key, (*FIELDS, *(entry.name for entry in CONFIG_KEYS)))
        raise SettingError(_did_you_mean(f"there is no key or field {key}", near))
    owner = FIELDS[key].owner if key in FIELDS else None
    return lambda thing: _SCOPES[type(thing)] in scopes or type(thing) is owner


def _replace(spec: ScenarioSpec, wanted: Callable[[Declared], bool], key: str, value: object) -> ScenarioSpec:
    """The spec with one key or field of every wanted thing replaced."""
    changes: dict[str, Any] = {}
    for kind in ("brokers", "topics", "producers", "groups"):
        things: tuple[Declared, ...] = getattr(spec, kind)
        changes[kind] = tuple(_with(thing, key, value) if wanted(thing) else thing for thing in things)
    return msgspec.structs.replace(spec, **changes)


def _with(thing: Declared, key: str, value: object) -> Declared:
    if key in FIELDS:
        field = FIELDS[key]
        if type(thing) is not field.owner:
            noun = _NOUNS[type(thing)]
            raise SettingError(f"{key} is a field of a {_NOUNS[field.owner]}, and {thing.name} is a {noun}")
        return _placed(thing, field.place, field.read(value))
    read = coerce(_SCOPES[type(thing)], key, value)
    thing = _placed(thing, ("config",), thing.config | {key: read})
    return _said_again(thing, key, read) if isinstance(thing, GroupSpec) else thing


def _placed(struct: S, place: tuple[str, ...], value: object) -> S:
    inner = _placed(getattr(struct, place[0]), place[1:], value) if len(place) > 1 else value
    return msgspec.structs.replace(struct, **{place[0]: inner})


def _said_again(group: GroupSpec, key: str, value: Value) -> GroupSpec:
    """The group with the scenario field changed that says the same as a consumer key, where there is one."""
    if key == "partition.assignment.strategy" and isinstance(value, tuple):
        return msgspec.structs.replace(group, assignors=value)
    if key == "enable.auto.commit" and (group.application.commit == "auto") is not value:
        commit = "auto" if value else "never"
        return msgspec.structs.replace(group, application=msgspec.structs.replace(group.application, commit=commit))
    return group
