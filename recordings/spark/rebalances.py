"""Rebalances: one row for each, from its cause to what it cost, and the storms that they make.

The phases follow the coordinator: members join until the barrier closes, the leader assigns, the assignment is handed
out. What it cost is counted on the clients' side, from what each consumer held, read and did.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.generations import EMPTY, GROUP, STABLE, UNFINISHED, rounds
from recordings.spark.instants import last_before
from recordings.spark.ownership import owner_changes, unowned
from recordings.spark.tables import Tables

REBALANCE = (*GROUP, "rebalance")
STORM_GAP_US = 60_000_000
STORM_REBALANCES = 3
NEXT_ROUND = "partitions revoked"  # the second round of a cooperative rebalance, which is no trouble of its own


def rebalances(tables: Tables) -> DataFrame:
    """One row for each rebalance.

    * `REBALANCE` (counted from 1 in each group), `round` (as in `rounds`), `generation` (the new one), `cause`,
      `trigger`, `initial` (of a group that was Empty)
    * `started_us`, `closed_us` (the join barrier), `assigned_us` (the leader's assignment came), `ended_us`, `ends`:
      `Stable`, `Empty`, `coordinator moved`, `unfinished`; instants are null for phases that were not reached
    * `barriers` (how often it began anew before it was over), `members`, `waited_for`, `waited_us`
    * `moved` (partitions with another owner than before), `stopped_partition_us` (from its beginning until they had an
      owner again), `orphaned_partition_us` (what they had waited before it even began), `stopped_member_us`, `reread`
    """
    timeline = rounds(tables)
    spans = _spans(timeline, tables)
    owners = owner_changes(tables)
    costs = (
        _moved(timeline, spans, owners),
        _stopped_partitions(tables, spans, owners),
        _stopped_members(tables, spans),
        _reread(tables, spans),
    )
    rows = spans
    for cost in costs:
        rows = rows.join(cost, list(REBALANCE), "left")
    counted = ("moved", "stopped_partition_us", "orphaned_partition_us", "stopped_member_us", "reread")
    return rows.fillna(0, list(counted)).drop("started_seq", "ended_seq", "next_us")


def _spans(timeline: DataFrame, tables: Tables) -> DataFrame:
    """What the coordinator tells of each rebalance, without its cost; `next_us` is when the next one begins."""
    first = sf.min_by(
        sf.struct("seq", "at_us", "cause", "trigger", "initial"), sf.when(sf.col("what") == "started", sf.col("seq"))
    )
    at = {what: sf.when(sf.col("what") == what, sf.col("seq")) for what in ("started", "completed", "stable")}
    barrier = sf.max_by(
        sf.struct("seq", "at_us", "generation", "member_count", "last_joined", "waited_us"), at["completed"]
    )
    sync = sf.max_by(sf.struct("seq", "at_us"), sf.when((sf.col("what") == "synced") & sf.col("leader"), sf.col("seq")))
    end = sf.max_by(sf.struct("seq", "at_us", "ends"), sf.when(sf.col("ends").isNotNull(), sf.col("seq")))
    grouped = (
        timeline.groupBy(*GROUP, "round")
        .agg(
            first.alias("first"),
            sf.max(at["started"]).alias("last_started"),
            sf.count(at["started"]).alias("barriers"),
            barrier.alias("barrier"),
            sync.alias("sync"),
            end.alias("end"),
        )
        .where("first is not null")
    )
    closed = sf.col("barrier.seq") > sf.col(
        "last_started"
    )  # else the barrier is of a round before, that came to nothing
    assigned = closed & (sf.col("sync.seq") > sf.col("barrier.seq"))
    waited = closed & (sf.col("barrier.member_count") > 0)
    flights = tables.flights.select("run_id", "virtual_us")
    order = Window.partitionBy(*GROUP).orderBy("round")
    return grouped.join(sf.broadcast(flights), "run_id").select(
        *GROUP,
        "round",
        sf.row_number().over(order).alias("rebalance"),
        sf.when(closed, sf.col("barrier.generation")).alias("generation"),
        "first.cause",
        "first.trigger",
        "first.initial",
        sf.col("first.at_us").alias("started_us"),
        sf.when(closed, sf.col("barrier.at_us")).alias("closed_us"),
        sf.when(assigned, sf.col("sync.at_us")).alias("assigned_us"),
        sf.col("end.at_us").alias("ended_us"),
        sf.coalesce("end.ends", sf.lit(UNFINISHED)).alias("ends"),
        "barriers",
        sf.when(closed, sf.col("barrier.member_count")).alias("members"),
        sf.when(waited, sf.col("barrier.last_joined")).otherwise("").alias("waited_for"),
        sf.when(waited, sf.col("barrier.waited_us")).otherwise(0).alias("waited_us"),
        sf.col("first.seq").alias("started_seq"),
        sf.col("end.seq").alias("ended_seq"),
        sf.coalesce(sf.lead("first.at_us").over(order), sf.col("virtual_us")).alias("next_us"),
    )


def _moved(timeline: DataFrame, spans: DataFrame, owners: DataFrame) -> DataFrame:
    """How many partitions each rebalance gave to another member than the one that had them last."""
    ids = timeline.where("what = 'joined'").select(*GROUP, "member_id", "member").distinct()
    assignment = (
        timeline.where("what = 'stable'")
        .select(*GROUP, "round", sf.explode("assignment").alias("member_id", "partitions"))
        .select(*GROUP, "round", "member_id", sf.explode("partitions").alias("partition"))
        .join(ids, [*GROUP, "member_id"], "left")
        .join(spans.select(*REBALANCE, "round", "started_seq", "ended_seq"), [*GROUP, "round"])
        .drop("round", "member_id")
    )
    # An owner counts from the beginning of the rebalance, who gave a partition up until its end.
    assigned = owners.where("assigned").select(*GROUP, "partition", "seq", sf.struct("seq", "owner").alias("held"))
    gone = sf.when(sf.col("owner") == "", sf.col("before")).otherwise(sf.col("owner")).alias("owner")
    released = owners.where("not assigned").select(*GROUP, "partition", "seq", sf.struct("seq", gone).alias("released"))
    keys = ["group", "partition"]
    known = last_before(assignment.withColumnRenamed("started_seq", "seq"), assigned, keys).drop("seq")
    known = last_before(known.withColumnRenamed("ended_seq", "seq"), released, keys).drop("seq")
    previous = sf.array_max(sf.array_compact(sf.array("held", "released")))["owner"]
    moved = (previous != "") & (previous != sf.coalesce("member", sf.lit("")))
    return known.groupBy(*REBALANCE).agg(sf.count_if(sf.coalesce(moved, sf.lit(False))).alias("moved"))


def _stopped_partitions(tables: Tables, spans: DataFrame, owners: DataFrame) -> DataFrame:
    """Partition time without an owner, counted for the rebalance whose assignment ended it."""
    ended = unowned(tables, owners).where("seq is not null")
    began = spans.select(*GROUP, sf.col("started_seq").alias("seq"), "rebalance", "started_us")
    stopped = sf.col("until_us") - sf.greatest("from_us", "started_us")
    orphaned = sf.greatest(sf.lit(0), sf.least("until_us", "started_us") - sf.col("from_us"))
    return (
        last_before(ended, began, ["group"])
        .where("rebalance is not null")
        .groupBy(*REBALANCE)
        .agg(sf.sum(stopped).alias("stopped_partition_us"), sf.sum(orphaned).alias("orphaned_partition_us"))
    )


def member_stops(tables: Tables) -> DataFrame:
    """Each stretch in which a consumer that had been Stable was not: `GROUP`, `member`, `from_us`, `until_us`.

    It ends with Stable, with the process, or with the flight.
    """
    key = (*GROUP, "member", "seq", "at_us")
    states = tables["member_state_changed"].select(*key, "state")
    gone = tables["member_stopped"].select(*key, sf.lit("Dead").alias("state"))
    time = Window.partitionBy(*GROUP, "member").orderBy("seq")
    flights = tables.flights.select("run_id", "virtual_us")
    stops = (sf.col("before") == "Stable") & sf.col("state").isin("Revoking", "Joining", "Syncing", "Fenced")
    return (
        states.unionByName(gone)
        .withColumn("before", sf.lag("state").over(time))
        .withColumn("stops", sf.coalesce(stops, sf.lit(False)))
        .where(sf.col("stops") | sf.col("state").isin("Stable", "Left", "Dead"))
        .withColumn("until_us", sf.lead("at_us").over(time))
        .where("stops")
        .join(sf.broadcast(flights), "run_id")
        .select(
            *GROUP, "member", sf.col("at_us").alias("from_us"), sf.coalesce("until_us", "virtual_us").alias("until_us")
        )
    )


def _stopped_members(tables: Tables, spans: DataFrame) -> DataFrame:
    """Member time not Stable between the beginning of a rebalance and that of the next."""
    stops = member_stops(tables)
    overlap = sf.least("until_us", "next_us") - sf.greatest("from_us", "started_us")
    return (
        stops.join(spans.select(*REBALANCE, "started_us", "next_us"), list(GROUP))
        .where("from_us < next_us and until_us > started_us")
        .groupBy(*REBALANCE)
        .agg(sf.sum(overlap).alias("stopped_member_us"))
    )


def rereads(tables: Tables) -> DataFrame:
    """Each time a position fell back behind what the group had read: `GROUP`, `seq`, `partition`, `reread` (count)."""
    key = (*GROUP, "seq")
    reset = tables["positions_reset"].select(*key, sf.explode("positions").alias("partition", "reset"))
    read = tables["poll_returned"].select(*key, sf.explode("positions").alias("partition", "position"))
    rows = reset.unionByName(read, allowMissingColumns=True)
    earlier = Window.partitionBy(*GROUP, "partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    reached = sf.greatest(sf.max("position").over(earlier), sf.first("reset", ignorenulls=True).over(earlier))
    return (
        rows.withColumn("reread", reached - sf.col("reset"))
        .where("reset is not null and reread > 0")
        .select(*key, "partition", "reread")
    )


def attendance(tables: Tables, found: DataFrame) -> DataFrame:
    """Who took part in each rebalance, from `rebalances`: one row for each member.

    `REBALANCE`, `member`, `newcomer`, `joined_us` (its last JoinGroup came), `synced_us`, `stopped_us` and `ready_us`
    (when it stopped and when it was Stable again; null for one that was not Stable before, or did not stop).
    """
    told = rounds(tables).where(sf.col("what").isin("joined", "synced"))
    came = (
        told.groupBy(*GROUP, "round", "member")
        .agg(
            sf.max("newcomer").alias("newcomer"),
            sf.max(sf.when(sf.col("what") == "joined", sf.col("at_us"))).alias("joined_us"),
            sf.max(sf.when(sf.col("what") == "synced", sf.col("at_us"))).alias("synced_us"),
        )
        .join(found.select(*REBALANCE, "round"), [*GROUP, "round"])
        .drop("round")
    )
    after = Window.partitionBy(*GROUP).orderBy("rebalance")
    spans = found.select(*REBALANCE, "started_us", sf.lead("started_us").over(after).alias("next_us"))
    stops = (
        member_stops(tables)
        .join(spans, list(GROUP))
        .where("from_us >= started_us and (next_us is null or from_us < next_us)")
        .groupBy(*REBALANCE, "member")
        .agg(sf.min("from_us").alias("stopped_us"), sf.max("until_us").alias("ready_us"))
    )
    return came.join(stops, [*REBALANCE, "member"], "left").fillna(False, ["newcomer"])


def _reread(tables: Tables, spans: DataFrame) -> DataFrame:
    """Records read again, counted for the last rebalance that was over."""
    over = spans.where(sf.col("ends").isin(STABLE, EMPTY)).select(*GROUP, sf.col("ended_seq").alias("seq"), "rebalance")
    return (
        last_before(rereads(tables), over, ["group"])
        .where("rebalance is not null")
        .groupBy(*REBALANCE)
        .agg(sf.sum("reread").alias("reread"))
    )


def storms(found: DataFrame, gap_us: int = STORM_GAP_US, least: int = STORM_REBALANCES) -> DataFrame:
    """Rebalances that follow one another within `gap_us`, at least so many, from `rebalances`.

    `GROUP`, `from_us`, `until_us`, `rebalances`, `causes` (cause → how often), `stopped_partition_us`, `reread`. Second
    rounds of cooperative rebalances do not count.
    """
    order = Window.partitionBy(*GROUP).orderBy("started_us", "rebalance")
    begins = sf.coalesce(sf.col("started_us") - sf.lag("started_us").over(order) > gap_us, sf.lit(True))
    one = sf.map_from_entries(sf.array_agg(sf.struct("cause", "times")))
    counted = (
        found.where(sf.col("cause") != NEXT_ROUND)
        .withColumn("begins", begins)
        .withColumn("storm", sf.count_if("begins").over(order))
        .groupBy(*GROUP, "storm", "cause")
        .agg(
            sf.count("*").alias("times"),
            sf.min("started_us").alias("from_us"),
            sf.max(sf.coalesce("ended_us", "started_us")).alias("until_us"),
            sf.sum("stopped_partition_us").alias("stopped_partition_us"),
            sf.sum("reread").alias("reread"),
        )
    )
    return (
        counted.groupBy(*GROUP, "storm")
        .agg(
            sf.min("from_us").alias("from_us"),
            sf.max("until_us").alias("until_us"),
            sf.sum("times").alias("rebalances"),
            one.alias("causes"),
            sf.sum("stopped_partition_us").alias("stopped_partition_us"),
            sf.sum("reread").alias("reread"),
        )
        .where(sf.col("rebalances") >= least)
        .drop("storm")
    )
