"""Totals of a flight: events by kind, records by topic, what each group made of them. All of them equal the fold's."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.offsets import NEVER, topic_of
from recordings.spark.tables import Tables

READER = ("run_id", "group", "partition")


def kinds(tables: Tables) -> DataFrame:
    """Events of each kind: `run_id`, `kind`, `events`, `first_seq`, `last_seq`."""
    return (
        tables.every_row()
        .groupBy("run_id", "kind")
        .agg(sf.count("*").alias("events"), sf.min("seq").alias("first_seq"), sf.max("seq").alias("last_seq"))
    )


def partition_totals(tables: Tables) -> DataFrame:
    """Records of each partition: `run_id`, `partition`, `topic`, `internal`, `produced`, `acked`, `appended`, `bytes`.

    `produced`: sent for the first time, or given up before; `bytes` appended.
    """
    key = ("run_id", "partition")
    sent = tables["produce_sent"].select("run_id", sf.explode("records").alias("partition", "produced"))
    unsent = tables["batch_failed"].where("not sent").select(*key, sf.col("records").alias("produced"))
    acked = tables["batch_acknowledged"].select(*key, sf.col("records").alias("acked"))
    appended = tables["records_appended"].select(*key, sf.col("count").alias("appended"), "bytes")
    rows = sent
    for other in (unsent, acked, appended):
        rows = rows.unionByName(other, allowMissingColumns=True)
    counted = ("produced", "acked", "appended", "bytes")
    topics = tables["topic_created"].select("run_id", "topic", "internal").distinct()
    return (
        rows.groupBy(*key)
        .agg(*(sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in counted))
        .withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(topics), ["run_id", "topic"])
        .select(*key, "topic", "internal", *counted)
    )


def reader_totals(tables: Tables, end: DataFrame) -> DataFrame:
    """What each group made of each partition it reads: `READER`, `processed`, `delivered`, `lost`, `unread` (records).

    `end`: the rows of `lag_by_partition` at the flight's end. `delivered`: distinct records that an application
    finished; `lost`: acknowledged ones that no log holds any more, or that a commit has passed unfinished.
    """
    starts = (
        tables["positions_reset"]
        .select("run_id", "group", "seq", sf.explode("positions").alias("partition", "offset"))
        .groupBy(*READER)
        .agg(sf.min_by("offset", "seq").alias("start"))
    )
    bounds = end.join(starts, list(READER), "left")
    pieces = _finished(tables).join(bounds, list(READER))
    passed_end = sf.when((sf.col("committed") != NEVER) & sf.col("start").isNotNull(), sf.col("committed"))
    finished = pieces.groupBy(*READER).agg(
        sf.sum("processed").alias("processed"),
        sf.sum("length").alias("delivered"),
        sf.sum(_overlap("start", passed_end)).alias("finished_passed"),
        sf.sum(_overlap("read_up_to", sf.col("high_watermark"))).alias("finished_ahead"),
    )
    passed = sf.greatest(sf.lit(0), sf.coalesce(passed_end - sf.col("start"), sf.lit(0)))
    none = sf.lit(0)
    return (
        bounds.join(finished, list(READER), "left")
        .join(_lost_from_logs(tables), ["run_id", "partition"], "left")
        .select(
            *READER,
            sf.coalesce("processed", none).alias("processed"),
            sf.coalesce("delivered", none).alias("delivered"),
            (passed - sf.coalesce("finished_passed", none) + sf.coalesce("lost_from_log", none)).alias("lost"),
            (sf.col("lag") - sf.coalesce("finished_ahead", none)).alias("unread"),
        )
    )


def _overlap(low: str, high: Column) -> Column:
    """How many records of a piece lie in [low, high); none when there is no such end (`least` would skip a null)."""
    length = sf.least("to", high) - sf.greatest("from", low)
    return sf.when(high.isNotNull(), sf.greatest(sf.lit(0), length)).otherwise(0)


def _finished(tables: Tables) -> DataFrame:
    """What each group finished, as disjoint pieces: `READER`, `from`, `to`, `length`, `processed` (repetitions too)."""
    order = Window.partitionBy(*READER).orderBy("first_offset", "next_offset")
    reached = sf.max("next_offset").over(order.rowsBetween(Window.unboundedPreceding, -1))
    start = sf.greatest("first_offset", sf.coalesce(reached, sf.col("first_offset")))
    return (
        tables["records_processed"]
        .withColumn("from", sf.least(start, "next_offset"))
        .select(
            *READER,
            "from",
            sf.col("next_offset").alias("to"),
            (sf.col("next_offset") - sf.col("from")).alias("length"),
            (sf.col("next_offset") - sf.col("first_offset")).alias("processed"),
        )
    )


def _lost_from_logs(tables: Tables) -> DataFrame:
    """Acknowledged records that a new leader's log did not have: `run_id`, `partition`, `lost_from_log`."""
    key = ("run_id", "partition", "seq")
    acked = tables["batch_acknowledged"].select(*key, (sf.col("base_offset") + sf.col("records")).alias("acked_end"))
    taken = tables["leadership_taken"].select(*key, "leader_epoch", "log_end")
    time = Window.partitionBy("run_id", "partition").orderBy("seq")
    deposed = sf.coalesce(sf.col("leader_epoch") < sf.max("leader_epoch").over(time), sf.lit(False))
    turn = sf.count("log_end").over(time.rowsBetween(Window.unboundedPreceding, -1))
    turns = (
        acked.unionByName(taken, allowMissingColumns=True)
        .withColumn("_deposed", deposed)
        .where("not _deposed")
        .withColumn("turn", turn)
        .groupBy("run_id", "partition", "turn")  # what was acknowledged until a leader took over, and its log
        .agg(sf.max("acked_end").alias("acked_end"), sf.max("log_end").alias("log_end"))
        .where("log_end is not null")
        .groupBy("run_id", "partition")
        .agg(sf.sort_array(sf.collect_list(sf.struct("turn", "acked_end", "log_end"))).alias("turns"))
    )
    zero = sf.struct(sf.lit(0).cast("bigint").alias("safe"), sf.lit(0).cast("bigint").alias("lost"))

    def take_over(so_far: Column, leader: Column) -> Column:
        safe = sf.greatest(so_far["safe"], leader["acked_end"])  # null without an acknowledgement: greatest skips it
        return sf.struct(
            sf.least(safe, leader["log_end"]).alias("safe"),
            (so_far["lost"] + sf.greatest(sf.lit(0), safe - leader["log_end"])).alias("lost"),
        )

    lost = sf.aggregate("turns", zero, take_over)["lost"]
    return turns.select("run_id", "partition", lost.alias("lost_from_log")).where("lost_from_log > 0")


def group_totals(tables: Tables, readers: DataFrame) -> DataFrame:
    """Each group's records, from `reader_totals`: `run_id`, `group`, `processed`, `delivered`, `lost`, `unread`.

    `duplicated`: what was finished once more; `out_of_order_keys`: keys whose records it finished in another order.
    """
    broken = tables["key_order_broken"].groupBy("run_id", "group").agg(sf.count("*").alias("out_of_order_keys"))
    counted = ("processed", "delivered", "lost", "unread")
    return (
        readers.groupBy("run_id", "group")
        .agg(*(sf.sum(name).alias(name) for name in counted))
        .join(broken, ["run_id", "group"], "left")
        .withColumn("out_of_order_keys", sf.coalesce("out_of_order_keys", sf.lit(0)))
        .withColumn("duplicated", sf.col("processed") - sf.col("delivered"))
    )
