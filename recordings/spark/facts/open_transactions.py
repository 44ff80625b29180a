"""Transactions in each partition of a log, and how many records readers of committed data waited for behind them.

A reader of committed data stops at the last stable offset: the first record of the earliest open transaction.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.log_entries import PARTITION, last_reign, reigns, transactional_entries
from recordings.spark.tables import Tables

OPENED = (*PARTITION, "producer_id", "ended")
COLUMNS = {
    **dict.fromkeys(("run_id", "partition", "producer", "outcome"), "string"),
    **dict.fromkeys(("from_us", "until_us", "first_offset", "waiting", "held_from_us"), "bigint"),
}


def open_transactions(tables: Tables) -> DataFrame:
    """Each transaction in each partition that it wrote to, from its first record there until its marker.

    `run_id`, `partition`, `producer`, `from_us`, `until_us`; `outcome`: `COMMIT`, `ABORT`, `truncated` (a truncation
    took its records), or null like `until_us` if it is open at the end; `first_offset`; `waiting`: the offsets from
    that one up to the high watermark just before the end; `held_from_us`: since then no earlier transaction was open
    there, so that this one held the last stable offset back; null for never.
    """
    if not tables.has_rows("transaction_state_changed"):  # then planning would take longer than the result is worth
        nothing = [sf.lit(None).cast(kind).alias(name) for name, kind in COLUMNS.items()]
        return tables.spark.range(0).where(sf.lit(False)).select(*nothing)
    return _with_hold(_with_waiting(tables, _spans(transactional_entries(tables)))).select(*COLUMNS)


def _spans(entries: DataFrame) -> DataFrame:
    """The transactions, with `from_seq`, `until_seq`.

    What a truncation took before its marker came is one of its own, unless the rest stayed. What stays when its marker
    is truncated is open again.
    """
    pieces = _pieces(entries)
    cut, by = sf.col("cut"), sf.col("by")
    ends = sf.when(by["seq"].isNotNull(), _end(by["seq"], by["at_us"], by["marker"]))
    until = sf.when(cut.isNotNull(), _end(cut["seq"], cut["at_us"], sf.lit("truncated"))).otherwise(ends)
    first = sf.struct(_begin("from_seq", "from_us", "first_offset").alias("begin"), until.alias("end"))
    later = sf.when(
        sf.col("next.seq") > sf.col("by.gone.seq"),
        _end(*(sf.col(f"next.{name}") for name in ("seq", "at_us", "marker"))),
    )
    second = sf.struct(_begin("by.gone.seq", "by.gone.at_us", "again_offset").alias("begin"), later.alias("end"))
    is_first = ~sf.col("prior_gone").eqNullSafe(sf.col("by.gone.seq"))  # of several that are one again
    opens_again = cut.isNull() & sf.col("again_offset").isNotNull() & is_first
    return (
        pieces.where("from_seq is not null")
        .withColumn("each", sf.explode(sf.when(opens_again, sf.array(first, second)).otherwise(sf.array(first))))
        .select(
            *(*PARTITION, "producer"),
            *(sf.col("each.begin.at_us").alias("from_us"), sf.col("each.begin.seq").alias("from_seq")),
            sf.col("each.begin.offset").alias("first_offset"),
            *(sf.col("each.end.at_us").alias("until_us"), sf.col("each.end.seq").alias("until_seq")),
            sf.col("each.end.outcome").alias("outcome"),
        )
    )


def _begin(seq: str, at_us: str, offset: str) -> Column:
    return sf.struct(sf.col(seq).alias("seq"), sf.col(at_us).alias("at_us"), sf.col(offset).alias("offset"))


def _end(seq: Column, at_us: Column, outcome: Column) -> Column:
    return sf.struct(seq.alias("seq"), at_us.alias("at_us"), outcome.alias("outcome"))


def _pieces(entries: DataFrame) -> DataFrame:
    """What each marker ends (`by`, null: none), apart where a truncation took it before (`cut`).

    `again_offset`: the first offset of what stayed when the marker was truncated; null: none. `next`: the next marker
    of the producer id that stays; `prior_gone`: when the one before was truncated. A marker without a transaction has
    no `from_seq`.
    """
    counts = sf.col("place").isNotNull()
    marks, is_data = counts & (sf.col("marker") != ""), counts & (sf.col("marker") == "")
    before = Window.partitionBy(*PARTITION, "producer_id").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    whole = Window.partitionBy(*OPENED)
    marker = sf.struct(sf.col("seq").alias("seq"), "at_us", "marker", "gone")
    early = sf.coalesce(sf.col("gone.seq") < sf.col("by.seq"), sf.lit(True))
    kept = sf.when(is_data & sf.col("cut").isNull(), sf.col("seq"))
    stays = sf.col("cut").isNull() | sf.coalesce(sf.col("seq") < sf.col("kept_seq"), sf.lit(True))
    outlasts = sf.coalesce(sf.col("gone.seq") > sf.col("by.gone.seq"), sf.col("by.gone.seq").isNotNull())
    offset = sf.col("place.base_offset")
    order = Window.partitionBy(*PARTITION, "producer_id").orderBy("ended", sf.col("cut").isNull())
    backwards = Window.partitionBy(*PARTITION, "producer_id").orderBy(sf.desc("ended"), sf.col("cut").isNotNull())
    lasts = sf.when(sf.col("by.gone").isNull(), sf.col("by"))
    following = sf.last(lasts, ignorenulls=True).over(backwards.rowsBetween(Window.unboundedPreceding, -1))
    return (
        entries.withColumn("ended", sf.coalesce(sf.count_if(marks).over(before), sf.lit(0)))
        .withColumn("by", sf.max(sf.when(marks, marker)).over(whole))
        .withColumn("cut", sf.when(sf.col("gone").isNotNull() & early & is_data, sf.col("gone")))
        .withColumn("kept_seq", sf.min(kept).over(whole))
        .where(marks | (is_data & stays))
        .groupBy(*OPENED, "by", "cut")
        .agg(
            sf.max(sf.when(is_data, sf.col("producer"))).alias("producer"),
            sf.min(sf.when(is_data, sf.col("at_us"))).alias("from_us"),
            sf.min(sf.when(is_data, sf.col("seq"))).alias("from_seq"),
            sf.min(sf.when(is_data, offset)).alias("first_offset"),
            sf.min(sf.when(is_data & outlasts, offset)).alias("again_offset"),
        )
        .withColumns({"next": following, "prior_gone": sf.lag("by.gone.seq").over(order)})
    )


def _with_waiting(tables: Tables, spans: DataFrame) -> DataFrame:
    """The transactions with `waiting`."""
    where = spans.select(*PARTITION).distinct()
    key = (*PARTITION, "seq", "leader_epoch")
    taken = tables["leadership_taken"].select(*key, "high_watermark")
    marks = taken.unionByName(tables["high_watermark_advanced"].select(*key, sf.col("offset").alias("high_watermark")))
    newest = sf.try_element_at("reigns", sf.lit(-1))["leader_epoch"]
    epoch = sf.col("leader_epoch")
    deposed = (epoch < newest) & (epoch < last_reign(sf.col("seq"))["leader_epoch"])
    history = sf.broadcast(reigns(tables).select(*PARTITION, "reigns", "cuts"))
    valid = (
        marks.join(sf.broadcast(where), list(PARTITION), "left_semi")
        .join(history.drop("cuts"), list(PARTITION), "left")
        .where(~sf.coalesce(deposed, sf.lit(False)))
        .select(*PARTITION, "seq", sf.struct("seq", "high_watermark").alias("mark"))
    )
    never = sf.lit(2**62)
    ends = spans.withColumn("seq", sf.coalesce("until_seq", never))
    # a leader that takes over, and by that ends a transaction, states the high watermark after that
    before = Window.partitionBy(*PARTITION).orderBy("seq", sf.col("mark").isNotNull())
    last = sf.last("mark", ignorenulls=True).over(before.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    lowered = sf.filter(
        "cuts", lambda one: one["crashed"] & (one["seq"] > sf.col("mark.seq")) & (one["seq"] < sf.col("seq"))
    )
    reached: Column = sf.least(
        sf.col("mark.high_watermark"), sf.array_min(sf.transform(lowered, lambda one: one["offset"]))
    )
    return (
        ends.unionByName(valid, allowMissingColumns=True)
        .withColumn("mark", last)
        .where("from_us is not null")
        .join(history.drop("reigns"), list(PARTITION), "left")
        .withColumn("waiting", sf.greatest(sf.lit(0), sf.coalesce(reached - sf.col("first_offset"), sf.lit(0))))
        .drop("mark", "cuts", "seq")
    )


def _with_hold(spans: DataFrame) -> DataFrame:
    """The transactions with `held_from_us`: an earlier one in the partition is one with a lower first offset."""
    earlier = (
        Window.partitionBy(*PARTITION).orderBy("from_seq", "first_offset").rowsBetween(Window.unboundedPreceding, -1)
    )
    never = 2**62

    def moment(seq: Column, at_us: Column) -> Column:
        return sf.struct(seq.alias("seq"), at_us.alias("at_us"))

    end_seq = sf.coalesce("until_seq", sf.lit(never))
    free = sf.max(moment(end_seq, sf.coalesce("until_us", sf.lit(never)))).over(earlier)
    return spans.withColumn("held", sf.greatest(moment(sf.col("from_seq"), sf.col("from_us")), free)).withColumn(
        "held_from_us", sf.when(sf.col("held.seq") < end_seq, sf.col("held.at_us"))
    )
