"""SIGINT, SIGTERM and SIGHUP to a command: what they end, and when it must not be broken off.

A flight under way is asked to end: it does with the next turn, in good order. A turn that has not ended a second later
is broken off where that is safe: not in the journal, so that what is recorded is whole, and not in trio's own loop.
What listens to nothing (code that is not ours, and catches everything) ends with the process. Between flights, and
while one lands, a signal waits until it is seen; anywhere else it is KeyboardInterrupt.

A shell starts what it puts in the background with SIGINT ignored, `nohup` with SIGHUP ignored: that stays so. SIGTERM
needs neither of them.
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
BROKEN_OFF = 10  # times, before the process ends without its flight
PATIENCE_SECONDS = 5.0  # in which further signals say nothing new

_WHOLE = frozenset(
    {
        "recordings.journal.writer",
        "recordings.journal.segments",
        "recordings.journal.keyframes",
        "recordings.journal.format",
    }
)


class _Ears:
    """What is known of signals; there is one, since a process has one set of them."""

    def __init__(self) -> None:
        self.flights: list[Callable[[], None]] = []
        self.waiting = 0  # parts under way that see to a signal themselves, in time
        self.asked_at: float | None = None
        self.broken_off = 0
        self.before: dict[signal.Signals, Any] = {}  # what handled them until `listen`


_ears = _Ears()


def listen() -> None:
    """From now on signals end what this process does; to be called on the main thread."""
    atexit.register(_deaf)  # the first to be registered is the last to be called
    _ears.before = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGALRM)}
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGALRM, _press)
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def hand_back() -> None:
    """Signals do again what they did before `listen`: the process goes on with something else."""
    atexit.unregister(_deaf)
    for number, handler in _ears.before.items():
        signal.signal(number, handler)
    _ears.before.clear()


def end_with(code: int) -> None:
    """All is said and done: a signal that comes now finds the process at its end, with its own code."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(code))


def leave(code: int) -> NoReturn:
    """End the process with this code, now that all is said and done; what was registered for the end is done.

    Not `sys.exit`: CPython ends by SIGINT, whatever the code, once a KeyboardInterrupt has passed through `exec` of a
    text (as dataclasses do while they are imported); and it would take a large cluster apart, object by object.
    """
    end_with(code)
    atexit._run_exitfuncs()
    os._exit(code)


def was_asked() -> bool:
    """Whether a signal has asked for the end."""
    return _ears.asked_at is not None


def _deaf() -> None:
    """Python gives signals their defaults back at its end: one that came then would take the exit code."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def seen_to() -> Iterator[None]:
    """A signal that comes meanwhile interrupts nothing: the code under way asks `was_asked`, or flies next."""
    _ears.waiting += 1
    try:
        yield
    finally:
        _ears.waiting -= 1


@contextmanager
def flying(end: Callable[[], None]) -> Iterator[None]:
    """A flight is under way, and a signal calls `end`, anywhere on the main thread; at once, if one has come before."""
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
    """The flight that was asked to end is still under way."""
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
