"""`flightdeck game`: a hidden fault in a running cluster, to be found on the console's screens."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Invariants, Json, Record
from console.cli.errors import HELD, NOT_HELD, UsageError
from console.cli.options import whole_number
from console.cli.streams import is_dumb_terminal, json_of, print_text

if TYPE_CHECKING:
    from console.game.game_flight import GameFlight
    from recordings.game.score import PlayedGame

SECOND_US = 1_000_000
MOST_SEED = 9_999
CAPTION = "{title}: :diagnose FAULT TARGET accuses, :give up ends, :go game has the rules"


def game(
    *,
    level: Annotated[int, Parameter(help="The level, from 1.", converter=whole_number)] = 1,
    seed: Annotated[
        int | None, Parameter(help="The seed of cluster, noise and fault; default: any.", converter=whole_number)
    ] = None,
    record: Record = None,
    list_levels: Annotated[bool, Parameter(name="--list", help="List the levels.", negative="")] = False,
    score: Annotated[Path | None, Parameter(help="Print the score of a recorded game instead.")] = None,
    invariants: Invariants = True,
    json: Json = False,
) -> int:
    """Play a game: find the hidden fault of a running cluster with the console, and score."""
    from recordings.game.levels import LEVELS

    if list_levels:
        print_text(json_of(LEVELS) if json else of_levels())
        return HELD
    if score is not None:
        from recordings.game.score import played_game

        found = played_game(score)
        print_text(json_of(found) if json else of_game(found))
        return HELD
    if not 1 <= level <= len(LEVELS):
        raise UsageError(f"--level {level}: the levels are 1 to {len(LEVELS)}; `flightdeck game --list` names them")
    if seed is not None and seed < 0:
        raise UsageError(f"--seed {seed}: a seed is 0 or more")
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or is_dumb_terminal():
        raise UsageError("a game needs a terminal that can show screens; --list and --score need none")
    return _play(level, secrets.randbelow(MOST_SEED + 1) if seed is None else seed, record, invariants, json=json)


def _play(level: int, seed: int, record: Path | None, invariants: bool, *, json: bool) -> int:
    """Play on the screens; print the score at the end. Returns the exit code."""
    from console.app import FlightdeckApp
    from console.game.game_flight import GameFlight
    from recordings.game.drawing import draw_game
    from recordings.journal.writer import refuse_existing

    if record is not None:
        refuse_existing(record)
    drawn = draw_game(level, seed)
    flight = GameFlight(drawn, record, invariants=invariants)
    flightdeck = FlightdeckApp(source=flight, invariants=invariants)
    flightdeck.caption = CAPTION.format(title=f"level {level}, {drawn.level.title}")
    try:
        flightdeck.run()
        if flightdeck.return_code:
            return flightdeck.return_code
        return _print_score(flight, record, json=json)
    finally:
        flight.stop()
        flight.discard()


def _print_score(flight: "GameFlight", record: Path | None, *, json: bool) -> int:
    """The score of a game that is over, or that the player has left."""
    from recordings.game.score import played_game

    flight.stop()
    if flight.failure:
        return NOT_HELD
    played = flight.game().played or played_game(flight.path)
    text = json_of(played) if json else of_game(played)
    print_text(text if json or record is None else f"{text}\nrecorded in {record}")
    return HELD


def of_levels() -> str:
    """The table of levels."""
    from recordings.game.levels import LEVELS

    rows = [("level", "hidden", "noise", "length", "drawn from")]
    for level in LEVELS:
        minutes, seconds = divmod(level.length_us // SECOND_US, 60)
        names = ", ".join(each.name for each in level.classes)
        rows.append((str(level.number), level.title, str(level.noise), f"{minutes}:{seconds:02}", names))
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    return "\n".join("  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]))
                     for row in rows)  # fmt: skip


def of_game(played: "PlayedGame") -> str:
    """The faults, the terms of the score, the sum."""
    from console.presenters.formatting import clock

    lines = [f"{played.title} · seed {played.seed}"]
    for fault in played.faults:
        found = "not found" if fault.found_us is None else f"found at {clock(fault.found_us, 3)}"
        lines.append(f"  hidden: {fault.truth.text}, injected at {clock(fault.at_us, 3)}, {found}")
    if not played.faults:
        lines.append("  the game ended before a fault was injected")
    lines += [f"  {term.points:+6}  {term.name}: {term.source}" for term in played.terms]
    return "\n".join([*lines, f"score {played.score}"])
