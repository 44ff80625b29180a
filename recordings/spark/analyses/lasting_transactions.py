"""Which transactions stayed open for long in a partition, and which groups read only what is committed behind them?"""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, make
from recordings.spark.facts.offsets import group_topics, topic_of
from recordings.spark.lag_causes import BEHIND_US
from recordings.spark.report_cluster_model import LastingTransaction
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows


def lasting_transactions(tables: Tables) -> DataFrame:
    """Each transaction that was open in a partition for longer than `BEHIND_US`, and each group that waited for it.

    `run_id`, `group`, `partition`, `producer`, `from_us` (its first record), `until_us` (its marker; null: never).
    """
    key = ("run_id", "partition", "producer_id")
    before = Window.partitionBy(*key).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    is_marker = sf.col("marker") != ""
    spans = (
        tables["records_appended"]
        .where("transactional")
        .withColumn("ended", sf.coalesce(sf.sum(is_marker.cast("int")).over(before), sf.lit(0)))
        .groupBy(*key, "ended")
        .agg(
            sf.min(sf.when(~is_marker, sf.col("at_us"))).alias("from_us"),
            sf.max(sf.when(is_marker, sf.col("at_us"))).alias("until_us"),
            sf.max(sf.when(~is_marker, sf.col("producer"))).alias("producer"),
        )
        .where("from_us is not null")
    )
    ends = tables.flights.select("run_id", "virtual_us")
    long = spans.join(sf.broadcast(ends), "run_id").where(f"coalesce(until_us, virtual_us) - from_us > {BEHIND_US}")
    committed = tables["group_declared"].where("read_committed").select("run_id", "group").distinct()
    readers = group_topics(tables).select("run_id", "group", "topic").join(committed, ["run_id", "group"])
    return (
        long.withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(readers), ["run_id", "topic"])
        .select("run_id", "group", "partition", "producer", "from_us", "until_us")
    )


def _build(rows: "FlightRows") -> list[LastingTransaction]:
    found = [make(LastingTransaction, row) for row in rows["lasting_transactions"]]
    return sorted(found, key=lambda each: (each.from_us, each.partition, each.group))


LASTING_TRANSACTIONS = Analysis(
    key="lasting_transactions",
    row=LastingTransaction,
    queries={"lasting_transactions": lasting_transactions},
    build=_build,
)
