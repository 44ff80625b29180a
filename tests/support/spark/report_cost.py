"""What a report costs: the processor time of its whole process tree with Java's, and the jobs that Spark ran for it.

`python -m tests.support.spark.report_cost OUT PLACE…` makes the report and prints the number of its jobs.
"""

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.repository import ROOT

ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux: Java outlives the Python that started it


class Cost(NamedTuple):
    """Processor seconds, and Spark's jobs."""

    cpu_s: float
    jobs: int


def cost_of(places: Sequence[Path], out: Path) -> Cost:
    """Make a report of exported flights in a process of its own, and wait until its Java has ended as well."""
    if ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0) != 0:
        raise OSError("this system does not let a process wait for its grandchildren")
    before = _children_s()
    command = [sys.executable, "-m", __name__, str(out), *map(str, places)]
    made = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    try:
        while True:
            os.wait()
    except ChildProcessError:  # all have ended
        return Cost(_children_s() - before, int(made.stdout.split()[-1]))


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _report(out: Path, places: Sequence[str]) -> int:
    from recordings.spark.report import report  # noqa: PLC0415 - seconds, and the parent does not need it
    from recordings.spark.runtime.session import spark_session  # noqa: PLC0415

    with spark_session(name="report cost") as spark:
        report(places, out, spark=spark)
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


if __name__ == "__main__":
    sys.stdout.write(f"{_report(Path(sys.argv[1]), sys.argv[2:])}\n")
