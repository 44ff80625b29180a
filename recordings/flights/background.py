"""Work in a process of its own, while this one stays responsive and can end it at any time."""

import multiprocessing
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

import msgspec

from cluster.commands import CommandError
from recordings.bounded_files import RecordingError
from recordings.flights.processes import ProcessEnded, begin_process
from recordings.flights.runner import FlightError
from recordings.scenarios.loader import ScenarioErrors, SettingError

R = TypeVar("R")


class WorkProgress(msgspec.Struct, Generic[R], frozen=True):
    """How far work is: the share that is done, its result, or why it ended without one."""

    share: float = 0.0
    result: R | None = None
    failed: str = ""

    @property
    def ended(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.result is not None or self.failed != ""


Work = Callable[[Callable[[float], object]], R]
"""What is done: it gets a function that takes the share so far. It is pickled."""


class BackgroundWork(Generic[R]):
    """A process that does one piece of work; ask `poll` how far it is."""

    def __init__(self, work: Work[R]) -> None:
        context = multiprocessing.get_context("spawn")
        with redirect_stderr(sys.__stderr__):  # Textual's has no file, which the resource tracker would be given
            resource_tracker.ensure_running()
        self._pipe, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(work, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._progress: WorkProgress[R] = WorkProgress()

    def poll(self) -> WorkProgress[R]:
        """The progress so far; it does not wait."""
        while not self._progress.ended and self._pipe.poll():
            try:
                self._progress = self._pipe.recv()
            except (EOFError, OSError):
                self._process.join()
                self._progress = WorkProgress(failed=ProcessEnded(self._process.exitcode).reason)
        return self._progress

    def cancel(self) -> None:
        """End the process. What it has done so far is dropped."""
        self._process.terminate()
        self._process.join()
        self._pipe.close()


def _work(work: Work[R], pipe: Connection) -> None:
    begin_process()
    silent = os.open(os.devnull, os.O_WRONLY)  # the terminal shows the console
    for descriptor in (1, 2):
        os.dup2(silent, descriptor)
    try:
        result = work(partial(_send_share, pipe))
    except (RecordingError, ScenarioErrors, SettingError, CommandError, FlightError, OSError) as error:
        pipe.send(WorkProgress[R](failed=str(error)))
    else:
        pipe.send(WorkProgress(1.0, result))


def _send_share(pipe: Connection, share: float) -> None:
    pipe.send(WorkProgress[None](share))
