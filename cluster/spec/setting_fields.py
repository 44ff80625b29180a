"""The scenario fields that settings write over: how each is read and shown, and where it stands in each thing."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import msgspec

from cluster.config import (
    MOST_DIGITS,
    Value,
    brief,
    coerce,
    format_duration,
    format_rate,
    format_size,
    nearest,
    parse_duration,
    parse_rate,
    parse_size,
    written,
)
from cluster.spec.application_spec import CommitPolicy, OnRevoked
from cluster.spec.member_spec import MemberSpec
from cluster.spec.spec import (
    MOST_BROKERS,
    MOST_MEMBERS,
    MOST_PARTITIONS,
    MOST_PRODUCERS,
    GroupSpec,
    ProducerSpec,
    TopicSpec,
)


class SettingError(ValueError):
    """A setting that cannot be made: the text says which, why, and the nearest right word."""

    def __init__(self, reason: str) -> None:
        super().__init__(brief(reason))


class Field(msgspec.Struct, frozen=True):
    """A scenario field that may be set: how its value is read and shown, and where it stands in each kind of thing.

    `effect`: the command `set` changes it at once or for the next start of each process. What is read only when the
    flight begins it refuses; `instead` is the command that changes that in flight, where there is one.
    """

    places: dict[type, tuple[str, ...]]
    read: Callable[[object], object]
    show: Callable[[Any], str]
    effect: Literal["at once", "at the next start", "before the flight"] = "before the flight"
    instead: str = ""


def _count(low: int, high: int) -> Callable[[object], int]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise SettingError(f"{value!r} is not a whole number")
        if value < low:
            raise SettingError(f"{value} is below {low}")
        if value > high:
            raise SettingError(f"{value} is above {high}")
        return value

    return read


def _truth(value: object) -> bool:
    value = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise SettingError(f"{value!r} is not true or false")
    return value


def _assignors(value: object) -> Value:
    return coerce("consumer", "partition.assignment.strategy", value)


def _duration(value: object) -> int:
    return parse_duration(written(value, "duration"))


def _rate(value: object) -> float:
    per_second = parse_rate(written(value, "rate"))
    if per_second <= 0:
        raise SettingError("a rate is above 0")
    return per_second


def _size(value: object) -> int:
    return parse_size(written(value, "size"))


def _one_of(*choices: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices:
            near = nearest(value, choices) if isinstance(value, str) else None
            raise SettingError(did_you_mean(f"{value!r} is none of {', '.join(choices)}", near))
        return str(value)

    return read


FIELDS: dict[str, Field] = {
    "members": Field({GroupSpec: ("members",)}, _count(0, MOST_MEMBERS), str, "at the next start"),
    "assignors": Field(
        {GroupSpec: ("assignors",), MemberSpec: ("assignors",)}, _assignors, ",".join, "at the next start"
    ),
    "static": Field({GroupSpec: ("static",)}, _truth, lambda value: str(value).lower(), "at the next start"),
    "per_record": Field(
        {GroupSpec: ("application", "per_record_us"), MemberSpec: ("per_record_us",)},
        *(_duration, format_duration, "at once"),
    ),
    "rate": Field({ProducerSpec: ("rate_per_second",)}, _rate, format_rate, "at once"),
    "stagger": Field({GroupSpec: ("stagger_us",)}, _duration, format_duration),
    "startup": Field(
        {GroupSpec: ("startup_us",), MemberSpec: ("startup_us",)}, _duration, format_duration, "at the next start"
    ),
    "start": Field({GroupSpec: ("start_us",), ProducerSpec: ("start_us",)}, _duration, format_duration),
    "commit": Field({GroupSpec: ("application", "commit")}, _one_of(*get_args(CommitPolicy)), str),
    "on_revoked": Field(
        {GroupSpec: ("application", "on_revoked"), MemberSpec: ("on_revoked",)},
        *(_one_of(*get_args(OnRevoked)), str, "at the next start"),
    ),
    "revoke_takes": Field(
        {GroupSpec: ("application", "revoke_takes_us"), MemberSpec: ("revoke_takes_us",)},
        *(_duration, format_duration, "at the next start"),
    ),
    "size": Field({ProducerSpec: ("size_bytes",)}, _size, format_size),
    "count": Field({ProducerSpec: ("count",)}, _count(1, MOST_PRODUCERS), str),
    "partitions": Field(
        {TopicSpec: ("partitions",)}, _count(1, MOST_PARTITIONS), str, instead="add partitions TOPIC to N"
    ),
    "replication": Field({TopicSpec: ("replication",)}, _count(1, MOST_BROKERS), str),
}
"""Every scenario field that a setting may write."""


FILE_FIELDS = {
    "topics": "subscribe MEMBER to TOPIC,…",
    "subscriptions": "subscribe MEMBER to TOPIC,…",
    "replica_assignment": "reassign TOPIC-P to BROKER,…",
    **dict.fromkeys(("brokers", "limit", "arrivals", "keys", "until", "seed", "start_jitter", "ready"), ""),
    **dict.fromkeys(("transactions", "jitter", "writes", "outputs", "sink", "poison", "restart_after"), ""),
    **dict.fromkeys(("processing", "slow_keys", "autoscaler", "fail", "retries", "dead_letter"), ""),
}
"""Words of scenario files that no setting writes, and the command that does in flight, where there is one."""


def did_you_mean(text: str, suggestion: str | None) -> str:
    """A complaint with the nearest right word behind it, if there is one."""
    return f"{text} (did you mean {suggestion}?)" if suggestion else text
