"""`flightdeck alerts`: lag alert rules, scored on recordings whose faults are known."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Json, Master, Salvage
from console.cli.errors import HELD, NOT_HELD, UsageError, warn
from console.cli.options import whole_number
from console.cli.streams import json_of, print_text
from console.visible import visible_line

if TYPE_CHECKING:
    from recordings.alerts.rules import RuleSet


MOST_GAMES = 10_000

Games = Annotated[
    int | None,
    Parameter(help="Fly so many games (drawn clusters with noise and a hidden fault) too.", converter=whole_number),
]
LevelOf = Annotated[
    list[int] | None,
    Parameter(name="--level", help="The levels of the games; default: all.", negative="", consume_multiple=True),
]


def alerts(
    paths: Annotated[
        list[Path] | None,
        Parameter(
            name="[RULES.toml] RECORDING",
            help="A rule file (.toml), if any; then recordings, or directories of them.",
            negative="",
        ),
    ] = None,
    /,
    *,
    games: Games = None,
    level: LevelOf = None,
    seed: Annotated[int, Parameter(help="The first seed of the games.", converter=whole_number)] = 1,
    out: Annotated[
        Path | None, Parameter(help="Score with Spark, and write alerts.html and alerts.json to this directory.")
    ] = None,
    master: Master = None,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Score lag alert rules on flights with known faults: delay from fault to alert, missed faults, false alerts."""
    from recordings.alerts.rules import CLASSIC, load_rules

    given = list(paths or ())
    file = given.pop(0) if given and given[0].suffix == ".toml" else None
    if not given and games is None:
        raise UsageError("name at least one recording, or give --games N")
    if out is None and (games is not None or master is not None):
        raise UsageError("--games and --master: give --out DIR, where Spark writes the scores")
    rules = load_rules(file or CLASSIC)
    recordings = _recordings(given)
    if out is None:
        return _here(rules, recordings, salvage=salvage, json=json)
    drawn = _checked_games(games, level, seed)
    return _laboratory(rules, recordings, drawn, out, master=master, salvage=salvage, json=json)


def _recordings(places: list[Path]) -> list[Path]:
    """The recordings at these places. Raises UsageError for a directory without one."""
    from recordings.journal.catalogue import recordings_at

    found: list[Path] = []
    for place in places:
        here = recordings_at(place)
        if not here:
            raise UsageError(f"{place} holds no recording: give a recording, or a directory of recordings")
        found += here
    return found


def _checked_games(games: int | None, levels: list[int] | None, seed: int) -> tuple[int, list[int], int]:
    """How many games of which levels from which seed on. Raises UsageError."""
    from recordings.game.levels import LEVELS

    numbers = [one.number for one in LEVELS]
    if games is not None and not 1 <= games <= MOST_GAMES:
        raise UsageError(f"--games: from 1 to {MOST_GAMES:,}")
    if any(one not in numbers for one in levels or ()):
        raise UsageError(f"--level: from {numbers[0]} to {numbers[-1]}")
    return games or 0, list(dict.fromkeys(levels or numbers)), seed


def _laboratory(
    rules: "RuleSet",
    recordings: list[Path],
    drawn: tuple[int, list[int], int],
    out: Path,
    *,
    master: str | None,
    salvage: bool,
    json: bool,
) -> int:
    """Score by Spark tasks, and write the page."""
    from console.cli.alerting.leaderboard import FlightsProgress, of_board
    from recordings.spark.runtime.java import find_java

    try:
        find_java()  # before the slow imports
        from recordings.spark.alert_lab.alert_lab import score_flights
        from recordings.spark.alert_lab.lab_tasks import LabOrder, games

        orders = [*(LabOrder(recording=str(path.absolute())) for path in recordings), *games(*drawn)]
        progress = FlightsProgress(sys.stderr)
        try:
            progress.ended(0, len(orders))
            result = score_flights(rules, orders, out, master=master, salvage=salvage, progress=progress.ended)
        finally:
            progress.clear()
    except KeyboardInterrupt:
        raise UsageError(f"interrupted: nothing was written to {out}") from None
    for flight in result.flights:
        warn(flight.warnings)
    for flight in result.failed:
        warn([f"{flight.order.name} is left out of every count: {flight.failure}"])
    if json:
        print_text(json_of(result))
    else:
        print_text(of_board(result.leaderboard))
        print_text(visible_line(f"{out}/alerts.html, alerts.json and outcomes.parquet have the details"))
    return NOT_HELD if result.failed else HELD


def _here(rules: "RuleSet", recordings: list[Path], *, salvage: bool, json: bool) -> int:
    """Score in this process."""
    from console.cli.alerting.leaderboard import of_alerts
    from recordings.alerts.scoring import score
    from recordings.alerts.watch import watch

    flights = [watch(path, rules, salvage=salvage) for path in recordings]
    for flight in flights:
        warn(flight.warnings)
    board = score(flights, rules)
    if json:
        report = {
            "rules": rules,
            "leaderboard": board,
            "flights": [
                {"recording": one.recording, "faults": one.faults, "alerts": one.alerts, "warnings": one.warnings}
                for one in flights
            ],
        }
        print_text(json_of(report))
    else:
        print_text(of_alerts(board, flights))
    return HELD
