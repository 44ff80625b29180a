"""Sweep files: TOML in, a Sweep out, or every error of the file at once, as the reader of scenarios does it.

docs/sweep.md has the format.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from recordings.comparison.bill import MEASURES
from recordings.planning.grid import MOST_SEEDS, RowSettings
from recordings.scenarios.loader import (
    LIBRARY,
    Scenario,
    ScenarioErrors,
    SettingError,
    load,
    parse_setting,
    parse_tables,
    text_of,
)
from recordings.scenarios.toml_tables import (
    Problem,
    ReadError,
    TomlTable,
    filled_text,
    filled_words,
    flat_config,
    mapping,
    number,
    one_of,
    positive_duration,
    shown,
    text,
    whole,
)

MOST_SCENARIOS: Final = 20
MOST_VALUES: Final = 200
MOST_POINTS: Final = 10_000
MOST_ROUNDS: Final = 10
LARGEST: Final = 1e15
FRONTIER: Final = ("unread", "rebalances")
NAMES: Final = {measure.name: measure for measure in MEASURES}
"""The measures of the bill by the name that a sweep file gives them."""


class ListedKey(msgspec.Struct, frozen=True):
    """A key with a list of values, each as text; every combination of listed values is a point."""

    scope: str | None
    key: str
    values: tuple[str, ...]


class RangedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key whose values are drawn between two numbers, evenly or, if `logarithmic`, evenly in their logarithm.

    `whole`: only whole numbers. `unit`: what follows the number, for instance `/s`.
    """

    scope: str | None
    key: str
    low: float
    high: float
    logarithmic: bool = False
    whole: bool = True
    unit: str = ""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """What is flown: each scenario × each combination of `lists` × `samples` draws of `ranges`, with each seed.

    `rounds`: how often points are added between neighbours on the frontier of the two measures `frontier`.
    """

    title: str
    scenarios: tuple[Scenario, ...]
    seeds: tuple[int, ...]
    until_us: int | None
    fixed: RowSettings
    lists: tuple[ListedKey, ...]
    ranges: tuple[RangedKey, ...]
    samples: int
    sample_seed: int
    rounds: int
    frontier: tuple[str, str]

    @property
    def run_as(self) -> list[str]:
        """What `flightdeck run` takes for each scenario: its name in the library, or its file."""
        return [one.name if one.folder == LIBRARY else one.file for one in self.scenarios]


def load_sweep(path: Path) -> Sweep:
    """Read a sweep file and its scenarios. Raises ScenarioErrors: each error with its line and a suggestion."""
    return parse_tables(text_of(path), str(path), lambda table: _sweep(table, path.parent))


def _sweep(table: TomlTable, folder: Path) -> Sweep:
    title = table.take("title", filled_text, "")
    scenarios = _scenarios(table, folder)
    count = table.take("seeds", whole(1, MOST_SEEDS), 20)
    first = table.take("first_seed", whole(0), scenarios[0].spec.seed if scenarios else 0)
    until_us = table.take("until", positive_duration, None)
    frontier = table.take("frontier", _two_measures, FRONTIER)
    fixed = tuple((scope, key, _value(value)) for scope, key, value in _flat(table, "set"))
    lists = tuple(_listed(table))
    ranges = tuple(_ranged(each) for each in table.tables("range"))
    sample = table.table("sample")
    samples = sample.take("points", whole(1, MOST_POINTS), 16 if ranges else 1)
    sample_seed = sample.take("seed", whole(0), 0)
    rounds = sample.take("rounds", whole(1, MOST_ROUNDS), 1)
    sample.close()
    table.close()
    sweep = Sweep(
        title=title or (scenarios[0].spec.title if scenarios else ""),
        scenarios=scenarios,
        seeds=tuple(range(first, first + count)),
        until_us=until_us,
        fixed=fixed,
        lists=lists,
        ranges=ranges,
        samples=samples,
        sample_seed=sample_seed,
        rounds=rounds,
        frontier=frontier,
    )
    _check_whole(table, sweep)
    return sweep


def _scenarios(table: TomlTable, folder: Path) -> tuple[Scenario, ...]:
    """The scenario, or the scenarios: names of the library, or files beside the sweep file."""
    one = table.take("scenario", filled_text, "")
    none: tuple[str, ...] = ()
    several = table.take("scenarios", filled_words, none)
    if bool(one) == bool(several):
        if not any(problem.place[:1] in {("scenario",), ("scenarios",)} for problem in table.problems):
            table.wrong("scenario", "give either scenario or scenarios")
        return ()
    names = (one,) if one else several
    if len(names) > MOST_SCENARIOS:
        table.wrong("scenarios", f"{len(names)} scenarios are too many: a sweep has at most {MOST_SCENARIOS}")
        return ()
    found = []
    for name in names:
        try:
            found.append(load(folder / name if name.endswith(".toml") else name))
        except ScenarioErrors as error:
            table.wrong("scenario" if one else "scenarios", f"{error.errors[0]}")
    return tuple(found)


def _flat(table: TomlTable, key: str) -> list[tuple[str | None, str, object]]:
    """The keys of a table with their scopes: `"billing:session.timeout.ms" = …`, with or without quotes."""
    empty: Mapping[str, Any] = {}
    data = table.take(key, mapping, empty)
    found: list[tuple[str | None, str, object]] = []
    for place, name, value in flat_config(data, (*table.place, key)):
        try:
            scope, bare, _ = parse_setting(f"{name}=0")
        except SettingError:
            table.note(Problem(place, f"{name!r} is not a key: write KEY or SCOPE:KEY"))
            continue
        found.append((scope, bare, value))
    return found


def _value(value: object) -> str:
    """A TOML value as it is typed after `--set`."""
    if isinstance(value, list):
        return ",".join(_value(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(table: TomlTable) -> list[ListedKey]:
    found = []
    for scope, key, value in _flat(table, "vary"):
        values = [_value(each) for each in value] if isinstance(value, list) else []
        if not 1 <= len(values) <= MOST_VALUES:
            table.wrong("vary", f"{key}: {shown(value)} is not a list of 1 to {MOST_VALUES} values")
        elif len(set(values)) < len(values):
            table.wrong("vary", f"{key} has a value twice")
        found.append(ListedKey(scope, key, tuple(values)))
    return found


def _ranged(table: TomlTable) -> RangedKey:
    unknown: tuple[str | None, str] = (None, "?")
    label = table.take("key", _setting_key, unknown, required=True)
    low = table.take("from", number(0, LARGEST), 0.0, required=True)
    high = table.take("to", number(0, LARGEST), 1.0, required=True)
    logarithmic = table.take("scale", one_of("linear", "log"), "linear") == "log"
    unit = table.take("unit", text, "")
    if low >= high and table.has("from") and table.has("to"):
        table.wrong("to", "to: it must be above from")
    elif logarithmic and low <= 0:
        table.wrong("from", "from: a logarithmic scale begins above 0")
    table.close()
    integers = all(isinstance(table.data.get(key), int) for key in ("from", "to"))
    return RangedKey(
        scope=label[0], key=label[1], low=low, high=high, logarithmic=logarithmic, whole=integers, unit=unit
    )


def _setting_key(value: object) -> tuple[str | None, str]:
    try:
        scope, key, _ = parse_setting(f"{filled_text(value)}=0")
    except SettingError:
        raise ReadError(f"{shown(value)} is not a key: write KEY or SCOPE:KEY") from None
    return scope, key


def _two_measures(value: object) -> tuple[str, str]:
    names = tuple(one_of(*NAMES)(each) for each in filled_words(value))
    if len(names) != len(FRONTIER) or names[0] == names[1]:
        raise ReadError("it has two different measures")
    return names[0], names[1]


def _check_whole(table: TomlTable, sweep: Sweep) -> None:
    """What must fit together: keys are given once, ranges have samples, the number of points is bounded."""
    keys = [(scope, key) for scope, key, _ in sweep.fixed]
    keys += [(one.scope, one.key) for one in sweep.lists] + [(one.scope, one.key) for one in sweep.ranges]
    for scope, key in dict.fromkeys(one for one in keys if keys.count(one) > 1):
        table.wrong("vary", f"{scope + ':' if scope else ''}{key} is given twice")
    if not sweep.lists and not sweep.ranges:
        table.wrong("vary", "nothing is varied: give [vary] or [[range]]")
    if not sweep.ranges and (sweep.rounds > 1 or sweep.samples > 1):
        table.wrong("sample", "sample: points are drawn from ranges, and the file has no [[range]]")
    points = sweep.samples * len(sweep.scenarios)
    for each in sweep.lists:
        points *= len(each.values)
    if points > MOST_POINTS:
        table.wrong("vary", f"{points:,} points are too many: a sweep has at most {MOST_POINTS:,}")
