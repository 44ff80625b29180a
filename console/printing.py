"""Writing to stdout, and what the terminal there is able to do."""

import os
import sys

DUMB = ("", "dumb", "unknown")
"""Values of TERM that promise nothing but lines."""


class OutputError(OSError):
    """What was to be printed could not be written."""


def say(text: str) -> None:
    """Print a text. Raises OutputError."""
    write(text + "\n")


def write(text: str, *, at_once: bool = True) -> None:
    """Write to stdout. Raises OutputError when it takes nothing (a full disk, say)."""
    try:
        sys.stdout.write(text)
        if at_once:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def write_nothing_more() -> None:
    """What is still buffered for stdout is not to be tried again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def draws_nothing() -> bool:
    """Whether the terminal says that it knows no sequences: screens would be garbage on it."""
    return os.environ.get("TERM", "") in DUMB
