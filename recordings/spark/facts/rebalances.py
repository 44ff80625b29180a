"""Rebalances: one row for each, from its cause to its cost, and the members that took part.

The phases follow the coordinator: members join until the barrier closes, the leader assigns, the assignment is handed
out. The cost is counted on the clients' side, from each consumer's partitions, positions and records
(`rebalance_costs`).
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.group_generations import GROUP, UNFINISHED, rounds
from recordings.spark.facts.rebalance_costs import COSTS, END_OF_TIME, REBALANCE, costs, member_stops
from recordings.spark.tables import Tables


def rebalances(tables: Tables) -> DataFrame:
    """One row for each rebalance: the columns of `spans`, and `COSTS`.

    `moved`: partitions with another owner than before. `stopped_partition_us`: from its beginning until partitions had
    an owner again; `orphaned_partition_us`: without an owner before it began. `stopped_member_us`: until members were
    Stable again. `reread`: records behind the group's earlier position.
    """

    def make() -> DataFrame:
        return spans(tables).join(costs(tables, spans(tables)), list(REBALANCE), "left").fillna(0, list(COSTS))

    return tables.once("rebalances", make)


def spans(tables: Tables) -> DataFrame:
    """What the coordinator tells of each rebalance.

    * `REBALANCE` (counted from 1 in each group), `round` (as in `rounds`), `generation` (the new one), `cause`,
      `trigger`, `initial` (of a group that was Empty)
    * `started_us`, `closed_us` (the join barrier), `assigned_us` (the leader's assignment came), `ended_us`, `ends`:
      `Stable`, `Empty`, `coordinator moved`, `unfinished`; instants are null for phases that were not reached
    * `barriers` (how often it began anew before it was over), `members`, `waited_for`, `waited_us`
    * `started_seq`, `ended_seq`: of the events that began and ended it; `next_us`: when the next one begins, if any
    """
    return tables.once("spans", lambda: _spans(_summaries(rounds(tables))))


def _summaries(timeline: DataFrame) -> DataFrame:
    """Each round in which a rebalance began: its first event, its last barrier, assignment and end, as structs."""

    def seq_of(what: str) -> Column:
        return sf.when(sf.col("what") == what, sf.col("seq"))

    synced = sf.when((sf.col("what") == "synced") & sf.col("leader"), sf.col("seq"))
    barrier = sf.struct("seq", "at_us", "generation", "member_count", "last_joined", "waited_us")
    return (
        timeline.groupBy(*GROUP, "round")
        .agg(
            sf.min_by(sf.struct("seq", "at_us", "cause", "trigger", "initial"), seq_of("started")).alias("first"),
            sf.max(seq_of("started")).alias("last_started"),
            sf.count(seq_of("started")).alias("barriers"),
            sf.max_by(barrier, seq_of("completed")).alias("barrier"),
            sf.max_by(sf.struct("seq", "at_us"), synced).alias("sync"),
            sf.max_by(sf.struct("seq", "at_us", "ends"), sf.when(sf.col("ends").isNotNull(), sf.col("seq"))).alias(
                "end"
            ),
        )
        .where("first is not null")
    )


def _spans(summaries: DataFrame) -> DataFrame:
    order = Window.partitionBy(*GROUP).orderBy("round")
    closed = sf.col("barrier.seq") > sf.col("last_started")  # else the barrier belongs to a beginning that was undone
    assigned = closed & (sf.col("sync.seq") > sf.col("barrier.seq"))
    waited = closed & (sf.col("barrier.member_count") > 0)
    return summaries.select(
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
        sf.coalesce(sf.lead("first.at_us").over(order), sf.lit(END_OF_TIME)).alias("next_us"),
    )


def attendance(tables: Tables, found: DataFrame) -> DataFrame:
    """The members of each of these `rebalances`: one row for each member.

    `REBALANCE`, `member`, `newcomer`, `joined_us` (its last JoinGroup came), `synced_us`, `stopped_us` and `ready_us`
    (when it stopped and when it was Stable again; null for one that was not Stable before, or did not stop).
    """
    received = rounds(tables).where(sf.col("what").isin("joined", "synced"))
    came = (
        received.groupBy(*GROUP, "round", "member")
        .agg(
            sf.max("newcomer").alias("newcomer"),
            sf.max(sf.when(sf.col("what") == "joined", sf.col("at_us"))).alias("joined_us"),
            sf.max(sf.when(sf.col("what") == "synced", sf.col("at_us"))).alias("synced_us"),
        )
        .join(sf.broadcast(found.select(*REBALANCE, "round", "started_us", "next_us")), [*GROUP, "round"])
    )
    stops = member_stops(tables).select(*GROUP, "member", "from_us", "until_us")
    during = (sf.col("from_us") >= sf.col("started_us")) & (sf.col("from_us") < sf.col("next_us"))
    return (
        came.join(stops, [*GROUP, "member"], "left")
        .groupBy(*REBALANCE, "member", "newcomer", "joined_us", "synced_us")
        .agg(
            sf.min(sf.when(during, sf.col("from_us"))).alias("stopped_us"),
            sf.max(sf.when(during, sf.col("until_us"))).alias("ready_us"),
        )
        .fillna(False, ["newcomer"])
    )
