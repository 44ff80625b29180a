"""Transactions as their coordinators' log has them: one row for each, from its first partition to its end."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables

COMMITTED, ABORTED = "CompleteCommit", "CompleteAbort"
UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


def transactions(tables: Tables) -> DataFrame:
    """Each transaction: `run_id`, `transactional_id`, `producer_id`, `epoch` (at its end), `from_us`, `until_us`.

    `outcome`: `committed`, `aborted`, or null like `until_us` while it is open; `partitions`: how many it wrote to;
    `fenced_by`: `timeout` or `InitProducerId` where its coordinator fenced the producer to abort it, else null.
    """
    key = ("run_id", "transactional_id")
    before = Window.partitionBy(*key).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    ended = sf.col("state").isin(COMMITTED, ABORTED)
    fenced = tables["transaction_fenced"].select(*key, "seq", sf.col("reason").alias("fenced_by"))
    changes = tables["transaction_state_changed"].where(sf.col("state").isin(*UNDER_WAY) | ended)
    rows = changes.where("not loaded").unionByName(fenced, allowMissingColumns=True)
    under_way = sf.when(sf.col("state").isin(*UNDER_WAY), sf.col("at_us"))
    return (
        rows.withColumn("number", sf.coalesce(sf.sum(ended.cast("int")).over(before), sf.lit(0)))
        .groupBy(*key, "number")
        .agg(
            sf.max_by("producer_id", sf.when(sf.col("producer_id").isNotNull(), sf.col("seq"))).alias("producer_id"),
            sf.max_by("epoch", sf.when(sf.col("epoch").isNotNull(), sf.col("seq"))).alias("epoch"),
            sf.min(under_way).alias("from_us"),
            sf.max(sf.when(ended, sf.col("at_us"))).alias("until_us"),
            sf.max(
                sf.when(sf.col("state") == COMMITTED, "committed").when(sf.col("state") == ABORTED, "aborted")
            ).alias("outcome"),
            sf.max(sf.size("partitions")).alias("partitions"),
            sf.max("fenced_by").alias("fenced_by"),
        )
        .where("from_us is not null")
        .drop("number")
    )
