"""Error reports of the command line: one message on stderr, and the exit code."""

# ruff: noqa: PLC0415 - the errors of other packages are imported only after an error

import contextlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.config import nearest
from console.cli.streams import OutputError, json_of, write
from recordings.bounded_files import RecordingError

if TYPE_CHECKING:
    from cyclopts import CycloptsError

    from cluster.events import Event
    from recordings.flights.runner import FlightResult, Plan
    from recordings.scenarios.loader import ScenarioError

HELD, NOT_HELD, BAD_INPUT = 0, 1, 2


class UsageError(Exception):
    """An impossible command or option; the text gives the reason and the possible values."""


def explain(error: Exception, commands: Sequence[str]) -> int:
    """Print one message for an error and return the exit code; an unexpected error is reported as a bug."""
    from cyclopts import CycloptsError

    from cluster.commands import CommandError
    from recordings.flights.runner import FlightError
    from recordings.scenarios.loader import ScenarioErrors, SettingError

    if isinstance(error, CycloptsError):
        print_error(_usage(error, commands))
    elif isinstance(error, UsageError | RecordingError | ScenarioErrors | SettingError | CommandError):
        print_error(str(error))
    elif isinstance(error, OutputError):
        print_error(f"cannot write output: {error.strerror}")
    elif isinstance(error, FlightError):
        print_last_events(error.last_events)
        print_error(f"{error}\nset FLIGHTDECK_DEBUG=1 for the traceback")
        return NOT_HELD
    else:
        print_error(
            f"{type(error).__name__}: {error}\nthis is a bug of Flightdeck; set FLIGHTDECK_DEBUG=1 for the traceback"
        )
        return NOT_HELD
    return BAD_INPUT


def _usage(error: "CycloptsError", commands: Sequence[str]) -> str:
    """The message for an invalid command line, and the help to read."""
    from cyclopts import MissingArgumentError, UnusedCliTokensError

    command = " ".join(["flightdeck", *(error.command_chain or ())])
    reason = str(error)
    if isinstance(error, MissingArgumentError) and error.argument is not None and "Did you mean" not in reason:
        reason = f"{error.keyword} needs a value" if error.keyword else f"`{command}` needs {error.argument.name}"
    elif isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        word = error.unused_tokens[0]
        reason = f"unexpected argument {word!r} for `{command}`"
        if command == "flightdeck" and word in commands:
            reason = f"options follow the command: `flightdeck {word} …`"
        elif command == "flightdeck":
            near = _opens(word) or nearest(word, commands)
            reason = f"there is no command {word!r}" + (f"; did you mean {near}?" if near else "")
    return f"{reason}\ntry `{command} --help`"


def _opens(word: str) -> str:
    """How the console opens what was given in place of a command: a recording, a scenario; empty if it is neither."""
    from recordings.scenarios.loader import library

    quoted = shlex.quote(word)
    if word and Path(word).is_dir():
        return f"`flightdeck play {quoted}`"
    return f"`flightdeck --scenario {quoted}`" if word.endswith(".toml") or word in library() else ""


def print_last_events(events: "Sequence[Event]") -> None:
    """Print the last events before a failure on stderr."""
    if events:
        lines = [json_of(event) for event in events]
        write("\n".join([f"the last {len(lines)} events:", *lines, ""]), to=sys.stderr)


def report_violation(plan: "Plan", result: "FlightResult", record: Path | None) -> None:
    """Print the last events of a flight that broke an invariant, and record the flight unless it is recorded."""
    from recordings.flights.runner import keep_violation

    print_last_events(result.last_events)
    for violation in result.invariants["violations"] if record is None else ():
        try:
            path = keep_violation(plan, violation["seq"], ())
        except (RecordingError, OSError) as error:
            print_error(f"the flight could not be recorded: {error}")
        else:
            print_error(f"it is recorded in {path}; `flightdeck rerun {path}` shows it again")


def print_error(message: str) -> None:
    """Print `flightdeck: message` on stderr; if stderr cannot be written, the exit code alone reports the error."""
    with contextlib.suppress(OSError):
        write(f"flightdeck: {message}\n", to=sys.stderr)


def warn(warnings: Sequence[str]) -> None:
    """Print warnings; the command continues."""
    for warning in warnings:
        print_error(f"warning: {warning}")


def note(notes: "Sequence[ScenarioError]") -> dict[str, list[str]]:
    """Print what a scenario says without an effect, and return it as `--json` shows it; the command continues."""
    for each in notes:
        print_error(f"note: {each}")
    return {"notes": [str(each) for each in notes]} if notes else {}
