"""How a command says that something is wrong: one clear message on stderr, and the exit code that goes with it."""

# ruff: noqa: PLC0415 - errors of packages that the command did not need are not imported before there is one

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from cyclopts import CycloptsError, UnusedCliTokensError

from cluster.config import nearest
from console.cli.streams import OutputError, write
from recordings.bounded_files import RecordingError

if TYPE_CHECKING:
    from cluster.events import Event
    from recordings.flights.runner import FlightResult, Plan

HELD, NOT_HELD, BAD_INPUT = 0, 1, 2


class UsageError(Exception):
    """What was asked for cannot be done: the text says why, and what can."""


def explain(error: Exception, commands: Sequence[str]) -> int:
    """One clear message for an error, and the exit code; what nobody foresaw is a bug of ours, and says so."""
    from cluster.commands import CommandError
    from recordings.flights.runner import FlightError
    from recordings.scenarios.loader import ScenarioErrors, SettingError

    if isinstance(error, CycloptsError):
        complain(_usage(error, commands))
    elif isinstance(error, UsageError | RecordingError | ScenarioErrors | SettingError | CommandError):
        complain(str(error))
    elif isinstance(error, OutputError):
        complain(f"cannot write output: {error.strerror}")
    elif isinstance(error, FlightError):
        print_last_events(error.last_events)
        complain(f"{error}\nset FLIGHTDECK_DEBUG=1 to see where it came from")
        return NOT_HELD
    else:
        complain(f"{type(error).__name__}: {error}\nthis is a bug of Flightdeck; set FLIGHTDECK_DEBUG=1 to see where")
        return NOT_HELD
    return BAD_INPUT


def _usage(error: CycloptsError, commands: Sequence[str]) -> str:
    """What was wrong with the words of a command line, and where to look."""
    command = " ".join(["flightdeck", *(error.command_chain or ())])
    reason = str(error)
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        word = error.unused_tokens[0]
        reason = f"{word!r} is too much for `{command}`"
        if command == "flightdeck" and word in commands:
            reason = f"{word} comes first, its options after it: `flightdeck {word} …`"
        elif command == "flightdeck":
            near = nearest(word, commands)
            reason = f"there is no command {word!r}" + (f"; did you mean {near}?" if near else "")
    return f"{reason}\ntry `{command} --help`"


def print_last_events(events: "Sequence[Event]") -> None:
    """Tell on stderr what happened last, for whoever must find out why a flight did not come to its end."""
    if events:
        lines = [msgspec.json.encode(event).decode() for event in events]
        write("\n".join([f"the last {len(lines)} events:", *lines, ""]), to=sys.stderr)


def tell_what_broke(plan: "Plan", result: "FlightResult", record: Path | None) -> None:
    """Tell what happened last in a flight that broke an invariant, and record it if it was not recorded."""
    from recordings.flights.runner import keep_violation

    print_last_events(result.last_events)
    for violation in result.invariants["violations"] if record is None else ():
        try:
            path = keep_violation(plan, violation["seq"], ())
        except (RecordingError, OSError) as error:
            complain(f"what was flown could not be recorded: {error}")
        else:
            complain(f"it is recorded in {path}; `flightdeck rerun {path}` shows it again")


def complain(message: str) -> None:
    """Say something on stderr, in our name; where stderr takes nothing, the exit code has to do."""
    with contextlib.suppress(OSError):
        write(f"flightdeck: {message}\n", to=sys.stderr)


def warn(warnings: Sequence[str]) -> None:
    """Say what does not end the command."""
    for warning in warnings:
        complain(f"warning: {warning}")
