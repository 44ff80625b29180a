"""Run the queries of all analyses, a few at a time.

Spark computes lag and rebalances once and keeps them. A few queries run at once, because half of a short query is
planning, while the cores are idle.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from pyspark.sql import DataFrame, Row

from recordings.spark.analyses.analysis import Analysis
from recordings.spark.analyses.table import ANALYSES
from recordings.spark.errors import ReportError
from recordings.spark.runtime.session import suited_to
from recordings.spark.tables import Tables

AT_ONCE = 3

QueryResults = dict[str, list[Row]]
Query = Callable[[Tables], DataFrame]

OWN = {"flights", "kinds"}
"""The report's own rows, by which tables are reconciled with recordings."""


def queries_of(analyses: Sequence[Analysis[Any]]) -> dict[str, Query]:
    """The queries of analyses by name, those of the last ones first: groups take longest, and are last.

    Raises ValueError for a name that two of them use: one would get the rows of the other.
    """
    queries: dict[str, Query] = {}
    for named in (analysis.queries for analysis in reversed(analyses)):
        if both := (queries.keys() | OWN) & named.keys():
            raise ValueError(f"two analyses have a query named {', '.join(sorted(both))}")
        queries |= named
    return queries


QUERIES = queries_of(ANALYSES)


def run_queries(
    tables: Tables,
    progress: Callable[[str, int, int], object] | None = None,
    *,
    queries: Mapping[str, Query] = QUERIES,
) -> QueryResults:
    """The rows of each query, by its name. After each it calls `progress`: the name, how many are done, of how many.

    Beside them `flights` and `kinds` (`Tables.kinds`). Raises ReportError if the tables have not every recorded event.
    """
    results: QueryResults = {"flights": tables.flights.collect(), "kinds": tables.kinds()}
    refuse_gaps(results["flights"], results["kinds"], " and ".join(tables.places))
    ready = len(results)
    with suited_to(tables.spark, sum(row["events"] for row in tables.kinds())):
        threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")
        futures = {threads.submit(_rows, query, tables): name for name, query in queries.items()}
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                results[futures[future]] = future.result()
                if progress is not None:
                    progress(futures[future], done, len(futures))
        finally:  # after Ctrl-C this does not wait: running queries end with the session
            threads.shutdown(wait=len(results) == ready + len(futures), cancel_futures=True)
    return results


def refuse_gaps(flights: Sequence[Row], kinds: Sequence[Row], places: str) -> None:
    """Refuse tables that hold no flight, one twice, or fewer events than it had: every number could be false.

    Raises ReportError. An export of a flight ends with its row of `flights`, which has the events of each kind.
    """
    if not flights:
        raise ReportError(f"{places} holds no flight: the table `flights` has no row")
    found: Counter[tuple[str, str]] = Counter()
    for row in kinds:
        found[row["run_id"], row["kind"]] += row["events"]
    exports = Counter(flight["run_id"] for flight in flights)
    for flight in flights:
        run_id = flight["run_id"]
        if run_id is None or flight["kinds"] is None or flight["virtual_us"] is None:
            raise ReportError(f"a file of the table `flights` at {places} is of another version, or not Flightdeck's")
        if exports[run_id] > 1:
            raise ReportError(f"flight {run_id} is there twice: give one export of it ({places})")
        for kind, events in flight["kinds"].items():
            if found[run_id, kind] != events:
                raise ReportError(
                    f"the table `{kind}` at {places} has {found[run_id, kind]:,} of {events:,} events of flight"
                    f" {run_id}: a file is missing or not whole; `flightdeck export` makes it again"
                )


def _rows(query: Query, tables: Tables) -> list[Row]:
    return query(tables).collect()
