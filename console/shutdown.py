"""Signal handling: SIGINT, SIGTERM and SIGHUP stop the flight and end the process within two seconds.

Textual writes to the terminal through a thread with a short queue. If the terminal accepts no output (a paused pane, a
stalled connection), that thread blocks in write(2). The event loop then blocks on the queue, and an asyncio signal
handler would never run. The handler here is the process's own: Python runs it wherever the main thread waits. It asks
the loop to exit and starts a watch thread. The watch stops the flight, which closes its recording. If the terminal
still accepts no output after that, the watch ends the process.
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
GRACE_SECONDS = 1.0  # for the normal exit while the terminal accepts no output
MAX_EXIT_SECONDS = 20.0  # for a recording that is still being closed, and for a terminal that reads slowly
POLL_SECONDS = 0.05


class ShutdownGuard:
    """Handles the signals that end the program, from `install` to `uninstall`.

    `request_exit` asks for the normal exit; it runs in the signal handler, so it must only schedule. `stop_flight`
    stops the flight and returns whether its recording is closed. Both may be called repeatedly.
    """

    def __init__(self, request_exit: Callable[[], object], stop_flight: Callable[[], bool]) -> None:
        self._request_exit, self._stop_flight = request_exit, stop_flight
        self._previous_handlers: dict[signal.Signals, Any] = {}
        self._watch: threading.Thread | None = None
        self._terminal_attributes: list[Any] | None = None

    def install(self) -> None:
        """Install the handlers; outside the main thread Python allows none, and nothing is installed."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in SIGNALS:
            self._previous_handlers[number] = signal.signal(number, self._on_signal)

    def uninstall(self) -> None:
        """Restore the previous handlers."""
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        self._previous_handlers.clear()

    def remember_terminal(self, attributes: list[Any] | None) -> None:
        """Keep the terminal's `termios` attributes from before the program, to restore them at a forced end."""
        self._terminal_attributes = attributes

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._watch is None:
            self._watch = threading.Thread(target=self._watch_exit, name="shutdown", daemon=True)
            self._watch.start()
        self._request_exit()

    def _watch_exit(self) -> None:
        began = time.monotonic()
        while not self._stop_flight() and time.monotonic() - began < MAX_EXIT_SECONDS:
            time.sleep(POLL_SECONDS)
        while True:  # the thread is a daemon: it ends with the process
            waited = time.monotonic() - began
            if waited > MAX_EXIT_SECONDS or (waited > GRACE_SECONDS and not _stdout_is_writable()):
                self._end_process()
            time.sleep(POLL_SECONDS)

    def _end_process(self) -> None:
        if self._terminal_attributes is not None:
            import termios  # noqa: PLC0415 - only needed with attributes to restore

            with contextlib.suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.__stdin__, termios.TCSANOW, self._terminal_attributes)  # type: ignore[arg-type]
        os._exit(0)


def _stdout_is_writable() -> bool:
    """Whether the terminal would accept output without blocking."""
    try:
        return sys.__stdout__ is not None and bool(select.select([], [sys.__stdout__], [], 0)[1])
    except (OSError, ValueError):
        return False  # the terminal is gone
