"""Rebalances: one row for each, from its cause to its cost, and the members that took part.

The phases follow the coordinator: members join until the barrier closes, the leader assigns, the assignment is handed
out. A group of the consumer protocol has two: until its last target is computed, and until every member has its target.
The cost is counted on the clients' side, from each consumer's partitions, positions and records (`rebalance_costs`).
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.consumer_members import steps
from recordings.spark.facts.group_generations import GROUP, reconciles, rounds
from recordings.spark.facts.rebalance_costs import COSTS, END_OF_TIME, REBALANCE, costs, member_stops
from recordings.spark.report_model import CONSUMER, UNFINISHED
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

    * `REBALANCE` (counted from 1 in each group), `round` (as in `rounds`), `protocol`, `generation` (the new one; or
      the group epoch), `cause`, `trigger`, `initial` (of a group that was Empty)
    * `started_us`, `closed_us` (the join barrier, or the last target), `assigned_us` (the leader's assignment came),
      `ended_us`, `ends`: `Stable`, `Empty`, `coordinator moved`, `protocol changed`, `unfinished`; instants are null
      for phases that were not reached
    * `barriers` (how often it began anew, or how often the group epoch rose, before it was over), `members`,
      `waited_for`, `waited_us` (the last to join; of the consumer protocol, the slowest to revoke partitions)
    * `started_seq`, `ended_seq`: of the events that began and ended it; `next_us`: when the next one begins, if any
    """

    def make() -> DataFrame:
        found = _spans(_summaries(rounds(tables)))
        if not reconciles(tables):
            return found
        slowest = _slowest(revocations(tables, found)).withColumnsRenamed({"member": "_for", "took_us": "_us"})
        return (
            found.join(slowest, list(REBALANCE), "left")
            .withColumns(
                {"waited_for": sf.coalesce("_for", "waited_for"), "waited_us": sf.coalesce("_us", "waited_us")}
            )
            .drop("_for", "_us")
        )

    return tables.once("spans", make)


def revocations(tables: Tables, found: DataFrame) -> DataFrame:
    """What members of the consumer protocol had to revoke: one row for each member of each rebalance.

    `REBALANCE`, `member`, `asked_us` (the coordinator waits for it from then on), `gave_up_us` (until then; null: the
    rebalance was over before), `given_up` (partitions).
    """
    waits = sf.size("pending_revocation") > 0
    rows = _steps(tables, found)
    last = (
        rows.where(waits)
        .groupBy(*REBALANCE, "member")
        .agg(
            sf.min("at_us").alias("asked_us"),
            sf.max("seq").alias("asked_seq"),
            sf.size(sf.array_distinct(sf.flatten(sf.collect_list("pending_revocation")))).alias("given_up"),
        )
    )
    done = rows.where(~waits).select(*REBALANCE, "member", "seq", sf.col("at_us").alias("done_us"))
    return (
        last.join(done, [*REBALANCE, "member"], "left")
        .groupBy(*REBALANCE, "member", "asked_us", "given_up")
        .agg(sf.min(sf.when(sf.col("seq") > sf.col("asked_seq"), sf.col("done_us"))).alias("gave_up_us"))
    )


def _steps(tables: Tables, found: DataFrame) -> DataFrame:
    """The members' steps to their targets, each with its rebalance: `REBALANCE`, and the columns of `steps`."""
    during = found.where(sf.col("protocol") == CONSUMER).select(
        *REBALANCE, "started_seq", sf.coalesce("ended_seq", sf.lit(END_OF_TIME)).alias("_until")
    )
    return (
        steps(tables)
        .join(sf.broadcast(during), list(GROUP))
        .where("seq > started_seq and seq <= _until")
        .drop("started_seq", "_until")
    )


def _slowest(found: DataFrame) -> DataFrame:
    """The member of each rebalance that took longest to revoke partitions: `REBALANCE`, `member`, `took_us`."""
    took = sf.col("gave_up_us") - sf.col("asked_us")
    order = Window.partitionBy(*REBALANCE).orderBy(sf.desc("took_us"), "asked_us")
    return (
        found.where("gave_up_us is not null")
        .select(*REBALANCE, "member", "asked_us", took.alias("took_us"))
        .withColumn("_place", sf.row_number().over(order))
        .where("_place = 1")
        .drop("_place", "asked_us")
    )


def _summaries(timeline: DataFrame) -> DataFrame:
    """Each round in which a rebalance began: its first event, its last barrier, assignment and end, as structs."""

    def seq_of(what: str) -> Column:
        return sf.when(sf.col("what") == what, sf.col("seq"))

    synced = sf.when((sf.col("what") == "synced") & sf.col("leader"), sf.col("seq"))
    barrier = sf.struct("seq", "at_us", "generation", "member_count", "last_joined", "waited_us")
    end = sf.struct("seq", "at_us", "ends")
    return (
        timeline.groupBy(*GROUP, "round")
        .agg(
            sf.min_by(sf.struct("seq", "at_us", "cause", "trigger", "initial"), seq_of("started")).alias("first"),
            sf.max(seq_of("started")).alias("last_started"),
            sf.count(seq_of("started")).alias("barriers"),
            sf.max_by(barrier, seq_of("completed")).alias("barrier"),
            sf.max_by(sf.struct("seq", "at_us"), synced).alias("sync"),
            sf.max_by(end, sf.when(sf.col("ends").isNotNull(), sf.col("seq"))).alias("end"),
            sf.max_by("protocol", seq_of("started")).alias("protocol"),
            sf.max_by("generation", seq_of("started")).alias("epoch"),
            sf.max_by("member_count", "seq").alias("member_count"),
        )
        .where("first is not null")
    )


def _spans(summaries: DataFrame) -> DataFrame:
    order = Window.partitionBy(*GROUP).orderBy("round")
    closed = sf.col("barrier.seq") > sf.col("last_started")  # else the barrier belongs to a beginning that was undone
    assigned = closed & (sf.col("sync.seq") > sf.col("barrier.seq"))
    consumer = sf.col("protocol") == CONSUMER
    waited = closed & (sf.col("barrier.member_count") > 0) & ~consumer
    return summaries.select(
        *GROUP,
        "round",
        sf.row_number().over(order).alias("rebalance"),
        "protocol",
        sf.when(consumer, sf.col("epoch")).when(closed, sf.col("barrier.generation")).alias("generation"),
        "first.cause",
        "first.trigger",
        "first.initial",
        sf.col("first.at_us").alias("started_us"),
        sf.when(closed, sf.col("barrier.at_us")).alias("closed_us"),
        sf.when(assigned, sf.col("sync.at_us")).alias("assigned_us"),
        sf.col("end.at_us").alias("ended_us"),
        sf.coalesce("end.ends", sf.lit(UNFINISHED)).alias("ends"),
        "barriers",
        sf.when(consumer, sf.col("member_count")).when(closed, sf.col("barrier.member_count")).alias("members"),
        sf.when(waited, sf.col("barrier.last_joined")).otherwise("").alias("waited_for"),
        sf.when(waited, sf.col("barrier.waited_us")).otherwise(0).alias("waited_us"),
        sf.col("first.seq").alias("started_seq"),
        sf.col("end.seq").alias("ended_seq"),
        sf.coalesce(sf.lead("first.at_us").over(order), sf.lit(END_OF_TIME)).alias("next_us"),
    )


def _reconciled(tables: Tables, found: DataFrame) -> DataFrame:
    """The members of rebalances of the consumer protocol: the columns of `attendance` but for the stops."""
    bumped = tables["consumer_group_epoch_bumped"].where("cause = 'member joined'")
    during = found.where(sf.col("protocol") == CONSUMER).select(*REBALANCE, "generation", "started_us", "next_us")
    reached = (sf.col("state") == "STABLE") & (sf.col("epoch") == sf.col("generation"))
    joined = (
        bumped.select(*GROUP, sf.col("at_us").alias("_joined_us"), sf.explode("members").alias("member"))
        .join(sf.broadcast(during), list(GROUP))
        .where("_joined_us >= started_us and _joined_us < next_us")
        .groupBy(*REBALANCE, "member")
        .agg(sf.max("_joined_us").alias("joined_us"))
    )
    return (
        _steps(tables, found)
        .join(sf.broadcast(during), list(REBALANCE))
        .groupBy(*REBALANCE, "member", "started_us", "next_us")
        .agg(sf.max(sf.when(reached, sf.col("at_us"))).alias("reached_us"))
        .join(joined, [*REBALANCE, "member"], "left")
        .join(revocations(tables, found).drop("given_up"), [*REBALANCE, "member"], "left")
        .withColumn("newcomer", sf.col("joined_us").isNotNull())
    )


def attendance(tables: Tables, found: DataFrame) -> DataFrame:
    """The members of each of these `rebalances`: one row for each member.

    `REBALANCE`, `member`, `newcomer`, `joined_us` (its last JoinGroup came), `synced_us`, `stopped_us` and `ready_us`
    (when it stopped and when it was Stable again; null for one that was not Stable before, or did not stop). Of the
    consumer protocol: `asked_us` and `gave_up_us` (as in `revocations`), `reached_us` (it had its target assignment).
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
        .drop("round")
    )
    if reconciles(tables):
        came = came.unionByName(_reconciled(tables, found), allowMissingColumns=True)
    else:
        came = came.withColumns(dict.fromkeys(("asked_us", "gave_up_us", "reached_us"), sf.lit(None).cast("bigint")))
    stops = member_stops(tables).select(*GROUP, "member", "from_us", "until_us")
    during = (sf.col("from_us") >= sf.col("started_us")) & (sf.col("from_us") < sf.col("next_us"))
    return (
        came.join(stops, [*GROUP, "member"], "left")
        .groupBy(*REBALANCE, "member", "newcomer", "joined_us", "synced_us", "asked_us", "gave_up_us", "reached_us")
        .agg(
            sf.min(sf.when(during, sf.col("from_us"))).alias("stopped_us"),
            sf.max(sf.when(during, sf.col("until_us"))).alias("ready_us"),
        )
        .fillna(False, ["newcomer"])
    )
