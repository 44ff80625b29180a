"""How fast a broker's log is read, and how much memory that takes.

    pytest tests/bench/test_bench_read_logs.py -s             # 80 and 240 MB; 1 GB in 60 s and 300 MB is promised
    pytest tests/bench/test_bench_read_logs.py -s -m slow     # 1 GB beside it: minutes

Each reading runs in a process of its own. Times are printed, never judged; judged is that memory does not grow with the
log.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bench.broker_log import write_log
from tests.support.repository import ROOT

PROMISED_S, PROMISED_MB = 60, 300  # for 1 GB
SMALL, LARGE, WHOLE = 80_000_000, 240_000_000, 1_000_000_000
MOST_GROWTH = 1.6  # of the peak, for three times as long a log
FEW, MANY = 10, 200  # groups; of each the last five hundred rebalances stay, which few have reached in a small log

PROGRAM = """
import re, sys, time
from pathlib import Path
from recordings.log_reading.make import read_logs
began = time.process_time()
reading = read_logs([Path(sys.argv[1])], Path(sys.argv[2]))
busy = time.process_time() - began
peak = re.search(r"VmHWM:\\s+([0-9]+) kB", Path("/proc/self/status").read_text())[1]
print(sum(file.lines for file in reading.files), reading.matched, busy, peak)
"""


class Figures(NamedTuple):
    """What one reading did."""

    lines: int
    matched: int
    processor_seconds: float
    peak_mb: float


def read(place: Path, size: int, groups: int) -> Figures:
    """Read a log of this size in a process of its own, and print what it took."""
    log = place / f"{size}.log"
    assert write_log(log, size, groups=groups) > 0
    command = [sys.executable, "-c", PROGRAM, str(log), str(place / f"{size}.flight")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines, matched, seconds, peak = done.stdout.split()
    log.unlink()
    found = Figures(int(lines), int(matched), float(seconds), int(peak) * 1024 / 1e6)
    a_gigabyte = found.processor_seconds * WHOLE / size
    sys.stdout.write(
        f"\n{size / 1e6:,.0f} MB, {found.lines:,} lines, {found.matched:,} of coordinators: "
        f"{found.processor_seconds:.1f} s of CPU time ({a_gigabyte:.0f} s a GB; {PROMISED_S} s promised), "
        f"{found.peak_mb:.0f} MB ({PROMISED_MB} MB promised)\n"
    )
    return found


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    small, large = read(tmp_path, SMALL, FEW), read(tmp_path, LARGE, FEW)
    assert large.lines > 2.5 * small.lines
    assert large.peak_mb <= MOST_GROWTH * small.peak_mb


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_gigabyte(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE, MANY).peak_mb < PROMISED_MB
