"""What a report costs: the processor time of its whole process tree with Java's, and the jobs that Spark ran for it.

`python -m tests.support.spark.report_cost OUT PLACE…` makes the report and prints the number of its jobs; with `each`
for OUT it makes no report, but runs one analysis after the other, and prints what each of them takes; with `first` it
answers, as a report does, only what the first report answered: lag, rebalances, ownership and totals.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.repository import ROOT

EACH = "each"
FIRST = "first"
OF_FIRST_REPORT = frozenset({"incidents", "rebalances", "storms", "groups"})
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux: Java outlives the Python that started it


class Cost(NamedTuple):
    """Processor seconds, Spark's jobs, the time that it took, and the peak of the largest process (Java) so far."""

    cpu_s: float
    jobs: int
    seconds: float
    peak_mib: float


def cost_of(places: Sequence[Path], out: Path | str) -> Cost:
    """Make a report of exported flights in a process of its own, and wait until its Java has ended as well.

    `out`: where to, or `FIRST` for the queries of the first report alone.
    """
    if ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0) != 0:
        raise OSError("this system does not let a process wait for its grandchildren")
    before, began = _children_s(), time.perf_counter()
    command = [sys.executable, "-m", __name__, str(out), *map(str, places)]
    made = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    seconds = time.perf_counter() - began
    try:
        while True:
            os.wait()
    except ChildProcessError:  # all have ended
        peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        return Cost(_children_s() - before, int(made.stdout.split()[-1]), seconds, peak_mib)


def cost_of_analyses(places: Sequence[Path]) -> dict[str, float]:
    """The processor seconds of each analysis of a report, in the order of the report, in a process of its own.

    What several need (lag, rebalances, batches) counts for the first that needs it; `Spark's start` and `kinds` are of
    no analysis.
    """
    command = [sys.executable, "-m", __name__, EACH, *map(str, places)]
    made = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, float] = json.loads(made.stdout.splitlines()[-1])
    return found


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def process_s(number: int) -> float:
    """The processor seconds of a process, from Linux: Java's own bean of them is closed to Py4J."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _report(out: str, places: Sequence[str]) -> int:
    from recordings.spark.analyses.table import ANALYSES  # noqa: PLC0415 - seconds, and the parent does not need it
    from recordings.spark.queries import queries_of, run_queries  # noqa: PLC0415
    from recordings.spark.report import cheaply_readable, report  # noqa: PLC0415
    from recordings.spark.runtime.session import spark_session  # noqa: PLC0415
    from recordings.spark.tables import Tables  # noqa: PLC0415

    with spark_session(name="report cost") as spark:
        if out == FIRST:
            first = queries_of([analysis for analysis in ANALYSES if analysis.key in OF_FIRST_REPORT])
            with cheaply_readable(spark, places) as read:
                run_queries(Tables(spark, read), queries=first)
        else:
            report(places, Path(out), spark=spark)
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def _each(places: Sequence[str]) -> dict[str, float]:
    from recordings.spark.analyses.table import ANALYSES  # noqa: PLC0415 - as above
    from recordings.spark.runtime.session import spark_session, suited_to  # noqa: PLC0415
    from recordings.spark.tables import Tables  # noqa: PLC0415

    with spark_session(name="report cost") as spark:
        java: int = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
        tables, passed, costs = Tables(spark, places), 0.0, {}

        def took(what: str) -> None:
            nonlocal passed
            now = process_s(java) + time.process_time()
            costs[what], passed = round(now - passed, 2), now

        took("Spark's start")
        events = sum(row["events"] for row in tables.kinds())
        took("kinds")
        with suited_to(spark, events):
            for analysis in ANALYSES:
                for query in analysis.queries.values():
                    query(tables).collect()
                took(analysis.key)
        return costs


if __name__ == "__main__":
    if sys.argv[1] == EACH:
        sys.stdout.write(f"{json.dumps(_each(sys.argv[2:]))}\n")
    else:
        sys.stdout.write(f"{_report(sys.argv[1], sys.argv[2:])}\n")
