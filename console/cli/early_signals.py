"""While a command is still being imported, a signal ends the process in one line.

`signal` imports `enum` and `re`: milliseconds in which a signal may come. The module that it wraps is built in.
"""

import _signal as signal  # type: ignore[import-not-found]
import os

BAD_INPUT = 2


def listen() -> None:
    """Answer a signal in one line until the command has handlers of its own; an ignored signal stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(*_: object) -> None:
    try:
        os.write(2, b"flightdeck: interrupted before anything was flown\n")
    finally:
        os._exit(BAD_INPUT)
