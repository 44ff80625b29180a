"""Every command's text: read, written, checked, completed; and where the caret stands when it is wrong."""

from typing import cast, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.commands import (
    API_NAMES,
    COMMANDS,
    Command,
    CommandError,
    Names,
    check,
    complete,
    is_built,
    parse,
    text_of,
)
from cluster.commands import catalogue as commands
from cluster.config import UNBUILT
from tests.support.command_texts import EVERY_FORM

NAMES = Names(
    brokers=("broker-1", "broker-2", "broker-3"),
    groups={"billing": ("billing-1", "billing-2"), "audit": ("audit-1",)},
    producers={"checkout": ("checkout-1",)},
    topics={"orders": 12, "payments": 2},
)

BUILT = {
    commands.Kill, commands.Stop, commands.Start, commands.Restart, commands.Pause, commands.Resume,
    commands.PauseHeartbeats, commands.Stall, commands.SlowMember, commands.Scale, commands.Cut, commands.SlowLink,
    commands.Heal, commands.Mark, commands.RollingRestart, commands.Subscribe, commands.Unsubscribe,
    commands.Hold, commands.Release, commands.Isolate, commands.LoseResponses, commands.SlowDisk, commands.FillDisk,
    commands.Crash, commands.Elect, commands.FailOverController, commands.MoveCoordinator,
    commands.Set, commands.Seek,
    commands.Reassign, commands.CancelReassignment,
    commands.DeleteRecords, commands.AddPartitions, commands.AbandonTransaction, commands.AbortHangingTransaction,
    commands.Nemesis, commands.Rollout, commands.RollingRestartBrokers, commands.EndRollout,
    commands.SlowDependency, commands.PausePartitions, commands.ResumePartitions,
    commands.FailDependency, commands.RestoreDependency, commands.ResetOffsets,
    commands.ResetToPlan,
    commands.DeleteGroup, commands.DeleteOffsets, commands.CreateTopic,
}  # fmt: skip


@pytest.mark.parametrize(("text", "command"), EVERY_FORM.items(), ids=list(EVERY_FORM))
def test_text_and_command_are_the_same_thing(text: str, command: Command) -> None:
    assert parse(text) == command
    assert text_of(command) == text


def test_every_command_of_the_catalogue_has_a_form_and_an_example() -> None:
    catalogue = set(get_args(Command))
    assert {form.command for form in COMMANDS} == catalogue
    assert {type(command) for command in EVERY_FORM.values()} == catalogue


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("kill broker 2", "kill broker-2"),
        ("rolling restart brokers every 60s wait for isr", "rolling restart brokers wait for isr every 1m"),
        ("rolling restart brokers down 5s every 60s", "rolling restart brokers every 1m down 5s"),
        ("rollout deployment g max surge 02 max unavailable 0", "rollout deployment g max unavailable 0 max surge 2"),
        ("  kill   broker 2   for 1000ms ", "kill broker-2 for 1s"),
        ("cut broker 1->broker 2", "cut broker-1 -> broker-2"),
        ("subscribe billing-1 to orders, payments", "subscribe billing-1 to orders,payments"),
        ("pause partitions orders-0, orders-01 of g-1", "pause partitions orders-0,orders-1 of g-1"),
        ("lose next 2 responses of Fetch from broker 1", "lose next 2 responses of Fetch from broker-1"),
        ("rolling restart billing every 30s down 0s", "rolling restart billing every 30s"),
        ('set billing group.instance.id "a"', "set billing group.instance.id a"),
        ("reset offsets of g to instant 1970-01-01T00:00:03.500", "reset offsets of g to instant 3500ms"),
        ("reset offsets of g to instant 1970-01-01T01:00:03.500+01:00", "reset offsets of g to instant 3500ms"),
    ],
)
def test_other_ways_to_write_it_become_the_canonical_one(text: str, canonical: str) -> None:
    assert text_of(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    ("text", "column", "suggestion", "reason"),
    [
        ("", 0, None, "no command was given"),
        ("kil billing-1", 0, "kill", "`kil` is unexpected"),
        ("stal billing-1", 0, "stall", "`stal` is unexpected"),
        ("explode", 0, None, "there is no command `explode`"),
        ("kill", 4, None, "an argument is missing: kill NAME"),
        ("kill biling-1", 5, "billing-1", "no broker, member or producer is named biling-1"),
        ("kill billing", 5, "billing-1", "billing is 2 processes"),
        ("kill billing-1 fro 20s", 15, "for", "`fro` is unexpected"),
        ("kill billing-1 for", 18, None, "an argument is missing"),
        ("kill billing-1 for 20", 19, None, "has no unit"),
        ("kill billing-1 now", 15, None, "`now` is unexpected"),
        ("pause hearbeats of billing-1", 6, "heartbeats", "`hearbeats` is unexpected"),
        ("pause heartbeats of broker-1", 20, None, "no member is named broker-1"),
        ("pause partition orders-0 of billing-1", 6, "partitions", "`partition` is unexpected"),
        ("pause partitions orders-99 of billing-1", 17, "orders-9", "no partition is named orders-99"),
        ("pause partitions orders-0,oders-1 of billing-1", 17, "orders-1", "no partition is named oders-1"),
        ("pause partitions orders of billing-1", 17, None, "'orders' is not a partition"),
        ("resume partitions orders-0,orders-0 of billing-1", 18, None, "orders-0 is listed twice"),
        ("scale biling to 4", 6, "billing", "no group is named biling"),
        ("scale billing to many", 17, None, "not a whole number"),
        ("scale billing to -1", 17, None, "not a whole number"),
        ("cut broker-1 brokr-2", 13, "broker-2", "no broker, member or producer is named brokr-2"),
        ("slow billing-1 to fast", 18, None, "is not a duration"),
        (
            "elect other orders-0",
            6,
            None,
            "expected `preferred` or `unclean` here, not `other`: elect preferred TOPIC-P",
        ),
        ("create topic if not exists", 13, None, "expected TOPIC here, not `if`: create topic TOPIC if not exists"),
        ("create topic partitions 3", 13, None, "expected TOPIC here, not `partitions`: create topic TOPIC"),
        ("create topic x config a.b = 1", 22, None, "a.b lacks its value: write KEY=VALUE without blanks"),
        ("create topic x config a.b=1,a.b=2", 22, None, "a.b is given twice"),
        ("create topic x config a.b=1,", 22, None, "a KEY=VALUE is missing after the last comma"),
        ("reset offsets of audit to 1970-01-01T00:00:03.500", 26, "instant 3500ms", "is a date"),
        ("reset offsets of audit to 1970-01-01", 26, None, "write it like 1970-01-01T00:00:00.000"),
        ("reset offsets of audit to instant 1969-12-31T23:59:59.999", 34, None, "is outside the flight"),
        ("reset offsets of audit to instant 2026-01-01T00:00:00.000", 34, None, "is outside the flight"),
        (
            "reset offsets of audit to offsets 1,2 in orders-0",
            34,
            None,
            "one offset for each partition: there are 2 for 1",
        ),
        ("reset offsets of audit to offsets 1,x in orders-0", 34, None, "is not a whole number"),
        ("reset offsets of audit to date", 26, "instant", "`date` is no DURATION"),
        ("reset offsets of audit to lates", 26, "latest", "`lates` is unexpected"),
        ("mark hello", 5, None, "in quotation marks"),
        ('mark "hello', 5, None, "not closed"),
    ],
)
def test_the_caret_stands_under_the_wrong_word(text: str, column: int, suggestion: str | None, reason: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse(text, NAMES)
    assert (caught.value.column, caught.value.suggestion) == (column, suggestion)
    assert reason in caught.value.message
    assert (f"(did you mean {suggestion}?)" in str(caught.value)) == (suggestion is not None)


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("broker", "broker is a reserved word"),
        ("broker-9", "broker-9 is a reserved word"),
        ("broker-2", "broker-2 is already the name of a process"),
        ("billing-7", "billing-7 is the name of a process of billing"),
        ("checkout-2", "checkout-2 is the name of a process of checkout"),
        ("orders-0", "orders-0 is the name of a partition of orders"),
        ("orders-99", "orders-99 is the name of a partition of orders"),
    ],
)
def test_a_new_topic_has_no_name_that_commands_read_as_another(topic: str, reason: str) -> None:
    """`create topic orders-0` would make `elect preferred orders-0` mean two things."""
    for refuse in (lambda: parse(f'create topic "{topic}"', NAMES), lambda: check(commands.CreateTopic(topic), NAMES)):
        with pytest.raises(CommandError) as caught:
            refuse()
        assert caught.value.message == reason


@pytest.mark.parametrize("topic", ["brokers", "orders-new", "returns-0", "orders-01", "billing-x"])
def test_other_names_are_free(topic: str) -> None:
    assert parse(f"create topic {topic}", NAMES) == commands.CreateTopic(topic)


def test_without_names_only_the_form_is_read() -> None:
    assert parse("kill anything-9") == commands.Kill("anything-9")


def test_check_finds_unknown_names_of_every_kind() -> None:
    check(parse("kill broker-3"), NAMES)
    for text in ("kill broker-9", "stall checkout-1", "scale orders to 2", "cut broker-1 billing-9"):
        with pytest.raises(CommandError, match="is named"):
            check(parse(text), NAMES)


def test_what_is_not_built_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {kind for kind in get_args(Command) if is_built(kind)} == BUILT
    monkeypatch.setitem(UNBUILT, "command nemesis", "nemesis")
    assert {kind for kind in get_args(Command) if is_built(kind)} == BUILT - {commands.Nemesis}
    with pytest.raises(CommandError, match=r"^not built yet: nemesis$"):
        parse("nemesis on", NAMES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ki", ["kill"]),
        ("pau", ["pause"]),
        ("pause hea", ["heartbeats"]),
        ("pause part", ["partitions"]),
        ("resume partitions orders-1", ["orders-10", "orders-11"]),
        ("pause partitions orders-10,orders-1", ["orders-10,orders-11"]),
        ("subscribe billing-1 to orders,p", ["orders,payments"]),
        ("resume partitions orders-0 ", ["of"]),
        ("pause heartbeats of b", ["billing-1", "billing-2"]),
        ("kill b", ["broker-1", "broker-2", "broker-3", "billing-1", "billing-2"]),
        ("scale ", ["billing", "audit"]),
        ("scale billing ", ["to"]),
        ("scale billing to ", []),
        ("kill billing-1 ", ["for"]),
        ("kill billing-1 for 5s ", []),
        ("cut broker-1 -", ["->"]),
        ("nemes", ["nemesis"]),
        ('mark "', []),
        ("no such thing ", []),
    ],
)
def test_completion_offers_what_may_follow(text: str, words: list[str]) -> None:
    assert complete(text, NAMES) == words


def test_every_form_says_how_it_is_written() -> None:
    usages = [form.usage for form in COMMANDS]
    assert "kill NAME [for DURATION]" in usages
    assert "rolling restart GROUP every DURATION [down DURATION]" in usages
    assert all(form.hint for form in COMMANDS)
    assert len(set(usages)) == len(usages)


# --- round trip -------------------------------------------------------------------------------------------------

name = st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True)
duration = st.integers(min_value=0, max_value=10**13)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
replicas = st.lists(st.integers(0, 999_999_999), min_size=1, max_size=4).map(tuple)
by_field: dict[str, st.SearchStrategy[object]] = {
    "for_us": st.none() | duration,
    "to_us": duration,
    "every_us": duration,
    "down_us": duration,
    "one_way": st.booleans(),
    "api": st.sampled_from(API_NAMES),
    "client": st.none() | name,
    "partitions": st.lists(st.builds("{}-{}".format, name, st.integers(0, 99)), max_size=3, unique=True).map(tuple),
    "topics": st.lists(name, min_size=1, max_size=3, unique=True).map(tuple),
    "value": texts,
    "text": texts,
    "kind": st.sampled_from(["preferred", "unclean"]),
    "seed": st.none() | st.integers(min_value=0),
    "count": st.integers(min_value=1),
    "to": st.integers(min_value=1),
    "partition": st.integers(min_value=0),
    "before": st.integers(min_value=0),
    "on": st.booleans(),
    "wait_for_isr": st.booleans(),
    "workload": st.sampled_from(["deployment", "statefulset"]),
    "where": st.sampled_from(["earliest", "latest", "current", "offset", "shift", "ago", "instant"]),
    "places": st.lists(name, min_size=1, max_size=3, unique=True).map(tuple),
    "amount": duration,
    "replicas": st.none() | st.integers(min_value=1),
    "if_not_exists": st.booleans(),
    "assignment": st.lists(replicas, max_size=4).map(tuple),
    "config": st.lists(
        st.from_regex(r"[a-z.]{1,9}=[A-Za-z0-9.,:_-]{0,9}", fullmatch=True),
        max_size=3,
        unique_by=lambda pair: pair.partition("=")[0],
    ).map(tuple),
    "max_unavailable": st.sampled_from(["", "0", "3", "25%"]),
    "max_surge": st.sampled_from(["", "0", "3", "25%"]),
}


@st.composite
def any_command(draw: st.DrawFn) -> Command:
    kind = draw(st.sampled_from(get_args(Command)))
    values = {field.name: draw(by_field.get(field.name, name)) for field in msgspec.structs.fields(kind)}
    if kind is commands.CreateTopic:
        values["partitions"] = draw(st.none() | st.integers(min_value=1))
        values["topic"] = draw(name.filter(lambda word: word not in (".", "..")))
        if values["assignment"]:
            values["partitions"] = values["replicas"] = None
    if kind is commands.Reassign:
        values["replicas"] = draw(replicas)
    if kind is commands.ResetToPlan:
        plan = draw(st.dictionaries(st.builds("{}-{}".format, name, st.integers(0, 99)), st.integers(0), min_size=1))
        values["partitions"], values["offsets"] = tuple(plan), tuple(plan.values())
    if kind is commands.Heal and draw(st.booleans()):
        values = {}
    if values.get("workload") == "statefulset":
        values["max_surge"] = ""
    if values.get("where") in ("earliest", "latest", "current"):
        values["amount"] = 0
    if kind is commands.Nemesis and not values["on"]:
        values["seed"] = None
    return cast(Command, kind(**values))


@pytest.mark.slow
@given(any_command())
def test_every_command_comes_back_from_its_text(command: Command) -> None:
    assert parse(text_of(command)) == command


WORDS = (
    *("kill", "pause", "heartbeats", "of", "slow", "to", "for", "cut", "heal", "scale", "mark", "broker", "2", "5s"),
    *("billing-1", "billing", "broker-1", "orders-0", "->", ",", '"', "3"),
)


@pytest.mark.slow
@given(st.text(max_size=40) | st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join))
def test_no_text_raises_anything_but_a_command_error_within_it(text: str) -> None:
    complete(text, NAMES)
    error = None
    try:
        command = parse(text, NAMES)
    except CommandError as caught:
        error = caught
    else:
        assert parse(text_of(command), NAMES) == command
    assert error is None or 0 <= error.column <= len(text)


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("cut broker-1 broker-1", "a process has no link to itself", 13),
        ("slow broker-1 broker-1 to 5ms", "a process has no link to itself", 14),
        ("subscribe billing-1 to orders,orders", "orders is listed twice", 23),
    ],
)
def test_what_is_named_twice_is_refused(text: str, reason: str, column: int) -> None:
    with pytest.raises(CommandError) as caught:
        parse(text, NAMES)
    assert (caught.value.message, caught.value.column) == (reason, column)


def test_every_form_begins_with_a_word() -> None:
    assert all(isinstance(form.required[0], str) for form in COMMANDS), "`read` looks for the form by it"
