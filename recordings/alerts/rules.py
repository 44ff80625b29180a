"""Alert rules: TOML in, a RuleSet out, or every error of the file at once, as the reader of scenarios does it."""

from pathlib import Path
from typing import Any, Final

import msgspec

from recordings.alerts.burrow import STATUSES
from recordings.scenarios.loader import parse_tables, text_of
from recordings.scenarios.toml_tables import (
    ReadError,
    TomlTable,
    duration,
    filled_text,
    filled_words,
    number,
    one_of,
    positive_duration,
    whole,
)

CLASSIC: Final = Path(__file__).parent / "classic.toml"
"""The rule file that is shipped."""
KINDS: Final = ("burrow", "threshold", "time_lag", "growth", "last_stable_offset_age")
MOST_RULES: Final = 50
MOST_INTERVALS: Final = 1_000
SECOND_US: Final = 1_000_000


class AlertRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule. It fires for a group while its condition has held for `for_us`, at each look in between.

    `records`: of threshold and growth; `age_us`: of time_lag and last_stable_offset_age; `window_us`: of growth. The
    others are Burrow's: `intervals`, `min_distance_us`, `offset_refresh_us`, `minimum_complete`, and which `statuses`
    are alerts. docs/alerts.md has their meaning.
    """

    name: str
    kind: str
    for_us: int = 0
    records: int = 0
    age_us: int = 0
    window_us: int = 0
    intervals: int = 10
    min_distance_us: int = 0
    offset_refresh_us: int = 10 * SECOND_US
    minimum_complete: float = 0.0
    statuses: tuple[str, ...] = STATUSES[1:]


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a file; lag is looked at each `every_us`. `harm_us` and `grace_us` are of the score."""

    rules: tuple[AlertRule, ...]
    every_us: int = SECOND_US
    harm_us: int = 10 * SECOND_US
    grace_us: int = 60 * SECOND_US


def load_rules(path: Path = CLASSIC) -> RuleSet:
    """Read a rule file. Raises ScenarioErrors: each error with its line and a suggestion."""
    return parse_rules(text_of(path), str(path))


def parse_rules(text: str, file: str) -> RuleSet:
    """Read the text of a rule file; `file` is its name in errors. Raises ScenarioErrors."""
    return parse_tables(text, file, _rule_set)


def _rule_set(table: TomlTable) -> RuleSet:
    every_us = table.take("every", _at_least_a_second, SECOND_US)
    score = table.table("score")
    harm_us = score.take("harm", positive_duration, 10 * SECOND_US)
    grace_us = score.take("grace", duration, 60 * SECOND_US)
    score.close()
    tables = table.tables("rule")
    if not tables:
        table.wrong("rule", "the file has no [[rule]]")
    elif len(tables) > MOST_RULES:
        table.wrong("rule", f"{len(tables)} rules are too many: a file has at most {MOST_RULES}")
    rules: list[AlertRule] = []
    for each in tables[:MOST_RULES]:
        rule = _rule(each)
        if rule.name and any(rule.name == one.name for one in rules):
            each.wrong("name", f"name: another rule is called {rule.name!r}")
        rules.append(rule)
    table.close()
    return RuleSet(rules=tuple(rules), every_us=every_us, harm_us=harm_us, grace_us=grace_us)


def _rule(table: TomlTable) -> AlertRule:
    given: dict[str, Any] = {
        "name": table.take("name", filled_text, "", required=True),
        "kind": table.take("kind", one_of(*KINDS), "", required=True),
        "for_us": table.take("for", duration, 0),
    }
    kind = given["kind"]
    if kind in {"threshold", "growth"}:
        given["records"] = table.take("records", whole(1), 1, required=True)
    if kind in {"time_lag", "last_stable_offset_age"}:
        given["age_us"] = table.take("age", positive_duration, 1, required=True)
    if kind == "growth":
        given["window_us"] = table.take("window", positive_duration, 1, required=True)
    if kind == "burrow":
        given["intervals"] = table.take("intervals", whole(1, MOST_INTERVALS), 10)
        given["min_distance_us"] = table.take("min_distance", duration, 0)
        given["offset_refresh_us"] = table.take("offset_refresh", _at_least_a_second, 10 * SECOND_US)
        given["minimum_complete"] = table.take("minimum_complete", number(0, 1), 0.0)
        given["statuses"] = table.take("statuses", _statuses, STATUSES[1:])
    if kind:
        table.close()
    return AlertRule(**given)


def _at_least_a_second(value: object) -> int:
    read = duration(value)
    if read < SECOND_US:
        raise ReadError("it is at least 1s")
    return read


def _statuses(value: object) -> tuple[str, ...]:
    return tuple(one_of(*STATUSES[1:])(each) for each in filled_words(value))
