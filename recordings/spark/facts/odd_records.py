"""The fates of records that offsets do not determine, one by one: lost, truncated, appended twice, copies of inputs."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.log_entries import PARTITION, removals, removed_from
from recordings.spark.facts.passages import READER, committed_at, gaps_met, met_before
from recordings.spark.report_model import FATES_IN_FULL
from recordings.spark.tables import Tables

RECORD = (*PARTITION, "producer", "serial")
AT_ONCE = (*READER, "member", "at_us")


def odd_fates(tables: Tables, odd: DataFrame, readers: DataFrame) -> DataFrame:
    """`READER` and `FATES_IN_FULL` of these `batches`, for the groups in `readers` (`passages`).

    What a flight has no events of is left out of the plan: planning it would take longer than all the rest.
    """
    records = odd.select(
        *PARTITION, "producer", serials(), "first_serial", "acked", "aborted", "appended_seq", "places"
    )
    places = tables.once("odd_places", lambda: _places(records))
    judged = (
        _with_losses(tables, records.drop("places", "first_serial"))
        .join(sf.broadcast(readers.select(*READER, "read_committed")), list(PARTITION))
        .join(_finished(tables, places), [*READER, "producer", "serial"], "left")
        .join(_left_behind(tables, places, readers), [*READER, "producer", "serial"], "left")
        .where("not (read_committed and aborted) and not coalesce(copy, false)")
    )
    judged = _with_compactions(tables, judged, places, readers)
    fate = (
        sf.when(sf.col("copy").isNotNull(), "delivered")
        .when(sf.col("vanished"), "lost")
        .when(sf.col("before"), "skipped")
        .when(sf.col("left"), "lost")
        .when(sf.col("compacted"), "skipped")
        .when(sf.col("passed"), "lost")
        .when(sf.col("deleted"), "deleted")
        .otherwise("unread")
    )
    acked = sf.col("acked")
    counts = {name: sf.count_if(acked & (sf.col("fate") == name)) for name in FATES_IN_FULL}
    counts["skipped"] = sf.count_if(acked & sf.col("fate").isin("skipped", "deleted"))
    counts["acknowledged"] = sf.count_if(acked)
    counts["delivered_unacknowledged"] = sf.count_if(~acked & (sf.col("fate") == "delivered"))
    counts["delivered_then_lost"] = sf.count_if(acked & (sf.col("fate") == "delivered") & sf.col("vanished"))
    return judged.withColumn("fate", fate).groupBy(*READER).agg(*(counts[name].alias(name) for name in FATES_IN_FULL))


def _places(records: DataFrame) -> DataFrame:
    """The places of each record: `RECORD`, `at_offset`, `seq`, `cut_seq`, `since_seq`."""
    return records.select(*RECORD, "first_serial", sf.explode("places").alias("place")).select(
        *RECORD,
        (sf.col("place.base_offset") + sf.col("serial") - sf.col("first_serial")).alias("at_offset"),
        sf.col("place.seq").alias("seq"),
        sf.col("place.cut_seq").alias("cut_seq"),
        sf.col("place.since_seq").alias("since_seq"),
    )


def _with_losses(tables: Tables, records: DataFrame) -> DataFrame:
    """The records, and whether each is `vanished`."""
    if not tables.has_rows("records_lost"):
        return records.withColumn("vanished", sf.lit(False))
    return records.join(gone(tables), list(RECORD), "left").withColumn("vanished", vanished())


def serials() -> Column:
    """The serial numbers of a run of records, one row each: `serial`."""
    return sf.explode(sf.expr("sequence(first_serial, first_serial + records - 1)")).alias("serial")


def vanished() -> Column:
    """Whether the last event on a record (`gone`, and its batch's `appended_seq`) is its loss from every log."""
    alive_seq = sf.greatest("survived_seq", "appended_seq")
    return sf.col("lost_seq").isNotNull() & (sf.col("lost_seq") > sf.coalesce(alive_seq, sf.lit(0)))


def gone(tables: Tables) -> DataFrame:
    """The last events on records that no log had: `RECORD`, `lost_seq`, `survived_seq`."""
    lost = tables["records_lost"].select(*PARTITION, "producer", serials(), sf.col("seq").alias("lost_seq"))
    back = tables["records_survived"].select(*PARTITION, "producer", serials(), sf.col("seq").alias("survived_seq"))
    return (
        lost.unionByName(back, allowMissingColumns=True)
        .groupBy(*RECORD)
        .agg(sf.max("lost_seq").alias("lost_seq"), sf.max("survived_seq").alias("survived_seq"))
    )


def _finished(tables: Tables, places: DataFrame) -> DataFrame:
    """The records that each group finished among these: `READER`, `producer`, `serial`, `copy`.

    The record at an offset is the one appended there last, unless the application had fetched one that was truncated
    since. `copy`: written once more for an input whose record the group had finished: `repeated` counts by inputs, and
    so more records than were finished before under their own names.
    """
    fetched = _truncated(tables) if tables.has_rows("truncated_records_processed") else None
    offsets = places.select(*PARTITION, "at_offset")
    if fetched is not None:
        offsets = offsets.unionByName(fetched.select(*PARTITION, "at_offset"))
    bounds = offsets.groupBy(*PARTITION).agg(sf.min("at_offset").alias("low"), (sf.max("at_offset") + 1).alias("high"))
    first, end = sf.greatest("first_offset", "low"), sf.least("next_offset", "high")
    done = (
        tables["records_processed"]
        .select(*READER, "member", "seq", "at_us", "first_offset", "next_offset", "repeated")
        .join(sf.broadcast(bounds), list(PARTITION))
        .where(first < end)
        .withColumn("size", sf.col("next_offset") - sf.col("first_offset"))
        .select(*AT_ONCE, "seq", "repeated", "size", sf.explode(sf.sequence(first, end - 1)).alias("at_offset"))
    )
    if fetched is None:
        done = done.withColumn("fetched", sf.lit(None).cast("struct<producer:string,serial:bigint>"))
    else:
        done = done.join(sf.broadcast(fetched), [*AT_ONCE, "at_offset"], "left")
    last = sf.max_by(sf.struct("producer", "serial"), "place_seq")
    stood = sf.coalesce(sf.first("fetched"), last).alias("stood")
    identity = Window.partitionBy(*READER, "stood").orderBy("seq", "at_offset")
    fresh_ones = sf.count_if("fresh").over(Window.partitionBy(*READER, "seq"))
    known = places.withColumnRenamed("seq", "place_seq").drop("cut_seq", "since_seq")
    return (
        done.join(known, [*PARTITION, "at_offset"], "left")
        .where("place_seq < seq or fetched is not null")
        .groupBy(*READER, "seq", "repeated", "size", "at_offset")
        .agg(stood)
        .withColumn("fresh", sf.row_number().over(identity) == 1)
        .withColumn("copy", sf.col("repeated") + fresh_ones > sf.col("size"))
        .where("fresh")
        .select(*READER, "stood.producer", "stood.serial", "copy")
    )


def _truncated(tables: Tables) -> DataFrame:
    """The records that applications finished after their truncation: `AT_ONCE`, `at_offset`, `fetched`."""
    place = sf.explode(sf.expr("sequence(0, records - 1)")).alias("place")
    at = (sf.col("first_offset") + sf.col("place")).alias("at_offset")
    whose = sf.struct("producer", (sf.col("first_serial") + sf.col("place")).alias("serial")).alias("fetched")
    processed = tables["truncated_records_processed"].select(
        *AT_ONCE, "first_offset", "producer", "first_serial", place
    )
    return processed.select(*AT_ONCE, at, whose)


def _left_behind(tables: Tables, places: DataFrame, readers: DataFrame) -> DataFrame:
    """Whether each group began after these records, passed them, or found them deleted.

    `READER`, `producer`, `serial`, `before`, `passed`, `deleted`.
    """
    at, stands = sf.col("at_offset"), sf.col("cut_seq").isNull()
    began = sf.col("start").isNotNull() & (at >= sf.col("lowest"))
    now = stands & (at >= sf.col("log_start")) & (at < sf.col("committed"))
    when_cut = ~stands & (at < sf.col("committed_then"))
    when_deleted = sf.exists(
        "passed",
        lambda one: (
            (at >= one["low"])
            & (at < one["high"])
            & (sf.col("seq") < one["seq"])
            & (stands | (sf.col("cut_seq") > one["seq"]))
        ),
    )
    passed = began & (now | sf.coalesce(when_cut, sf.lit(False)) | sf.coalesce(when_deleted, sf.lit(False)))
    stood_then = stands | (sf.col("cut_seq") > sf.col("start_seq"))
    before = (at < sf.col("start")) & (sf.col("seq") <= sf.col("start_seq")) & stood_then
    deleted = stands & (at < sf.col("log_start"))
    flags = {"before": before, "passed": passed, "deleted": deleted}
    return (
        _with_commits_then(tables, places.join(sf.broadcast(readers.drop("read_committed")), list(PARTITION)))
        .select(*READER, "producer", "serial", *(flag.alias(name) for name, flag in flags.items()))
        .groupBy(*READER, "producer", "serial")
        .agg(*(sf.bool_or(name).alias(name) for name in flags))
    )


def _with_commits_then(tables: Tables, places: DataFrame) -> DataFrame:
    """The places, and the group's committed offset when each was truncated: `committed_then`."""
    cut = places.where("cut_seq is not null").select(*READER, sf.col("cut_seq").alias("seq")).distinct()
    if cut.isEmpty():
        return places.withColumn("committed_then", sf.lit(None).cast("bigint"))
    committed = sf.col("committed").alias("committed_then")
    then = committed_at(tables, cut).select(*READER, sf.col("seq").alias("cut_seq"), committed)
    return places.join(then, [*READER, "cut_seq"], "left")


def _with_compactions(tables: Tables, judged: DataFrame, places: DataFrame, readers: DataFrame) -> DataFrame:
    """The records, and whether compaction removed each: `compacted`, and `left` if the group's commit had passed it."""
    if not tables.has_rows("log_compacted"):
        return judged.withColumns(dict.fromkeys(("compacted", "left"), sf.lit(False)))
    return judged.join(_compacted(tables, places, readers), [*READER, "producer", "serial"], "left")


def _compacted(tables: Tables, places: DataFrame, readers: DataFrame) -> DataFrame:
    """Records that compaction removed wherever they stood: `READER`, `producer`, `serial`, `compacted`, `left`.

    `left`: the group's commit had passed it before. A gap of a follower that the group reads from counts, too.
    """
    removed = (
        places.join(removals(tables), [*PARTITION, "at_offset"])
        .where(removed_from(sf.struct("seq", "cut_seq", "since_seq")))
        .groupBy(*RECORD, "at_offset")
        .agg(sf.min("counts_seq").alias("counts"), sf.min_by("broker", "counts_seq").alias("broker"))
    )
    gone = (
        places.where("cut_seq is null")
        .join(removed, [*RECORD, "at_offset"], "full")
        .groupBy(*RECORD)
        .agg(sf.bool_and(sf.col("counts").isNotNull()).alias("compacted"))
        .where("compacted")
    )
    moments = (
        removed.join(gone, list(RECORD))
        .withColumnRenamed("counts", "seq")
        .join(sf.broadcast(readers.select(*READER, "lowest")), list(PARTITION))
    )
    left = (sf.col("committed") > sf.col("at_offset")) & (sf.col("at_offset") >= sf.col("lowest"))
    known = committed_at(tables, moments).withColumn("left", left)
    if tables.has_rows("preferred_read_replica_changed"):
        met_then = met_before(tables, known).withColumn("met_then", sf.lit(True))
        known = known.join(met_then, [*READER, "at_offset", "seq"], "left")
        known = known.withColumn("left", sf.col("left") & sf.col("met_then").isNull())
    known = known.select(*READER, "producer", "serial", "compacted", "left")
    if tables.has_rows("preferred_read_replica_changed"):
        stood = sf.coalesce(sf.col("cut_seq") > sf.col("removed_seq"), sf.lit(True))
        stands = sf.col("met") & sf.col("cut_seq").isNull()
        known = known.unionByName(
            places.join(gaps_met(tables, readers), [*PARTITION, "at_offset"])
            .where((sf.col("since_seq") < sf.col("removed_seq")) & stood)
            .select(*READER, "producer", "serial", stands.alias("compacted"), "left")
        )
    return known.groupBy(*READER, "producer", "serial").agg(
        sf.bool_or("compacted").alias("compacted"), sf.bool_or(sf.coalesce("left", sf.lit(False))).alias("left")
    )
