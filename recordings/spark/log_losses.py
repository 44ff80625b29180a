"""Acknowledged records that logs lost, whether or not a group had processed them before."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from recordings.spark.log_entries import PARTITION, batches
from recordings.spark.odd_records import RECORD, gone, serials, vanished
from recordings.spark.offsets import topic_of
from recordings.spark.tables import Tables


def log_losses(tables: Tables) -> DataFrame:
    """Acknowledged records of users' topics that no replica's log holds any more: `run_id`, `topic`, `records`.

    Each counts once, however many groups read it or none. Records of aborted transactions are left out.
    """
    lost = tables["records_lost"].select(*PARTITION, "producer", "first_serial", "records")
    if lost.isEmpty():  # most flights: the plan alone would cost a second
        return lost.select("run_id", topic_of("partition").alias("topic"), "records")
    ranges = lost.groupBy(*PARTITION, "producer").agg(
        sf.min("first_serial").alias("low"), sf.max(sf.col("first_serial") + sf.col("records")).alias("high")
    )
    users = tables["topic_created"].where("not internal").select("run_id", "topic").distinct()
    return (
        batches(tables)
        .where("acked and not aborted")
        .join(sf.broadcast(ranges), [*PARTITION, "producer"])
        .where("first_serial < high and first_serial + records > low")
        .select(*PARTITION, "producer", serials(), "appended_seq")
        .join(gone(tables), list(RECORD))
        .where(vanished())
        .select(*RECORD)
        .distinct()
        .withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(users), ["run_id", "topic"], "left_semi")
        .groupBy("run_id", "topic")
        .agg(sf.count("*").alias("records"))
    )
