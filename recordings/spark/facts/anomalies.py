"""Anomalies of records by Jepsen's names (`jepsen.tests.kafka`), found in what was appended and processed.

A record is a producer, a partition and a serial number; its place in the log is an offset. Every result has the columns
`FOUND`: `subject` is the producer or the group, `records` how many show the anomaly, `first_seq` the number of the
first event that does.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.log_entries import BATCH, PARTITION, batches, named
from recordings.spark.facts.offsets import only_data
from recordings.spark.tables import Tables

FOUND = ("run_id", "anomaly", "subject", "partition", "records", "first_seq")


def anomalies(tables: Tables) -> DataFrame:
    """`FOUND`, a row for each anomaly, subject and partition."""
    found = [duplicates(tables), nonmonotonic_sends(tables)]
    if tables.has_rows("records_processed"):
        found += [aborted_reads(tables), *polls(tables)]
    if tables.has_rows("truncated_records_processed"):
        found.append(inconsistent_offsets(tables))
    return reduce(DataFrame.unionByName, found)


def _of(found: DataFrame, anomaly: str, subject: str, records: Column) -> DataFrame:
    """`FOUND` of rows that show an anomaly, each with `seq`."""
    return (
        found.groupBy(*PARTITION, sf.col(subject).alias("subject"))
        .agg(sf.sum(records).alias("records"), sf.min("seq").alias("first_seq"))
        .withColumn("anomaly", sf.lit(anomaly))
        .select(*FOUND)
    )


def _standing(tables: Tables) -> DataFrame:
    """Batches with their places in the log as it is at the end, but those of aborted transactions."""
    stands = sf.filter("places", lambda place: place["cut_seq"].isNull())
    return batches(tables).where("not aborted").withColumn("places", stands)


def duplicates(tables: Tables) -> DataFrame:
    """`duplicate`: records that the log has at two offsets or more; each place but the first counts."""
    twice = named(tables, _standing(tables).where(sf.size("places") > 1))
    again = sf.array_max(sf.transform("places", lambda place: place["seq"]))
    return _of(
        twice.withColumn("seq", again), "duplicate", "producer", sf.col("records") * (sf.size("places") - sf.lit(1))
    )


def nonmonotonic_sends(tables: Tables) -> DataFrame:
    """`nonmonotonic-send`: records behind later ones of their producer in the log."""
    time = Window.partitionBy("log", "producer").orderBy("base_offset")
    place = sf.get("places", sf.lit(0))
    ordered = (
        _standing(tables)
        .where(sf.size("places") == 1)
        .select(
            *(*BATCH, "records"),
            place["base_offset"].alias("base_offset"),
            place["seq"].alias("seq"),
        )
        .withColumn("before", sf.max("first_serial").over(time.rowsBetween(Window.unboundedPreceding, -1)))
    )
    late = named(tables, ordered.where("first_serial < before"))
    return _of(late, "nonmonotonic-send", "producer", sf.col("records"))


def aborted_reads(tables: Tables) -> DataFrame:
    """`G1a`: records of aborted transactions that a group processed."""
    aborted = (
        named(tables, batches(tables).where("aborted"))
        .select(*PARTITION, "records", sf.explode("places").alias("place"))
        .select(
            *PARTITION,
            sf.col("place.base_offset").alias("low"),
            (sf.col("place.base_offset") + sf.col("records")).alias("high"),
            sf.col("place.seq").alias("from_seq"),
            sf.col("place.cut_seq").alias("cut_seq"),
        )
    )
    read = tables["records_processed"].select(*PARTITION, "group", "seq", "first_offset", "next_offset")
    stood = "from_seq < seq and (cut_seq is null or cut_seq > seq)"
    both = read.join(aborted, list(PARTITION)).where(f"low < next_offset and high > first_offset and {stood}")
    return _of(both, "G1a", "group", sf.least("high", "next_offset") - sf.greatest("low", "first_offset"))


def inconsistent_offsets(tables: Tables) -> DataFrame:
    """`inconsistent-offsets`: records that a group processed, and whose offsets are those of other records now."""
    return _of(tables["truncated_records_processed"], "inconsistent-offsets", "group", sf.col("records"))


def polls(tables: Tables) -> list[DataFrame]:
    """`nonmonotonic-poll` and `poll-skip`: a member reads back, or passes records, that nothing lets it.

    What lets it: a rebalance, a position that was set, an application that rolls back; markers, aborted, deleted and
    compacted records, and records that came only after its read.
    """
    steps = tables.once("poll_steps", lambda: _steps(tables))
    back = _of(
        steps.where("first_offset < last"), "nonmonotonic-poll", "group", sf.col("last") - sf.col("first_offset")
    )
    gaps = steps.where("first_offset > last")
    if tables.has_rows("log_compacted"):
        cleaned = tables["log_compacted"].select(*PARTITION).distinct()
        gaps = gaps.join(sf.broadcast(cleaned), list(PARTITION), "left_anti")
    passed = _passed(tables, gaps.join(_log_starts(tables), list(PARTITION), "left"))
    return [back, _of(passed, "poll-skip", "group", sf.col("passed"))]


def _steps(tables: Tables) -> DataFrame:
    """Reads that do not begin where the one before ended (`last`): `group`, `member`, `seq`, `first_offset`.

    A read after what lets it begin elsewhere has no `last`: the row before it is none of a read. A member that ended in
    between may begin elsewhere as well; that is asked only of the few steps that are found.
    """
    one_of = ("partitions_assigned", "partitions_revoked", "positions_given_up")
    breaks = [
        tables[kind].select("run_id", "seq", "member", sf.explode("partitions").alias("partition")) for kind in one_of
    ]
    breaks.append(
        tables["positions_reset"].select(
            "run_id", "seq", "member", sf.explode(sf.map_keys("positions")).alias("partition")
        )
    )
    skipped = tables["record_skipped"].select(
        *("run_id", "seq", "member", "partition", "group", sf.col("offset").alias("first_offset")),
        (sf.col("offset") + 1).alias("next_offset"),
    )
    read = (
        tables["records_processed"]
        .select("run_id", "seq", "member", "partition", "group", "first_offset", "next_offset")
        .unionByName(skipped)
    )
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), [read, *breaks])
    before = Window.partitionBy("log", "member").orderBy("seq")
    steps = (
        only_data(tables, rows)
        .drop(*PARTITION)  # names are longer than all these numbers together
        .withColumns({"last": sf.lag("next_offset").over(before), "last_seq": sf.lag("seq").over(before)})
        .where("first_offset != last")  # both are null of what is no read
    )
    found = named(tables, steps).select(*PARTITION, "group", "member", "seq", "first_offset", "last", "last_seq")
    ended = tables["member_stopped"].select("run_id", "member", "seq").alias("ended")
    of_it = "found.run_id = ended.run_id and found.member = ended.member"
    between = sf.expr(f"{of_it} and ended.seq > last_seq and ended.seq < found.seq")
    return found.alias("found").join(sf.broadcast(ended), between, "left_anti")


def _log_starts(tables: Tables) -> DataFrame:
    """The start of each log after records were deleted: `PARTITION`, `starts`."""
    start = sf.struct("seq", "log_start")
    return tables["log_start_advanced"].groupBy(*PARTITION).agg(sf.sort_array(sf.collect_list(start)).alias("starts"))


def _passed(tables: Tables, gaps: DataFrame) -> DataFrame:
    """The records of committed batches in the gaps: `passed` in each."""
    starts = sf.filter("starts", lambda one: one["seq"] < sf.col("seq"))
    first = sf.greatest("last", sf.coalesce(sf.try_element_at(starts, sf.lit(-1))["log_start"], sf.col("last")))
    committed = named(tables, batches(tables).where("not aborted"))
    stood = committed.select(*PARTITION, "records", sf.explode("places").alias("place"))
    stood = stood.select(
        *PARTITION,
        sf.col("place.base_offset").alias("low"),
        (sf.col("place.base_offset") + sf.col("records")).alias("high"),
        sf.col("place.since_seq").alias("from_seq"),
        sf.col("place.cut_seq").alias("cut_seq"),
    )
    both = sf.broadcast(gaps.withColumn("from_offset", first)).join(stood, list(PARTITION))
    inside = "low < first_offset and high > from_offset and from_seq < seq and cut_seq is null"
    return both.where(inside).withColumn("passed", sf.least("high", "first_offset") - sf.greatest("low", "from_offset"))
