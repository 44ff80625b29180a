"""Run the queries of all analyses, a few at a time.

Spark computes lag and rebalances once and keeps them. A few queries run at once, because half of a short query is
planning, while the cores are idle.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from pyspark.sql import DataFrame, Row

from recordings.spark.analyses.analysis import Analysis
from recordings.spark.analyses.table import ANALYSES
from recordings.spark.runtime.session import suited_to
from recordings.spark.tables import Tables

AT_ONCE = 3

QueryResults = dict[str, list[Row]]
Query = Callable[[Tables], DataFrame]

BASE_QUERIES: Mapping[str, Query] = {"flights": lambda tables: tables.flights}
"""The report's own query, beside the events of each kind (`Tables.kinds`), which reconcile tables with recordings."""


def queries_of(analyses: Sequence[Analysis[Any]]) -> dict[str, Query]:
    """The queries of analyses by name, those of the last ones first: groups take longest, and are last.

    Raises ValueError for a name that two of them use: one would get the rows of the other.
    """
    queries: dict[str, Query] = {}
    for named in (*(analysis.queries for analysis in reversed(analyses)), BASE_QUERIES):
        if both := queries.keys() & named.keys():
            raise ValueError(f"two analyses have a query named {', '.join(sorted(both))}")
        queries |= named
    return queries


QUERIES = queries_of(ANALYSES)


def run_queries(tables: Tables, progress: Callable[[str, int, int], object] | None = None) -> QueryResults:
    """The rows of each query, by its name. After each it calls `progress`: the name, how many are done, of how many."""
    results: QueryResults = {"kinds": tables.kinds()}
    with suited_to(tables.spark, sum(row["events"] for row in tables.kinds())):
        threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")
        futures = {threads.submit(_rows, query, tables): name for name, query in QUERIES.items()}
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                results[futures[future]] = future.result()
                if progress is not None:
                    progress(futures[future], done, len(futures))
        finally:  # after Ctrl-C this does not wait: running queries end with the session
            threads.shutdown(wait=len(results) > len(futures), cancel_futures=True)
    return results


def _rows(query: Query, tables: Tables) -> list[Row]:
    return query(tables).collect()
