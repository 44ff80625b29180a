"""Output to stdout and stderr, and the abilities of their terminal.

Everything that a command prints goes through `write` (tests/architecture checks it), which spells out control
characters.
"""

import os
import sys
from typing import TextIO

import msgspec

from console.visible import visible, visible_line

DUMB = ("", "dumb", "unknown")
"""Values of TERM whose terminals show lines only."""


class OutputError(OSError):
    """Output could not be written."""


def print_text(text: str) -> None:
    """Print a text. Raises OutputError."""
    write(text + "\n")


def json_of(value: object) -> str:
    """A result as one line of JSON."""
    return msgspec.json.encode(value).decode()


def write(text: str, *, to: TextIO | None = None) -> None:
    """Write to stdout, or to another stream. Raises OutputError if that fails (a full disk)."""
    _put(visible(text), flush=True, to=to or sys.stdout)


def write_line(line: str, to: TextIO) -> None:
    """Write one line, with newlines in it spelled out, unflushed. Raises OutputError."""
    _put(visible_line(line) + "\n", flush=False, to=to)


def write_help(text: str) -> None:
    """Write a trusted text with colour sequences to stdout. Raises OutputError."""
    _put(text, flush=True, to=sys.stdout)


def rewrite(line: str, width: int, to: TextIO) -> None:
    """Overwrite the current line, which is `width` cells long. Raises OutputError."""
    _put("\r" + visible(line).ljust(width), flush=True, to=to)


def _put(text: str, *, flush: bool, to: TextIO) -> None:
    try:
        to.write(text)
        if flush:
            to.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def discard_stdout() -> None:
    """Redirect stdout to /dev/null, so that Python does not flush its buffer again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def discard_unwritten() -> None:
    """Redirect streams that cannot be flushed to /dev/null: Python would otherwise exit with its own code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_closed_streams() -> None:
    """Replace standard streams that are closed (`>&-`) by /dev/null.

    Otherwise the next opened file, a recording for example, would get their number, and the printed text with it.
    """
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:
        null = os.open(os.devnull, os.O_RDWR)
    os.close(null)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0)
    if sys.stdout is None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)  # read-only: writing to a closed stdout stays an error
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def has_screen() -> bool:
    """Whether this process can show the console: on a terminal, or in a browser's tab (`--web`)."""
    in_browser = "WebDriver" in os.environ.get("TEXTUAL_DRIVER", "")
    return in_browser or (sys.stdin.isatty() and sys.stdout.isatty())


def is_dumb_terminal() -> bool:
    """Whether TERM names a terminal without escape sequences, which cannot show screens."""
    return os.environ.get("TERM", "") in DUMB
