"""Lag: how far each group was behind in each partition, at every virtual second, in records and in time.

Offset lag is high watermark - committed, as kafka-consumer-groups shows it; a partition without a commit counts from
the offset that `auto.offset.reset` gives. Time lag is the age of the first record that the group has not committed
past.

The facts of a partition's log and its readers' commits are sorted, and what they say lasts until the next one: the
ticks of the clock come from that, and are then laid between the batches. Of the facts of one second only the last is
sorted: an aggregate by hash takes less than to sort all of them.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.log_entries import last_reign, reigns
from recordings.spark.facts.offsets import FACT, NEVER, commits, only_read, partitions_read, read_partitions
from recordings.spark.facts.time_windows import SECOND_US, checkpoint, every_second
from recordings.spark.tables import Tables

PARTITION = ("run_id", "partition")
READER = ("run_id", "group", "partition")
OFFSETS = ("high_watermark", "committed", "read_up_to", "log_start")
MEASURES = ("lag", "time_lag_us")


def lag_by_partition(tables: Tables) -> DataFrame:
    """One row for each group, partition and second, from 0 to the flight's end (rounded up: see `last_second`).

    `run_id`, `group`, `partition`, `second`, `high_watermark`, `committed` (`NEVER` without a commit), `read_up_to`
    (the same, or the offset at which the group would begin), `log_start`, `lag` (records), `time_lag_us`.
    """
    return tables.once("lag_by_partition", lambda: _lag_by_partition(tables))


def _lag_by_partition(tables: Tables) -> DataFrame:
    lag = sf.greatest(sf.lit(0), sf.col("high_watermark") - sf.col("read_up_to"))
    age = sf.col("at_us") - sf.col("unread_us")
    known = _with_read_up_to(_ticks(tables))
    names = read_partitions(tables).select(*READER, "reader")
    return (
        _with_first_unread(known, _batches(tables), _lost(tables))
        .join(sf.broadcast(names), "reader")
        .withColumn("lag", lag)
        .withColumn("time_lag_us", sf.when(sf.col("lag") > 0, sf.coalesce(age, sf.lit(0))).otherwise(0))
        .select("run_id", "group", "partition", "second", *OFFSETS, *MEASURES)
    )


def _ticks(tables: Tables) -> DataFrame:
    """The ticks: one row for each group, partition and second from when the group begins to read the partition.

    `reader` (`read_partitions`), `log`, `second`, `at_us`, and at that moment `offset_reset`, `high_watermark`,
    `log_start`, `committed` (null: none). No names: they are longer than all these numbers together.
    """
    readers = read_partitions(tables)
    reader = ("run_id", "log", "reader")
    begin = readers.select(*reader, "seq", "at_us")
    since = readers.select(*READER, "log", "reader", sf.col("at_us").alias("since_us"))
    changes = begin
    for facts in (_log_changes(tables), _commit_changes(tables)):
        keys = [name for name in since.columns if name in facts.columns]  # a log's changes are of each of its readers
        read = facts.join(sf.broadcast(since), keys).withColumn("at_us", sf.greatest("at_us", "since_us"))
        changes = changes.unionByName(read.drop("group", "partition", "since_us"), allowMissingColumns=True)
    lasting = ("high_watermark", "log_start", "mark_seq", "committed")
    virtual = tables.flights.select("run_id", "virtual_us")
    resets = readers.join(sf.broadcast(virtual), "run_id").select("reader", "offset_reset", "resets", "virtual_us")
    known = (
        every_second(changes, tables.flights, ["log", "reader"], lasting, by="reader")
        .join(sf.broadcast(resets), "reader")
        .withColumn("at_us", sf.least(sf.col("second") * SECOND_US, sf.col("virtual_us")))
        .withColumn("offset_reset", sf.coalesce(_reset_by("at_us"), sf.col("offset_reset")))
        .withColumn("log_start", sf.coalesce("log_start", sf.lit(0)))
        .drop("run_id", "resets", "virtual_us")
    )
    if tables.has_rows("log_truncated"):
        known = _cut(tables, known)
    return known.withColumn("high_watermark", sf.coalesce("high_watermark", sf.lit(0))).drop("mark_seq")


def _reset_by(at_us: str) -> Column:
    """The value of `auto.offset.reset` set before an instant; null: the declared one."""
    so_far = sf.filter("resets", lambda change: change["at_us"] <= sf.col(at_us))
    return sf.try_element_at(so_far, sf.lit(-1))["value"]


def _by_valid_leaders(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows of read partitions with the `reigns` of each, without the events of deposed leaders."""
    epoch = sf.col("leader_epoch")
    newest = sf.try_element_at("reigns", sf.lit(-1))["leader_epoch"]
    deposed = (epoch < newest) & (epoch < last_reign(sf.col("seq"))["leader_epoch"])  # nearly all are of the newest
    history = partitions_read(tables).join(
        sf.broadcast(reigns(tables).select(*PARTITION, "reigns")), list(PARTITION), "left"
    )
    return rows.join(sf.broadcast(history), list(PARTITION)).where(~sf.coalesce(deposed, sf.lit(False)))


def _log_changes(tables: Tables) -> DataFrame:
    """What changed last in each `log` in each second: `seq`, `at_us`, `high_watermark`, `log_start` (null: neither).

    As in the fold: a deposed leader's events do not count; a leader with a truncated log has no higher high watermark.
    `mark_seq`: the event that has the high watermark.
    """
    taken = tables["leadership_taken"].select(*FACT, "leader_epoch", "log_start", "high_watermark")
    advanced = tables["high_watermark_advanced"].select(*FACT, "leader_epoch", sf.col("offset").alias("high_watermark"))
    deleted = tables["log_start_advanced"].select(*FACT, "leader_epoch", "log_start")
    changes = taken.unionByName(advanced, allowMissingColumns=True).unionByName(deleted, allowMissingColumns=True)
    marked = sf.when(sf.col("high_watermark").isNotNull(), sf.col("seq"))
    begun = sf.when(sf.col("log_start").isNotNull(), sf.col("seq"))
    return _last_of_seconds(
        _by_valid_leaders(tables, changes),
        ("log",),
        sf.max_by("high_watermark", marked).alias("high_watermark"),
        sf.max_by("log_start", begun).alias("log_start"),
        sf.max(marked).alias("mark_seq"),
    )


def _commit_changes(tables: Tables) -> DataFrame:
    """The last commit of each group and partition in each second: `FACT`, `group`, `committed`."""
    return _last_of_seconds(commits(tables), READER, sf.max_by("committed", "seq").alias("committed"))


def _last_of_seconds(facts: DataFrame, keys: tuple[str, ...], *values: Column) -> DataFrame:
    """The facts of each key and second as one: `seq` and `at_us` of the last."""
    last = (sf.max("seq").alias("seq"), sf.max("at_us").alias("at_us"))
    return facts.groupBy(*keys, checkpoint("at_us").alias("second")).agg(*last, *values).drop("second")


def _cut(tables: Tables, ticks: DataFrame) -> DataFrame:
    """The ticks, where no high watermark is above what the leader's log lost since it was emitted."""
    since = sf.filter(
        "cuts", lambda one: one["crashed"] & (one["seq"] > sf.col("mark_seq")) & (one["at_us"] <= sf.col("at_us"))
    )
    lowest = sf.array_min(sf.transform(since, lambda one: one["offset"]))
    cuts = only_read(tables, reigns(tables).select(*PARTITION, "cuts")).drop(*PARTITION)
    return (
        ticks.join(sf.broadcast(cuts), "log", "left")
        .withColumn("high_watermark", sf.least("high_watermark", lowest))
        .drop("cuts")
    )


def _lost(tables: Tables) -> DataFrame:
    """The batches that a leader's log lost: `log`, `_lost` (array of `end`, `at_us`, `cut_us`)."""
    led_again = reigns(tables).where(sf.size("reigns") > 1).select(*PARTITION)
    batch = sf.struct("end", "at_us", "cut_us")
    lost = _batches(tables).join(sf.broadcast(led_again), list(PARTITION), "left_semi").where("cut_us is not null")
    return lost.groupBy("log").agg(sf.collect_list(batch).alias("_lost"))


def _batches(tables: Tables) -> DataFrame:
    """The batches, each in the log until a leader with a shorter log takes over.

    `PARTITION`, `log`, `end`, `at_us`, `cut_us`. `end`: its next offset; `cut_us`: null for never.
    """
    end = (sf.col("base_offset") + sf.col("count")).alias("end")
    appended = tables["records_appended"].select(*FACT, "leader_epoch", end)
    shorter = sf.filter("reigns", lambda one: (one["seq"] > sf.col("seq")) & (one["log_end"] < sf.col("end")))
    cut_us = sf.array_min(sf.transform(shorter, lambda one: one["at_us"]))
    leads_on = sf.try_element_at("reigns", sf.lit(-1))["seq"] < sf.col("seq")  # the last leader: so for nearly all
    return _by_valid_leaders(tables, appended).select(
        *PARTITION, "log", "end", "at_us", sf.when(~leads_on, cut_us).alias("cut_us")
    )


def _with_read_up_to(ticks: DataFrame) -> DataFrame:
    """Ticks with the offset up to which their group has certainly read (`read_up_to`)."""
    begins = sf.when(sf.col("offset_reset") == "latest", sf.col("high_watermark")).otherwise(sf.col("log_start"))
    return (
        ticks.withColumn("committed", sf.coalesce("committed", sf.lit(NEVER)))
        .withColumn("read_up_to", sf.when(sf.col("committed") == NEVER, begins).otherwise(sf.col("committed")))
        .drop("offset_reset")
    )


def _with_first_unread(ticks: DataFrame, batches: DataFrame, lost: DataFrame) -> DataFrame:
    """Ticks with `unread_us`: when the first record from `read_up_to` on was appended; null without one."""
    begins = sf.greatest("read_up_to", "log_start")  # no group waits for a deleted record
    # The nearest end above an offset is the last one before it, when both are counted backwards from the log's end.
    place = Window.partitionBy("log").orderBy("_backwards", sf.col("end").isNotNull())
    place = place.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    kept = batches.where("cut_us is null").select(
        "log", "end", sf.col("at_us").alias("appended_us"), (-sf.col("end")).alias("_backwards")
    )
    tick_us = sf.col("at_us")

    def stood(found: Column) -> Column:
        """Whether a batch was in the log then, and not read."""
        cut = sf.coalesce(found["cut_us"] <= tick_us, sf.lit(False))
        return (found["end"] > begins) & (sf.col("high_watermark") > begins) & (found["at_us"] <= tick_us) & ~cut

    never = sf.lit(None).cast("bigint")
    nearest = sf.struct(sf.col("_end").alias("end"), sf.col("_us").alias("at_us"), never.alias("cut_us"))
    first = sf.least(sf.when(stood(nearest), nearest), sf.array_min(sf.filter("_lost", stood)))
    return (
        ticks.withColumn("_backwards", -begins)
        .unionByName(kept, allowMissingColumns=True)
        .withColumns(
            {
                "_end": sf.last("end", ignorenulls=True).over(place),
                "_us": sf.last("appended_us", ignorenulls=True).over(place),
            }
        )
        .where("second is not null")
        .join(lost, "log", "left")
        .withColumn("unread_us", first["at_us"])
        .drop("_backwards", "_end", "_us", "_lost", "end", "appended_us")
    )
