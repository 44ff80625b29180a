"""`[[group]]` tables: a consumer group, its members and their application."""

from typing import Final, get_args

from cluster.config import DEFAULT_ASSIGNORS, ConfigError, Value, coerce
from cluster.spec import ApplicationSpec, CommitPolicy, GroupSpec, MemberSpec, PoisonSpec, Readiness
from recordings.scenarios.toml_tables import (
    ReadError,
    TomlTable,
    duration,
    filled_text,
    filled_words,
    flag,
    number,
    one_of,
    shown,
    whole,
)


def read_group(table: TomlTable) -> GroupSpec:
    """Read a `[[group]]` table."""
    config = table.config("consumer")
    if not table.has("topics") and not table.has("subscriptions"):
        table.wrong("topics", "topics (or subscriptions) is missing")
    group = GroupSpec(
        name=table.take("name", filled_text, "", required=True),
        topics=table.take("topics", filled_words, ()),
        subscriptions=_subscriptions(table.table("subscriptions")),
        members=table.take("members", whole(0), 1),
        stagger_us=table.take("stagger", duration, 0),
        start_us=table.take("start", duration, 0),
        startup_us=table.take("startup", duration, 0),
        ready=table.take("ready", one_of(*get_args(Readiness)), "started"),
        static=table.take("static", flag, False),
        assignors=_said_twice(table, config, "assignors", "partition.assignment.strategy", DEFAULT_ASSIGNORS),
        config=config,
        application=_application(table.table("application"), config),
        own=_own(table.table("member")),
    )
    table.close()
    return group


def _own(table: TomlTable) -> tuple[MemberSpec, ...]:
    """The `[group.member.NAME]` tables: what single members have of their own."""
    return tuple(_member(table.table(name), name) for name in table.data)


def _member(table: TomlTable, name: str) -> MemberSpec:
    config = table.config("consumer")
    if "enable.auto.commit" in config:
        table.wrong("config", "enable.auto.commit is the same for all members of a group: it is said in its config")
    own = _said_twice(table, config, "assignors", "partition.assignment.strategy", ())
    member = MemberSpec(
        name,
        assignors=own or None,
        config=config,
        per_record_us=table.take("per_record", duration, None),
        startup_us=table.take("startup", duration, None),
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
        table.wrong(field, f"{field} and {key} say different things")
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


def _application(table: TomlTable, config: dict[str, Value]) -> ApplicationSpec:
    application = ApplicationSpec(
        per_record_us=table.take("per_record", duration, 0),
        jitter=table.take("jitter", number(0, 1), 0.0),
        commit=_commit(table, config),
        writes=table.take("writes", filled_text, None),
        sink=table.take("sink", filled_text, None),
        poison=_poison(table.table("poison")) if table.has("poison") else None,
        restart_after_us=table.take("restart_after", duration, None),
        producer=table.config("producer", "producer"),
    )
    table.known.append("poison")
    table.close()
    return application


_MEANT: Final[dict[str, CommitPolicy]] = {
    **dict.fromkeys(
        ("sync", "commitsync", "manual", "manualimmediate", "batch", "ack", "atleastonce"), "after-each-poll"
    ),
    **dict.fromkeys(("commitasync", "asynchronous", "nonblocking"), "async"),
    **dict.fromkeys(("before", "first", "atmostonce"), "before-processing"),
    **dict.fromkeys(("exactlyonce", "exactlyoncev2", "eos", "transactional", "transactions", "tx"), "transaction"),
    **dict.fromkeys(("none", "off", "no", "false", "disabled"), "never"),
    **dict.fromkeys(("automatic", "periodic", "on", "true", "default"), "auto"),
}
"""Words of clients and frameworks for a commit policy, without marks between their letters."""


def _policy(value: object) -> CommitPolicy:
    """A commit policy; another word for one is refused with the one that it means."""
    policies = get_args(CommitPolicy)
    word = "".join(letter for letter in str(value).lower() if letter.isalnum())
    if value not in policies and word in _MEANT:
        raise ReadError(f"{shown(value)} is none of {', '.join(policies)}", _MEANT[word])
    policy: CommitPolicy = one_of(*policies)(value)
    return policy


def _commit(table: TomlTable, config: dict[str, Value]) -> CommitPolicy:
    """The commit policy; `enable.auto.commit` = false without one means that no member commits."""
    commit: CommitPolicy = table.take("commit", _policy, "auto")
    automatic = config.get("enable.auto.commit")
    if automatic is None or table.data.get("commit", commit) != commit:  # not given, or not readable
        return commit
    if not table.has("commit"):
        return "auto" if automatic else "never"
    if (commit == "auto") is not automatic:
        said = str(automatic).lower()
        table.wrong("commit", f'commit = "{commit}" and enable.auto.commit = {said} say different things')
    return commit


def _poison(table: TomlTable) -> PoisonSpec:
    poison = PoisonSpec(table.take("key", filled_text, "", required=True), table.take("crashes", flag, True))
    table.close()
    return poison
