"""SIGINT, SIGTERM and SIGHUP to a command: what each one ends, and when it must wait.

A signal asks the running flight to end; the flight ends with the next turn, in good order. A turn that takes longer
than a second is interrupted where that is safe: not in the journal, so that the recording stays whole, and not in
trio's own loop. Foreign code that catches every exception ends with the process. Between flights, and while a flight
ends, a signal waits until it is checked. Anywhere else it raises KeyboardInterrupt.

A shell starts background processes with SIGINT ignored, `nohup` with SIGHUP ignored; both stay ignored. SIGTERM always
has a handler.
"""

import atexit
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 1.0  # for the turn under way
AGAIN_SECONDS = 0.05
BROKEN_OFF = 10  # interruptions, before the process ends without its flight
PATIENCE_SECONDS = 5.0  # in which further signals have no effect

_WHOLE = frozenset(
    {
        "recordings.journal.writer",
        "recordings.journal.segments",
        "recordings.journal.keyframes",
        "recordings.journal.format",
    }
)


class _Ears:
    """The state of signal handling; one object, because a process has one set of handlers."""

    def __init__(self) -> None:
        self.flights: list[Callable[[], None]] = []
        self.waiting = 0  # running sections that check for a signal themselves
        self.asked_at: float | None = None
        self.broken_off = 0
        self.before: dict[signal.Signals, Any] = {}  # the handlers before `listen`


_ears = _Ears()


def listen() -> None:
    """Install the handlers that end this process's work; call it on the main thread."""
    atexit.register(_deaf)  # registered first, therefore called last
    _ears.before = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGALRM)}
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGALRM, _press)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def hand_back() -> None:
    """Restore the handlers of before `listen`, when the process goes on with other work."""
    atexit.unregister(_deaf)
    for number, handler in _ears.before.items():
        signal.signal(number, handler)
    _ears.before.clear()


def end_with(code: int) -> None:
    """The work is done: a signal from here on does not change the exit code."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(code))


def leave(code: int) -> NoReturn:
    """End the process with this code after its work is done; functions registered with atexit have run.

    Not `sys.exit`: CPython ends by SIGINT, whatever the code, once a KeyboardInterrupt has passed through `exec` of a
    text (as dataclasses do on import). It would also deallocate a large cluster object by object.
    """
    end_with(code)
    atexit._run_exitfuncs()
    os._exit(code)


def was_asked() -> bool:
    """Whether a signal has asked the process to end."""
    return _ears.asked_at is not None


def _deaf() -> None:
    """At exit Python restores the default handlers: a signal after that would change the exit code."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def seen_to() -> Iterator[None]:
    """Within this section a signal interrupts nothing: the code checks `was_asked`, or the next flight does."""
    _ears.waiting += 1
    try:
        yield
    finally:
        _ears.waiting -= 1


@contextmanager
def flying(end: Callable[[], None]) -> Iterator[None]:
    """A flight is running, and a signal calls `end` on the main thread; at once if one has come before."""
    _ears.flights.append(end)
    try:
        if was_asked():
            _ask()
        yield
    finally:
        _ears.flights.remove(end)
        if not _ears.flights and was_asked():
            signal.setitimer(signal.ITIMER_REAL, 0)


def _on_signal(_number: int, _frame: FrameType | None) -> None:
    now, before = time.monotonic(), _ears.asked_at
    if before is not None and now - before < PATIENCE_SECONDS:
        return
    if before is None:
        _ears.asked_at = now
        if _ears.flights:
            _ask()
            return
        if _ears.waiting:
            return
    raise KeyboardInterrupt


def _ask() -> None:
    for end in _ears.flights:
        end()
    signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS, AGAIN_SECONDS)


def _press(_number: int, frame: FrameType | None) -> None:
    """Interrupt a flight that was asked to end and still runs."""
    if not _ears.flights or not _may_break(frame):
        return
    _ears.broken_off += 1
    if _ears.broken_off > BROKEN_OFF:
        os._exit(1)
    raise KeyboardInterrupt


def _may_break(frame: FrameType | None) -> bool:
    """Whether the main thread is in a turn, and neither in the journal nor in trio's own code."""
    ours = False
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module in _WHOLE:
            return False
        if module == "cluster.virtual_time.timeline" and frame.f_code.co_name == "deadline_to_sleep_time":
            return True
        if module.partition(".")[0] == "trio":
            return ours
        ours, frame = True, frame.f_back
    return False
