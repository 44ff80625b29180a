"""Why did groups rebalance, how long did it take, and what did it cost?"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.facts.rebalances import attendance, rebalances
from recordings.spark.formatting import SECOND_US, clock, duration, first_few, listed, many, partition_time, times
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.report_model import ATTENDED, CONSUMER, Attendance, FlightReport, Group, Rebalance

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

COMPLETED = ("Stable", "Empty")
NOTICED_US = SECOND_US


def _longest(found: DataFrame) -> DataFrame:
    took: Column = sf.coalesce("ended_us", "closed_us", "started_us") - sf.col("started_us")
    order = Window.partitionBy("run_id").orderBy(sf.desc(took), "started_us", "group")
    return found.withColumn("_place", sf.row_number().over(order)).where(sf.col("_place") <= ATTENDED).drop("_place")


def build_rebalances(rows: "FlightRows") -> list[Rebalance]:
    """A flight's rebalances in order, each with its members."""
    attended: dict[tuple[str, int], list[Attendance]] = defaultdict(list)
    for row in sorted(rows["attendance"], key=lambda row: natural(row["member"])):
        attended[row["group"], row["rebalance"]].append(make(Attendance, row))
    found = sorted(rows["rebalances"], key=lambda row: (row["started_us"], row["group"], row["rebalance"]))
    return [make(Rebalance, row, attendance=attended[row["group"], row["rebalance"]]) for row in found]


def _facts(flight: FlightReport) -> Iterator[Fact]:
    rebalancing = [group for group in flight.groups if group.rebalances]
    if rebalancing:
        groups = rebalancing[0].group if len(rebalancing) == 1 else f"{len(rebalancing)} groups"
        number = times(sum(group.rebalances for group in rebalancing))
        yield Fact(Gravity.REBALANCED, f"{groups} {'rebalances' if len(rebalancing) == 1 else 'rebalance'} {number}")
    for stretch in _away(flight)[:1]:
        yield Fact(Gravity.UNOWNED, stretch)


def _sentences(flight: FlightReport) -> Iterator[str]:
    for group in flight.groups:
        if group.rebalances:
            yield from _rebalances(flight, group)
            yield from _slowest(flight, group)
    yield from (f"{stretch}: a static member is away." for stretch in _away(flight))
    yield from _costliest(flight)


def _rebalances(flight: FlightReport, group: Group) -> Iterator[str]:
    mine = [each for each in flight.rebalances if each.group == group.group]
    over = [each for each in mine if each.ends in COMPLETED and not _began_it(each)]
    number = times(group.rebalances)
    if group.protocol == CONSUMER:
        epoch = max((each.generation or 0 for each in mine), default=0)
        yield f"{group.group} rebalances {number} after its start, up to group epoch {epoch}."
        if over:
            yield f"Its causes: {_instants(over)}."
    elif group.rebalances > len(over) > 0:
        barriers = many(group.rebalances, "join barrier")
        within = many(len(over), "rebalance")
        yield f"{group.group} completes {barriers} after its start, in {within} ({_causes(over)})."
    else:
        yield f"{group.group} rebalances {number} after its start{f' ({_causes(over)})' if over else ''}."
    if cost := _cost(group):
        yield f"{group.group} {listed(cost)}."


def _began_it(rebalance: Rebalance) -> bool:
    """Whether it is the one that starts its group; a pattern may set it off before any member has joined."""
    return rebalance.rebalance == 1 and (rebalance.initial or rebalance.protocol == CONSUMER)


def _cost(group: Group) -> list[str]:
    """What its rebalances cost; partitions without an owner when the flight ends have a sentence of their own."""
    unowned_us = group.stopped_partition_us + group.orphaned_partition_us
    cost = []
    if unowned_us or not group.unowned_at_end_us:
        stretch = partition_time(group.partitions, unowned_us) if unowned_us else "no partition"
        cost.append(f"leaves {stretch} without an owner")
    if group.reread:
        cost.append(f"re-reads {many(group.reread, 'record')}")
    return cost


def _causes(over: list[Rebalance]) -> str:
    causes = Counter(each.cause for each in over)
    return listed([f"{cause} {times(number)}" if number > 1 else cause for cause, number in causes.most_common()])


def _instants(over: list[Rebalance]) -> str:
    """When each cause raised the group epoch: `member joined at 0:05; member left at 0:41`."""
    began: dict[str, list[str]] = defaultdict(list)
    for each in over:
        began[each.cause].append(clock(each.started_us))
    return "; ".join(f"{cause} at {first_few(instants)}" for cause, instants in began.items())


def _slowest(flight: FlightReport, group: Group) -> Iterator[str]:
    """The member of the consumer protocol that kept its group Reconciling for longest."""
    mine = [each for each in flight.rebalances if each.group == group.group and each.protocol == CONSUMER]
    worst = max(mine, key=lambda each: each.waited_us, default=None)
    if worst is not None and worst.waited_us >= NOTICED_US:
        yield (
            f"{group.group} is Reconciling from {clock(worst.started_us)} (group epoch {worst.generation}):"
            f" {worst.waited_for} revokes its partitions only after {duration(worst.waited_us)}."
        )


def _away(flight: FlightReport) -> list[str]:
    """Partitions that waited for their owner although no rebalance was under way."""
    found = [each for each in flight.rebalances if each.after_partition_us >= SECOND_US]
    stretches = [partition_time(each.after_partitions, each.after_partition_us) for each in found]
    return [
        f"{each.group} leaves {stretch} unowned without a rebalance"
        for each, stretch in zip(found, stretches, strict=True)
    ]


def _costliest(flight: FlightReport) -> Iterator[str]:
    def cost(rebalance: Rebalance) -> int:
        return rebalance.stopped_partition_us + rebalance.orphaned_partition_us

    worst = max(flight.rebalances, key=cost, default=None)
    if worst is None or cost(worst) < SECOND_US:
        return
    yield f"The costliest rebalance begins at {clock(worst.started_us)}, because {cause_in_words(worst)}."
    if worst.orphaned_partition_us > worst.stopped_partition_us:
        stretch = partition_time(worst.orphaned_partitions, worst.orphaned_partition_us)
        yield f"Before it begins, {stretch} {_have(worst.orphaned_partitions)} no owner."
    else:
        stretch = partition_time(worst.stopped_partitions, worst.stopped_partition_us)
        until = "members take their target assignments" if worst.protocol == CONSUMER else "the new assignment"
        yield f"From its start until {until}, {stretch} {_have(worst.stopped_partitions)} no owner."
    if worst.protocol == CONSUMER:
        return
    if worst.waited_for and not worst.initial and worst.waited_us >= SECOND_US:
        yield f"Its join barrier waits longest for {worst.waited_for} ({duration(worst.waited_us)})."


def _have(partitions: int) -> str:
    return "has" if partitions == 1 else "have"


REBALANCES = Analysis(
    key="rebalances",
    row=Rebalance,
    queries={"rebalances": rebalances, "attendance": lambda tables: attendance(tables, _longest(rebalances(tables)))},
    build=build_rebalances,
    facts=_facts,
    sentences=_sentences,
)
