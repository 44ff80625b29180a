"""`[[group]]` tables: a consumer group, its members and their application."""

from typing import Final, get_args

from cluster.config import DEFAULT_ASSIGNORS, ConfigError, Value, coerce
from cluster.spec import (
    HPA_STABILIZATION_US,
    HPA_SYNC_US,
    AutoscalerSpec,
    GroupSpec,
    MemberSpec,
    Readiness,
)
from recordings.scenarios.application_parser import on_revoked, read_application
from recordings.scenarios.toml_lines import Place
from recordings.scenarios.toml_tables import (
    Problem,
    ReadError,
    TomlTable,
    duration,
    filled_text,
    filled_words,
    flag,
    one_of,
    positive_duration,
    whole,
)

SHORTEST_LOOK_US: Final = 100_000
"""Between two looks of an autoscaler; each asks for the lag of every partition."""


def read_group(table: TomlTable) -> GroupSpec:
    """Read a `[[group]]` table."""
    config = table.config("consumer")
    if not any(table.has(key) for key in ("topics", "topic_regex", "subscriptions", "assign")):
        table.wrong("topics", "topics (or subscriptions) is missing")
    group = GroupSpec(
        name=table.take("name", filled_text, "", required=True),
        topics=table.take("topics", filled_words, ()),
        topic_regex=table.take("topic_regex", filled_text, ""),
        subscriptions=_subscriptions(table.table("subscriptions")),
        assign=(assign := _subscriptions(table.table("assign"))),
        members=table.take("members", whole(0), max(1, len(assign))),
        stagger_us=table.take("stagger", duration, 0),
        start_us=table.take("start", duration, 0),
        startup_us=table.take("startup", duration, 0),
        ready=table.take("ready", one_of(*get_args(Readiness)), "started"),
        autoscaler=_autoscaler(table.table("autoscaler")) if table.has("autoscaler") else None,
        static=table.take("static", flag, False),
        assignors=_said_twice(table, config, "assignors", "partition.assignment.strategy", DEFAULT_ASSIGNORS),
        config=config,
        application=read_application(table.table("application"), config),
        own=_own(table.table("member")),
    )
    table.known.append("autoscaler")
    if group.assigns_all:
        _note_what_only_joins_read(table, group)
    table.close()
    return group


def _note_what_only_joins_read(table: TomlTable, group: GroupSpec) -> None:
    """Note what has no effect where no member joins the group."""
    said: list[Place] = [(key,) for key in ("static", "assignors") if table.data.get(key)]
    keys = ("group.instance.id", "partition.assignment.strategy")
    said += [("config", key) for key in keys if group.config.get(key) is not None]
    for place in said:
        reason = f"members of {group.name} call assign(), and join no group"
        table.note(Problem((*table.place, *place), f"{place[-1]} has no effect: {reason}", is_note=True))


def _autoscaler(table: TomlTable) -> AutoscalerSpec:
    autoscaler = AutoscalerSpec(
        lag_per_member=table.take("lag_per_member", whole(1), 1, required=True),
        least=table.take("min", whole(1), 1),
        most=table.take("max", whole(1), 1, required=True),
        every_us=table.take("every", positive_duration, HPA_SYNC_US),
        stabilization_us=table.take("stabilization", duration, HPA_STABILIZATION_US),
    )
    if autoscaler.least > autoscaler.most and table.has("max"):
        table.wrong("min", f"min: {autoscaler.least} is above max, {autoscaler.most}")
    if autoscaler.every_us < SHORTEST_LOOK_US and table.has("every"):
        table.wrong("every", "every: an autoscaler looks at the lag at most ten times a second", "15s")
    table.close()
    return autoscaler


def _own(table: TomlTable) -> tuple[MemberSpec, ...]:
    """The `[group.member.NAME]` tables: what single members have of their own."""
    return tuple(_member(table.table(name), name) for name in table.data)


def _member(table: TomlTable, name: str) -> MemberSpec:
    config = table.config("consumer")
    if "enable.auto.commit" in config:
        table.wrong("config", "enable.auto.commit is the same for all members of a group: set it in the group's config")
    own = _said_twice(table, config, "assignors", "partition.assignment.strategy", ())
    member = MemberSpec(
        name,
        assignors=own or None,
        config=config,
        per_record_us=table.take("per_record", duration, None),
        startup_us=table.take("startup", duration, None),
        on_revoked=table.take("on_revoked", on_revoked, None),
        revoke_takes_us=table.take("revoke_takes", duration, None),
    )
    table.close()
    return member


def _said_twice(
    table: TomlTable, config: dict[str, Value], field: str, key: str, default: tuple[str, ...]
) -> tuple[str, ...]:
    """A list that the file may give by its own field or by Kafka's key, but not differently by both."""
    kafka = config.get(key)
    said = table.take(field, assignors, default)
    if not isinstance(kafka, tuple):
        return said
    if table.has(field) and said != kafka:
        table.wrong(field, f"{field} and {key} contradict each other")
    return kafka


def assignors(value: object) -> tuple[str, ...]:
    """A list of Kafka's assignors by name or class, or dotted names of custom ones, in the order of preference."""
    written = filled_words(value)
    try:
        named = coerce("consumer", "partition.assignment.strategy", list(written))
    except ConfigError as error:
        raise ReadError(
            error.reason.replace("partition.assignment.strategy", "an assignor"), error.suggestion
        ) from None
    assert isinstance(named, tuple)
    return filled_words(list(named))


def _subscriptions(table: TomlTable) -> dict[str, tuple[str, ...]]:
    return {member: table.take(member, filled_words, ()) for member in table.data}
