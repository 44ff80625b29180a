"""`flightdeck compare`: two sets of recordings against each other, pair by pair, read by Spark tasks.

    OUT/compare.json      every pair with its measures, every difference with its interval
    OUT/compare.html      the same on one page

One task reads one pair (`mapInArrow`: two recordings in, two bills out). The bill is the one of `flightdeck diff`, so a
comparison of one pair has the numbers of `diff`.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # published without types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from recordings.planning.ranking import totals
from recordings.spark.compare.bill_pairs import ORDER, READ, BillPair, BillPairTask
from recordings.spark.compare.compare_page import page
from recordings.spark.compare.compared import Compared, ComparedPair
from recordings.spark.compare.differences import judge
from recordings.spark.compare.flight_sets import FlightPair, PairedSets, find_sets, pair_sets
from recordings.spark.errors import ReportError, ReportInterruptedError, cause_of
from recordings.spark.output_files import refuse_output, write_output
from recordings.spark.runtime.session import spark_session
from recordings.spark.runtime.worker_tasks import NUMBER, attended, one_a_task, patient
from recordings.version import VERSION

JSON, HTML = "compare.json", "compare.html"
WHAT: Final = "a comparison"

Progress = Callable[[int], object]
"""(pairs that are to be read)."""


def compare_sets(
    a: Path,
    b: Path,
    out: Path,
    *,
    master: str | None = None,
    salvage: bool = False,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> Compared:
    """Compare two recordings, or two directories of recordings, and write both files to the directory `out`.

    `master`: a Spark master or Spark Connect URL, this machine if None: its workers read the recordings, at the same
    paths. `spark`: a session to use. Raises RecordingError (no recordings, none to pair, a damaged header) and
    ReportError (Spark failed, interrupted, `out` cannot be written); nothing is written then.
    """
    refuse_output(out, (JSON, HTML), WHAT)
    first, second = find_sets([a], [b])
    paired = pair_sets(first, second)
    if progress is not None:
        progress(len(paired.pairs))
    try:
        with nullcontext(spark) if spark is not None else spark_session(patient(master), name="compare") as session:
            compared = compared_in(session, first.name, second.name, paired, salvage=salvage)
    except KeyboardInterrupt:
        raise ReportInterruptedError(f"interrupted: nothing was written to {out}") from None
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise ReportError(f"the comparison failed ({cause_of(error)}); nothing was written to {out}") from error
    write_output(out, {JSON: msgspec.json.encode(compared) + b"\n", HTML: page(compared).encode()}, WHAT)
    return compared


def compared_in(session: SparkSession, a: str, b: str, paired: PairedSets, *, salvage: bool = False) -> Compared:
    """Compare two sets, called `a` and `b`, in a session, and write nothing. Raises what Spark raises."""
    began = time.perf_counter()
    bills = attended(lambda: _read(session, paired.pairs, salvage=salvage), lambda: None)
    return Compared(
        flightdeck=VERSION,
        a=a,
        b=b,
        pairs=[_pair(pair, read) for pair, read in zip(paired.pairs, bills, strict=True)],
        only_a=[str(path) for path in paired.only_a],
        only_b=[str(path) for path in paired.only_b],
        differences=judge({
            number: (read.a, read.b)
            for number, read in enumerate(bills)
            if read.a is not None and read.b is not None
        }),
        seconds=round(time.perf_counter() - began, 3),
    )  # fmt: skip


def _read(session: SparkSession, pairs: list[FlightPair], *, salvage: bool) -> list[BillPair]:
    """The bills of all pairs, in their order."""
    rows = [(number, str(pair.a.absolute()), str(pair.b.absolute())) for number, pair in enumerate(pairs)]
    ordered = one_a_task(session.createDataFrame(rows, ORDER), len(rows))
    read = ordered.mapInArrow(BillPairTask(salvage=salvage), READ).orderBy(NUMBER).collect()
    return [msgspec.json.decode(row["bills"], type=BillPair) for row in read]


def _pair(pair: FlightPair, read: BillPair) -> ComparedPair:
    return ComparedPair(
        scenario=pair.scenario,
        scenario_b=pair.scenario_b,
        seed=pair.seed,
        a=str(pair.a),
        b=str(pair.b),
        until_us=None if read.a is None else read.a.at_us,
        shortened=read.shortened,
        measures_a={} if read.a is None else totals(read.a),
        measures_b={} if read.b is None else totals(read.b),
        warnings=read.warnings,
        failure=read.failure,
    )
