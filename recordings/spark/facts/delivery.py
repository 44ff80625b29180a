"""The fates of the acknowledged records of each group's topics: `docs/delivery.md` has the definitions.

    acknowledged = delivered + lost + unread + skipped

Nearly all records keep one place in the log: they are counted by ranges of offsets. The others (appended twice,
truncated, lost, or perhaps a further copy of an input's output) are judged one by one, in `odd_records`.
"""

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.log_entries import BATCH, PARTITION, batches, named, removals
from recordings.spark.facts.odd_records import odd_fates
from recordings.spark.facts.offsets import only_data, read_partitions
from recordings.spark.facts.passages import READER, committed_at, gaps_met, met_before, passages
from recordings.spark.report_model import FATES_IN_FULL
from recordings.spark.tables import Tables

EVERYTHING = 2**62
STRETCH_OFFSETS = 512
STATES = ("finished", "before", "left", "compacted", "passed", "deleted")  # the first that holds decides
KINDS = ("acked", "acked_aborted", "unacked", "unacked_aborted")


def fates(tables: Tables, end: DataFrame) -> DataFrame:
    """`READER` and `FATES_IN_FULL` (records) of each group and partition.

    `end`: `lag_by_partition` at the flight's end.
    """
    readers = tables.once("passages", lambda: passages(tables, end))
    known = tables.once("known_batches", lambda: _known(tables))
    counted = _by_ranges(tables, known.where("not odd"), _states(tables, readers), readers)
    odd_ones = known.where("odd").drop("odd")
    if odd_ones.isEmpty():  # most flights have none, and planning alone would take a second
        return counted
    odd = odd_fates(tables, named(tables, odd_ones), readers)
    return counted.unionByName(odd).groupBy(*READER).agg(*(sf.sum(name).alias(name) for name in FATES_IN_FULL))


def finished(tables: Tables) -> DataFrame:
    """The records that each group finished, as disjoint pieces.

    `reader` (`offsets.read_partitions`; `with_reader` has the names), `from`, `to`, `stretch` (its number: pieces of
    one have no gap between them), `repeated`, `first_offset`.
    """

    def make() -> DataFrame:
        numbers = read_partitions(tables).select(*READER, "reader")
        order = Window.partitionBy("reader").orderBy("first_offset", "next_offset")
        reached = sf.max("next_offset").over(order.rowsBetween(Window.unboundedPreceding, -1))
        so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        start = sf.greatest("first_offset", sf.coalesce("_reached", "first_offset"))
        return (
            tables["records_processed"]
            .select(*READER, "first_offset", "next_offset", "repeated")
            .join(sf.broadcast(numbers), list(READER))
            .drop(*READER)  # names are longer than all these numbers together
            .withColumn("_reached", reached)
            .withColumn("from", sf.least(start, "next_offset"))
            # numbered here, while the pieces are in order
            .withColumn("_new", sf.coalesce(sf.col("first_offset") > sf.col("_reached"), sf.lit(True)))
            .withColumn("stretch", sf.count_if("_new").over(so_far))
            .withColumnRenamed("next_offset", "to")
            .drop("_reached", "_new")
        )

    return tables.once("finished", make)


def with_reader(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows with the `READER` of their number, `reader`."""
    names = read_partitions(tables).select(*READER, "reader")
    return rows.join(sf.broadcast(names), "reader").drop("reader")


def _known(tables: Tables) -> DataFrame:
    """The batches, and whether one is `odd`: its records are judged one by one."""
    places = batches(tables).select("log", "records", sf.explode("places").alias("place"))
    reused = (
        named(tables, places.where("place.cut_seq is not null"))
        .groupBy(*PARTITION)
        .agg(
            sf.min("place.base_offset").alias("low"),
            sf.max(sf.col("place.base_offset") + sf.col("records")).alias("high"),
        )
    )
    repeating = finished(tables).where(sf.col("repeated") > sf.col("from") - sf.col("first_offset"))
    perhaps_copies = with_reader(
        tables, repeating.groupBy("reader").agg(sf.min("first_offset").alias("low"), sf.max("to").alias("high"))
    ).select(*PARTITION, "low", "high")
    ranges = reused.unionByName(perhaps_copies)
    if tables.has_rows("truncated_records_processed"):
        fetched_before = tables["truncated_records_processed"].groupBy(*PARTITION)
        end = sf.col("first_offset") + sf.col("records")
        ranges = ranges.unionByName(fetched_before.agg(sf.min("first_offset").alias("low"), sf.max(end).alias("high")))
    lost = (
        tables["records_lost"]
        .groupBy(*PARTITION, "producer")
        .agg(
            sf.min("first_serial").alias("lost_from"),
            sf.max(sf.col("first_serial") + sf.col("records")).alias("lost_to"),
        )
    )
    place = sf.get("places", sf.lit(0))
    base = place["base_offset"]
    within = sf.exists("ranges", lambda one: (base < one["high"]) & (base + sf.col("records") > one["low"]))
    gone = (sf.col("first_serial") < sf.col("lost_to")) & (
        sf.col("first_serial") + sf.col("records") > sf.col("lost_from")
    )
    odd = (sf.size("places") != 1) | place["cut_seq"].isNotNull() | within | gone
    uncertain = only_data(
        tables, ranges.groupBy(*PARTITION).agg(sf.collect_list(sf.struct("low", "high")).alias("ranges"))
    )
    return (
        batches(tables)
        .join(sf.broadcast(uncertain.drop(*PARTITION)), "log", "left")
        .join(sf.broadcast(only_data(tables, lost).drop(*PARTITION)), ["log", "producer"], "left")
        .withColumn("odd", sf.coalesce(odd, sf.lit(False)) | (sf.size("places") != 1))
        .select(*BATCH, "records", "acked", "aborted", "appended_seq", "places", "odd")
    )


def _states(tables: Tables, readers: DataFrame) -> DataFrame:
    """The offsets at which a state begins or ends: `READER`, `offset`, and +1 or -1 in the state's column."""
    stretches = (
        finished(tables).groupBy("reader", "stretch").agg(sf.min("from").alias("low"), sf.max("to").alias("high"))
    )
    pieces = with_reader(tables, stretches)
    none = sf.lit(0)
    passed = readers.where("start is not null").select(
        *READER,
        sf.greatest("lowest", "log_start").alias("low"),
        sf.greatest("committed", "lowest", "log_start").alias("high"),
    )
    deleted = readers.where("start is not null").select(*READER, "lowest", sf.explode("passed").alias("one"))
    deleted = deleted.select(
        *READER, sf.greatest("one.low", "lowest").alias("low"), sf.greatest("one.high", "lowest").alias("high")
    )
    zero = none.cast("bigint").alias("low")
    before = readers.select(*READER, zero, sf.coalesce("start", none).alias("high"))
    gone = readers.select(*READER, zero, sf.col("log_start").alias("high"))
    spans = {
        "finished": pieces.drop("stretch"),
        "before": before,
        "passed": passed.unionByName(deleted),
        "deleted": gone,
    }
    if tables.has_rows("log_compacted"):  # else planning would take longer than the result is worth
        spans |= _compacted(tables, readers)
    everywhere = sf.explode(sf.array(none.cast("bigint"), sf.lit(EVERYTHING))).alias("offset")
    rows = [readers.select(*READER, everywhere, *(none.alias(name) for name in STATES))]
    for name, span in spans.items():
        ends = sf.array(
            sf.struct(sf.col("low").alias("offset"), sf.lit(1).alias(name)),
            sf.struct(sf.col("high").alias("offset"), sf.lit(-1).alias(name)),
        )
        rows.append(span.where("low < high").select(*READER, sf.inline(ends)))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), rows)


def _compacted(tables: Tables, readers: DataFrame) -> dict[str, DataFrame]:
    """The offsets that compaction removed, and those that a group's commit had passed before: `low`, `high`.

    Those of the leaders' logs count for every group, those of a follower's for the groups that read from it.
    """
    first = (sf.min("counts_seq").alias("seq"), sf.min_by("broker", "counts_seq").alias("broker"))
    removed = removals(tables).groupBy(*PARTITION, "at_offset").agg(*first)
    moments = readers.select(*READER, "lowest").join(removed, list(PARTITION))
    known = committed_at(tables, moments)
    left = known.where("committed > at_offset and at_offset >= lowest")
    low = sf.col("at_offset")
    span = (*READER, low.alias("low"), (low + 1).alias("high"))
    if not tables.has_rows("preferred_read_replica_changed"):
        return {"compacted": known.select(*span), "left": left.select(*span)}
    gaps = gaps_met(tables, readers)
    left = left.join(met_before(tables, left), [*READER, "at_offset", "seq"], "left_anti")
    return {
        "compacted": known.select(*span).unionByName(gaps.where("met").select(*span)),
        "left": left.select(*span).unionByName(gaps.where("left").select(*span)),
    }


def _by_ranges(tables: Tables, known: DataFrame, states: DataFrame, readers: DataFrame) -> DataFrame:
    """Count the batches that keep one place: `READER`, `FATES_IN_FULL`."""
    bounds = only_data(tables, states)
    rows = bounds.unionByName(_between(known, bounds), allowMissingColumns=True)
    # at a tie the boundary comes first: a batch that begins there is not below it
    time = Window.partitionBy("log").orderBy("offset", sf.col("end").isNotNull())
    last = sf.when(sf.col("end").isNotNull(), sf.struct("kind", "end"))
    beyond = sf.greatest(sf.lit(0), sf.col("_last.end") - sf.col("offset"))
    counted = (
        rows.select(
            *READER,
            *("offset", *STATES),
            *(sf.coalesce(sf.sum(name).over(time), sf.lit(0)).alias(name) for name in KINDS),
            sf.last(last, ignorenulls=True).over(time).alias("_last"),
        )
        .where("group is not null")
        .withColumns(
            {
                name: sf.col(name) - sf.when(sf.col("_last.kind") == number, beyond).otherwise(0)
                for number, name in enumerate(KINDS)
            }
        )
    )
    return _stretches(counted, readers)


def _between(known: DataFrame, bounds: DataFrame) -> DataFrame:
    """The batches by offset, as the boundaries see them: `log`, `offset`, `KINDS` (records), `kind` and `end`.

    `kind` is a place in `KINDS`, `end` the next offset. Batches of a stretch of offsets without a boundary are added
    up, with `offset`, `kind` and `end` of the last: sums by hash take a fraction of what sorting all batches takes.
    The stretches with a boundary are broadcast: they are at most one for every `STRETCH_OFFSETS` offsets of a log.
    """
    stretch = (sf.col("offset") / STRETCH_OFFSETS).cast("int").alias("stretch")
    near = bounds.where(f"offset < {EVERYTHING}").select("log", stretch, sf.lit(True).alias("near")).distinct()
    kind = sf.when(sf.col("acked"), 0).otherwise(2) + sf.when(sf.col("aborted"), 1).otherwise(0)
    offset = sf.get("places", sf.lit(0))["base_offset"].alias("offset")
    one = sf.when(sf.col("near"), sf.col("offset")).alias("one")
    return (
        known.select("log", offset, "records", kind.alias("kind"))
        .withColumn("stretch", stretch)
        .join(sf.broadcast(near), ["log", "stretch"], "left")
        .groupBy("log", "stretch", one)
        .agg(
            *(sf.sum(sf.when(sf.col("kind") == n, sf.col("records"))).alias(name) for n, name in enumerate(KINDS)),
            sf.max_by("kind", "offset").alias("kind"),
            (sf.max("offset") + sf.max_by("records", "offset")).alias("end"),
            sf.max("offset").alias("offset"),
        )
        .drop("stretch", "one")
    )


def _stretches(counted: DataFrame, readers: DataFrame) -> DataFrame:
    """The records between two boundaries have one fate."""
    order = Window.partitionBy(*READER).orderBy("offset")
    states = {
        name: sf.sum(sf.coalesce(name, sf.lit(0))).over(order.rangeBetween(Window.unboundedPreceding, 0)) > 0
        for name in STATES
    }
    between = {name: sf.coalesce(sf.lead(name).over(order) - sf.col(name), sf.lit(0)) for name in KINDS}
    left_out = sf.col("read_committed")
    acked = sf.col("acked") + sf.when(left_out, 0).otherwise(sf.col("acked_aborted"))
    unacked = sf.col("unacked") + sf.when(left_out, 0).otherwise(sf.col("unacked_aborted"))
    fate = (
        sf.when(sf.col("finished"), "delivered")
        .when(sf.col("before"), "skipped")
        .when(sf.col("left"), "lost")
        .when(sf.col("compacted"), "skipped")
        .when(sf.col("passed"), "lost")
        .when(sf.col("deleted"), "deleted")
        .otherwise("unread")
    )
    fated = {name: sf.sum(sf.when(sf.col("fate") == name, acked).otherwise(0)).alias(name) for name in FATES_IN_FULL}
    skipped = sf.col("fate").isin("skipped", "deleted")
    fated["skipped"] = sf.sum(sf.when(skipped, acked).otherwise(0)).alias("skipped")
    fated["acknowledged"] = sf.sum(acked).alias("acknowledged")
    extra = sf.sum(sf.when(sf.col("fate") == "delivered", unacked).otherwise(0))
    fated["delivered_unacknowledged"] = extra.alias("delivered_unacknowledged")
    return (
        counted.withColumns(states | between)
        .join(sf.broadcast(readers.select(*READER, "read_committed")), list(READER))
        .withColumn("fate", fate)
        .groupBy(*READER)
        .agg(*fated.values())
    )
