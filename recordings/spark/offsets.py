"""Where partitions and groups stood: log starts, high watermarks, batches, committed offsets, a row for each change."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables

NEVER = -1
FACT = ("run_id", "partition", "seq", "at_us")


def topic_of(partition: str) -> Column:
    """The topic of a partition's name: `orders` of `orders-12`."""
    return sf.regexp_replace(sf.col(partition), "-[0-9]+$", "")


def partitions(tables: Tables) -> DataFrame:
    """Every partition and when it came to be: `run_id`, `topic`, `partition`, `seq`, `at_us`."""
    number = sf.explode(sf.expr("sequence(0L, partitions - 1)"))
    created = tables["topic_created"].select("run_id", "topic", "seq", "at_us", number.alias("number"))
    return (
        created.withColumn("partition", sf.concat_ws("-", "topic", "number"))
        .groupBy("run_id", "topic", "partition")
        .agg(sf.min("seq").alias("seq"), sf.min("at_us").alias("at_us"))  # a topic that grows keeps what it had
    )


def read_partitions(tables: Tables) -> DataFrame:
    """Every group with every partition of its topics: `partitions`' columns, `group`, `offset_reset`."""

    def make() -> DataFrame:
        topics = sf.explode("topics").alias("topic")
        groups = tables["group_declared"].select("run_id", "group", "offset_reset", topics)
        return partitions(tables).join(sf.broadcast(groups), ["run_id", "topic"])

    return tables.once("read_partitions", make)


def only_read(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows whose `partition` some group reads."""
    topics = tables["group_declared"].select("run_id", sf.explode("topics").alias("_topic")).distinct()
    return rows.withColumn("_topic", topic_of("partition")).join(
        sf.broadcast(topics), ["run_id", "_topic"], "left_semi"
    )


def log_changes(tables: Tables) -> DataFrame:
    """What happened to the logs that groups read; null: as before.

    `FACT`, `leader_epoch`, `log_start`, `high_watermark`; `log_end` of a leader that took over; `end` of a batch that
    was appended (its next offset). What a leader says that was deposed without knowing it is among them.
    """
    taken = tables["leadership_taken"].select(*FACT, "leader_epoch", "log_start", "high_watermark", "log_end")
    advanced = tables["high_watermark_advanced"].select(*FACT, "leader_epoch", sf.col("offset").alias("high_watermark"))
    end = (sf.col("base_offset") + sf.col("count")).alias("end")
    appended = tables["records_appended"].select(*FACT, "leader_epoch", end)
    rows = taken.unionByName(advanced, allowMissingColumns=True).unionByName(appended, allowMissingColumns=True)
    return only_read(tables, rows)


def commits(tables: Tables) -> DataFrame:
    """Each change of a group's committed offset: `FACT`, `group`, `committed` (`NEVER`: it has none any more).

    `reset`: not by a commit: its offsets expired, its coordinator loaded what the log had, the group was deleted.
    """
    key = ("run_id", "group", "seq", "at_us")
    committed = tables["offsets_committed"].select(*key, sf.explode("offsets").alias("partition", "committed"))
    expired = tables["offsets_expired"].select(*key, sf.explode("partitions").alias("partition"))
    deleted = tables["group_deleted"].select(*key, sf.create_map().cast("map<string,bigint>").alias("offsets"))
    replaced = tables["group_loaded"].select(*key, "offsets").unionByName(deleted)
    loaded = replaced.join(read_partitions(tables).select("run_id", "group", "partition"), ["run_id", "group"])
    never = sf.lit(NEVER).cast("bigint")
    kept = sf.coalesce(sf.try_element_at("offsets", sf.col("partition")), never)
    resets = loaded.select(*key, "partition", kept.alias("committed")).unionByName(
        expired.withColumn("committed", never)
    )
    return committed.withColumn("reset", sf.lit(False)).unionByName(resets.withColumn("reset", sf.lit(True)))
