"""The command line as a process, or in this one: its exit code and what it printed."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from tests.support.repository import ROOT


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Flightdeck = Callable[..., Ended]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "console.cli", *(str(word) for word in words)]


def in_a_process(*words: object, **environment: str) -> Ended:
    done = subprocess.run(
        command(*words),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
