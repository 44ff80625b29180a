"""Rule files and the evaluators of each kind: a case that fires, and one that does not."""

import pytest

from recordings.alerts.evaluators import EVALUATORS, GroupLag, ReadPartition
from recordings.alerts.rules import KINDS, AlertRule, load_rules, parse_rules
from recordings.scenarios.loader import ScenarioErrors

SECOND = 1_000_000


def test_the_classic_rules_are_of_every_kind() -> None:
    rules = load_rules().rules
    assert {rule.kind for rule in rules} == set(KINDS) == set(EVALUATORS)
    (grows,) = (rule for rule in rules if rule.kind == "growth")
    assert (grows.records, grows.window_us) == (100, 60 * SECOND)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "r.toml:1: the file has no [[rule]]"),
        ("[[rule]]\nname = 'a'\nkind = 'threshhold'", "is none of burrow, threshold"),
        ("[[rule]]\nname = 'a'\nkind = 'threshhold'", "r.toml:3: .*did you mean threshold"),
        ("[[rule]]\nname = 'a'\nkind = 'threshold'", "r.toml:1: records is missing"),
        ("[[rule]]\nname = 'a'\nkind = 'time_lag'\nage = 30", 'r.toml:4: age: 30 needs a unit and quotation marks: "'),
        ("[[rule]]\nname = 'a'\nkind = 'time_lag'\nagee = '30s'", "did you mean age"),
        ("[[rule]]\nname = 'a'\nkind = 'burrow'\nstatuses = ['STOPP']", "did you mean STOP"),
        ("[[rule]]\nname = 'a'\nkind = 'burrow'\n[[rule]]\nname = 'a'\nkind = 'burrow'", "r.toml:5: .*another rule"),
        ("every = '100ms'\n[[rule]]\nname = 'a'\nkind = 'burrow'", "r.toml:1: every: it is at least 1s"),
        ("[[rule]\n", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, error: str) -> None:
    with pytest.raises(ScenarioErrors, match=error.replace("[[", r"\[\[").replace("]]", r"\]\]")):
        parse_rules(text, "r.toml")


def at(second: int, lag: int = 0, *, age: int = 0, stable: int = 1_000, end: int = 1_000) -> GroupLag:
    return GroupLag("billing", second * SECOND, (ReadPartition("orders-0", end, stable, lag, age * SECOND),))


THRESHOLD = AlertRule(name="a", kind="threshold", records=100)
TIME_LAG = AlertRule(name="a", kind="time_lag", age_us=30 * SECOND)
GROWTH = AlertRule(name="a", kind="growth", records=10, window_us=3 * SECOND)
STABLE = AlertRule(name="a", kind="last_stable_offset_age", age_us=3 * SECOND)


@pytest.mark.parametrize(
    ("rule", "looks", "why"),
    [
        (THRESHOLD, [at(1, 100)], "lag is 100"),
        (THRESHOLD, [at(1, 99)], ""),
        (TIME_LAG, [at(1, age=30)], "orders-0 is 30.0 s behind"),
        (TIME_LAG, [at(1, age=29)], ""),
        (GROWTH, [at(1, 5), at(2, 8), at(3, 7), at(4, 15)], "lag has grown by 10"),
        (GROWTH, [at(1, 5), at(2, 0), at(3, 7), at(4, 15)], ""),
        (GROWTH, [at(1, 5), at(2, 8), at(3, 20)], ""),
        (GROWTH, [at(1, 5), at(2, 8), at(3, 7), at(4, 14)], ""),
        (STABLE, [at(1, stable=7), at(2, stable=7), at(4, stable=7)], "last stable offset of orders-0 is 3 s old"),
        (STABLE, [at(1, stable=7), at(2, stable=8), at(4, stable=8)], ""),
        (STABLE, [at(1), at(2), at(9)], ""),
    ],
)
def test_a_rule_fires_only_while_its_condition_holds(rule: AlertRule, looks: list[GroupLag], why: str) -> None:
    evaluator = EVALUATORS[rule.kind](rule)
    assert [evaluator.look(look) for look in looks][-1] == why


@pytest.mark.parametrize(("refreshed_at", "why"), [(1_100, "orders-0 is STALL"), (1_000, "")])
def test_a_burrow_rule_fires_for_a_partition_of_its_statuses(refreshed_at: int, why: str) -> None:
    rule = AlertRule(name="a", kind="burrow", statuses=("STALL",), offset_refresh_us=SECOND)
    evaluator = EVALUATORS["burrow"](rule)
    evaluator.look(at(1, end=refreshed_at))
    for second in (2, 3, 4):
        evaluator.committed("orders-0", 1_000, second * SECOND)
    assert evaluator.look(at(5, end=refreshed_at)) == why


def test_a_burrow_rule_keeps_quiet_about_statuses_that_it_does_not_name() -> None:
    rule = AlertRule(name="a", kind="burrow", statuses=("REWIND",), offset_refresh_us=SECOND)
    evaluator = EVALUATORS["burrow"](rule)
    evaluator.look(at(1, end=1_100))
    for second in (2, 3, 4):
        evaluator.committed("orders-0", 1_000, second * SECOND)
    assert not evaluator.look(at(5, end=1_100))
