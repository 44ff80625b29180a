"""Which commands were given, what did each do to the groups' lag, and which explain the group furthest behind?"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from cluster.commands import parse
from cluster.commands.catalogue import (
    AbortHangingTransaction,
    Elect,
    Heal,
    Nemesis,
    Release,
    RestoreDependency,
    Resume,
    ResumePartitions,
    RollingRestart,
    Start,
)
from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.facts.lag_measures import group_lag
from recordings.spark.facts.time_windows import SECOND_US
from recordings.spark.formatting import clock, duration, first_few, listed, many
from recordings.spark.lag_causes import AUTOSCALER, BEHIND_US, Behind, other_peak, still_behind, worst_behind
from recordings.spark.report_cluster_model import LastingTransaction
from recordings.spark.report_model import Effect, FlightReport, Group, Incident
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Row

    from recordings.spark.analyses.analysis import FlightRows

BASELINE_SECONDS = 10
MOST_OF_LAG = 0.8
OUTPACED = 0.95  # of a group's records: what it processes less is no effect of the last poll
LOSSES = frozenset(
    (
        RebalanceCause.MEMBER_LEFT,
        RebalanceCause.SESSION_EXPIRED,
        RebalanceCause.POLL_INTERVAL_EXCEEDED,
        RebalanceCause.SYNC_TIMED_OUT,
    )
)
"""Causes of rebalances by which a group has lost a member: the lag may come of that."""
END_OF_TIME = 2**62
NO_INCIDENT = "mark"  # the kind of a command that changes nothing
REPAIRS = frozenset(
    str(command.__struct_config__.tag)
    for command in (Start, Resume, ResumePartitions, RestoreDependency, Heal, Release, Elect, AbortHangingTransaction)
)
"""Kinds of commands that end what another command began; `nemesis off` does so as well."""


def incidents(tables: Tables) -> DataFrame:
    """The commands of each flight in order, without marks.

    `run_id`, `incident` (from 1), `at_us`, `text`, `kind`, `targets`, `source`, `fault` (it started one), `cleared_us`
    (when that fault ended; null: never, or there was none), `refused` ("" or the reason), `next_us` (the next incident,
    or the flight's end). Tables that an earlier version exported have neither kinds nor targets: "" and [].
    """
    return tables.once("incidents", lambda: _incidents(tables))


def _incidents(tables: Tables) -> DataFrame:
    order = Window.partitionBy("run_id").orderBy("after_seq", "turn", "command")
    key = ("run_id", "at_us", "text")
    ended = tables["fault_ended"].select("run_id", "fault", sf.col("at_us").alias("cleared_us"))
    begun = tables["fault_started"].select(*key, "fault").join(ended, ["run_id", "fault"], "left")
    lasting = sf.max(sf.coalesce("cleared_us", sf.lit(END_OF_TIME)))  # a fault that nothing ends lasts longest
    lasting_faults = begun.groupBy(*key).agg(
        sf.nullif(lasting, sf.lit(END_OF_TIME)).alias("cleared_us"), sf.lit(True).alias("fault")
    )
    refused = tables["command_refused"].groupBy(*key).agg(sf.first("reason").alias("refused"))
    ends = tables.flights.select("run_id", "virtual_us")
    return (
        tables["commands"]
        .where(sf.coalesce("kind", sf.lit("")) != NO_INCIDENT)
        .withColumn("incident", sf.row_number().over(order))
        .withColumn("next_us", sf.lead("at_us").over(order))
        .select(
            *("run_id", "incident", "at_us", sf.col("command").alias("text"), "source", "next_us"),
            sf.coalesce("kind", sf.lit("")).alias("kind"),
            sf.coalesce("targets", sf.array().cast("array<string>")).alias("targets"),
        )
        .join(sf.broadcast(ends), "run_id")
        .join(lasting_faults, list(key), "left")
        .join(refused, list(key), "left")
        .withColumn("next_us", sf.coalesce("next_us", "virtual_us"))
        .withColumn("refused", sf.coalesce("refused", sf.lit("")))
        .withColumn("fault", sf.coalesce("fault", sf.lit(False)))
        .drop("virtual_us")
    )


def recoveries(by_group: DataFrame, happened: DataFrame) -> DataFrame:
    """What each incident did to each group's lag, from `group_lag` and `incidents`.

    `run_id`, `incident`, `group`, `baseline` (the highest lag of the ten seconds before), `peak` (the highest until the
    next incident), `peak_second`, `time_lag_peak_us`, `recovered_us` (from the incident to the first second after the
    peak at which lag was no higher than the baseline; null: never).
    """
    at = sf.expr(f"at_us div {SECOND_US}")
    until = sf.expr(f"next_us div {SECOND_US}")
    second, after = sf.col("second"), sf.col("second") > sf.col("at")
    pairs = (
        happened.select("run_id", "incident", "at_us", at.alias("at"), until.alias("until"))
        .join(by_group, "run_id")
        .where(second >= sf.col("at") - BASELINE_SECONDS)
    )
    key = ("run_id", "incident", "group")
    during = after & (second <= sf.greatest("until", sf.col("at") + 1))
    bounds = pairs.groupBy(*key).agg(
        sf.coalesce(sf.max(sf.when(~after, sf.col("lag"))), sf.lit(0)).alias("baseline"),
        sf.max(sf.when(during, sf.struct("lag", (-second).alias("second")))).alias("top"),
        sf.max(sf.when(during, sf.col("time_lag_us"))).alias("time_lag_peak_us"),
    )
    peak_second = -sf.col("top.second")
    calm = (second > -sf.col("top.second")) & (sf.col("lag") <= sf.col("baseline"))
    return (
        pairs.join(bounds, list(key))
        .where("top is not null")
        .groupBy(*key, "at_us", "baseline", "top", "time_lag_peak_us")
        .agg(sf.min(sf.when(calm, second)).alias("calm"))
        .select(
            *key,
            "baseline",
            sf.col("top.lag").alias("peak"),
            peak_second.alias("peak_second"),
            "time_lag_peak_us",
            (sf.col("calm") * SECOND_US - sf.col("at_us")).alias("recovered_us"),
        )
    )


def _build(rows: "FlightRows") -> list[Incident]:
    effects: dict[int, list[Effect]] = defaultdict(list)
    for row in sorted(rows["effects"], key=lambda row: natural(row["group"])):
        effects[row["incident"]].append(make(Effect, row))
    found = sorted(rows["incidents"], key=lambda row: int(row["incident"]))
    members = {row["group"]: row["members"] for row in rows["declared"]}
    return [_incident(row, effects[row["incident"]], members) for row in found]


def _incident(row: "Row", effects: list[Effect], members: Mapping[str, int]) -> Incident:
    """Durations, and the `on` or `off` of a nemesis, are no columns: the command's text is read for them, here only."""
    kind, repairs, lasts_us = row["kind"], row["kind"] in REPAIRS, 0
    if kind in ("nemesis", "rolling_restart"):
        match parse(row["text"]):
            case Nemesis(on=on):
                repairs = not on
            case RollingRestart(group=group, every_us=every_us, down_us=down_us):
                lasts_us = members.get(group, 0) * every_us + down_us
    return make(Incident, row, effects=effects, repairs=repairs, lasts_us=lasts_us)


def _facts(flight: FlightReport) -> Iterator[Fact]:
    behind = worst_behind(flight)
    if behind is not None:
        longest = duration(behind.group.lag.time_lag_peak_us)
        yield Fact(Gravity.BEHIND, f"{behind.group.group} up to {longest} behind")


def _sentences(flight: FlightReport) -> Iterator[str]:
    behind = worst_behind(flight)
    if behind is not None:
        other = other_peak(flight, behind)
        yield from _furthest_behind(behind, flight, peaks_then=other is None)
        if other is not None:
            yield _peak(other.group)
            if other.peak_us - other.since_us > BEHIND_US:
                yield from _explained(other)
    for group in still_behind(flight):
        if behind is None or group.group != behind.group.group or behind.caught_up_us is not None:
            yield f"{group.group} is {many(group.lag.lag_end, 'record')} behind when the flight ends."


def _furthest_behind(behind: Behind, flight: FlightReport, *, peaks_then: bool) -> Iterator[str]:
    name, lag = behind.group.group, behind.group.lag
    yield (
        f"{name} is furthest behind at {clock(behind.peak_us)}: its oldest uncommitted record is"
        f" {duration(lag.time_lag_peak_us)} old."
    )
    if peaks_then:
        yield _peak(behind.group)
    yield from _explained(behind)
    if behind.caught_up_us is None:
        yield f"{name} does not catch up: {many(lag.lag_end, 'record')} behind when the flight ends."
        yield from _concentrated(behind.group) or _outpaced(behind, flight)
    elif not behind.group.delivered_then_lost:  # else its commit may be beyond the end of a log that lost records
        yield f"{name} catches up by {clock(behind.caught_up_us)}."


def _peak(group: Group) -> str:
    peak_us = group.lag.lag_peak_second * SECOND_US
    return f"The lag of {group.group} peaks at {many(group.lag.lag_peak, 'record')} at {clock(peak_us)}."


def _concentrated(group: Group) -> list[str]:
    """The one or two partitions that have nearly all of the lag, if the group reads more: a hot key, a slow member."""
    lag = group.lag.lag_end
    worst = sorted(group.worst_partitions, key=lambda each: -each.lag_end)[:2]
    for few in (worst[:1], worst):
        held = sum(each.lag_end for each in few)
        if len(few) * 2 <= group.partitions and held >= MOST_OF_LAG * lag and held > 1:
            number = "all" if held == lag else f"{held:,}"
            return [f"Of these records, {number} are in {listed([each.partition for each in few])}."]
    return []


def _outpaced(behind: Behind, flight: FlightReport) -> list[str]:
    """That a group whose members all stay processes less than it gets: they are too few, or work too slowly."""
    group, seconds = behind.group, flight.virtual_us / SECOND_US
    lost_any = any(each.group == group.group and each.cause in LOSSES for each in flight.rebalances)
    due = group.appended - group.skipped
    # the lag too: a group that reads committed data processes no aborted records, and keeps up with them all the same
    keeps_up = group.processed >= OUTPACED * due or group.lag.lag_end <= (1 - OUTPACED) * due
    if behind.is_explained or lost_any or group.refused_members or keeps_up:
        return []
    written, processed = (f"{number / seconds:,.1f}" for number in (group.appended, group.processed))
    return [f"Producers write {written} records/s to its topics, and its members process {processed} records/s."]


def _explained(behind: Behind) -> Iterator[str]:
    name = behind.group.group
    if behind.faults:
        yield f"Faults in force meanwhile: {_commands(behind.faults)}."
    elif behind.started_us is not None:
        yield f"{name} has no members until {clock(behind.started_us)}; the records are older."
    elif behind.changes:
        yield f"No fault is in force; commands then: {_commands(behind.changes)}."
    elif not behind.transactions:
        yield "No fault is in force, and no command comes shortly before."
    if behind.transactions:
        (first, *places), *others = _by_transaction(behind.transactions)
        yield f"{name} reads committed records, and waits for {_open(first)}."
        if places:
            yield f"That transaction is open in {many(len(places), 'more partition')}."
        if others:
            yield f"{name} waits for {many(len(others), 'more transaction')} meanwhile."


def _commands(incidents: list[Incident]) -> str:
    return first_few([f"“{each.text}”{_by(each)} at {clock(each.at_us)}" for each in incidents])


def _by(incident: Incident) -> str:
    return " by its autoscaler" if incident.source == AUTOSCALER else ""


def _by_transaction(partitions: list[LastingTransaction]) -> list[list[LastingTransaction]]:
    """The partitions of each transaction, the oldest first: a producer has one transaction at a time."""
    found: list[list[LastingTransaction]] = []
    for one in sorted(partitions, key=_from):
        same = [each for each in found if each[0].producer == one.producer and _is_open_at(each, one.from_us)]
        if same:
            same[0].append(one)
        else:
            found.append([one])
    return found


def _is_open_at(transaction: list[LastingTransaction], at_us: int) -> bool:
    return any(each.until_us is None or at_us < each.until_us for each in transaction)


def _from(one: LastingTransaction) -> int:
    return one.from_us


def _open(one: LastingTransaction) -> str:
    until = "to the end" if one.until_us is None else f"until {clock(one.until_us)}"
    return f"the transaction of {one.producer} in {one.partition}, open from {clock(one.from_us)} {until}"


INCIDENTS = Analysis(
    key="incidents",
    row=Incident,
    queries={"incidents": incidents, "effects": lambda tables: recoveries(group_lag(tables), incidents(tables))},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
