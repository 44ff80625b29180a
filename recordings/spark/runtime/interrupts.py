"""Ctrl-C, SIGTERM and SIGHUP during a report: their handlers, the sections that ignore them, and what is printed."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

Handler = Callable[[int, Any], None] | signal.Handlers


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C: PySpark installs its own, to cancel its jobs; this restores the one before."""
    if not _heard_here():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def raised_not_logged() -> Iterator[None]:
    """Leave out what Py4J writes to Python's root logger, with a traceback: it raises the same, as here Ctrl-C."""
    root = logging.getLogger()
    root.addFilter(_not_of_py4j)
    try:
        yield
    finally:
        root.removeFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"  # Py4J's


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Finish this section: an interrupt during it is ignored, because it comes too late."""
    with _handled_by(signal.SIG_IGN):
        yield


@contextmanager
def held_back() -> Iterator[None]:
    """Delay an interrupt during this section until its end."""
    came: list[int] = []
    try:
        with _handled_by(lambda number, _frame: came.append(number)):
            yield
    finally:
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[str]:
    """A temporary directory that is removed, also if an interrupt comes while it is created."""
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
    """Whether this is the main thread: Python runs handlers there, and lets no other thread change them."""
    return threading.current_thread() is threading.main_thread()
