"""Transactions as their coordinators' log has them: one row for each, from its first partition to its end."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables

COMMITTED, ABORTED = "CompleteCommit", "CompleteAbort"
UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


def transactions(tables: Tables) -> DataFrame:
    """Each transaction: `run_id`, `transactional_id`, `producer_id`, `epoch` (at its end), `from_us`, `until_us`.

    `outcome`: `committed`, `aborted`, `lost` (its coordinator's log lost it: the next state of its transactional id is
    of another transaction, or of none), or null like `until_us` while it is open. `partitions`: how many it wrote to;
    `fenced_by`: `timeout` or `InitProducerId` where its coordinator fenced the producer to abort it, else null.

    A transaction is the rows of its transactional id with one start (`txnStartTimestamp` of TransactionMetadata), which
    a coordinator that loads the id repeats.
    """
    key = ("run_id", "transactional_id")
    in_order = Window.partitionBy(*key).orderBy("seq")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    ended = sf.col("state").isin(COMMITTED, ABORTED)
    is_part = sf.col("state").isin(*UNDER_WAY) | ended
    changes = tables["transaction_state_changed"].withColumns(
        {"start": sf.when(is_part, sf.col("start_us")).otherwise(-1), "next_us": sf.lead("at_us").over(in_order)}
    )
    fenced = tables["transaction_fenced"].select(*key, "seq", sf.col("reason").alias("fenced_by"))
    outcome = sf.when(sf.col("state") == COMMITTED, "committed").when(sf.col("state") == ABORTED, "aborted")
    return (
        changes.unionByName(fenced, allowMissingColumns=True)
        .withColumn("start", sf.coalesce("start", sf.last("start", ignorenulls=True).over(before)))
        .where("start >= 0")
        .groupBy(*key, "start")
        .agg(
            sf.max_by("producer_id", sf.when(sf.col("producer_id").isNotNull(), sf.col("seq"))).alias("producer_id"),
            sf.max_by("epoch", sf.when(sf.col("epoch").isNotNull(), sf.col("seq"))).alias("epoch"),
            sf.min(sf.when(sf.col("state").isin(*UNDER_WAY), sf.col("at_us"))).alias("from_us"),
            sf.min(sf.when(ended, sf.col("at_us"))).alias("ended_us"),
            sf.max_by("next_us", sf.when(sf.col("state").isNotNull(), sf.col("seq"))).alias("next_us"),
            sf.max(outcome).alias("outcome"),
            sf.max(sf.size("partitions")).alias("partitions"),
            sf.max("fenced_by").alias("fenced_by"),
        )
        .where("from_us is not null")
        .withColumns(
            {
                "until_us": sf.coalesce("ended_us", "next_us"),
                "outcome": sf.coalesce("outcome", sf.when(sf.col("next_us").isNotNull(), "lost")),
            }
        )
        .drop("start", "ended_us", "next_us")
    )
