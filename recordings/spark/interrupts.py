"""Ctrl-C, SIGTERM and SIGHUP around a report: what handles them, and the moments at which nothing may."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

Handler = Callable[[int, Any], None] | signal.Handlers


@contextmanager
def own_interrupts() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself, to cancel its jobs; whoever had it before gets it back."""
    if not _heard_here():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """What is begun here is finished: an interrupt that comes meanwhile comes too late, and is not heard."""
    with _handled_by(signal.SIG_IGN):
        yield


@contextmanager
def held_back() -> Iterator[None]:
    """An interrupt that comes meanwhile is heard at the end."""
    came: list[int] = []
    try:
        with _handled_by(lambda number, _frame: came.append(number)):
            yield
    finally:
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[str]:
    """A directory that is gone afterwards, also if an interrupt comes at the moment that it is made."""
    with ExitStack() as stack:
        with held_back():
            place = stack.enter_context(TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True))
        yield place


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    if not _heard_here():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


def _heard_here() -> bool:
    """Python runs its handlers on the main thread, and lets no other change them."""
    return threading.current_thread() is threading.main_thread()
