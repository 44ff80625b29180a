"""Ctrl-C and SIGTERM around a report: who hears them, and the one moment at which nobody may."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_interrupts() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself, to cancel its jobs; whoever had it before gets it back."""
    if threading.current_thread() is not threading.main_thread():
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
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs its handlers on the main thread, which is elsewhere
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
