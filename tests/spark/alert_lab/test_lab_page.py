"""The page of the alert laboratory, on outcomes made by hand."""

import re
import shlex

import msgspec
import pytest

from recordings.alerts.rules import AlertRule, RuleSet
from recordings.alerts.scoring import FALSE, FOUND, MISSED, FlightOutcomes, RuleOutcome, leaderboard
from recordings.alerts.words import sentences
from recordings.spark.alert_lab.lab_page import cell, classes, delays, examples, page
from recordings.spark.alert_lab.lab_result import LabResult
from recordings.spark.alert_lab.lab_tasks import LabFlight, LabOrder, games

SECOND = 1_000_000
RULES = RuleSet(rules=(AlertRule(name="<b>lag</b>", kind="threshold", records=9), AlertRule(name="age", kind="growth")))


def outcome(rule: int, kind: str, delay_s: int | None = None, of: str = "kill of consumer") -> RuleOutcome:
    fault = kind != FALSE
    return RuleOutcome(
        rule=RULES.rules[rule].name,
        outcome=kind,
        at_us=20 * SECOND,
        delay_us=None if delay_s is None else delay_s * SECOND,
        fault_class=of if fault else "",
        fault="kill billing-1" if fault else "",
        group="billing",
        why="lag 12",
    )


def result(*outcomes: list[RuleOutcome]) -> LabResult:
    flights = [
        LabFlight(
            order=LabOrder(level=1, seed=seed),
            outcomes=FlightOutcomes(recording="", faults=1, harmless=0, outcomes=found),
        )
        for seed, found in enumerate(outcomes)
    ]
    broken = LabFlight(order=LabOrder(recording="x.flight"), failure="x.flight is damaged")
    board = leaderboard([each.outcomes for each in flights if each.outcomes is not None], RULES)
    return LabResult(flightdeck="0", rules=RULES, leaderboard=board, flights=[*flights, broken], seconds=1)


SEEN = result(
    [outcome(0, FOUND, 10), outcome(1, MISSED)],
    [outcome(0, FOUND, 40), outcome(1, FOUND, 20), outcome(1, FALSE)],
    [outcome(0, MISSED, of="stall of consumer"), outcome(1, MISSED, of="stall of consumer")],
)


def test_the_picture_has_every_delay_where_it_belongs() -> None:
    boxes, ticks = delays(SEEN)
    [lag, age] = boxes
    zero, per_s = ticks[0].at, (ticks[-1].at - ticks[0].at) / 40
    assert [round((x - zero) / per_s) for x in lag.dots] == [10, 40]
    assert round((lag.middle - zero) / per_s) == 25
    assert (lag.text, age.text) == ("2 found, median 25 s", "1 found, median 20 s")


def test_the_classes_are_counted_apart() -> None:
    lag, age = SEEN.leaderboard.scores
    assert classes(SEEN) == ["kill of consumer", "stall of consumer"]
    assert [cell(lag, name) for name in classes(SEEN)] == [("2 of 2", 1.0), ("0 of 1", 0.0)]
    assert [cell(age, name) for name in classes(SEEN)] == [("1 of 2", 0.5), ("0 of 1", 0.0)]
    assert cell(age, "isolate of broker") == ("–", 0.0)


def test_the_words_name_the_best_rule_and_what_it_misses() -> None:
    assert sentences(SEEN.leaderboard) == [
        "'<b>lag</b>' is the best rule: it finds 2 of 3 faults in 25.0 s (median), with 0 false alerts.",
        "It misses 1 of 1 fault of the class 'stall of consumer'.",
        "3 flights: 3 faults hurt a group.",
    ]


def test_each_rule_has_its_slowest_alert_and_its_mistakes() -> None:
    shown = [(each.rule, each.outcome, each.command) for each in examples(SEEN)]
    assert shown == [
        ("<b>lag</b>", "slowest alert", "flightdeck game --level 1 --seed 1"),
        ("<b>lag</b>", "missed", "flightdeck game --level 1 --seed 2"),
        ("age", "slowest alert", "flightdeck game --level 1 --seed 1"),
        ("age", "missed", "flightdeck game --level 1 --seed 0"),
        ("age", "false alert", "flightdeck game --level 1 --seed 1"),
    ]


def test_a_recording_is_opened_by_its_path_whatever_is_in_it() -> None:
    found = [outcome(0, FOUND, 10)]
    flight = LabFlight(
        order=LabOrder(recording="of tonight/a.flight"),
        outcomes=FlightOutcomes(recording="", faults=1, harmless=0, outcomes=found),
    )
    shown = examples(msgspec.structs.replace(SEEN, flights=[flight]))
    assert shlex.split(shown[0].command) == ["flightdeck", "play", "of tonight/a.flight"]


def test_the_page_escapes_what_it_is_told_and_needs_no_network() -> None:
    text = page(SEEN)
    assert "<b>lag" not in text
    assert not re.search(r'(?:src|href)="', text)
    assert "x.flight is damaged" in text
    assert text.count('<circle class="delay"') == 3


def test_a_page_without_a_fault_has_no_picture() -> None:
    quiet = LabFlight(
        order=LabOrder(recording="quiet.flight"),
        outcomes=FlightOutcomes(recording="", faults=0, harmless=0, outcomes=[]),
    )
    board = leaderboard([quiet.outcomes] if quiet.outcomes is not None else [], RULES)
    text = page(LabResult(flightdeck="0", rules=RULES, leaderboard=board, flights=[quiet], seconds=1))
    assert "No fault hurts a group" in text
    assert "<svg" not in text


@pytest.mark.parametrize(("count", "levels"), [(7, [1, 2, 3]), (2, [4]), (3, [1, 2, 3, 4, 5, 6])])
def test_games_take_the_levels_in_turn(count: int, levels: list[int]) -> None:
    drawn = games(count, levels, 5)
    assert len({(each.level, each.seed) for each in drawn}) == count
    assert [each.level for each in drawn] == [levels[number % len(levels)] for number in range(count)]
    assert min(each.seed for each in drawn) == 5
