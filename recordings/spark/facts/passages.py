"""A group's passage through a partition: its start, its commits, and the deletions and truncations meanwhile.

What compaction removed meanwhile is a fact of the log: `log_entries.removals`.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.log_entries import PARTITION, last_reign, leaders, left_after, reigns
from recordings.spark.facts.offsets import commits, only_read
from recordings.spark.facts.time_windows import last_before
from recordings.spark.tables import Tables

READER = ("run_id", "group", "partition")


def passages(tables: Tables, end: DataFrame) -> DataFrame:
    """One row for each group and partition that it reads; `end`: `lag_by_partition` at the flight's end.

    `READER`, `committed`, `log_start`, `read_committed`; `start`, `start_seq` (its first position, and when; null:
    none), `lowest` (the same, or the lowest offset to which the valid log was truncated since, if lower), `passed`
    (ranges that its commits had passed when they were deleted: `seq`, `low`, `high`).
    """
    groups = tables["group_declared"].select("run_id", "group", "read_committed")
    later = sf.filter("cuts", lambda cut: cut["seq"] > sf.col("start_seq"))
    readers = (
        end.select(*READER, "committed", "log_start")
        .join(sf.broadcast(groups), ["run_id", "group"])
        .join(_starts(tables), list(READER), "left")
        .join(sf.broadcast(reigns(tables).select(*PARTITION, "cuts")), list(PARTITION), "left")
    )
    if not tables.has_rows("log_start_advanced"):  # then planning would take longer than the result is worth
        readers = readers.withColumn("passed", sf.lit(None).cast("array<struct<seq:bigint,low:bigint,high:bigint>>"))
    else:
        readers = readers.join(sf.broadcast(_passed(tables, end)), list(READER), "left")
    return readers.withColumn(
        "lowest", sf.least("start", sf.array_min(sf.transform(later, lambda cut: cut["offset"])))
    ).drop("cuts")


def _starts(tables: Tables) -> DataFrame:
    """The first position of each group, and when: `READER`, `start`, `start_seq`.

    A position beyond the end of the log (a seek) counts from when the log reaches it, unless the group has another one
    before.
    """
    resets = tables["positions_reset"]
    positions = resets.select("run_id", "group", "seq", sf.explode("positions").alias("partition", "offset"))
    if not resets.where("reason = 'seek'").isEmpty():  # else planning would take longer than the result is worth
        following = Window.partitionBy(*READER).orderBy("seq")
        positions = (
            positions.withColumn("_next", sf.lead("seq").over(following))
            .join(_ends(tables), list(PARTITION))
            .where("log_end >= offset and coalesce(end_seq < _next, true) and coalesce(until_seq > seq, true)")
            .select(*READER, sf.greatest("seq", "end_seq").alias("seq"), "offset")
        )
    return positions.groupBy(*READER).agg(sf.min_by("offset", "seq").alias("start"), sf.min("seq").alias("start_seq"))


def _ends(tables: Tables) -> DataFrame:
    """The ends of the valid log, from one event to another: `PARTITION`, `log_end`, `end_seq`, `until_seq`."""
    cuts = reigns(tables).select(*PARTITION, sf.explode("cuts").alias("cut"))
    end = (sf.col("base_offset") + sf.col("count")).alias("log_end")
    current = sf.coalesce(sf.col("leader_epoch") >= last_reign(sf.col("seq"))["leader_epoch"], sf.lit(True))
    appended = only_read(tables, tables["records_appended"].select(*PARTITION, "seq", "leader_epoch", end))
    ends = (
        _by_reign(tables, appended)
        .where(current)
        .select(*PARTITION, "log_end", sf.col("seq").alias("end_seq"))
        .unionByName(cuts.select(*PARTITION, sf.col("cut.offset").alias("log_end"), sf.col("cut.seq").alias("end_seq")))
    )
    order = Window.partitionBy(*PARTITION).orderBy("end_seq")
    return ends.withColumn("until_seq", sf.lead("end_seq").over(order))


def committed_at(tables: Tables, moments: DataFrame) -> DataFrame:
    """Moments (`READER`, `seq` and more) with the group's committed offset just before (`NEVER` or null: none)."""
    partitions = moments.select(*PARTITION).distinct()
    facts = commits(tables).join(sf.broadcast(partitions), list(PARTITION), "left_semi")
    return last_before(moments, facts.select(*READER, "seq", "committed"), ["group", "partition"])


def gaps_met(tables: Tables, readers: DataFrame) -> DataFrame:
    """What compaction removed from the followers that groups read from: `READER`, `at_offset`, `removed_seq` and more.

    `met`: the group's commit has passed the gap, and the broker still follows; `left`: the commit had passed the record
    before the follower removed it.
    """
    chosen = tables["preferred_read_replica_changed"].where("broker >= 0").groupBy(*READER, "broker")
    run = sf.explode(sf.arrays_zip("removed_from", "removed_to")).alias("run")
    removed = _by_reign(tables, tables["log_compacted"].select(*PARTITION, "seq", "broker", run)).select(
        *(*PARTITION, "seq", "broker", sf.explode(sf.expr("sequence(run.removed_from, run.removed_to - 1)"))),
        left_after(sf.col("run.removed_to"), sf.lit(2**62)).alias("gap_end"),
        (last_reign(sf.col("seq"))["broker"] == sf.col("broker")).alias("led_then"),
        (sf.try_element_at("reigns", sf.lit(-1))["broker"] == sf.col("broker")).alias("leads"),
    )
    moments = (
        removed.withColumnRenamed("col", "at_offset")
        .join(sf.broadcast(chosen.agg(sf.min("seq").alias("chosen_seq"))), [*PARTITION, "broker"])
        .join(sf.broadcast(readers.select(*READER, "lowest", sf.col("committed").alias("now"))), list(READER))
        .where("at_offset >= lowest")
    )
    met = (sf.col("at_offset") < sf.least("gap_end", "now")) & ~sf.col("leads")
    left = ~sf.col("led_then") & (sf.col("chosen_seq") < sf.col("seq")) & (sf.col("committed") > sf.col("at_offset"))
    return committed_at(tables, moments).select(
        *READER,
        "at_offset",
        sf.col("seq").alias("removed_seq"),
        sf.coalesce(met, sf.lit(False)).alias("met"),
        sf.coalesce(left, sf.lit(False)).alias("left"),
    )


def met_before(tables: Tables, moments: DataFrame) -> DataFrame:
    """The moments (`READER`, `at_offset`, `seq`, `broker`: the leader then) at which a group had met a follower's gap.

    It reads from that follower, whose log lacked the record already: it did not leave the record behind.
    """
    chosen = tables["preferred_read_replica_changed"].where("broker >= 0").groupBy(*READER, "broker")
    run = sf.explode(sf.arrays_zip("removed_from", "removed_to")).alias("run")
    gap_seq, follower = sf.col("seq").alias("gap_seq"), sf.col("broker").alias("follower")
    gaps = (
        _by_reign(tables, tables["log_compacted"].select(*PARTITION, "seq", "broker", run))
        .select(*PARTITION, gap_seq, follower, "truncated", sf.expr("sequence(run.removed_from, run.removed_to - 1)"))
        .toDF(*PARTITION, "gap_seq", "follower", "truncated", "offsets")
        .withColumn("at_offset", sf.explode("offsets"))
        .drop("offsets")
    )
    refilled = sf.exists(
        "truncated",
        lambda one: (
            (one["broker"] == sf.col("follower"))
            & (one["seq"] > sf.col("gap_seq"))
            & (one["seq"] < sf.col("seq"))
            & (one["offset"] <= sf.col("at_offset"))
        ),
    )
    since = chosen.agg(sf.min("seq").alias("chosen_seq")).withColumnRenamed("broker", "follower")
    return (
        moments.select(*READER, "at_offset", "seq", "broker")
        .join(sf.broadcast(since), list(READER))
        .join(gaps, [*PARTITION, "follower", "at_offset"])
        .where((sf.col("follower") != sf.col("broker")) & (sf.greatest("gap_seq", "chosen_seq") < sf.col("seq")))
        .where(~sf.coalesce(refilled, sf.lit(False)))
        .select(*READER, "at_offset", "seq")
        .distinct()
    )


def _by_reign(tables: Tables, rows: DataFrame) -> DataFrame:
    return rows.join(sf.broadcast(reigns(tables)), list(PARTITION), "left")


def _passed(tables: Tables, end: DataFrame) -> DataFrame:
    """The ranges that each group's commits had passed when they were deleted: `READER`, `passed`."""
    earlier = Window.partitionBy(*PARTITION).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    advanced = tables["log_start_advanced"].select(*PARTITION, "seq", "leader_epoch", "log_start")
    valid: Column = sf.coalesce(sf.col("leader_epoch") >= last_reign(sf.col("seq"))["leader_epoch"], sf.lit(True))
    deleted = (
        _by_reign(tables, advanced)
        .where(valid)
        .select(*PARTITION, "seq", "log_start")
        .unionByName(leaders(tables).select(*PARTITION, "seq", "log_start"))
        .withColumn("low", sf.coalesce(sf.max("log_start").over(earlier), sf.lit(0)))
        .where("log_start > low")
        .select(*PARTITION, "seq", "low", sf.col("log_start").alias("high"))
    )
    moments = end.select(*READER).join(sf.broadcast(deleted), list(PARTITION))
    return (
        committed_at(tables, moments)
        .withColumn("high", sf.least("high", "committed"))
        .where("committed > low")
        .groupBy(*READER)
        .agg(sf.collect_list(sf.struct("seq", "low", "high")).alias("passed"))
    )
