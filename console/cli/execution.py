"""One command line from its words to the exit code: the streams, the signals and the errors around a command."""

# ruff: noqa: PLC0415 - the parser of options takes a tenth of a start, and `flightdeck` alone has none

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from console.cli.errors import BAD_INPUT, HELD, explain, print_error
from console.cli.opening import open_first_flight
from console.cli.streams import OutputError, discard_stdout, discard_unwritten, open_closed_streams, write
from recordings.flights import interruption


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an encoding without ✔ gets a ?
    try:
        interruption.listen()
        code = _run(tokens)
    except KeyboardInterrupt:  # during another message
        code = BAD_INPUT
    interruption.end_with(code)
    discard_unwritten()
    if tokens is not None:  # called by a program, which continues
        interruption.hand_back()
        sys.exit(code)
    interruption.leave(code)


def _run(tokens: Sequence[str] | None) -> int:
    """Run a command line and report its error; returns the exit code."""
    try:
        words = sys.argv[1:] if tokens is None else tokens
        code = _execute(words)
        write("")
        return code if isinstance(code, int) else HELD
    except BrokenPipeError:  # the reader of the output has closed the pipe
        discard_stdout()
        return HELD
    except KeyboardInterrupt:
        print_error("interrupted before the flight began")
        return BAD_INPUT
    except Exception as error:
        if isinstance(error, OutputError):
            discard_stdout()
        if os.environ.get("FLIGHTDECK_DEBUG"):
            raise
        from console.cli.main import COMMANDS

        return explain(error, COMMANDS)


def _execute(words: Sequence[str]) -> object:
    """Execute a command line; without a word, open the console."""
    if not words:
        return open_first_flight()
    from console.cli.main import execute

    return execute(words)
