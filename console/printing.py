"""Writing to stdout, and what the terminal there is able to do."""

import os
import sys
from typing import TextIO

DUMB = ("", "dumb", "unknown")
"""Values of TERM that promise nothing but lines."""


class OutputError(OSError):
    """What was to be printed could not be written."""


def say(text: str) -> None:
    """Print a text. Raises OutputError."""
    write(text + "\n")


def write(text: str, *, at_once: bool = True, to: TextIO | None = None) -> None:
    """Write to stdout, or to another stream. Raises OutputError when it takes nothing (a full disk, say)."""
    stream = to or sys.stdout
    try:
        stream.write(text)
        if at_once:
            stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def write_nothing_more() -> None:
    """What is still buffered for stdout is not to be tried again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def let_go_of_stderr() -> None:
    """What it could not take is not tried again when the process ends: Python would end with a code of its own."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


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
