"""What became of each group's records, how far was it behind, and what did its rebalances cost?"""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from cluster.protocol.client_states import ConsumerMemberState
from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.analyses.rebalances import COMPLETED, build_rebalances
from recordings.spark.facts.group_generations import protocols
from recordings.spark.facts.lag import READER, lag_by_partition
from recordings.spark.facts.lag_measures import group_lag, lag_measures
from recordings.spark.facts.offsets import group_topics, read_partitions
from recordings.spark.facts.ownership import unowned
from recordings.spark.facts.time_windows import last_second
from recordings.spark.facts.totals import group_totals, partition_totals, reader_totals
from recordings.spark.formatting import SECOND_US, clock, first_few, many
from recordings.spark.report_model import (
    CELLS,
    CLASSIC,
    HEAT_ROWS,
    POINTS,
    PRODUCED,
    RECORDS,
    REFUSED,
    WORST,
    FlightReport,
    Group,
    Heat,
    LagMeasures,
    LagSeries,
    PartitionLag,
    Rebalance,
    RefusedMember,
)
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Row

    from recordings.spark.analyses.analysis import FlightRows

READ = ("processed", "deleted", *RECORDS)
COSTS = ("stopped_member_us", "reread")
NEVER_UNOWNED = {"ended_us": 0, "lasting_us": 0}
SHORT_S = 10
FENCED, FATAL = ConsumerMemberState.FENCED.value, ConsumerMemberState.FATAL.value


def _readers(tables: Tables) -> DataFrame:
    ends = tables.flights.select("run_id", last_second().alias("second"))
    end = lag_by_partition(tables).join(sf.broadcast(ends), ["run_id", "second"])
    return group_totals(tables, reader_totals(tables, end))


def _heat_rows(tables: Tables) -> DataFrame:
    return _cells(tables).join(sf.broadcast(_worst(tables)), list(READER))


def _partitions(tables: Tables) -> DataFrame:
    """The measures of the partitions in which a group was furthest behind, ranked."""
    worst = _worst(tables).where(sf.col("rank") <= WORST)
    lag = lag_by_partition(tables).join(sf.broadcast(worst), list(READER))
    return lag_measures(lag, ["group", "partition", "rank"])


def _unowned(tables: Tables) -> DataFrame:
    """How long the partitions of each group had no owner: `ended_us` (they found one again), `lasting_us`."""
    lasting, took = sf.col("seq").isNull(), sf.col("until_us") - sf.col("from_us")
    parts = {"ended_us": ~lasting, "lasting_us": lasting}
    sums = (sf.sum(sf.when(part, took).otherwise(0)).alias(name) for name, part in parts.items())
    return unowned(tables).groupBy("run_id", "group").agg(*sums)


def _points(series: DataFrame, tables: Tables, keys: list[str], points: int) -> DataFrame:
    """The highest values of a series in each of at most this many stretches: `point`, `seconds` (of a stretch).

    `area`: the sum of the lag over its seconds.
    """
    widths = tables.flights.select("run_id", sf.expr(f"({_SECONDS}) div {points} + 1").alias("seconds"))
    return (
        series.join(sf.broadcast(widths), "run_id")
        .groupBy("run_id", *keys, "seconds", sf.expr("second div seconds").alias("point"))
        .agg(sf.max("lag").alias("lag"), sf.max("time_lag_us").alias("time_lag_us"), sf.sum("lag").alias("area"))
    )


_SECONDS = "(virtual_us + 999999) div 1000000"


def _cells(tables: Tables) -> DataFrame:
    """The `_points` of each partition that a group reads."""

    def make() -> DataFrame:
        return _points(lag_by_partition(tables), tables, ["group", "partition"], CELLS)

    return tables.once("cells", make)


def _worst(tables: Tables) -> DataFrame:
    """The partitions in which a group was furthest behind: `READER`, `rank`.

    Peaks and areas decide: percentiles, for which a task keeps a count of each value, are asked of the worst ones only.
    """

    def make() -> DataFrame:
        order = Window.partitionBy("run_id", "group").orderBy(sf.desc("peak"), sf.desc("area"), "partition")
        return (
            _cells(tables)
            .groupBy(*READER)
            .agg(sf.max("lag").alias("peak"), sf.sum("area").alias("area"))
            .select(*READER, sf.row_number().over(order).alias("rank"))
            .where(sf.col("rank") <= HEAT_ROWS)
        )

    return tables.once("worst", make)


def _refused(tables: Tables) -> DataFrame:
    order = Window.partitionBy("run_id", "group").orderBy("seq")
    return (
        tables["member_state_changed"]
        .where(sf.col("state").isin(FENCED, FATAL))
        .withColumn("place", sf.row_number().over(order))
        .where(sf.col("place") <= REFUSED)
        .select("run_id", "group", "member", "at_us", "state", "reason")
    )


def _topics(tables: Tables) -> DataFrame:
    counted = ("produced", "acked", "appended", "bytes")
    return (
        partition_totals(tables)
        .groupBy("run_id", "topic", "internal")
        .agg(*(sf.sum(name).alias(name) for name in counted))
    )


def _declared(tables: Tables) -> DataFrame:
    """Each group with the topics it ever read, their number of partitions at the end, and its number of members.

    `assignments`: the number of completed join barriers, or of target assignments. `protocol`: of the group at the end.
    """
    barriers = tables["join_barrier_completed"].select("run_id", "group")
    targets = tables["target_assignment_computed"].select("run_id", "group")
    assignments = barriers.unionByName(targets).groupBy("run_id", "group").agg(sf.count("*").alias("assignments"))
    members = tables["member_declared"].groupBy("run_id", "group").agg(sf.countDistinct("member").alias("members"))
    groups = tables["group_declared"].select("run_id", "group", "seq")
    topics = sf.sort_array(sf.collect_list(sf.struct("seq", "topic")))
    read = group_topics(tables).groupBy("run_id", "group").agg(topics.alias("topics"))
    sizes = read_partitions(tables).groupBy("run_id", "group").agg(sf.count("*").alias("partitions"))
    return (
        groups.join(sf.broadcast(read), ["run_id", "group"], "left")
        .join(sf.broadcast(sizes), ["run_id", "group"], "left")
        .join(sf.broadcast(members), ["run_id", "group"], "left")
        .join(sf.broadcast(assignments), ["run_id", "group"], "left")
        .join(sf.broadcast(protocols(tables)), ["run_id", "group"], "left")
        .withColumn("topics", sf.transform("topics", lambda row: row["topic"]))
        .fillna(0, ["members", "partitions", "assignments"])
        .fillna(CLASSIC, ["protocol"])
    )


def _build(rows: "FlightRows") -> list[Group]:
    rebalances = build_rebalances(rows)
    declared = sorted(rows["declared"], key=lambda group: int(group["seq"]))
    return [_group(group, rows, rebalances) for group in declared]


def _group(declared: "Row", rows: "FlightRows", rebalances: list[Rebalance]) -> Group:
    name = declared["group"]
    mine = [each for each in rebalances if each.group == name]
    over = [each for each in mine if each.ends in COMPLETED]
    first = sum(1 for each in over if each.initial and each.rebalance == 1)
    names = declared["topics"] or []  # a pattern may match no topic
    topics = [topic for topic in rows["topics"] if topic["topic"] in names]
    [measures] = _of(rows["groups"], name)
    readers = next(iter(_of(rows["readers"], name)), dict.fromkeys(READ, 0))
    unowned = next(iter(_of(rows["unowned"], name)), NEVER_UNOWNED)
    orphaned_us = sum(each.orphaned_partition_us for each in mine)
    worst = sorted(_of(rows["partitions"], name), key=lambda row: int(row["rank"]))
    refused = [make(RefusedMember, row) for row in _of(rows["refused"], name)]
    return Group(
        group=name,
        protocol=declared["protocol"],
        topics=list(names),
        partitions=declared["partitions"],
        members=declared["members"],
        **{each: sum(topic[each] for topic in topics) for each in PRODUCED},
        **{each: readers[each] for each in READ},
        rebalances=max(0, declared["assignments"] - 1),
        rebalances_ended=len(over) - first,
        rebalancing_us=sum(each.ended_us - each.started_us for each in over if each.ended_us is not None),
        stopped_partition_us=unowned["ended_us"] - orphaned_us,
        orphaned_partition_us=orphaned_us,
        **{cost: sum(getattr(each, cost) for each in mine) for cost in COSTS},
        unowned_at_end_us=unowned["lasting_us"],
        lag=make(LagMeasures, measures),
        series=_series(_of(rows["series"], name)),
        heat=_heat(_of(rows["heat"], name)),
        worst_partitions=[make(PartitionLag, row) for row in worst],
        refused_members=sorted(refused, key=lambda each: each.at_us),
    )


def _of(rows: "list[Row]", group: str) -> "list[Row]":
    return [row for row in rows if row["group"] == group]


def _series(rows: "list[Row]") -> LagSeries:
    points = {row["point"]: row for row in rows}
    last = max(points, default=-1)
    return LagSeries(
        seconds_per_point=rows[0]["seconds"] if rows else 1,
        lag=[points[n]["lag"] if n in points else 0 for n in range(last + 1)],
        time_lag_us=[points[n]["time_lag_us"] if n in points else 0 for n in range(last + 1)],
    )


def _heat(rows: "list[Row]") -> Heat:
    cells: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        cells[row["partition"]][row["point"]] = row["lag"]
    last = max((row["point"] for row in rows), default=-1)
    names = sorted(cells, key=natural)
    return Heat(
        seconds_per_cell=rows[0]["seconds"] if rows else 1,
        partitions=names,
        rows=[[cells[name].get(n, 0) for n in range(last + 1)] for name in names],
    )


def _facts(flight: FlightReport) -> Iterator[Fact]:
    if flight.totals.duplicated:
        yield Fact(Gravity.PROCESSED_AGAIN, f"{many(flight.totals.duplicated, 'record')} processed again")


def _sentences(flight: FlightReport) -> Iterator[str]:
    for group in flight.groups:
        if group.deleted:
            are, them = ("is", "it") if group.deleted == 1 else ("are", "them")
            records = many(group.deleted, "acknowledged record")
            yield f"{records} {are} deleted before {group.group} reads {them}."
        yield from _refusals(group)
        if group.unowned_at_end_us:
            unowned_for = _partition_seconds(group.unowned_at_end_us)
            yield f"Partitions of {group.group} have no owner when the flight ends: {unowned_for}."


def _refusals(group: Group) -> Iterator[str]:
    fenced, fatal = (
        [
            f"{each.member} at {clock(each.at_us)} ({each.reason})"
            for each in group.refused_members
            if each.state == state
        ]
        for state in (FENCED, FATAL)
    )
    if fenced:
        yield f"The coordinator of {group.group} fences {first_few(fenced)}."
        yield f"Fenced members of {group.group} lose their partitions and join again with member epoch 0."
    if fatal:
        yield f"A fatal error in {group.group} ends {first_few(fatal)}."


def _partition_seconds(total_us: int) -> str:
    """A sum over an unknown number of partitions."""
    seconds = total_us / SECOND_US
    return f"{seconds:,.0f} partition-seconds" if seconds >= SHORT_S else f"{seconds:.1f} partition-seconds"


GROUPS = Analysis(
    key="groups",
    row=Group,
    queries={
        "groups": lambda tables: lag_measures(group_lag(tables), ["group"]),
        "series": lambda tables: _points(group_lag(tables), tables, ["group"], POINTS),
        "partitions": _partitions,
        "heat": _heat_rows,
        "readers": _readers,
        "unowned": _unowned,
        "topics": _topics,
        "refused": _refused,
        "declared": _declared,
    },
    build=_build,
    facts=_facts,
    sentences=_sentences,
    eventful=lambda flight: any(
        group.unowned_at_end_us or group.refused_members or group.deleted for group in flight.groups
    ),
)
