"""The way out on SIGINT, SIGTERM and SIGHUP: in good order, and within two seconds even if the terminal reads nothing.

Textual writes to the terminal through a thread with a short queue. When nobody reads there (a paused pane, a
connection that hangs) that thread waits in write(2), soon the event loop waits for the queue, and a handler of the
loop's own would never be called. So the handler here is the process's: Python runs it wherever the main thread waits.
It asks the loop to leave and starts a watch, which ends the flight (its recording is whole then) and, when the
ordinary way out does not come to its end because the terminal takes nothing, ends the process.
"""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 1.0  # for the ordinary way out, when the terminal takes nothing
PATIENCE_SECONDS = 20.0  # for a recording that is still being closed, and for a terminal that reads slowly
LOOK_SECONDS = 0.05


class WayOut:
    """Handles the signals that end a program, from `guard` to `unguard`.

    `leave` asks for the ordinary way out (it is called where anything may be under way, so it must only ask); `land`
    ends the flight and tells whether it is down, its recording closed. Both may be called again and again.
    """

    def __init__(self, leave: Callable[[], object], land: Callable[[], bool]) -> None:
        self._leave, self._land = leave, land
        self._before: dict[signal.Signals, Any] = {}
        self._watch: threading.Thread | None = None
        self._looks: list[Any] | None = None

    def guard(self) -> None:
        """From now on the signals lead out; elsewhere than in the main thread nothing can be done about them."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._told)

    def unguard(self) -> None:
        """The signals do what they did before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def remember(self, looks: list[Any] | None) -> None:
        """How the terminal was set (`termios`) before the program came."""
        self._looks = looks

    def _told(self, _number: int, _frame: FrameType | None) -> None:
        if self._watch is None:
            self._watch = threading.Thread(target=self._see_out, name="way out", daemon=True)
            self._watch.start()
        self._leave()

    def _see_out(self) -> None:
        began = time.monotonic()
        while not self._land() and time.monotonic() - began < PATIENCE_SECONDS:
            time.sleep(LOOK_SECONDS)
        while True:  # ends with the process, in either way
            waited = time.monotonic() - began
            if waited > PATIENCE_SECONDS or (waited > GRACE_SECONDS and not _takes_output()):
                self._end()
            time.sleep(LOOK_SECONDS)

    def _end(self) -> None:
        if self._looks is not None:
            import termios  # noqa: PLC0415 - only where there was something to remember

            with contextlib.suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.__stdin__, termios.TCSANOW, self._looks)  # type: ignore[arg-type]
        os._exit(0)


def _takes_output() -> bool:
    """Whether the terminal would take something at once."""
    try:
        return sys.__stdout__ is not None and bool(select.select([], [sys.__stdout__], [], 0)[1])
    except (OSError, ValueError):
        return False  # it is gone
