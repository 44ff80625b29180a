"""How often did partitions get another leader, and why; how often did in-sync replicas leave, and come back?"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.facts.offsets import topic_of
from recordings.spark.formatting import by_count, first_few, listed, many, times
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

CREATED = "created"


class ReplicaChanges(msgspec.Struct, frozen=True, kw_only=True):
    """A user's topic whose partitions had other leaders or in-sync replicas than at first.

    `elections`: reason of the controller → how often it elected a leader. `shrinks` and `expands` count the changes
    after which a partition had fewer, or more, in-sync replicas; `fewest_in_sync`: the fewest that a partition had.
    """

    topic: str
    elections: dict[str, int]
    shrinks: int
    expands: int
    fewest_in_sync: int


def replica_changes(tables: Tables) -> DataFrame:
    """One row for each user's topic with a change: `run_id`, and the fields of `ReplicaChanges`."""
    key = ("run_id", "partition", "seq")
    size = sf.size("isr").alias("in_sync")
    elected = tables["leader_elected"].select(*key, size, "leader", "reason")
    changed = tables["isr_changed"].select(*key, size)
    users = tables["topic_created"].where("not internal").select("run_id", "topic").distinct()
    before = sf.lag("in_sync").over(Window.partitionBy("run_id", "partition").orderBy("seq"))
    by_reason = (
        elected.unionByName(changed, allowMissingColumns=True)
        .withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(users), ["run_id", "topic"], "left_semi")
        .withColumn("before", before)
        .withColumn("elected_for", sf.when(sf.expr(f"leader >= 0 and reason != '{CREATED}'"), sf.col("reason")))
        .groupBy("run_id", "topic", "elected_for")
        .agg(
            sf.count("*").alias("elections"),
            sf.count_if(sf.expr("in_sync < before")).alias("shrinks"),
            sf.count_if(sf.expr("in_sync > before")).alias("expands"),
            sf.min("in_sync").alias("fewest_in_sync"),
        )
    )
    entry = sf.when(sf.col("elected_for").isNotNull(), sf.struct("elected_for", "elections"))
    return (
        by_reason.groupBy("run_id", "topic")
        .agg(
            sf.map_from_entries(sf.sort_array(sf.collect_list(entry))).alias("elections"),
            *(sf.sum(name).alias(name) for name in ("shrinks", "expands")),
            sf.min("fewest_in_sync").alias("fewest_in_sync"),
        )
        .where("size(elections) > 0 or shrinks > 0 or expands > 0")
    )


def _build(rows: "FlightRows") -> list[ReplicaChanges]:
    return [make(ReplicaChanges, row) for row in sorted(rows["replication"], key=lambda row: natural(row["topic"]))]


def _facts(flight: FlightReport) -> Iterator[Fact]:
    """Left out where a partition had no live leader, or a broker was down: those facts say more."""
    rows: list[Any] = getattr(flight, REPLICATION.key)
    elected = sum(sum(row.elections.values()) for row in rows)
    if elected and not flight.outages and not any(each.without_leader for each in flight.availability):
        yield Fact(Gravity.ELECTED, f"the controller elects {many(elected, 'leader')}")


def _sentences(flight: FlightReport) -> Iterator[str]:
    rows: list[Any] = getattr(flight, REPLICATION.key)
    elections: Counter[str] = Counter()
    for row in rows:
        elections.update(row.elections)
    if elections:
        topics = first_few([row.topic for row in rows if row.elections])
        reasons = listed([f"{reason} {times(number)}" for reason, number in by_count(elections)])
        yield f"The controller elects {many(elections.total(), 'leader')} in {topics} ({reasons})."
    moved = [row for row in rows if row.shrinks]
    if moved:
        topics, back = first_few([row.topic for row in moved]), sum(row.expands for row in moved)
        more = f" and grow {times(back)}" if back else " and never grow again"
        yield f"The in-sync replicas of {topics} shrink {times(sum(row.shrinks for row in moved))}{more}."


REPLICATION = Analysis(
    key="replication",
    row=ReplicaChanges,
    queries={"replication": replica_changes},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
