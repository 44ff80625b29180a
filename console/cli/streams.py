"""Writing to stdout and stderr, and what the terminal there is able to do.

All that a command prints goes through `write` (a test holds that), which lets no control character out.
"""

import os
import sys
from typing import TextIO

from console.visible import visible, visible_line

DUMB = ("", "dumb", "unknown")
"""Values of TERM that promise nothing but lines."""


class OutputError(OSError):
    """What was to be printed could not be written."""


def say(text: str) -> None:
    """Print a text. Raises OutputError."""
    write(text + "\n")


def write(text: str, *, to: TextIO | None = None) -> None:
    """Write to stdout, or to another stream. Raises OutputError when it takes nothing (a full disk, say)."""
    _put(visible(text), at_once=True, to=to or sys.stdout)


def write_line(line: str, to: TextIO) -> None:
    """Write what is one line whatever is in it, not at once. Raises OutputError."""
    _put(visible_line(line) + "\n", at_once=False, to=to)


def write_help(text: str) -> None:
    """Write a text of our own, with the colours that it has on a terminal, to stdout. Raises OutputError."""
    _put(text, at_once=True, to=sys.stdout)


def rewrite(line: str, width: int, to: TextIO) -> None:
    """Write a line over the one of so many cells that the cursor stands behind. Raises OutputError."""
    _put("\r" + visible(line).ljust(width), at_once=True, to=to)


def _put(text: str, *, at_once: bool, to: TextIO) -> None:
    try:
        to.write(text)
        if at_once:
            to.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def write_nothing_more() -> None:
    """What is still buffered for stdout is not to be tried again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def let_go() -> None:
    """What the streams cannot take is not tried again at the end: Python would end with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_what_is_closed() -> None:
    """Give whoever started us without some of the standard streams (`>&-`) what takes nothing, or what nobody reads.

    Otherwise the next file that is opened, a recording's say, would get their number, and what is printed with it.
    """
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:
        null = os.open(os.devnull, os.O_RDWR)
    os.close(null)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0)
    if sys.stdout is None:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)  # so that nobody takes what is said nowhere for said
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def draws_nothing() -> bool:
    """Whether the terminal says that it knows no sequences: screens would be garbage on it."""
    return os.environ.get("TERM", "") in DUMB
