"""The command `flightdeck`: handle signals first, then import the rest (`typing` alone takes some 15 ms).

A signal during these imports ends the process with a one-line message. `signal` imports `enum` and `re`, which takes
milliseconds in which a signal may arrive. `_signal` is built in.
"""

import _signal as signal  # type: ignore[import-not-found]
import os

ALLOCATIONS = 500_000  # between collections: modules live on, and each walk of them takes a twentieth of a start
BAD_INPUT = 2


def main() -> None:
    """Run the command line and exit."""
    listen()
    import gc  # noqa: PLC0415 - a signal may arrive during the import

    gc.set_threshold(ALLOCATIONS)
    from console.cli.execution import main as run_command_line  # noqa: PLC0415 - as above

    run_command_line()


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
