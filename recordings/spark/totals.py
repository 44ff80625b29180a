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

    `produced`: sent for the first time, or given up before; `appended`: what the last leader's log was given and did
    not truncate; `bytes`: appended by whichever leader.
    """
    key = ("run_id", "partition")
    sent = tables["produce_sent"].select("run_id", sf.explode("records").alias("partition", "produced"))
    unsent = tables["batch_failed"].where("not sent").select(*key, sf.col("records").alias("produced"))
    acked = tables["batch_acknowledged"].select(*key, sf.col("records").alias("acked"))
    size = tables["records_appended"].select(*key, "bytes")
    rows = sent
    for other in (unsent, acked, size, _appended(tables)):
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


def _appended(tables: Tables) -> DataFrame:
    """Records of each partition by its last leader: what its log held at first, or after a crash, and added since.

    Control records are none.
    """
    key = ("run_id", "partition", "seq")
    taken = tables["leadership_taken"].select(*key, "leader_epoch", "broker", sf.col("appended").alias("held"))
    cut = tables["log_truncated"].select(*key, "broker", sf.col("appended").alias("held"))
    added = tables["records_appended"].where("marker = ''").select(*key, "leader_epoch", sf.col("count").alias("added"))
    everything = Window.partitionBy("run_id", "partition")
    takes = sf.col("held").isNotNull() & sf.col("leader_epoch").isNotNull()
    newest = sf.max(sf.when(takes, sf.struct("leader_epoch", "seq", "broker"))).over(everything)
    his = (sf.col("broker") == sf.col("_newest.broker")) & (sf.col("seq") >= sf.col("_newest.seq"))
    base = sf.when(sf.col("held").isNotNull() & his, sf.col("seq"))
    added_since = sf.col("held").isNull() & (sf.col("seq") > sf.col("_base"))
    by_it = sf.coalesce(sf.col("leader_epoch") >= sf.col("_newest.leader_epoch"), sf.lit(True))
    return (
        taken.unionByName(cut, allowMissingColumns=True)
        .unionByName(added, allowMissingColumns=True)
        .withColumn("_newest", newest)
        .withColumn("_base", sf.max(base).over(everything))
        .where((sf.col("seq") == sf.col("_base")) | (added_since & by_it))
        .select("run_id", "partition", sf.coalesce("held", "added").alias("appended"))
    )


def reader_totals(tables: Tables, end: DataFrame) -> DataFrame:
    """What each group made of each partition it reads: `READER`, `processed`, `delivered`, `lost`, `unread` (records).

    `end`: the rows of `lag_by_partition` at the flight's end. `delivered`: distinct records that an application
    finished; `lost`: ones that no log holds any more, or that a commit or the log's start has passed unfinished.
    """
    starts = (
        tables["positions_reset"]
        .select("run_id", "group", "seq", sf.explode("positions").alias("partition", "offset"))
        .groupBy(*READER)
        .agg(sf.min_by("offset", "seq").alias("start"))
    )
    deleted = tables["log_start_advanced"].groupBy("run_id", "partition").agg(sf.max("log_start").alias("deleted"))
    bounds = (
        end.join(starts, list(READER), "left")
        .join(sf.broadcast(deleted), ["run_id", "partition"], "left")
        .withColumn("read_up_to", sf.greatest("read_up_to", "deleted"))
    )
    pieces = _finished(tables).join(bounds, list(READER))
    committed = sf.when(sf.col("committed") != NEVER, sf.col("committed"))
    passed_end = sf.when(sf.col("start").isNotNull(), sf.greatest(committed, sf.col("deleted")))
    finished = pieces.groupBy(*READER).agg(
        sf.sum("processed").alias("processed"),
        sf.sum(sf.col("processed") - sf.col("repeated")).alias("delivered"),
        sf.sum(_overlap("start", passed_end)).alias("finished_passed"),
        sf.sum(_overlap("read_up_to", sf.col("high_watermark"))).alias("finished_ahead"),
    )
    passed = sf.greatest(sf.lit(0), sf.coalesce(passed_end - sf.col("start"), sf.lit(0)))
    none, unread = sf.lit(0), sf.col("high_watermark") - sf.col("read_up_to")
    return (
        bounds.join(finished, list(READER), "left")
        .join(_lost_from_logs(tables), ["run_id", "partition"], "left")
        .select(
            *READER,
            sf.coalesce("processed", none).alias("processed"),
            sf.coalesce("delivered", none).alias("delivered"),
            (passed - sf.coalesce("finished_passed", none) + sf.coalesce("lost_from_log", none)).alias("lost"),
            (sf.greatest(none, unread) - sf.coalesce("finished_ahead", none)).alias("unread"),
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
            "repeated",
        )
    )


def _lost_from_logs(tables: Tables) -> DataFrame:
    """Acknowledged records that no log holds any more: `run_id`, `partition`, `lost_from_log`.

    A batch is known by its producer and first serial number; one that was sent and appended again lives again, and so
    does one that a follower was still to get.
    """
    name = ["run_id", "partition", "producer"]
    batch = [*name, "first_serial"]

    def told(table: str, seq: str) -> DataFrame:
        """The acknowledged batches within the runs of records of a table, each with the last `seq` that says so."""
        runs = tables[table].select(
            *name,
            sf.col("seq").alias(seq),
            sf.col("first_serial").alias("run_from"),
            (sf.col("first_serial") + sf.col("records")).alias("run_to"),
        )
        return (
            tables["batch_acknowledged"]
            .select(*batch, "records")
            .join(sf.broadcast(runs), name)
            .where((sf.col("first_serial") >= sf.col("run_from")) & (sf.col("first_serial") < sf.col("run_to")))
            .groupBy(*batch, "records")
            .agg(sf.max(seq).alias(seq))
        )

    lost = told("records_lost", "lost_seq")
    again = (
        tables["records_appended"]
        .select(*batch, sf.col("seq").alias("again_seq"))
        .unionByName(told("records_survived", "again_seq").select(*batch, "again_seq"))
    )
    return (
        lost.join(again, batch, "left")
        .groupBy(*batch, "records", "lost_seq")
        .agg(sf.max("again_seq").alias("again_seq"))
        .where(sf.coalesce("again_seq", sf.lit(0)) < sf.col("lost_seq"))
        .groupBy("run_id", "partition")
        .agg(sf.sum("records").alias("lost_from_log"))
    )


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
