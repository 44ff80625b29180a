"""The coordinator's side of a group: its generation and state, and its rebalances, numbered as rounds.

A rebalance begins when the group leaves Stable (or Empty) and ends when it is Stable (or Empty) again: several barriers
in between are one rebalance, with the first one's cause. A coordinator that unloads the group ends an open one.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.time_windows import every_second
from recordings.spark.tables import Tables

GROUP = ("run_id", "group")
STABLE, EMPTY, ABANDONED, UNFINISHED = "Stable", "Empty", "coordinator moved", "unfinished"


def group_changes(tables: Tables) -> DataFrame:
    """Each change of a group on its coordinator: `GROUP`, `seq`, `at_us`, `state`, `generation` (null: as before)."""
    key = (*GROUP, "seq", "at_us")
    none = sf.lit(None).cast("bigint").alias("generation")
    declared = tables["group_declared"].select(*key, sf.lit("Empty").alias("state"), sf.lit(0).alias("generation"))
    started = tables["rebalance_started"].select(*key, sf.lit("PreparingRebalance").alias("state"), none)
    state = sf.when(sf.size("members") > 0, "CompletingRebalance").otherwise("Empty")
    completed = tables["join_barrier_completed"].select(*key, state.alias("state"), "generation")
    stable = tables["group_stabilized"].select(*key, sf.lit("Stable").alias("state"), none)
    loaded = tables["group_loaded"].select(*key, "state", "generation")
    deleted = tables["group_deleted"].select(*key, sf.lit("Dead").alias("state"), sf.lit(0).alias("generation"))
    rows = declared
    for other in (started, completed, stable, loaded, deleted):
        rows = rows.unionByName(other)
    return rows


def groups_by_second(tables: Tables) -> DataFrame:
    """Each group at every second: `GROUP`, `second`, `state`, `generation`."""
    return every_second(group_changes(tables), tables.flights, ["group"], ["state", "generation"])


def rounds(tables: Tables) -> DataFrame:
    """The events of each coordinator, with their `round`: the n-th stretch between two ends.

    `GROUP`, `seq`, `at_us`, `what` (`started`, `joined`, `completed`, `synced`, `stable`, `loaded`, `unloaded`), `ends`
    (how the round ended, on its last row), `round`, and the event's own fields (null for other kinds).
    """
    return tables.once("rounds", lambda: _rounds(tables))


def _rounds(tables: Tables) -> DataFrame:
    key = (*GROUP, "seq", "at_us")
    members = sf.size("members").alias("member_count")
    parts = {
        "started": tables["rebalance_started"].select(*key, "broker", "generation", "cause", "trigger", "initial"),
        "joined": tables["join_received"].select(*key, "member", "member_id", "newcomer"),
        "completed": tables["join_barrier_completed"].select(*key, "generation", members, "last_joined", "waited_us"),
        "synced": tables["sync_received"].select(*key, "member", "leader"),
        "stable": tables["group_stabilized"].select(*key, "generation", "assignment"),
        "loaded": tables["group_loaded"].select(*key, "broker"),
        "unloaded": tables["group_unloaded"].select(*key, sf.col("broker").alias("resigned")),
    }
    rows: DataFrame | None = None
    for what, part in parts.items():
        named = part.withColumn("what", sf.lit(what))
        rows = named if rows is None else rows.unionByName(named, allowMissingColumns=True)
    assert rows is not None
    time = Window.partitionBy(*GROUP).orderBy("seq")
    coordinator = sf.last("broker", ignorenulls=True).over(time)
    ends = (
        sf.when(sf.col("what") == "stable", STABLE)
        .when((sf.col("what") == "completed") & (sf.col("member_count") == 0), EMPTY)
        .when(sf.col("what") == "loaded", ABANDONED)
        # a deposed coordinator may unload the group when its successor has loaded it already
        .when(
            (sf.col("what") == "unloaded") & (sf.coalesce("_coordinator", "resigned") == sf.col("resigned")), ABANDONED
        )
    )
    earlier = time.rowsBetween(Window.unboundedPreceding, -1)
    return (
        rows.withColumn("_coordinator", coordinator)
        .withColumn("ends", ends)
        .withColumn("round", sf.count("ends").over(earlier))
        .drop("_coordinator", "broker", "resigned")
    )
