"""One key or field of a scenario written over: what `--set`, sweeps, what-ifs and the command `set` have in common.

KEY is a Kafka key or a scenario field; SCOPE names a topic, group, member, producer or broker, or is `cluster`. Without
one, `NAME.KEY` names its scope when NAME is declared; else a Kafka key is the cluster's or, if only clients or topics
have it, that of all of them, and a field is that of everything that has it. A group's scope writes consumer keys, and
keys that only producers have if its application has a producer. A member's scope writes over its group's.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from cluster.config import (
    CONFIG_KEYS,
    FORBIDDEN_WITH,
    SET_IN_FLIGHT,
    Scope,
    Value,
    coerce,
    cross_errors,
    format_duration,
    nearest,
    refused_config,
    scopes_of,
)
from cluster.spec.member_spec import MemberSpec
from cluster.spec.setting_fields import FIELDS, FILE_FIELDS, SettingError, did_you_mean
from cluster.spec.spec import (
    BrokerSpec,
    GroupSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
)

S = TypeVar("S", bound=msgspec.Struct)
Thing = TopicSpec | GroupSpec | ProducerSpec | BrokerSpec
Declared = Thing | MemberSpec

SCOPES: dict[type, Scope] = {
    TopicSpec: "topic",
    GroupSpec: "consumer",
    MemberSpec: "consumer",
    ProducerSpec: "producer",
    BrokerSpec: "broker",
}
"""Whose keys the thing of a scope has."""

_NOUNS: dict[type, str] = {
    TopicSpec: "topic",
    GroupSpec: "group",
    MemberSpec: "member",
    ProducerSpec: "producer",
    BrokerSpec: "broker",
}


def write_over(spec: ScenarioSpec, scope: str | None, key: str, value: object) -> ScenarioSpec:
    """The spec with one key or field written over. Raises SettingError or ConfigError, both ValueErrors."""
    names = spec.names().scopes()
    if scope is None:
        name, dot, rest = key.partition(".")
        if dot and name in names:
            scope, key = name, rest
        elif "broker" in scopes_of(key):
            scope = "cluster"
    if scope is None:
        wanted = _having(key)
        for topic in spec.created_by_steps_us() if wanted(TopicSpec("")) else ():
            _refuse_created(spec, topic, key)
        return _replace(spec, wanted, key, value)
    if scope in spec.created_by_steps_us():
        _refuse_created(spec, scope, key)
    if scope == "cluster":
        return msgspec.structs.replace(spec, config=spec.config | {key: coerce("broker", key, value)})
    if scope not in names:
        raise SettingError(did_you_mean(f"nothing is named {scope}", nearest(scope, names)))
    group = group_of(spec, scope)
    if group is not None:
        own = _with(group.own_of(scope), key, value)
        assert isinstance(own, MemberSpec)
        return with_own(spec, group, own)
    return _replace(spec, lambda thing: thing.name == scope, key, value)


def _refuse_created(spec: ScenarioSpec, topic: str, key: str) -> None:
    """A setting is written over what the scenario's tables declare; a topic that a step creates has what the step says.

    Raises SettingError.
    """
    at = format_duration(spec.created_by_steps_us()[topic])
    raise SettingError(f"a step creates {topic} at {at}: change its {key} there")


def group_of(spec: ScenarioSpec, member: str) -> GroupSpec | None:
    """The group that a member belongs to; None for the name of anything else."""
    groups = spec.names().groups
    return next((group for group in spec.groups if member in groups[group.name]), None)


def with_own(spec: ScenarioSpec, group: GroupSpec, own: MemberSpec) -> ScenarioSpec:
    """The spec with these settings of one member, in the order of its group's members."""
    others = [each for each in group.own if each.name != own.name]
    kept = others if own == MemberSpec(own.name) else [*others, own]
    changed = msgspec.structs.replace(group, own=tuple(sorted(kept, key=_number)))
    return msgspec.structs.replace(spec, groups=tuple(changed if each is group else each for each in spec.groups))


def _number(own: MemberSpec) -> int:
    return int(own.name.rpartition("-")[2])


def scopes_of_setting(spec: ScenarioSpec, scope: str | None, key: str) -> list[tuple[str, str]]:
    """Each (scope, key) that a setting writes: one, or without a scope all things that have the key.

    Raises SettingError if there is no such key.
    """
    if scope is not None:
        return [(scope, key)]
    name, dot, rest = key.partition(".")
    if dot and name in spec.names().scopes():
        return [(name, rest)]
    if "broker" in scopes_of(key):
        return [("cluster", key)]
    wanted = _having(key)
    things: tuple[Declared, ...] = (*spec.topics, *spec.producers, *spec.groups)
    return [(thing.name, key) for thing in things if wanted(thing)]


def why_not(spec: ScenarioSpec, scope: str, key: str, value: object) -> str | None:
    """Why the command `set` could not be carried out on a cluster as the scenario declares it; None when it can."""
    if scope in spec.created_by_steps_us():
        return spec.no_topic_yet(scope)
    known = next((each for each in spec.groups if each.name == scope), None) or group_of(spec, scope)
    if key == "per_record" and known is not None and known.of(scope).application.processing is not None:
        return _unequal(known)
    try:
        after = write_over(spec, scope, key, value)
    except ValueError as error:
        return str(error)
    if scope == "cluster":
        return _misfit("broker", key, after.config)
    group = group_of(after, scope)
    things: list[Declared] = [*after.brokers, *after.topics, *after.producers, *after.groups]
    thing = group.of(scope) if group is not None else next(thing for thing in things if thing.name == scope)
    if isinstance(thing, GroupSpec) and key in ("on_revoked", "revoke_takes"):
        return thing.why_no_listener()
    kind, place = keys_at(thing, key)
    config: dict[str, Value] = _at(thing, place)
    reason = _misfit(kind, key, after.config | config if isinstance(thing, BrokerSpec) else config)
    if reason is not None and group is not None and key == "group.protocol":
        return with_protocol_remedy(group, group.own_of(scope), "", reason)
    return reason


def with_protocol_remedy(group: GroupSpec, own: MemberSpec, key: str, reason: str) -> str:
    """Why a member cannot have its protocol, and what lets it, where the refused key is its group's."""
    if "group.protocol" not in own.config or key in own.config:
        return reason
    how = f"set group.protocol of {group.name} and restart only {own.name}, or give the key to single members"
    return f"{reason} ({group.name} has it for all members: {how})"


def _misfit(kind: Scope, key: str, config: dict[str, Value]) -> str | None:
    """What is not built yet, cannot change in a running cluster, or does not fit what is set beside it."""
    reason = refused_config(key, config.get(key))
    field = FIELDS.get(key)
    if field is not None and field.effect == "before the flight":
        instead = f" (in flight: {field.instead})" if field.instead else ""
        reason = f"{key} is only read when the flight begins{instead}"
    elif reason is None and kind in SET_IN_FLIGHT and key not in SET_IN_FLIGHT[kind]:
        reason = f"{key} is only read when the cluster is built: give it before the flight begins"
    for error in () if reason else cross_errors(kind, config):
        reason = error.reason
    return reason


def put_back(spec: ScenarioSpec, before: ScenarioSpec, scope: str, key: str) -> ScenarioSpec:
    """The spec with one key or field of a scope as it was before; everything else stays."""
    if scope == "cluster":
        return msgspec.structs.replace(spec, config=_restored(spec.config, before.config, key))
    group, earlier_group = group_of(spec, scope), group_of(before, scope)
    if group is not None and earlier_group is not None:
        own = _restore(group.own_of(scope), earlier_group.own_of(scope), key)
        assert isinstance(own, MemberSpec)
        return with_own(spec, group, own)
    things: list[Declared] = [*before.brokers, *before.topics, *before.producers, *before.groups]
    old = next((thing for thing in things if thing.name == scope), None)
    changes: dict[str, Any] = {}
    for kind in ("brokers", "topics", "producers", "groups"):
        kept: tuple[Declared, ...] = getattr(spec, kind)
        changes[kind] = tuple(_restore(thing, old, key) if old and thing.name == scope else thing for thing in kept)
    return msgspec.structs.replace(spec, **changes)


def _restore(thing: Declared, old: Declared, key: str) -> Declared:
    """A thing with one key or field as it was before."""
    if key in FIELDS:
        place = FIELDS[key].places[type(thing)]
        return _placed(thing, place, _at(old, place))
    _, place = keys_at(thing, key)
    if key == "group.protocol":  # with the keys that another protocol had refused
        return _placed(thing, place, _at(old, place))
    thing = _placed(thing, place, _restored(_at(thing, place), _at(old, place), key))
    if isinstance(thing, GroupSpec | MemberSpec) and key == "partition.assignment.strategy":
        return _placed(thing, ("assignors",), _at(old, ("assignors",)))
    if isinstance(thing, GroupSpec) and key == "enable.auto.commit":
        return _placed(thing, ("application", "commit"), _at(old, ("application", "commit")))
    return thing


def _restored(config: dict[str, Value], before: dict[str, Value], key: str) -> dict[str, Value]:
    rest = {name: value for name, value in config.items() if name != key}
    return rest | {key: before[key]} if key in before else rest


def _having(key: str) -> Callable[[Declared], bool]:
    """Whatever has this key or field."""
    scopes = scopes_of(key)
    if key not in FIELDS and not scopes:
        _refuse_file_field(key)
        scope, _, rest = key.partition(".")
        if rest in FIELDS or scopes_of(rest):
            raise SettingError(f"nothing in the scenario is named {scope}")
        near = nearest(key, (*FIELDS, *(entry.name for entry in CONFIG_KEYS)))
        raise SettingError(did_you_mean(f"there is no key or field {key}", near))
    owners = FIELDS[key].places if key in FIELDS else {}
    return lambda thing: SCOPES[type(thing)] in scopes or type(thing) in owners


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
        place = field.places.get(type(thing))
        if place is None:
            owners = " or a ".join(_NOUNS[owner] for owner in field.places)
            raise SettingError(f"{key} is a field of a {owners}, and {thing.name} is a {_NOUNS[type(thing)]}")
        if key == "per_record" and isinstance(thing, GroupSpec) and thing.application.processing is not None:
            raise SettingError(_unequal(thing))
        return _placed(thing, place, field.read(value))
    _refuse_file_field(key)
    kind, place = keys_at(thing, key)
    read = coerce(kind, key, value)
    thing = _placed(thing, place, _at(thing, place) | {key: read})
    if key == "group.protocol" and isinstance(thing, GroupSpec | MemberSpec):
        thing = _without_forbidden(thing, str(read))
    return _said_again(thing, key, read) if isinstance(thing, GroupSpec | MemberSpec) else thing


def _without_forbidden(thing: GroupSpec | MemberSpec, protocol: str) -> GroupSpec | MemberSpec:
    """A group or member without the keys that its new protocol refuses: a deploy of the protocol drops them, too."""
    config = {key: value for key, value in thing.config.items() if key not in FORBIDDEN_WITH[protocol]}
    if isinstance(thing, MemberSpec):
        return msgspec.structs.replace(thing, config=config)
    own = tuple(
        msgspec.structs.replace(
            one, config={key: value for key, value in one.config.items() if key not in FORBIDDEN_WITH[protocol]}
        )
        for one in thing.own
    )
    return msgspec.structs.replace(thing, config=config, own=own)


def _unequal(group: GroupSpec) -> str:
    return f"per_record has no effect: `processing` of {group.name} gives a time to each record"


def _refuse_file_field(key: str) -> None:
    """A word of scenario files that no setting writes. Raises SettingError."""
    if key in FILE_FIELDS:
        instead = f" (in flight: {FILE_FIELDS[key]})" if FILE_FIELDS[key] else ""
        others = ", ".join(FIELDS)
        raise SettingError(f"{key} is said in the scenario file{instead}; settings write Kafka's keys and {others}")


def keys_at(thing: Declared, key: str) -> tuple[Scope, tuple[str, ...]]:
    """Whose key this is in the scope of a thing, and where its value stands in the spec.

    In a group's scope it is a consumer key, unless only producers have it and the application has a producer.
    """
    scopes = scopes_of(key)
    only_producers = "producer" in scopes and "consumer" not in scopes
    if only_producers and isinstance(thing, GroupSpec) and thing.application.has_producer:
        return "producer", ("application", "producer")
    return SCOPES[type(thing)], ("config",)


def _at(struct: msgspec.Struct, place: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever stands there
    value: Any = struct
    for name in place:
        value = getattr(value, name)
    return value


def _placed(struct: S, place: tuple[str, ...], value: object) -> S:
    inner = _placed(getattr(struct, place[0]), place[1:], value) if len(place) > 1 else value
    return msgspec.structs.replace(struct, **{place[0]: inner})


def _said_again(thing: GroupSpec | MemberSpec, key: str, value: Value) -> GroupSpec | MemberSpec:
    """The thing with the scenario field changed that says the same as a consumer key, where there is one."""
    if key == "partition.assignment.strategy" and isinstance(value, tuple):
        return _placed(thing, ("assignors",), value)
    if key == "enable.auto.commit" and isinstance(thing, MemberSpec):
        raise SettingError(f"{key} is the same for all members of a group: {thing.name} commits as its group does")
    if isinstance(thing, GroupSpec):
        return _committing(thing, key, value)
    return thing


def _committing(group: GroupSpec, key: str, value: Value) -> GroupSpec:
    """The group with the commit policy that `enable.auto.commit` means."""
    if key == "enable.auto.commit" and (group.application.commit == "auto") is not value:
        if group.application.commit == "transaction":
            raise SettingError(f"{group.name} commits in transactions: auto commits would undo that")
        commit = "auto" if value else "never"
        return msgspec.structs.replace(group, application=msgspec.structs.replace(group.application, commit=commit))
    return group
