"""Signals during the imports of a command end the process with a one-line message.

`signal` imports `enum` and `re`, which takes milliseconds in which a signal may arrive. `_signal` is built in.
"""

import _signal as signal  # type: ignore[import-not-found]
import os

BAD_INPUT = 2


def listen() -> None:
    """Install handlers until the command installs its own; an ignored signal stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(*_: object) -> None:
    try:
        os.write(2, b"flightdeck: interrupted before the flight began\n")
    finally:
        os._exit(BAD_INPUT)
