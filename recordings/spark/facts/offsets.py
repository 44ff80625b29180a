"""The changes of partitions and groups: log starts, high watermarks, batches, committed offsets, one row each."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables

NEVER = -1
FACT = ("run_id", "partition", "seq", "at_us")
LOG = ("run_id", "partition")


def topic_of(partition: str) -> Column:
    """The topic of a partition's name: `orders` of `orders-12`."""
    return sf.regexp_replace(sf.col(partition), "-[0-9]+$", "")


def partitions(tables: Tables) -> DataFrame:
    """Every partition and its creation: `run_id`, `topic`, `partition`, `seq`, `at_us`; added ones included."""
    number = sf.explode(sf.expr("sequence(0L, partitions - 1)")).alias("number")

    def sized(rows: DataFrame) -> DataFrame:
        return rows.select("run_id", "topic", "seq", "at_us", number)

    return (
        tables.union({"topic_created": sized, "partitions_added": sized})
        .withColumn("partition", sf.concat_ws("-", "topic", "number"))
        .groupBy("run_id", "topic", "partition")
        # a topic that grows keeps its earlier partitions
        .agg(sf.min("seq").alias("seq"), sf.min("at_us").alias("at_us"))
    )


def group_topics(tables: Tables) -> DataFrame:
    """Every topic that a group reads or ever read: `run_id`, `group`, `topic`, `offset_reset`, `seq`, `at_us` (since).

    A topic that a member once subscribed to keeps its offsets, and so its lag, after the subscription ends.
    """

    def make() -> DataFrame:
        key = ("run_id", "group", "seq", "at_us")
        resets = tables["group_declared"].select("run_id", "group", "offset_reset")

        def named(rows: DataFrame) -> DataFrame:
            return rows.select(*key, sf.explode("topics").alias("topic"))

        return (
            tables.union(dict.fromkeys(("group_declared", "subscription_changed", "topic_regex_resolved"), named))
            .groupBy("run_id", "group", "topic")
            .agg(sf.min("seq").alias("seq"), sf.min("at_us").alias("at_us"))
            .join(sf.broadcast(resets), ["run_id", "group"])
        )

    return tables.once("group_topics", make)


def offset_resets(tables: Tables) -> DataFrame:
    """When `auto.offset.reset` of a running group was changed: `run_id`, `group`, `resets` (array of at_us, value)."""
    change = sf.struct("seq", "at_us", "value")
    return (
        tables["setting_changed"]
        .where("key = 'auto.offset.reset' and effect = 'now'")
        .groupBy("run_id", sf.col("scope").alias("group"))
        .agg(sf.sort_array(sf.collect_list(change)).alias("resets"))
    )


def read_partitions(tables: Tables) -> DataFrame:
    """Every group with every partition of its topics: `run_id`, `topic`, `partition`, `group`, `offset_reset`.

    `seq`, `at_us`: when the group begins to read it; `resets`: as in `offset_resets`, null for none; `log` as in
    `data_partitions`; `reader`: its number, from 1 in the order of their names.
    """

    def make() -> DataFrame:
        groups = group_topics(tables).withColumnsRenamed({"seq": "_seq", "at_us": "_at_us"})
        return (
            partitions(tables)
            .join(sf.broadcast(groups), ["run_id", "topic"])
            .join(sf.broadcast(offset_resets(tables)), ["run_id", "group"], "left")
            .join(sf.broadcast(data_partitions(tables)), ["run_id", "partition"])
            .withColumns({"seq": sf.greatest("seq", "_seq"), "at_us": sf.greatest("at_us", "_at_us")})
            .withColumn("reader", sf.row_number().over(Window.orderBy("log", "group")))
            .drop("_seq", "_at_us")
        )

    return tables.once("read_partitions", make)


def partitions_read(tables: Tables) -> DataFrame:
    """Each partition that a group reads: `LOG`, `log` as in `data_partitions`."""
    return tables.once("partitions_read", lambda: read_partitions(tables).select(*LOG, "log").distinct())


def only_read(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows whose `partition` a group reads, with `log` as in `data_partitions`."""
    return _only_of(partitions_read(tables), rows)


def only_data(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows whose `partition` is of a user's topic, or of one that a group reads, with its `log`."""
    return _only_of(data_partitions(tables), rows)


def data_partitions(tables: Tables) -> DataFrame:
    """Each partition of a user's topic, or of one that a group reads: `run_id`, `partition`, and its number, `log`.

    Logs are numbered from 1 in the order of their names. Rows are sorted by such a number in less than half of the time
    that names take: each comparison looks at the names of the flight and of the partition from their beginning.
    """

    def make() -> DataFrame:
        users = tables["topic_created"].where("not internal").select("run_id", "topic")
        topics = users.union(group_topics(tables).select("run_id", "topic")).distinct()
        of_data = partitions(tables).join(sf.broadcast(topics), ["run_id", "topic"], "left_semi")
        return of_data.select(*LOG, sf.row_number().over(Window.orderBy(*LOG)).alias("log"))

    return tables.once("data_partitions", make)


def _only_of(wanted: DataFrame, rows: DataFrame) -> DataFrame:
    """By the partition's name as it is: to find the topic in the name of each row takes longer than all the rest."""
    return rows.join(sf.broadcast(wanted), list(LOG))


def commits(tables: Tables) -> DataFrame:
    """Each change of a group's committed offset: `FACT`, `group`, `committed` (`NEVER`: it has none any more).

    `reset`: without a commit: its offsets expired, its coordinator loaded the log, the group was deleted.
    """
    key = ("run_id", "group", "seq", "at_us")
    never = sf.lit(NEVER).cast("bigint")
    readers = read_partitions(tables).select("run_id", "group", "partition")
    reset = sf.lit(True).alias("reset")
    kept = sf.coalesce(sf.try_element_at("offsets", sf.col("partition")), never).alias("committed")

    def committed(rows: DataFrame) -> DataFrame:
        changes = rows.select(*key, sf.explode("offsets").alias("partition", "committed"))
        return changes.withColumn("reset", sf.lit(False))

    def dropped(rows: DataFrame) -> DataFrame:
        gone = rows.select(*key, sf.explode("partitions").alias("partition"))
        return gone.withColumns({"committed": never, "reset": sf.lit(True)})

    def replaced(rows: DataFrame) -> DataFrame:
        return rows.select(*key, "offsets").join(readers, ["run_id", "group"]).select(*key, "partition", kept, reset)

    def deleted(rows: DataFrame) -> DataFrame:
        return replaced(rows.withColumn("offsets", sf.create_map().cast("map<string,bigint>")))

    return tables.union(
        {
            "offsets_committed": committed,
            "offsets_expired": dropped,
            "offsets_deleted": dropped,
            "group_loaded": replaced,
            "consumer_group_loaded": replaced,
            "group_deleted": deleted,
        }
    )
