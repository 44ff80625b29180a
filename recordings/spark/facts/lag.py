"""Lag: how far each group was behind in each partition, at every virtual second, in records and in time.

Offset lag is high watermark - committed, as kafka-consumer-groups shows it; a partition without a commit counts from
the offset that `auto.offset.reset` gives. Time lag is the age of the first record that the group has not committed
past.

All facts of a partition (its log, its batches, its readers' commits) and the ticks of the clock are laid on one
timeline, partition by partition: one exchange, and then only running windows over sorted rows.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.offsets import NEVER, commits, log_changes, read_partitions
from recordings.spark.facts.time_windows import SECOND_US, checkpoint, last_second
from recordings.spark.tables import Tables

PARTITION = ("run_id", "partition")
OFFSETS = ("high_watermark", "committed", "read_up_to", "log_start")
MEASURES = ("lag", "time_lag_us")


def lag_by_partition(tables: Tables) -> DataFrame:
    """One row for each group, partition and second, from 0 to the flight's end (rounded up: see `last_second`).

    `run_id`, `group`, `partition`, `second`, `high_watermark`, `committed` (`NEVER` without a commit), `read_up_to`
    (the same, or the offset at which the group would begin), `log_start`, `lag` (records), `time_lag_us`.
    """
    return tables.once("lag_by_partition", lambda: _lag_by_partition(tables))


def _lag_by_partition(tables: Tables) -> DataFrame:
    facts = log_changes(tables).unionByName(commits(tables).drop("reset"), allowMissingColumns=True)
    timeline = facts.unionByName(_ticks(tables), allowMissingColumns=True)
    lag = sf.greatest(sf.lit(0), sf.col("high_watermark") - sf.col("read_up_to"))
    age = sf.col("at_us") - sf.col("unread_us")
    return (
        _with_first_unread(_with_committed(_with_log(timeline)))
        .withColumn("lag", lag)
        .withColumn("time_lag_us", sf.when(sf.col("lag") > 0, sf.coalesce(age, sf.lit(0))).otherwise(0))
        .select("run_id", "group", "partition", "second", *OFFSETS, *MEASURES)
    )


def _ticks(tables: Tables) -> DataFrame:
    """The ticks: one row for each group, partition and second from the partition's creation on."""
    ends = tables.flights.select("run_id", "virtual_us", last_second().alias("_end"))
    return (
        read_partitions(tables)
        .join(sf.broadcast(ends), "run_id")
        .withColumn("second", sf.explode(sf.sequence(checkpoint("at_us"), sf.col("_end"))))
        .withColumn("at_us", sf.least(sf.col("second") * SECOND_US, sf.col("virtual_us")))
        .withColumn("offset_reset", sf.coalesce(_reset_by("at_us"), sf.col("offset_reset")))
        .select("run_id", "partition", "group", "offset_reset", "second", "at_us")
    )


def _reset_by(at_us: str) -> Column:
    """The value of `auto.offset.reset` set before an instant; null: the declared one."""
    so_far = sf.filter("resets", lambda change: change["at_us"] <= sf.col(at_us))
    return sf.try_element_at(so_far, sf.lit(-1))["value"]


def _with_log(timeline: DataFrame) -> DataFrame:
    """Ticks and commits with the log at that moment, and its batches with the instant at which each was truncated.

    As in the fold: a deposed leader's events do not count; a batch is in the log until a leader with a shorter log
    takes over, at `cut_us` (null: never); a leader whose log is truncated has no higher high watermark.
    """
    time = Window.partitionBy(*PARTITION).orderBy("at_us", sf.col("second").isNotNull(), "seq")
    later = Window.partitionBy(*PARTITION).orderBy(sf.desc("at_us"), sf.col("second").isNull(), sf.desc("seq"))
    takes = sf.col("log_end").isNotNull()
    newest = sf.max(sf.when(takes, sf.struct("leader_epoch", "seq", "broker"))).over(time)
    deposed = sf.coalesce(sf.col("leader_epoch") < sf.col("_newest.leader_epoch"), sf.lit(False))
    taken = sf.when(takes, sf.struct("log_end", "at_us"))
    shorter = sf.filter("_taken", lambda leader: leader["log_end"] < sf.col("end"))
    cut = sf.when(sf.col("broker") == sf.col("_newest.broker"), sf.struct("seq", "cut_to"))
    since = sf.filter("_cuts", lambda one: one["seq"] > sf.col("_mark.seq"))
    watermark = sf.when(~sf.col("_deposed") & sf.col("high_watermark").isNotNull(), sf.struct("high_watermark", "seq"))
    log_start = sf.last(sf.when(~sf.col("_deposed"), sf.col("log_start")), ignorenulls=True).over(time)
    return (
        timeline.withColumn("_newest", newest)
        .withColumn("_deposed", deposed)
        .withColumns(
            {
                "log_start": sf.coalesce(log_start, sf.lit(0)),
                "_mark": sf.last(watermark, ignorenulls=True).over(time),
                "_cuts": sf.collect_list(sf.when(sf.col("cut_to").isNotNull(), cut)).over(time),
            }
        )
        .where("not _deposed")
        .withColumn("_low", sf.array_min(sf.transform(since, lambda one: one["cut_to"])))
        .withColumn("high_watermark", sf.coalesce(sf.least("_mark.high_watermark", "_low"), sf.lit(0)))
        .withColumn("_taken", sf.collect_list(taken).over(later))
        .withColumn("cut_us", sf.array_min(sf.transform(shorter, lambda leader: leader["at_us"])))
        .where("group is not null or end is not null")
        .drop("_taken", "_newest", "_deposed", "_mark", "_cuts", "_low", "leader_epoch", "log_end", "broker", "cut_to")
    )


def _with_committed(rows: DataFrame) -> DataFrame:
    """Ticks with the offset up to which their group has certainly read (`read_up_to`), and the batches unchanged."""
    time = Window.partitionBy(*PARTITION, "group").orderBy("at_us", sf.col("second").isNotNull(), "seq")
    begins = sf.when(sf.col("offset_reset") == "latest", sf.col("high_watermark")).otherwise(sf.col("log_start"))
    last = sf.coalesce(sf.last("committed", ignorenulls=True).over(time), sf.lit(NEVER))
    return (
        rows.withColumn("committed", last)
        .where("second is not null or end is not null")
        .withColumn("read_up_to", sf.when(sf.col("committed") == NEVER, begins).otherwise(sf.col("committed")))
    )


def _with_first_unread(rows: DataFrame) -> DataFrame:
    """Ticks alone, with `unread_us`: when the first record from `read_up_to` on was appended; null without one."""
    begins = sf.greatest("read_up_to", "log_start")  # no group waits for a deleted record
    # The nearest end above an offset is the last one before it, when both are counted backwards from the log's end.
    backwards = sf.when(sf.col("second").isNotNull(), -begins).otherwise(-sf.col("end"))
    place = Window.partitionBy(*PARTITION).orderBy("_backwards", sf.col("end").isNotNull())
    batch = sf.struct("end", "at_us", "cut_us")
    kept = sf.last(sf.when(sf.col("end").isNotNull() & sf.col("cut_us").isNull(), batch), ignorenulls=True).over(place)
    lost = sf.collect_list(sf.when(sf.col("cut_us").isNotNull(), batch)).over(Window.partitionBy(*PARTITION))
    tick_us = sf.col("at_us")

    def stood(found: Column) -> Column:
        """Whether a batch was in the log then, and not read."""
        cut = sf.coalesce(found["cut_us"] <= tick_us, sf.lit(False))
        return (found["end"] > begins) & (sf.col("high_watermark") > begins) & (found["at_us"] <= tick_us) & ~cut

    candidates = sf.filter(sf.concat(sf.array_compact(sf.array("_kept")), "_lost"), stood)
    return (
        rows.withColumn("_backwards", backwards)
        .withColumn("_kept", kept)
        .withColumn("_lost", lost)
        .where("second is not null")
        .withColumn("unread_us", sf.array_min(candidates)["at_us"])
        .drop("_backwards", "_kept", "_lost")
    )
