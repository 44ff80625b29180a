"""The command line as a process, or in this one: its exit code and what it printed."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from console.cli import execution
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


def in_this_process(captured: pytest.CaptureFixture[str]) -> Flightdeck:
    """The command line in this process, what it prints captured by pytest."""

    def run(*words: object) -> Ended:
        try:
            code = execution._run([str(word) for word in words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        printed = captured.readouterr()
        return Ended(code, printed.out, printed.err)

    return run
