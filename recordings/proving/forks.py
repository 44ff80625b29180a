"""Forks of a flight: a child process goes on from any moment of it, and answers through a pipe.

Virtual time waits for nothing outside, so a forked flight is a whole flight. What trio waits with is shared: the child
leaves by `os._exit`, which closes nothing, and the parent's trio ends after its children, which would take the news of
its end from it. Where that is a kqueue (macOS, BSD) no child inherits it, and there are no forks.
"""

import contextlib
import os
import select
import signal
import sys
from typing import NoReturn

import msgspec

from recordings.flights import interruption
from recordings.proving.crash_points import CrashOutcome

CAN_FORK = sys.platform == "linux"


ASKED_EVERY_S = 0.2


class Forks:
    """At most `jobs` children at a time. `outcomes` has the answers by the number of their fork."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._running: dict[int, tuple[int, int]] = {}  # the reading end of a pipe → process, number
        self._answers: dict[int, bytes] = {}
        self._write_to: int | None = None
        self.outcomes: dict[int, CrashOutcome] = {}

    @property
    def in_child(self) -> bool:
        """Whether this process is a child."""
        return self._write_to is not None

    def fork(self, number: int) -> bool:
        """Fork; true in the child. Waits while too many children run."""
        while len(self._running) >= self._jobs:
            self._collect()
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            self._running[reading] = process, number
            self._answers[reading] = b""
            return False
        signal.set_wakeup_fd(-1)
        for each in interruption.SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        os.close(reading)
        self._running.clear()
        self._write_to = writing
        return True

    def answer(self, outcome: CrashOutcome) -> NoReturn:
        """End this child with its outcome."""
        assert self._write_to is not None
        with contextlib.suppress(OSError), os.fdopen(self._write_to, "wb") as pipe:  # the parent may be gone
            pipe.write(msgspec.json.encode(outcome))
        os._exit(0)

    def wait(self) -> None:
        """Wait for every child."""
        while self._running:
            self._collect()

    def _collect(self) -> None:
        """Read what children have written; those that have ended leave."""
        ready, _, _ = select.select(list(self._running), [], [], ASKED_EVERY_S)
        if interruption.was_asked():
            raise KeyboardInterrupt
        for pipe in ready:
            part = os.read(pipe, 65_536)
            self._answers[pipe] += part
            if not part:
                process, number = self._running.pop(pipe)
                os.close(pipe)
                _, status = os.waitpid(process, 0)
                self.outcomes[number] = _read(self._answers.pop(pipe), status)

    def end(self) -> None:
        """Kill the children that still run; a child itself has none."""
        for pipe, (process, _) in self._running.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(pipe)
        self._running.clear()


def _read(answer: bytes, status: int) -> CrashOutcome:
    try:
        return msgspec.json.decode(answer, type=CrashOutcome)
    except msgspec.DecodeError:
        return CrashOutcome(failure=f"the process of this flight ended with status {os.waitstatus_to_exitcode(status)}")
