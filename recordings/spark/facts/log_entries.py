"""Batches by identity, and their places: producer, partition and serial number identify a record, not its offset.

After a truncation offsets are given again, and a producer without idempotence may append a batch twice. A batch keeps
its first serial number throughout, so that the number identifies it. Its partition is the number of its log
(`offsets.data_partitions`), for two names in each key make long rows; `named` has the names.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.offsets import data_partitions, only_data
from recordings.spark.tables import Tables

PARTITION = ("run_id", "partition")
BATCH = ("log", "producer", "first_serial")
PLACES = "array<struct<base_offset: bigint, seq: bigint, cut_seq: bigint, since_seq: bigint>>"


def leaders(tables: Tables) -> DataFrame:
    """Each leader that took over, `PARTITION`, `seq`, `at_us`, `broker`, `leader_epoch`, `log_start`, `log_end`.

    A broker that learns of its election after a later leader has taken over does not count.
    """
    earlier = Window.partitionBy(*PARTITION).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    return (
        tables["leadership_taken"]
        .select(*PARTITION, "seq", "at_us", "broker", "leader_epoch", "log_start", "log_end")
        .withColumn("_epoch", sf.max("leader_epoch").over(earlier))
        .where("leader_epoch >= coalesce(_epoch, -1)")
        .drop("_epoch")
    )


def reigns(tables: Tables) -> DataFrame:
    """The history of each partition's log, in ordered arrays, each of them short.

    `PARTITION`, `reigns` (the leaders), `truncated` (replicas that dropped the end of their logs: `seq`, `broker`,
    `offset`), `cuts` (of the valid log: `seq`, `offset`; `crashed`: by its leader's crash, else by another leader). All
    have `at_us`.
    """
    return tables.once("reigns", lambda: _reigns(tables))


def _reigns(tables: Tables) -> DataFrame:
    leader = sf.struct("seq", "leader_epoch", "broker", "log_start", "log_end", "at_us")
    led = leaders(tables).groupBy(*PARTITION).agg(sf.sort_array(sf.collect_list(leader)).alias("reigns"))
    drop = sf.struct("seq", "broker", "offset", "at_us")
    dropped = tables["log_truncated"].groupBy(*PARTITION).agg(sf.sort_array(sf.collect_list(drop)).alias("truncated"))

    def cut(one: Column, offset: str, *, crashed: bool) -> Column:
        crash, seq, at_us = sf.lit(crashed).alias("crashed"), one["seq"].alias("seq"), one["at_us"].alias("at_us")
        return sf.struct(seq, one[offset].alias("offset"), crash, at_us)

    taken = sf.transform("reigns", lambda one: cut(one, "log_end", crashed=False))
    own = sf.filter("truncated", lambda one: one["broker"] == last_reign(one["seq"])["broker"])
    crashed = sf.transform(own, lambda one: cut(one, "offset", crashed=True))
    nothing = sf.array().cast("array<struct<seq:bigint,broker:bigint,offset:bigint,at_us:bigint>>")
    return (
        led.join(sf.broadcast(dropped), list(PARTITION), "left")
        .withColumn("truncated", sf.coalesce("truncated", nothing))
        .withColumn("cuts", sf.sort_array(sf.concat(taken, crashed)))
    )


def last_reign(seq: Column) -> Column:
    """The last leader that had taken over before an event; null: none."""
    return sf.try_element_at(sf.filter("reigns", lambda leader: leader["seq"] < seq), sf.lit(-1))


def _first(array: str, condition: Callable[[Column], Column]) -> Column:
    return sf.get(sf.filter(array, condition), sf.lit(0))


def batches(tables: Tables) -> DataFrame:
    """Each batch of a user's topic, or of one that a group reads, whether it was appended or only acknowledged.

    `BATCH`, `records`, `acked`, `aborted`; `appended_seq`: when a leader, deposed or not, appended it last; `places`:
    its places in the valid log (`base_offset`, `seq`, `cut_seq`: when a shorter log took over, `since_seq`: when it was
    appended there). An ABORT marker over records that compaction removed before splits their batch.
    """
    return tables.once("batches", lambda: _batches(tables), computed=False)


def named(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows with the `PARTITION` of their `log`."""
    return rows.join(sf.broadcast(data_partitions(tables)), "log")


def _batches(tables: Tables) -> DataFrame:
    found = _whole_batches(tables)
    if tables.has_rows("log_compacted"):  # else planning would take longer than the result is worth
        whole = found
        found = tables.once("split_batches", lambda: _split_by_compaction(tables, whole))
    return found.withColumn("aborted", sf.col("aborted_seq").isNotNull()).drop("aborted_seq")


def _split_by_compaction(tables: Tables, whole: DataFrame) -> DataFrame:
    """A marker aborts what the leader's log has then: records that compaction removed before stay committed."""
    record = [*BATCH, "aborted_seq"]
    gone = only_data(tables, removals(tables))
    ended = whole.where("aborted_seq is not null").select(*record, "records", sf.explode("places").alias("place"))
    removed = ended.select(*record, "place", sf.explode(sf.expr("sequence(0, records - 1)")).alias("number"))
    spared = (
        removed.withColumn("at_offset", sf.col("place.base_offset") + sf.col("number"))
        .join(gone, ["log", "at_offset"])
        .where(removed_from(sf.col("place")) & (sf.col("counts_seq") < sf.col("aborted_seq")))
        .groupBy(*BATCH)
        .agg(sf.collect_set("number").alias("spared"))
    )
    kept = [name for name in whole.columns if name not in {"first_serial", "records", "aborted_seq", "places"}]

    def one(number: Column) -> Column:
        places = sf.transform("places", lambda at: at.withField("base_offset", at["base_offset"] + number))
        ends = sf.when(~sf.array_contains("spared", number), sf.col("aborted_seq"))
        serial = (sf.col("first_serial") + number).alias("first_serial")
        return sf.struct(
            serial, sf.lit(1).cast("bigint").alias("records"), ends.alias("aborted_seq"), places.alias("places")
        )

    together = sf.array(sf.struct("first_serial", "records", "aborted_seq", "places"))
    apart = sf.transform(sf.expr("sequence(0, records - 1)"), one)
    pieces = sf.when(sf.col("spared").isNull(), together).otherwise(apart)
    return whole.join(sf.broadcast(spared), list(BATCH), "left").select(*kept, sf.inline(pieces))


def _whole_batches(tables: Tables) -> DataFrame:
    """The batches, `aborted_seq` of each among its columns; nearly every one has a single place."""
    entries = _with_aborted(_entries(tables))
    acked = only_data(tables, tables["batch_acknowledged"]).select(*BATCH, "records", sf.lit(True).alias("acked"))
    rows = entries.unionByName(acked, allowMissingColumns=True)
    counted = tables.once("counted_batches", lambda: _counted(rows))
    several = counted.where("copies > 1")
    if several.isEmpty():  # so it is in most flights: lists would cost more than all the rest
        return counted.drop("copies")
    lists = sf.concat(sf.collect_list("place"), sf.collect_list("again"))
    found = rows.join(several.select(*BATCH), list(BATCH), "left_semi").groupBy(*BATCH).agg(lists.alias("lists"))
    placed = counted.join(found, list(BATCH), "left").withColumn("places", sf.coalesce("lists", "places"))
    return tables.once("placed_batches", lambda: placed.drop("lists", "copies"))


def _counted(rows: DataFrame) -> DataFrame:
    """The batches with the number of their places, `copies`, and `places` if it is one; only figures are aggregated.

    Spark aggregates lists and structs by sorting all rows, figures in a hash table.
    """
    stands = {"base_offset": "base_offset", "seq": "appended_seq", "cut_seq": "place_cut_seq"}
    one = [sf.min(sf.when(sf.col("standing"), sf.col(column))).alias(name) for name, column in stands.items()]
    place = sf.array(sf.struct(*stands, sf.col("seq").alias("since_seq")))  # a single one never stood again
    return (
        rows.groupBy(*BATCH)
        .agg(
            sf.max("records").alias("records"),
            sf.coalesce(sf.bool_or("acked"), sf.lit(False)).alias("acked"),
            sf.min("aborted_seq").alias("aborted_seq"),
            sf.max("appended_seq").alias("appended_seq"),
            (sf.count_if("standing") + sf.count("again")).alias("copies"),
            *one,
        )
        .withColumn("places", sf.when(sf.col("copies") == 1, place).otherwise(sf.array().cast(PLACES)))
        .drop(*stands)
    )


def transactional_entries(tables: Tables) -> DataFrame:
    """Batches of transactions and their markers: `PARTITION`, `BATCH`, `seq`, `at_us` and more.

    `producer_id`, `marker`, `place`; `gone`: when a truncation took it for good, and a leader without it led (`seq`,
    `at_us`); null for never.
    """
    return _entries(tables, tables["records_appended"].where("transactional"))


def _entries(tables: Tables, rows: DataFrame | None = None) -> DataFrame:
    """Each batch and marker as it was appended, with its `place`; null for those that a deposed leader appended.

    `base_offset`, `appended_seq`, `place_cut_seq`: the same in columns of their own, if it is `standing` (is not null);
    `again`: the place that it had once more after a truncation; `cut_seq`: when it was truncated last;
    `gone`: the same, or when another leader took over, if the leader had crashed.
    """
    appended = (tables["records_appended"] if rows is None else rows).select(
        *(*PARTITION, "producer", "first_serial", "seq", "at_us", "base_offset", "count"),
        *("producer_id", "leader_epoch", "transactional", "marker"),
    )
    logs = data_partitions(tables).join(sf.broadcast(reigns(tables)), list(PARTITION), "left")
    epoch = sf.col("leader_epoch")
    newest = sf.try_element_at("reigns", sf.lit(-1))["leader_epoch"]
    # nearly all are of the newest leader, and were appended after the last cut: that is seen without a search
    deposed = sf.coalesce((epoch < newest) & (epoch < last_reign(sf.col("seq"))["leader_epoch"]), sf.lit(False))
    last_cut = sf.try_element_at("cuts", sf.lit(-1))["seq"]
    end = sf.col("base_offset") + sf.col("count")

    def cut_after(seq: Column) -> Column:
        return _first("cuts", lambda cut: (cut["seq"] > seq) & (cut["offset"] < end))

    def place(seq: str, cut: Column) -> Column:
        since = sf.col("seq").alias("since_seq")
        return sf.struct("base_offset", sf.col(seq).alias("seq"), cut.alias("cut_seq"), since)

    again_cut = cut_after(sf.col("_again"))
    return (
        appended.join(sf.broadcast(logs), list(PARTITION))
        .withColumn("_cut", sf.when(last_cut > sf.col("seq"), cut_after(sf.col("seq"))))
        .withColumn("_again", sf.when(sf.col("_cut").isNotNull(), _stands_again(end)))
        .withColumn("place", sf.when(~deposed, place("seq", sf.col("_cut.seq"))))
        .withColumn("again", sf.when(~deposed & sf.col("_again").isNotNull(), place("_again", again_cut["seq"])))
        .withColumn("_last_cut", sf.when(sf.col("_again").isNull(), sf.col("_cut")).otherwise(again_cut))
        .select(
            *(*PARTITION, *BATCH, "seq", "at_us"),
            *(sf.col("count").alias("records"), sf.col("seq").alias("appended_seq")),
            *("producer_id", "transactional", "marker", "place", "again"),
            *("base_offset", (~deposed).alias("standing"), sf.col("_cut.seq").alias("place_cut_seq")),
            *(sf.col("_last_cut.seq").alias("cut_seq"), _gone().alias("gone")),
        )
    )


def _gone() -> Column:
    """When a leader without the batch led: at the last cut (`_last_cut`), or, after a crash, when one took over."""
    cut = sf.col("_last_cut")
    following = _first("reigns", lambda leader: leader["seq"] > sf.col("_last_cut.seq"))

    def moment(field: str) -> Column:
        return sf.when(cut["crashed"], following[field]).otherwise(cut[field]).alias(field)

    return sf.when(moment("seq").isNotNull(), sf.struct(moment("seq"), moment("at_us")))


def _stands_again(end: Column) -> Column:
    """When a truncated batch (`_cut`) was in the log once more; null: never.

    In the log of a leader whose successor had less, when it leads again; after a leader's crash, in that of the
    follower that leads next.
    """
    before = last_reign(sf.col("_cut.seq"))["broker"]
    following = _first("reigns", lambda leader: leader["seq"] > sf.col("_cut.seq"))
    taken_on = sf.when((following["broker"] != before) & (following["log_end"] >= end), following["seq"])
    back = _first(
        "reigns",
        lambda leader: (leader["seq"] > sf.col("_cut.seq")) & (leader["broker"] == before) & (leader["log_end"] >= end),
    )["seq"]
    dropped = sf.exists(
        "truncated",
        lambda one: (
            (one["broker"] == before) & (one["seq"] > sf.col("seq")) & (one["seq"] < back) & (one["offset"] < end)
        ),
    )
    return sf.when(sf.col("_cut.crashed"), taken_on).otherwise(sf.when(~dropped, back))


def _with_aborted(entries: DataFrame) -> DataFrame:
    """The batches alone, with `aborted_seq`: an ABORT marker came, the next one of their producer id in the log.

    A COMMIT that was truncated, while its batch was not, decides nothing: its transaction is open again.
    """
    kept = (*BATCH, "records", "appended_seq", "place", "again", "base_offset", "standing", "place_cut_seq")
    later = Window.partitionBy("log", "producer_id").orderBy(sf.desc("seq"))
    counts = sf.col("standing")
    marks = (sf.col("marker") != "") & counts
    stays = marks & ~((sf.col("marker") == "COMMIT") & sf.col("cut_seq").isNotNull())
    marker = sf.struct("marker", "seq", "cut_seq")

    def abort(ended: str) -> Column:
        """When this marker came, if it is an ABORT and the batch stood in the log; else null."""
        stood = sf.coalesce(sf.col("cut_seq") > sf.col(f"{ended}.seq"), sf.lit(True))
        return sf.when((sf.col(f"{ended}.marker") == "ABORT") & stood, sf.col(f"{ended}.seq"))

    open_again = sf.col("_next.cut_seq").isNotNull() & sf.coalesce(
        sf.col("cut_seq") > sf.col("_next.cut_seq"), sf.lit(True)
    )
    decided = sf.when((sf.col("_next.marker") == "COMMIT") & open_again, abort("_staying")).otherwise(abort("_next"))
    never = sf.lit(None).cast("bigint").alias("aborted_seq")
    plain = entries.where("not transactional and marker = ''").select(*kept, never)
    return plain.unionByName(
        entries.where("transactional")
        .withColumn("_next", sf.last(sf.when(marks, marker), ignorenulls=True).over(later))
        .withColumn("_staying", sf.last(sf.when(stays, marker), ignorenulls=True).over(later))
        .where("marker = ''")
        .select(*kept, sf.when(counts, decided).alias("aborted_seq"))
    )


def removals(tables: Tables) -> DataFrame:
    """What compaction removed from a leader's log: `PARTITION`, `at_offset`, `removed_seq`, `counts_seq` (since then).

    `broker`: whose log lacks it, that of the leader since `counts_seq`. Each broker cleans its own log: what it removed
    from that counts when it leads, unless it truncated its log before.
    """
    run = sf.explode(sf.arrays_zip("removed_from", "removed_to")).alias("run")
    runs = tables["log_compacted"].select(*PARTITION, "seq", "broker", run)
    own = last_reign(sf.col("seq"))["broker"] == sf.col("broker")
    later = _first("reigns", lambda leader: (leader["broker"] == sf.col("broker")) & (leader["seq"] > sf.col("seq")))
    left = left_after(sf.col("run.removed_to"), sf.col("counts_seq"))
    return (
        runs.join(sf.broadcast(reigns(tables)), list(PARTITION), "left")
        .withColumn("counts_seq", sf.when(own, sf.col("seq")).otherwise(later["seq"]))
        .where("counts_seq is not null")
        .select(*PARTITION, "seq", "counts_seq", "broker", sf.col("run.removed_from").alias("low"), left.alias("high"))
        .where("low < high")
        .withColumn("at_offset", sf.explode(sf.expr("sequence(low, high - 1)")))
        .select(*PARTITION, "at_offset", sf.col("seq").alias("removed_seq"), "counts_seq", "broker")
    )


def left_after(end: Column, until: Column) -> Column:
    """An end of offsets, lowered to where `broker` truncated its log between `seq` and `until`."""
    own = sf.filter("truncated", lambda one: one["broker"] == sf.col("broker"))
    cuts = sf.filter(own, lambda one: (one["seq"] > sf.col("seq")) & (one["seq"] < until))
    return sf.least(end, sf.array_min(sf.transform(cuts, lambda one: one["offset"])))


def removed_from(place: Column) -> Column:
    """Whether a removal (`removals`) took the record from this place.

    A record that stands in a log again was in the log of the next leader all along, which may have removed it there.
    """
    cut = sf.coalesce(place["cut_seq"] > sf.col("counts_seq"), sf.lit(True))
    return (place["since_seq"] < sf.col("removed_seq")) & (place["seq"] <= sf.col("counts_seq")) & cut
