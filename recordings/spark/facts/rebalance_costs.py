"""The cost of each rebalance: partitions that moved or had no owner, members that stopped, records read again.

Every cost is a fact with its place in the flight, and is attributed to the rebalance before it: the one that began
last. Records read again belong to the rebalance that gave the partition: of a classic group, the one that ended last.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.consumer_members import holdings
from recordings.spark.facts.group_generations import EMPTY, GROUP, STABLE, reconciles, rounds
from recordings.spark.facts.offsets import read_partitions
from recordings.spark.facts.ownership import unowned
from recordings.spark.facts.partitions_given import partitions_given
from recordings.spark.report_model import CONSUMER
from recordings.spark.tables import Tables

REBALANCE = (*GROUP, "rebalance")
SUMS = ("moved", "stopped_partition_us", "orphaned_partition_us", "after_partition_us", "stopped_member_us", "reread")
COUNTS = ("stopped_partitions", "orphaned_partitions", "after_partitions")  # distinct ones: a partition may stop twice
COSTS = (*SUMS, *COUNTS)
END_OF_TIME = 2**62
STRETCH_EVENTS = 16_384
EARLIER_ROWS = (Window.unboundedPreceding, -1)


def costs(tables: Tables, spans: DataFrame) -> DataFrame:
    """`REBALANCE` and `COSTS` (null: none of that kind) of each rebalance with a cost; `spans` as there."""
    rows = _dated(tables, spans).unionByName(_moved(tables, spans), allowMissingColumns=True)
    distinct = (sf.size(sf.collect_set(name)).cast("bigint").alias(name) for name in COUNTS)
    return rows.groupBy(*REBALANCE).agg(*(sf.sum(name).alias(name) for name in SUMS), *distinct)


def _dated(tables: Tables, spans: DataFrame) -> DataFrame:
    """Unowned partitions, stopped members and records read again, each with its rebalance."""
    began = spans.select(
        *GROUP, sf.col("started_seq").alias("seq"), sf.struct("rebalance", "started_us", "ended_us").alias("began")
    )
    over = spans.where(sf.col("ends").isin(STABLE, EMPTY)).select(
        *GROUP, sf.col("ended_seq").alias("seq"), sf.col("rebalance").alias("over")
    )
    idle = unowned(tables).where("seq is not null").select(*GROUP, "seq", "partition", "from_us", "until_us")
    stopped = member_stops(tables).select(*GROUP, "seq", "from_us", "until_us")
    rows = began
    for other in (
        over,
        idle.withColumn("what", sf.lit("partition")),
        stopped.withColumn("what", sf.lit("member")),
        rereads(tables).withColumns({"what": sf.lit("reread"), "seq": sf.col("given_seq")}).drop("given_seq"),
    ):
        rows = rows.unionByName(other, allowMissingColumns=True)
    time = Window.partitionBy(*GROUP).orderBy("seq")
    started_us = sf.col("began.started_us")
    still = sf.col("until_us") - sf.greatest("from_us", started_us)
    before = sf.greatest(sf.lit(0), sf.least("until_us", started_us) - sf.col("from_us"))
    what = sf.col("what")
    classic = (what == "reread") & ~sf.col("reconciled")
    # the rebalance was over: a member was away
    after = sf.coalesce(sf.col("from_us") > sf.col("began.ended_us"), sf.lit(False))
    idles = {"stopped": (~after, still), "orphaned": (~after, before), "after": (after, still)}
    of = {name: (what == "partition") & holds & (us > 0) for name, (holds, us) in idles.items()}
    return (
        rows.withColumns({name: sf.last(name, ignorenulls=True).over(time) for name in ("began", "over")})
        .withColumn("rebalance", sf.when(classic, sf.col("over")).otherwise(sf.col("began.rebalance")))
        .where("what is not null and rebalance is not null")
        .select(
            *REBALANCE,
            *(sf.when(of[name], us).alias(f"{name}_partition_us") for name, (_, us) in idles.items()),
            *(sf.when(holds, sf.col("partition")).alias(f"{name}_partitions") for name, holds in of.items()),
            sf.when(what == "member", still).alias("stopped_member_us"),
            "reread",
        )
    )


def _moved(tables: Tables, spans: DataFrame) -> DataFrame:
    """For each partition that a rebalance assigned, whether (1 or 0) it was another member's when last assigned."""
    timeline = rounds(tables)
    ids = timeline.where("what = 'joined'").select(*GROUP, "member_id", "member").distinct()
    order = Window.partitionBy(*GROUP, "partition").orderBy("rebalance")
    classic = (
        timeline.where("what = 'stable'")
        .select(*GROUP, "round", sf.explode("assignment").alias("member_id", "partitions"))
        .join(sf.broadcast(ids), [*GROUP, "member_id"], "left")
        .join(sf.broadcast(spans.select(*REBALANCE, "round")), [*GROUP, "round"])
        .select(*REBALANCE, "member", "partitions")
    )
    assigned = classic.unionByName(_targets(tables, spans)) if reconciles(tables) else classic
    return (
        assigned.select(*REBALANCE, "member", sf.explode("partitions").alias("partition"))
        .withColumn("previous", sf.lag("member").over(order))
        .select(*REBALANCE, sf.when(sf.col("previous") != sf.col("member"), 1).otherwise(0).alias("moved"))
    )


def _targets(tables: Tables, spans: DataFrame) -> DataFrame:
    """What each member of the consumer protocol has at the end of a rebalance: `REBALANCE`, `member`, `partitions`."""
    over = spans.where((sf.col("protocol") == CONSUMER) & (sf.col("ends") == STABLE))
    held = (sf.col("seq") <= sf.col("ended_seq")) & sf.coalesce(sf.col("until_seq") > sf.col("ended_seq"), sf.lit(True))
    return (
        holdings(tables)
        .join(sf.broadcast(over.select(*REBALANCE, "ended_seq")), list(GROUP))
        .where(held)
        .select(*REBALANCE, "member", "partitions")
    )


def member_stops(tables: Tables) -> DataFrame:
    """Each stretch in which a consumer that had been Stable was not: `GROUP`, `member`, `from_us`, `until_us`, `seq`.

    It ends, at event `seq`, with Stable or with the process; else with the flight, at the end of time. A consumer of
    the consumer protocol reads on while it reconciles: it stops when it loses all partitions (FENCED, STALE).
    """
    key = (*GROUP, "member", "seq", "at_us")
    states = tables["member_state_changed"].select(*key, "state")
    gone = tables["member_stopped"].select(*key, sf.lit("Dead").alias("state"))
    time = Window.partitionBy(*GROUP, "member").orderBy("seq")
    flights = tables.flights.select("run_id", "virtual_us")
    stops = (sf.col("before") == "Stable") & sf.col("state").isin("Revoking", "Joining", "Syncing", "Fenced")
    in_group = sf.col("before").isin("STABLE", "RECONCILING", "ACKNOWLEDGING", "LEAVING")
    stops |= in_group & sf.col("state").isin("FENCED", "STALE")
    return (
        states.unionByName(gone)
        .withColumn("before", sf.lag("state").over(time))
        .withColumn("stops", sf.coalesce(stops, sf.lit(False)))
        .where(sf.col("stops") | sf.col("state").isin("Stable", "STABLE", "UNSUBSCRIBED", "FATAL", "Left", "Dead"))
        .withColumns({"_until_us": sf.lead("at_us").over(time), "_seq": sf.lead("seq").over(time)})
        .where("stops")
        .join(sf.broadcast(flights), "run_id")
        .select(
            *GROUP,
            "member",
            sf.col("at_us").alias("from_us"),
            sf.coalesce("_until_us", "virtual_us").alias("until_us"),
            sf.coalesce("_seq", sf.lit(END_OF_TIME)).alias("seq"),
        )
    )


def _highest(read: DataFrame, resets: DataFrame) -> DataFrame:
    """The positions that readers had reached, as far as a later reset shows them: `reader`, `seq`, `position`.

    Of a stretch of events without a reset only the highest counts: what is left is sorted in a tenth of the time.
    """
    stretch = (sf.col("seq") / STRETCH_EVENTS).cast("int").alias("stretch")
    near = resets.select("reader", stretch, sf.lit(True).alias("near")).distinct()
    return (
        read.select("reader", stretch, "seq", "position")
        .join(sf.broadcast(near), ["reader", "stretch"], "left")
        .groupBy("reader", "stretch", sf.when(sf.col("near"), sf.col("seq")).alias("one"))
        .agg(sf.max("seq").alias("seq"), sf.max("position").alias("position"))
        .drop("stretch", "one")
    )


def rereads(tables: Tables) -> DataFrame:
    """Each time a partition that a rebalance gave is read from behind the group's position.

    `GROUP`, `seq`, `partition`, `reread` (count), and of `partitions_given`: `given_seq`, `reconciled`. A seek, an
    offset out of range or a static member's return is not attributed to a rebalance. Truncated records cannot be read
    again: the count begins anew at the truncation.
    """
    key = (*GROUP, "seq")
    none = sf.struct(sf.lit(-1).cast("bigint").alias("seq"), sf.lit(False).alias("reconciled"))
    reset = tables["positions_reset"].select(
        *key, "member", "reason", sf.explode("positions").alias("partition", "reset"), none.alias("given")
    )
    # behind markers and gaps a position moves on without a record
    kinds = (tables["poll_returned"], tables["positions_moved_on"])
    polled, moved_on = (kind.select(*key, sf.explode("positions").alias("partition", "position")) for kind in kinds)
    given = partitions_given(tables).withColumn("given", sf.struct("seq", "reconciled")).drop("reconciled")
    numbers = sf.broadcast(read_partitions(tables).select(*GROUP, "partition", "reader"))
    known = reset.unionByName(given, allowMissingColumns=True).join(numbers, [*GROUP, "partition"])
    read = polled.unionByName(moved_on).join(numbers, [*GROUP, "partition"])
    rows = known.unionByName(_highest(read, known.where("reset is not null")), allowMissingColumns=True)
    in_order = Window.partitionBy("reader").orderBy("seq")
    earlier = since_cut = in_order.rowsBetween(*EARLIER_ROWS)
    if tables.has_rows("position_truncated"):  # else planning would take longer than the result is worth
        cut = (sf.col("reason") == "truncated").cast("int")
        rows = rows.withColumn("cuts", sf.coalesce(sf.sum(cut).over(in_order), sf.lit(0)))
        since_cut = Window.partitionBy("reader", "cuts").orderBy("seq").rowsBetween(*EARLIER_ROWS)
    reached = sf.greatest(sf.max("position").over(since_cut), sf.first("reset", ignorenulls=True).over(since_cut))
    return (
        rows.withColumns(
            {"reread": reached - sf.col("reset"), "fresh": sf.last("given", ignorenulls=True).over(earlier)}
        )
        .where("reset is not null and fresh.seq >= 0 and reread > 0")
        .select(*key, "partition", "reread", sf.col("fresh.seq").alias("given_seq"), "fresh.reconciled")
    )
