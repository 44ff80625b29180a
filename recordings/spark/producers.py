"""What producers suffered: records that failed, batches sent again, the errors behind them, fencing."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables

PRODUCER = ("run_id", "producer")


def producer_totals(tables: Tables) -> DataFrame:
    """Each producer instance at the end of its flight, one row each.

    `PRODUCER`, `acked` and `failed` (records; a send() that throws counts as failed), `retries` (batches sent again),
    `failures` (error → records that failed with it), `retried` (error → batches retried after it), `fenced` (how often
    the producer became Fenced).
    """
    rows = tables["producer_declared"].select(*PRODUCER).distinct()
    for other in (
        tables["batch_acknowledged"].select(*PRODUCER, sf.col("records").alias("acked")),
        tables["batch_failed"].select(*PRODUCER, sf.col("records").alias("failed"), "error"),
        tables["send_refused"].select(*PRODUCER, sf.col("records").alias("failed"), "error"),
        tables["batch_retried"].select(*PRODUCER, sf.lit(1).cast("bigint").alias("retries"), "error"),
        tables["producer_state_changed"]
        .where("state = 'Fenced'")
        .select(*PRODUCER, sf.lit(1).cast("bigint").alias("fenced")),
    ):
        rows = rows.unionByName(other, allowMissingColumns=True)
    counted = ("acked", "failed", "retries", "fenced")
    by_error = rows.groupBy(*PRODUCER, "error").agg(*(sf.sum(name).alias(name) for name in counted))
    return by_error.groupBy(*PRODUCER).agg(
        *(sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in counted),
        _by_error("failed").alias("failures"),
        _by_error("retries").alias("retried"),
    )


def _by_error(counted: str) -> Column:
    """A map from each error that has any to its count."""
    entry = sf.when(sf.col(counted) > 0, sf.struct("error", counted))
    return sf.map_from_entries(sf.sort_array(sf.collect_list(entry)))
