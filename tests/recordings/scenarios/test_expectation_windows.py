"""Where an expectation's window begins, what was already true there, and every way to say it wrongly."""

from typing import Any

import msgspec
import pytest

from cluster.commands import Kill, parse
from cluster.events import MemberRemoved
from cluster.spec import ExpectationSpec, GroupSpec, ScenarioSpec, StepSpec, TopicSpec
from recordings.flights.runner import Replay, fly, make_plan
from recordings.scenarios.document_schema import SHAPE, KnownNames
from recordings.scenarios.expectations import Expectations
from recordings.scenarios.loader import ScenarioErrors, parse_scenario
from recordings.scenarios.writer import write_scenario
from tests.support.minimal_scenario import MINIMAL
from tests.support.zero_document import empty_document

S = 1_000_000
THAT = "delivery.lost == 0"
KILL, START = "kill billing-1", "start billing-1"
STEPS = ((6_500_000, KILL), (2_500_000, KILL), (4 * S, START))
"""In a file's order, which need not be that of time."""

SPEC = ScenarioSpec(
    "t",
    until_us=10 * S,
    topics=(TopicSpec("orders", 1),),
    groups=(GroupSpec("billing", ("orders",)),),
    steps=tuple(StepSpec(at_us, parse(text), text) for at_us, text in STEPS),
)


def expecting(expectation: ExpectationSpec) -> Expectations:
    return Expectations(msgspec.structs.replace(SPEC, expectations=(expectation,)))


def judged(expectation: ExpectationSpec, truth: dict[int, bool], until_us: int = 10 * S) -> dict[str, Any]:
    """Judge `delivery.lost == 0` at every checkpoint; `truth` says from which instant on it holds or not."""
    flight = expecting(expectation)
    holds = False
    for now_us in flight.checkpoints(until_us):
        holds = truth.get(now_us, holds)
        document = empty_document(KnownNames(SPEC), frozenset(SHAPE))
        document["delivery"]["lost"] = 0 if holds else 3
        flight.judge(document, now_us)
    (result,) = flight.results(until_us, shortened=until_us < 10 * S)
    return dict(result)


# --- a sentence with `by` ---------------------------------------------------------------------------------------------

FROM: dict[str, Any] = {"by_us": 8 * S, "from_us": 2_500_000}
AFTER: dict[str, Any] = {"by_us": 8 * S, "after": KILL}
SECOND: dict[str, Any] = {"by_us": 8 * S, "after": KILL, "nth": 2}


@pytest.mark.parametrize(
    ("window", "truth", "ok", "at_s", "already"),
    [
        ({"by_us": 5 * S}, {0: True}, True, 0.0, True),
        ({"by_us": 5 * S}, {S: True}, True, 1.0, False),
        ({"by_us": 0}, {0: True}, True, 0.0, True),
        (FROM, {0: True}, True, 2.5, True),
        (FROM, {0: True, 2_500_000: False}, False, 8.0, False),
        (FROM, {0: True, 2_500_000: False, 5 * S: True}, True, 5.0, False),
        (FROM, {S: True, 2 * S: False, 2_500_000: True, 3 * S: False}, True, 2.5, True),
        (AFTER, {0: True}, True, 2.5, True),
        (AFTER, {0: True, 2_500_000: False, 3 * S: True}, True, 3.0, False),
        (AFTER, {0: True, 2_500_000: False}, False, 8.0, False),
        (SECOND, {0: True}, True, 6.5, True),
        (SECOND, {2_500_000: True, 6 * S: False}, False, 8.0, False),
        (SECOND, {7 * S: True}, True, 7.0, False),
        ({"by_us": 4 * S, "from_us": 4 * S}, {4 * S: True}, True, 4.0, True),
        ({"by_us": 8 * S, "after": START}, {3 * S: True, 4 * S: False, 8 * S: True}, True, 8.0, False),
    ],
)
def test_by_looks_only_into_its_window_and_says_what_was_already_true(
    window: dict[str, Any], truth: dict[int, bool], ok: bool, at_s: float, already: bool
) -> None:
    result = judged(ExpectationSpec(that=THAT, **window), truth)
    assert (result["ok"], result["at_s"]) == (ok, at_s)
    assert result.get("already") is (True if already else None)


@pytest.mark.parametrize("window", [FROM, AFTER, SECOND])
def test_a_flight_that_ends_before_the_window_or_in_it_leaves_the_sentence_unjudged(window: dict[str, Any]) -> None:
    for until_us in (2 * S, 7 * S):
        result = judged(ExpectationSpec(that=THAT, **window), {0: True, 2 * S: False}, until_us)
        assert result["ok"] is None
        assert "already" not in result
        assert result["found"].endswith("before 8 s")


def test_a_flight_that_ends_in_the_window_has_seen_what_was_already_true() -> None:
    assert judged(ExpectationSpec(that=THAT, **AFTER), {0: True}, 2_500_000) == {
        "that": THAT,
        "ok": True,
        "at_s": 2.5,
        "found": "delivery.lost = 0",
        "already": True,
    }


def test_where_a_window_begins_is_a_checkpoint() -> None:
    assert expecting(ExpectationSpec(that=THAT, **AFTER)).checkpoints(3 * S) == [0, S, 2 * S, 2_500_000, 3 * S]
    assert 6_500_000 in expecting(ExpectationSpec(that=THAT, **SECOND)).checkpoints(10 * S)
    assert expecting(ExpectationSpec(that=THAT, always=True, after=KILL)).next_checkpoint_us(2 * S) == 2_500_000


def test_before_its_window_a_sentence_needs_nothing() -> None:
    flight = expecting(ExpectationSpec(that=THAT, **AFTER))
    assert flight.needs_at(2 * S) == frozenset()
    assert flight.needs_at(2_500_000) == {"delivery"}


# --- a sentence with `always`, an event -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "truth", "ok", "at_s"),
    [
        ({"after": KILL}, {2_500_000: True}, True, 10.0),
        ({"after": KILL}, {3 * S: True}, False, 2.5),
        ({"after": KILL, "to_us": 6 * S}, {2_500_000: True, 7 * S: False}, True, 6.0),
        ({"after": KILL, "nth": 2}, {6_500_000: True}, True, 10.0),
        ({"after": KILL, "nth": 2, "to_us": 9 * S}, {6_500_000: True, 9 * S: False}, False, 9.0),
        ({"from_us": 3 * S}, {3 * S: True}, True, 10.0),
    ],
)
def test_always_may_begin_with_a_command_and_is_never_already_true(
    window: dict[str, Any], truth: dict[int, bool], ok: bool, at_s: float
) -> None:
    result = judged(ExpectationSpec(that=THAT, always=True, **window), truth)
    assert (result["ok"], result["at_s"]) == (ok, at_s)
    assert "already" not in result


def test_always_is_not_judged_in_a_flight_that_ends_before_its_command() -> None:
    always = ExpectationSpec(that=THAT, always=True, after=KILL, nth=2)
    assert judged(always, {0: True}, 6 * S)["ok"] is None
    assert judged(always, {0: True}, 6_500_000)["ok"] is True


def test_at_is_never_already_true() -> None:
    assert "already" not in judged(ExpectationSpec(that=THAT, at_us=0), {0: True})


@pytest.mark.parametrize(
    ("window", "seconds", "ok", "times"),
    [
        ({"after": KILL}, [2, 3, 9], True, 2),
        ({"after": KILL}, [1, 2], False, 0),
        ({"after": KILL}, [2.5], True, 1),
        ({"after": KILL, "by_us": 4 * S}, [2, 5], False, 0),
        ({"after": KILL, "by_us": 4 * S}, [4], True, 1),
        ({"after": KILL, "to_us": 6 * S, "count": 1}, [2, 3, 7], True, 1),
        ({"after": KILL, "nth": 2, "count": 0}, [3, 6], True, 0),
        ({"after": KILL, "nth": 2, "count": 0}, [7], False, 1),
        ({"from_us": 3 * S, "by_us": 4 * S}, [2, 5], False, 0),
    ],
)
def test_an_event_counts_from_the_command_on(
    window: dict[str, Any], seconds: list[float], ok: bool, times: int
) -> None:
    flight = expecting(ExpectationSpec(event="member_removed", **window))
    for second in seconds:
        at_us = round(second * S)
        flight.see(MemberRemoved(at_us=at_us, group="g", member="m", member_id="m-x", reason="session expired"))
    (result,) = flight.results(10 * S, shortened=False)
    assert result["ok"] is ok
    assert result["found"] == ("it happened once" if times == 1 else f"it happened {times} times")
    assert "already" not in result


def test_a_command_that_no_step_gives_is_no_silent_window() -> None:
    with pytest.raises(IndexError):
        expecting(ExpectationSpec(that=THAT, by_us=S, after="kill billing-2"))


# --- in a file --------------------------------------------------------------------------------------------------------

SCENARIO = f"""{MINIMAL}
[[at]]
time = "90s"
do = "start broker 2"
[[at]]
time = "60s"
do = "kill   broker-2"
[[at]]
time = "120s"
do = "kill broker 2 for 20s"
[[at]]
time = "180s"
do = "kill broker-2"
[[at]]
time = "190s"
do = 'mark "done"'
"""
LAST_LINE = SCENARIO.count("\n")


def expectation_of(text: str) -> ExpectationSpec:
    (expectation,) = parse_scenario(f"{SCENARIO}[[expect]]\n{text}\n", "f.toml").spec.expectations
    return msgspec.structs.replace(expectation, line=0)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ('from = "60s"\nby = "85s"', ExpectationSpec(that="true", from_us=60 * S, by_us=85 * S)),
        ('from = "85s"\nby = "85s"', ExpectationSpec(that="true", from_us=85 * S, by_us=85 * S)),
        ('after = "kill broker-2"\nby = "60s"', ExpectationSpec(that="true", after="kill broker-2", by_us=60 * S)),
        (
            'after = " kill broker  2 "\nnth = 2\nby = "3m"',
            ExpectationSpec(that="true", after="kill broker-2", nth=2, by_us=180 * S),
        ),
        (
            'after = "kill broker 2 for 20000ms"\nby = "3m"',
            ExpectationSpec(that="true", after="kill broker-2 for 20s", by_us=180 * S),
        ),
        (
            'after = "start broker-2"\nto = "100s"\nalways = true',
            ExpectationSpec(that="true", after="start broker-2", to_us=100 * S, always=True),
        ),
    ],
)
def test_a_command_is_read_as_a_step_is_and_written_as_it_was_read(text: str, spec: ExpectationSpec) -> None:
    assert expectation_of(f'that = "true"\n{text}') == spec
    whole = parse_scenario(f'{SCENARIO}[[expect]]\nthat = "true"\n{text}\n', "f.toml").spec
    (again,) = parse_scenario(write_scenario(whole), "again.toml").spec.expectations
    assert msgspec.structs.replace(again, line=0) == spec


def test_an_event_may_begin_with_a_command_too() -> None:
    text = 'event = "broker_fenced"\nafter = "kill broker-2"\nnth = 2\nby = "200s"\ncount = 1'
    fields: dict[str, Any] = {"after": "kill broker-2", "nth": 2, "by_us": 200 * S, "count": 1}
    assert expectation_of(text) == ExpectationSpec(event="broker_fenced", **fields)


THAT_BY = 'that = "true"\nby = "200s"\n'


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        (f'{THAT_BY}from = "60s"\nafter = "kill broker-2"', 4, "after: a window begins once, and `from` says when"),
        (f'{THAT_BY}from = "201s"', 2, "by: it is before `from`"),
        (f'{THAT_BY}from = "60"', 3, "from: '60' has no unit: us, ms, s, m, h"),
        (f"{THAT_BY}from = 60", 3, 'from: 60 needs a unit and quotation marks: "30s"'),
        (f'{THAT_BY}to = "60s"', 3, "to cannot be combined with `by`, only with `always = true` or an `event`"),
        ('that = "true"\nby = "6m"', 2, "by: it is after the end of the flight (`until`)"),
        ('event = "broker_fenced"\nby = "6m"', 2, "by: it is after the end of the flight (`until`)"),
        ('event = "broker_fenced"\nto = "6m"', 2, "to: it is after the end of the flight (`until`)"),
        ('event = "broker_fenced"\nby = "60s"\nto = "90s"', 3, "to: a window ends once, and `by` says when"),
        ('event = "broker_fenced"\nfrom = "3s"\nby = "2s"', 3, "by: it is before `from`"),
        (f"{THAT_BY}nth = 2", 3, "nth needs `after`: it says which of several"),
        (f'{THAT_BY}from = "60s"\nnth = 1', 4, "nth needs `after`: it says which of several"),
        (f'{THAT_BY}after = "kill broker-2"\nnth = 0', 4, "nth: 0 is below 1"),
        (f'{THAT_BY}after = "kill broker-2"\nnth = "2"', 4, "nth: '2' is not a whole number"),
        (
            f'{THAT_BY}after = "kill broker-2"\nnth = 3',
            4,
            "nth: the [[at]] steps give `kill broker-2` 2 times, not 3 times",
        ),
        (
            f'{THAT_BY}after = "start broker-2"\nnth = 2',
            4,
            "nth: the [[at]] steps give `start broker-2` once, not 2 times",
        ),
        (
            f'{THAT_BY}after = "kill broker-1"',
            3,
            "after: no [[at]] step gives `kill broker-1` (did you mean kill broker-2?)",
        ),
        (f'{THAT_BY}after = "heal"', 3, "after: no [[at]] step gives `heal`"),
        (
            f'{THAT_BY}after = "kil broker-2"',
            3,
            "after: `kil` is unexpected: kill NAME [for DURATION] (did you mean kill?)",
        ),
        (f"{THAT_BY}after = 3", 3, "after: 3 is not text"),
        (f'{THAT_BY}aftre = "kill broker-2"', 3, "unknown key aftre (did you mean after?)"),
        ('that = "true"\nby = "50s"\nafter = "kill broker-2"', 2, "by: it is before `kill broker-2` at 1m"),
        (
            'that = "true"\nby = "100s"\nafter = "kill broker-2"\nnth = 2',
            2,
            "by: it is before `kill broker-2` at 3m",
        ),
        (
            'that = "true"\nalways = true\nto = "50s"\nafter = "kill broker-2"',
            3,
            "to: it is before `kill broker-2` at 1m",
        ),
        (
            'event = "broker_fenced"\nto = "50s"\nafter = "kill broker-2"',
            2,
            "to: it is before `kill broker-2` at 1m",
        ),
        (
            'that = "true"\nat = "50s"\nafter = "kill broker-2"',
            3,
            "after cannot be combined with `at`, only with `by`, `always = true` or an `event`",
        ),
        (
            'that = "true"\nat = "50s"\nnth = 2',
            3,
            "nth cannot be combined with `at`, only with `by`, `always = true` or an `event`",
        ),
        (
            'that = "true"\nafter = "kill broker-2"',
            1,
            "an expectation has one of `by`, `at` and `always = true`",
        ),
    ],
)
def test_what_is_wrong_with_a_window_is_said_with_its_line(text: str, line: int, error: str) -> None:
    with pytest.raises(ScenarioErrors) as caught:
        expectation_of(text)
    assert [str(each) for each in caught.value.errors] == [f"f.toml:{LAST_LINE + 1 + line}: {error}"]


def test_an_empty_remark_is_a_step_like_others() -> None:
    text = f'{MINIMAL}[[at]]\ntime = "60s"\ndo = \'mark ""\'\n[[expect]]\n{THAT_BY}after = '
    (expectation,) = parse_scenario(text + "'mark \"\"'\n", "f.toml").spec.expectations
    assert expectation.after == 'mark ""'
    with pytest.raises(ScenarioErrors, match="no \\[\\[at\\]\\] step gives `heal`"):
        parse_scenario(text + '"heal"\n', "f.toml")


def test_a_step_that_could_not_be_read_brings_no_second_complaint() -> None:
    text = f'{MINIMAL}[[at]]\ntime = "60s"\ndo = "kil broker-2"\n[[expect]]\n{THAT_BY}after = "kill broker-2"\n'
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(text, "f.toml")
    assert [error.reason.partition(":")[0] for error in caught.value.errors] == ["do"]


def test_errors_behind_a_line_of_several_commands_have_their_own_lines() -> None:
    configs = "kafka-configs.sh --alter --entity-type topics --entity-name orders"
    text = (
        f'{MINIMAL}[[at]]\ntime = "10s"\ndo = "{configs} --add-config retention.ms=60000,segment.ms=30000"\n'
        '[[at]]\ntime = "20s"\ndo = "kill broker-99"\n'
    )
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(text, "f.toml")
    (error,) = caught.value.errors
    assert text.splitlines()[error.line - 1] == 'do = "kill broker-99"'


# --- in a flight ------------------------------------------------------------------------------------------------------

FLIGHT = f"""until = "20s"
{MINIMAL}
[[at]]
time = "12500ms"
do = "kill billing-1"
[[expect]]
that = "!members['billing-1'].alive"
after = "kill billing-1"
by = "15s"
"""


def test_a_window_begins_when_the_command_has_been_executed() -> None:
    (result,) = fly(make_plan(parse_scenario(FLIGHT, "f.toml"))).expectations
    assert (result["ok"], result["at_s"], result["already"]) == (True, 12.5, True)


def test_a_command_of_an_operator_begins_no_window() -> None:
    """It would be another instant in each flight: the file's own step is what the file means."""
    replay = Replay(by_time=((6 * S, Kill("billing-1")), (9 * S, parse("start billing-1"))))
    (result,) = fly(make_plan(parse_scenario(FLIGHT, "f.toml")), replay=replay).expectations
    assert result["at_s"] == 12.5


def test_an_accidental_expectation_is_held_and_accidental() -> None:
    """`lag < 1000 by 15 s` is true at 0 s, when nothing has happened; once it was more than that, it is not."""
    text = FLIGHT.replace("!members['billing-1'].alive", "groups.billing.lag < 1000")
    accidental = fly(make_plan(parse_scenario(text.replace('after = "kill billing-1"\n', ""), "f.toml")))
    assert accidental.expectations[0]["at_s"] == 0.0
    assert (accidental.held, accidental.accidental) == (True, True)
    meant = text.replace("lag < 1000", "lag > 20").replace('"15s"', '"20s"')
    flown = fly(make_plan(parse_scenario(meant, "f.toml")))
    assert (flown.held, flown.accidental) == (True, False), flown.expectations
