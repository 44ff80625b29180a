"""The coordinator's side of a group: its generation and state, and its rebalances, numbered as rounds.

A rebalance begins when the group leaves Stable (or Empty) and ends when it is Stable (or Empty) again: several barriers
in between are one rebalance, with the first one's cause. A coordinator that unloads the group ends an open one.

A group of the consumer protocol has no barrier. Its rebalance begins when the group epoch rises and ends when every
member has its target. Its epochs stand in the log, so a rebalance goes on at the next coordinator.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.consumer_members import member_counts
from recordings.spark.facts.time_windows import every_second
from recordings.spark.report_model import ABANDONED, CLASSIC, CONSUMER, CONVERTED
from recordings.spark.tables import Tables

GROUP = ("run_id", "group")
STABLE, EMPTY = "Stable", "Empty"
NO_MEMBERS = ("Empty", "Dead")


def reconciles(tables: Tables) -> bool:
    """Whether a group of the consumer protocol ever has a rebalance; else nothing of that protocol is planned."""
    return tables.has_rows("consumer_group_epoch_bumped")


def group_changes(tables: Tables) -> DataFrame:
    """Each change of a group on its coordinator: `GROUP`, `seq`, `at_us`, `state`, `generation` (null: as before).

    The generation of a group of the consumer protocol is its group epoch.
    """
    key = (*GROUP, "seq", "at_us")
    none = sf.lit(None).cast("bigint").alias("generation")
    as_before = sf.lit(None).cast("string").alias("state")
    at_first = sf.lit(0).cast("bigint").alias("generation")
    completed = sf.when(sf.size("members") > 0, "CompletingRebalance").otherwise("Empty")

    def of(state: Column | str, generation: Column | str) -> Callable[[DataFrame], DataFrame]:
        return lambda rows: rows.select(*key, state, generation)

    return tables.union(
        {
            "group_declared": of(sf.lit("Empty").alias("state"), at_first),
            "rebalance_started": of(sf.lit("PreparingRebalance").alias("state"), none),
            "join_barrier_completed": of(completed.alias("state"), "generation"),
            "group_stabilized": of(sf.lit("Stable").alias("state"), none),
            "group_loaded": of("state", "generation"),
            "group_deleted": of(sf.lit("Dead").alias("state"), at_first),
            "consumer_group_epoch_bumped": of(as_before, sf.col("epoch").alias("generation")),
            "consumer_group_state_changed": of("state", none),
            "consumer_group_loaded": of("state", sf.col("group_epoch").alias("generation")),
            "classic_group_upgraded": of(as_before, sf.col("epoch").alias("generation")),
            "consumer_group_downgraded": of(sf.lit(STABLE).alias("state"), "generation"),
        }
    )


def groups_by_second(tables: Tables) -> DataFrame:
    """Each group at every second: `GROUP`, `second`, `state`, `generation`."""
    return every_second(group_changes(tables), tables.flights, ["group"], ["state", "generation"])


def rounds(tables: Tables) -> DataFrame:
    """The events of each coordinator, with their `round`: the n-th stretch between two ends.

    `GROUP`, `seq`, `at_us`, `what` (`started`, `joined`, `completed`, `synced`, `stable`, `changed`, `loaded`,
    `unloaded`, `converted`), `ends` (how the round ended, on its last row), `round`, `protocol`, `state` (of the group
    before), `member_count`, and the event's own fields (null for other kinds).
    """
    return tables.once("rounds", lambda: _rounds(tables))


def _classic(tables: Tables) -> dict[str, DataFrame]:
    key = (*GROUP, "seq", "at_us")
    members = sf.size("members").alias("member_count")
    full = sf.when(sf.size("members") > 0, "CompletingRebalance").otherwise("Empty").alias("now")
    completed = tables["join_barrier_completed"]
    return {
        "started": tables["rebalance_started"].select(*key, "broker", "generation", "cause", "trigger", "initial"),
        "joined": tables["join_received"].select(*key, "member", "member_id", "newcomer"),
        "completed": completed.select(*key, "generation", members, "last_joined", "waited_us", full),
        "synced": tables["sync_received"].select(*key, "member", "leader"),
        "stable": tables["group_stabilized"].select(*key, "generation", "assignment", sf.lit("Stable").alias("now")),
        "loaded": tables["group_loaded"].select(*key, "broker", sf.col("state").alias("now")),
        "unloaded": tables["group_unloaded"].select(*key, sf.col("broker").alias("resigned")),
    }


def _consumer(tables: Tables) -> dict[str, DataFrame]:
    """As `_classic`, of groups of the consumer protocol."""
    key = (*GROUP, "seq", "at_us")
    trigger = sf.coalesce(sf.get("members", sf.lit(0)), sf.lit("")).alias("trigger")
    epoch, now = sf.col("epoch").alias("generation"), sf.col("state").alias("now")
    bumped = tables["consumer_group_epoch_bumped"]
    return {
        "started": bumped.select(
            *key, "broker", epoch, "cause", trigger, sf.lit(None).cast("boolean").alias("initial")
        ),
        "completed": tables["target_assignment_computed"].select(*key, epoch),
        "changed": tables["consumer_group_state_changed"].select(*key, "broker", now),
        "loaded": tables["consumer_group_loaded"].select(*key, "broker", now),
        "moved on": tables["member_assignment_changed"].select(
            *key, epoch, (sf.col("state") == "STABLE").alias("reached")
        ),
    }


def protocols(tables: Tables) -> DataFrame:
    """The protocol of groups at the end: `run_id`, `group`, `protocol`; one that is not here is a classic group."""
    return _protocols(tables).groupBy(*GROUP).agg(sf.max_by("protocol", "seq").alias("protocol"))


def _protocols(tables: Tables) -> DataFrame:
    """The protocol of each group from an event on: `GROUP`, `seq`, `at_us`, `what`, `protocol`."""
    key = (*GROUP, "seq", "at_us")
    turned = sf.lit("converted").alias("what")

    def of(what: Column, protocol: Column | str) -> Callable[[DataFrame], DataFrame]:
        return lambda rows: rows.select(*key, what, protocol)

    return tables.union(
        {
            "group_protocol_declared": of(sf.lit("declared").alias("what"), "protocol"),
            "group_protocol_converted": of(turned, "protocol"),
            "classic_group_upgraded": of(turned, sf.lit(CONSUMER).alias("protocol")),
            "consumer_group_downgraded": of(turned, sf.lit(CLASSIC).alias("protocol")),
        }
    )


def _rounds(tables: Tables) -> DataFrame:
    rows = _protocols(tables)
    for what, part in (*_classic(tables).items(), *(_consumer(tables).items() if reconciles(tables) else ())):
        rows = rows.unionByName(part.withColumn("what", sf.lit(what)), allowMissingColumns=True)
    if reconciles(tables):
        counted = sf.col("members").alias("counted")
        counts = member_counts(tables).select(*GROUP, "seq", counted, sf.lit("").alias("what"))
        rows = rows.unionByName(counts, allowMissingColumns=True)
    else:
        rows = rows.withColumns({"counted": sf.lit(None).cast("bigint"), "reached": sf.lit(None).cast("boolean")})
    time = Window.partitionBy(*GROUP).orderBy("seq")
    earlier = time.rowsBetween(Window.unboundedPreceding, -1)
    before = sf.coalesce(sf.last("now", ignorenulls=True).over(earlier), sf.lit("Empty"))
    return (
        rows.withColumn("_coordinator", sf.last("broker", ignorenulls=True).over(time))
        .withColumn("protocol", sf.coalesce(sf.last("protocol", ignorenulls=True).over(time), sf.lit(CLASSIC)))
        .withColumn("state", before)
        .withColumn("_members", sf.last("counted", ignorenulls=True).over(time))
        .withColumn("_epoch", sf.max(sf.when(_of("started", CONSUMER), sf.col("generation"))).over(time))
        .withColumn("ends", _ends())
        .withColumn("round", sf.count("ends").over(earlier))
        .withColumn("member_count", sf.coalesce("member_count", "_members"))
        .withColumn("initial", sf.coalesce("initial", sf.col("state").isin(*NO_MEMBERS)))
        .where("what not in ('', 'declared')")
        .drop("_coordinator", "_members", "_epoch", "broker", "resigned", "now", "counted", "reached")
    )


def _of(what: str, protocol: str) -> Column:
    return (sf.col("what") == what) & (sf.col("protocol") == protocol)


def _ends() -> Column:
    """How an event ends the round."""
    left = sf.coalesce("_coordinator", "resigned") == sf.col("resigned")  # its successor may have the group already
    settled = sf.col("now").isin(STABLE, *NO_MEMBERS)
    # the coordinator tells of a state only when it changes: a lone member may have its next target at once
    alone = (sf.col("state") == STABLE) & (sf.col("_members") == 1) & sf.col("reached")
    return (
        sf.when(_of("stable", CLASSIC) | (_of("changed", CONSUMER) & (sf.col("now") == STABLE)), STABLE)
        .when(_of("completed", CLASSIC) & (sf.col("member_count") == 0), EMPTY)
        .when(_of("changed", CONSUMER) & sf.col("now").isin(*NO_MEMBERS), EMPTY)
        .when(_of("moved on", CONSUMER) & alone & (sf.col("generation") == sf.col("_epoch")), STABLE)
        .when(_of("loaded", CLASSIC) | (_of("loaded", CONSUMER) & settled), ABANDONED)
        .when(_of("unloaded", CLASSIC) & left, ABANDONED)
        .when(sf.col("what") == "converted", CONVERTED)
    )
