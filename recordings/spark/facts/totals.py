"""Totals of a flight: records by topic and by group. All of them equal the fold's."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.delivery import fates, finished
from recordings.spark.facts.offsets import topic_of
from recordings.spark.facts.passages import READER
from recordings.spark.report_model import FATES
from recordings.spark.tables import Tables


def partition_totals(tables: Tables) -> DataFrame:
    """Records of each partition: `run_id`, `partition`, `topic`, `internal`, `produced`, `acked`, `appended`, `bytes`.

    `produced`: sent for the first time, or failed before; `appended`: the records that the last leader's log got and
    did not truncate; `bytes`: appended by any leader.
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
    """Records of each partition by its last leader: those in its log at first, or after a crash, and those added since.

    Control records do not count.
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
    """The records of each partition that each group read: `READER`, `processed`, `duplicated`, `FATES`.

    `end`: the rows of `lag_by_partition` at the flight's end. `processed` counts repetitions, `duplicated` only them.
    """
    none = sf.lit(0)
    worked = (
        finished(tables)
        .groupBy(*READER)
        .agg(sf.sum("processed").alias("processed"), sf.sum("repeated").alias("duplicated"))
    )
    return (
        fates(tables, end)
        .join(worked, list(READER), "left")
        .withColumns({name: sf.coalesce(name, none) for name in ("processed", "duplicated")})
    )


def group_totals(tables: Tables, readers: DataFrame) -> DataFrame:
    """Each group's records, from `reader_totals`: `run_id`, `group`, `processed`, `duplicated`, `FATES`.

    `out_of_order_keys`: keys whose records it finished in another order.
    """
    broken = tables["key_order_broken"].groupBy("run_id", "group").agg(sf.count("*").alias("out_of_order_keys"))
    return (
        readers.groupBy("run_id", "group")
        .agg(*(sf.sum(name).alias(name) for name in ("processed", "duplicated", *FATES)))
        .join(sf.broadcast(broken), ["run_id", "group"], "left")
        .withColumn("out_of_order_keys", sf.coalesce("out_of_order_keys", sf.lit(0)))
    )
