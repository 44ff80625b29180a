"""How long were the transactions of each transactional id, how did they end, and who fenced their producers?"""

from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, make, natural
from recordings.spark.facts.transactions import transactions
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows


class TransactionalId(msgspec.Struct, frozen=True, kw_only=True):
    """A transactional id and its transactions by their ends: `committed`, `aborted`, `lost`, `open_at_end`.

    `lost`: the log of its coordinator lost them. `timed_out`: aborted ones that were open for transaction.timeout.ms;
    `superseded`: aborted ones because another producer began with the id (InitProducerId). `p50_us`, `p95_us` and
    `longest_us` are durations at the coordinator, from the first partition to the end, or to the flight's end; the
    longest one began at `longest_from_us`. `most_partitions` is of one transaction.
    """

    transactional_id: str
    committed: int
    aborted: int
    lost: int
    open_at_end: int
    timed_out: int
    superseded: int
    p50_us: float
    p95_us: float
    longest_us: int
    longest_from_us: int
    most_partitions: int


def by_transactional_id(tables: Tables) -> DataFrame:
    """One row for each transactional id that had a transaction: the columns are the fields of `TransactionalId`."""
    flights = tables.flights.select("run_id", "virtual_us")
    took = sf.coalesce("until_us", "virtual_us") - sf.col("from_us")
    rows = transactions(tables).join(sf.broadcast(flights), "run_id").withColumn("took_us", took)
    counted = {
        "committed": sf.col("outcome") == "committed",
        "aborted": sf.col("outcome") == "aborted",
        "lost": sf.col("outcome") == "lost",
        "open_at_end": sf.col("outcome").isNull(),
        "timed_out": sf.col("fenced_by") == "timeout",
        "superseded": sf.col("fenced_by") == "InitProducerId",
    }
    return rows.groupBy("run_id", "transactional_id").agg(
        *(sf.count(sf.when(which, 1)).alias(name) for name, which in counted.items()),
        sf.percentile("took_us", sf.lit(0.5)).alias("p50_us"),
        sf.percentile("took_us", sf.lit(0.95)).alias("p95_us"),
        sf.max("took_us").alias("longest_us"),
        sf.max_by("from_us", sf.struct("took_us", -sf.col("from_us"))).alias("longest_from_us"),
        sf.max("partitions").alias("most_partitions"),
    )


def _build(rows: "FlightRows") -> list[TransactionalId]:
    found = sorted(rows["transactions"], key=lambda row: natural(row["transactional_id"]))
    return [make(TransactionalId, row) for row in found]


TRANSACTIONS = Analysis(
    key="transactions",
    row=TransactionalId,
    queries={"transactions": by_transactional_id},
    build=_build,
)
