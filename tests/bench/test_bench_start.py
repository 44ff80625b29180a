"""The CPU time of a start: `--help`, `--version`, and the console up to its first frame.

    pytest tests/bench/test_bench_start.py -s

Printed, never judged; promised are 0.2 s for help and version and 0.45 s for the first frame (120×40). The time of the
console is that of all its threads, from the start of the process until its header arrives at the terminal: read before
the test draws what has arrived, because the flight's own thread begins to work behind the first frame.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.console.terminal_process import Process
from tests.support.repository import ROOT

ROUNDS = 15
COMMAND = [sys.executable, "-m", "console.cli"]


def report(words: str, seconds: list[float], promised: float) -> None:
    """Say a figure, where `-s` shows it."""
    seconds = sorted(seconds)
    p50, p95 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.95)]
    sys.stdout.write(
        f"\n{words}: CPU p50 {p50:.3f}, p95 {p95:.3f}, least {seconds[0]:.3f} s (promised: {promised} s)\n"
    )


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version(option: str) -> None:
    report(f"flightdeck {option}", [_cpu_of_command(option) for _ in range(ROUNDS)], 0.2)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="Linux says what another process has used")
def test_the_first_frame() -> None:
    report("process start to first frame", [_cpu_until_first_frame() for _ in range(ROUNDS)], 0.45)


def _cpu_of_command(option: str) -> float:
    process = subprocess.Popen([*COMMAND, option], cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def _cpu_until_first_frame() -> float:
    process, nanoseconds = Process(command=COMMAND), 0
    while "FLIGHTDECK" not in process.terminal.text():
        assert select.select([process.fd], [], [], 20)[0], "nothing arrives"
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        nanoseconds = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
        assert process.read(0), "the console ended"
    process.press("q")
    process.wait()
    process.end()
    return nanoseconds / 1e9
