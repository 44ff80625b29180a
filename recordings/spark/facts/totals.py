"""Totals of a flight: records by topic and by group. All of them equal the fold's."""

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.delivery import fates, finished, with_reader
from recordings.spark.facts.offsets import topic_of
from recordings.spark.facts.passages import READER
from recordings.spark.report_model import FATES_IN_FULL
from recordings.spark.tables import Tables

PARTITION = ("run_id", "partition")
COUNTED = ("produced", "acked", "appended", "bytes", "written", "written_bytes")


def partition_totals(tables: Tables) -> DataFrame:
    """Records of each partition: `run_id`, `partition`, `topic`, `internal`, and `COUNTED`.

    `produced`: sent for the first time, or failed before; `appended`: the records that the last leader's log got and
    did not truncate; `bytes`: appended by any leader; `written`, `written_bytes`: the same without control records.
    """

    def make() -> DataFrame:
        key = ("run_id", "partition")
        sent = tables["produce_sent"].select("run_id", sf.explode("records").alias("partition", "produced"))
        unsent = tables["batch_failed"].where("not sent").select(*key, sf.col("records").alias("produced"))
        acked = tables["batch_acknowledged"].select(*key, sf.col("records").alias("acked"))
        # each is added up by itself first: a union of rows has all columns of all of them
        sums = [_sums(rows, key) for rows in (sent, unsent, acked, _appended(tables))]
        rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), sums)
        topics = tables["topic_created"].select("run_id", "topic", "internal").distinct()
        return (
            rows.groupBy(*key)
            .agg(*(sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in COUNTED))
            .withColumn("topic", topic_of("partition"))
            .join(sf.broadcast(topics), ["run_id", "topic"])
            .select(*key, "topic", "internal", *COUNTED)
        )

    return tables.once("partition_totals", make)


def _sums(rows: DataFrame, key: tuple[str, ...]) -> DataFrame:
    return rows.groupBy(*key).agg(*(sf.sum(name).alias(name) for name in COUNTED if name in rows.columns))


def _appended(tables: Tables) -> DataFrame:
    """`PARTITION` and, of `COUNTED`, what logs got: `appended` by the last leader, the others by any.

    Its records are those in its log at first, or after a crash, and those added since. Control records do not count.
    """
    began = tables.once("last_logs", lambda: _last_logs(tables))
    data = sf.col("marker") == ""
    rows = tables["records_appended"].select(
        *(*PARTITION, "seq", "leader_epoch", "bytes"),
        sf.when(data, sf.col("count")).alias("written"),
        sf.when(data, sf.col("bytes")).alias("written_bytes"),
    )
    since = sf.lit(True)
    # else what the last leader appended in its epoch came after it began to lead
    if tables.has_rows("log_truncated") or not began.where("takeovers > 1").isEmpty():
        rows = rows.join(sf.broadcast(began.select(*PARTITION, "_seq")), list(PARTITION), "left")
        since = sf.col("seq") > sf.col("_seq")
    by_leader = _sums(rows.withColumn("_since", since), (*PARTITION, "leader_epoch", "_since"))
    by_it = sf.col("_epoch").isNotNull() & sf.coalesce(sf.col("leader_epoch") >= sf.col("_epoch"), sf.lit(True))
    added = (
        by_leader.join(sf.broadcast(began.select(*PARTITION, "_epoch")), list(PARTITION), "left")
        .withColumn("appended", sf.when(sf.col("_since") & by_it, sf.col("written")))
        .drop("leader_epoch", "_since", "_epoch")
    )
    return began.select(*PARTITION, "appended").unionByName(added, allowMissingColumns=True)


def _last_logs(tables: Tables) -> DataFrame:
    """The log of each partition's last leader when it began to lead, or after its last truncation since.

    `PARTITION`, `appended` (records, then), `_seq` (of that event), `_epoch` (the leader's), `takeovers`: how often a
    leader took over in that epoch. A broker that registers anew leads again in the same epoch, with the same log.
    """
    key = (*PARTITION, "seq", "broker", "appended")
    taken = tables["leadership_taken"].select(*key, "leader_epoch")
    changes = taken.unionByName(tables["log_truncated"].select(*key), allowMissingColumns=True)
    takes = sf.when(sf.col("leader_epoch").isNotNull(), sf.struct("leader_epoch", "seq", "broker"))
    whole = Window.partitionBy(*PARTITION)
    return (
        changes.where("appended is not null")
        .withColumn("_newest", sf.max(takes).over(whole))
        .withColumn("takeovers", sf.count_if(sf.col("leader_epoch") == sf.col("_newest.leader_epoch")).over(whole))
        .where("broker = _newest.broker and seq >= _newest.seq")
        .groupBy(*PARTITION)
        .agg(
            sf.max_by("appended", "seq").alias("appended"),
            sf.max("seq").alias("_seq"),
            sf.max("_newest.leader_epoch").alias("_epoch"),
            sf.max("takeovers").alias("takeovers"),
        )
    )


def reader_totals(tables: Tables, end: DataFrame) -> DataFrame:
    """The records of each partition that each group read: `READER`, `processed`, `duplicated`, `FATES_IN_FULL`.

    `end`: the rows of `lag_by_partition` at the flight's end. `processed` counts repetitions, `duplicated` only them.
    No difference of offsets is a number of records: a group passes what compaction took.
    """
    again = with_reader(tables, finished(tables).groupBy("reader").agg(sf.sum("repeated").alias("duplicated")))
    return (
        fates(tables, end)
        .join(again, list(READER), "left")
        .withColumn("duplicated", sf.coalesce("duplicated", sf.lit(0)))
        .withColumn("processed", sf.expr("delivered + delivered_unacknowledged + duplicated"))
    )


def group_totals(tables: Tables, readers: DataFrame) -> DataFrame:
    """Each group's records, from `reader_totals`: `run_id`, `group`, `processed`, `duplicated`, `FATES_IN_FULL`.

    `out_of_order_keys`: keys whose records it finished in another order.
    """
    broken = tables["key_order_broken"].groupBy("run_id", "group").agg(sf.count("*").alias("out_of_order_keys"))
    return (
        readers.groupBy("run_id", "group")
        .agg(*(sf.sum(name).alias(name) for name in ("processed", "duplicated", *FATES_IN_FULL)))
        .join(sf.broadcast(broken), ["run_id", "group"], "left")
        .withColumn("out_of_order_keys", sf.coalesce("out_of_order_keys", sf.lit(0)))
    )
