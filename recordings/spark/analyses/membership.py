"""Which members were away, how often and for how long, and why did their coordinators remove them?"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.formatting import SHOWN, by_count, first_few, listed, many, times
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

MEMBER = ("run_id", "group", "member")
CRASH = "crash"  # how a process ended
ERROR = re.compile(r"([A-Z][A-Z_]+|\w+(?:Exception|Error)): ")  # before its message


class MemberReport(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer (client id) of a group: its process, and what the group's coordinator did.

    `starts` counts starts of its process, `stops` how these ended (`stop`, `kill`, `crash`) → count; `crashes`: reason
    → how often it crashed; `removals`: reason of the coordinator → how often it removed a member id of this client.
    `down_us`: the process did not run between two of its starts, or to the flight's end (`down_at_end`); `frozen_us`:
    it ran, but was frozen.
    """

    group: str
    member: str
    starts: int
    stops: dict[str, int]
    removals: dict[str, int]
    crashes: dict[str, int]
    down_us: int
    longest_down_us: int
    down_at_end: bool
    frozen_us: int


def membership(tables: Tables) -> DataFrame:
    """One row for each member whose process ever started: `run_id`, and the fields of `MemberReport`."""
    key = (*MEMBER, "seq", "at_us")
    started = tables["member_started"].select(*key, sf.lit("started").alias("what"))
    crash = sf.when(sf.col("how") == CRASH, sf.col("reason")).alias("crash")
    stopped = tables["member_stopped"].select(*key, sf.lit("stopped").alias("what"), "how", crash)
    frozen = tables["member_paused"].select(*key, sf.lit("frozen").alias("what"))
    thawed = tables["member_resumed"].select(*key, sf.lit("resumed").alias("what"))
    removed = tables["member_removed"].select(*key, "reason")
    in_order = Window.partitionBy(*MEMBER).orderBy("seq")
    states = stopped.unionByName(started, allowMissingColumns=True)
    for other in (frozen, thawed):
        states = states.unionByName(other, allowMissingColumns=True)
    flights = tables.flights.select("run_id", "virtual_us")
    took = sf.coalesce("next_us", "virtual_us") - sf.col("at_us")
    spans = (
        states.withColumn("next_us", sf.lead("at_us").over(in_order))
        .join(sf.broadcast(flights), "run_id")
        .withColumns(
            {
                "down_us": sf.when(sf.col("what") == "stopped", took),
                "frozen_us": sf.when(sf.col("what") == "frozen", took),
            }
        )
    )
    return (
        spans.unionByName(removed, allowMissingColumns=True)
        .groupBy(*MEMBER)
        .agg(
            sf.count(sf.when(sf.col("what") == "started", 1)).alias("starts"),
            _counts("how").alias("stops"),
            _counts("reason").alias("removals"),
            _counts("crash").alias("crashes"),
            sf.coalesce(sf.sum("down_us"), sf.lit(0)).alias("down_us"),
            sf.coalesce(sf.max("down_us"), sf.lit(0)).alias("longest_down_us"),
            sf.coalesce(
                sf.max_by("what", sf.when(sf.col("what").isin("started", "stopped"), sf.col("seq"))) == "stopped",
                sf.lit(False),
            ).alias("down_at_end"),
            sf.coalesce(sf.sum("frozen_us"), sf.lit(0)).alias("frozen_us"),
        )
        .where("starts > 0")
    )


def _counts(column: str) -> Column:
    """A map from each value to how often it stands there: a member has few of them."""
    every = sf.collect_list(column)
    return sf.map_from_entries(
        sf.transform(
            sf.array_sort(sf.array_distinct(every)),
            lambda value: sf.struct(value, sf.size(sf.filter(every, lambda one: one == value)).cast("bigint")),
        )
    )


def _build(rows: "FlightRows") -> list[MemberReport]:
    found = sorted(rows["membership"], key=lambda row: (row["group"], natural(row["member"])))
    return [make(MemberReport, row) for row in found]


def _crashing(flight: FlightReport) -> list[MemberReport]:
    rows: list[MemberReport] = getattr(flight, MEMBERSHIP.key)
    return [each for each in rows if each.crashes]


def _facts(flight: FlightReport) -> Iterator[Fact]:
    if crashing := _crashing(flight):
        number = sum(sum(each.crashes.values()) for each in crashing)
        verb = "crashes" if len(crashing) == 1 else "crash"
        yield Fact(Gravity.CRASHED, f"{first_few([each.member for each in crashing])} {verb} {times(number)}")


def _sentences(flight: FlightReport) -> Iterator[str]:
    fatal = {(group.group, each.member) for group in flight.groups for each in group.refused_members}
    crashing = [each for each in _crashing(flight) if (each.group, each.member) not in fatal]
    for each in crashing[:SHOWN]:
        reasons: Counter[str] = Counter()
        for reason, number in each.crashes.items():
            reasons[_short(reason)] += number
        [(first, _), *others] = by_count(reasons)
        more = f", and {many(len(others), 'other reason')}" if others else ""
        yield f"{each.member} crashes {times(reasons.total())} ({first}{more})."
    if len(crashing) > SHOWN:
        yield f"{many(len(crashing) - SHOWN, 'more member')} of {listed(_groups(crashing[SHOWN:]))} crash."


def _groups(members: list[MemberReport]) -> list[str]:
    return list(dict.fromkeys(each.group for each in members))


def _short(reason: str) -> str:
    """A reason without the message of its error."""
    found = ERROR.match(reason)
    return found[1] if found else reason


MEMBERSHIP = Analysis(
    key="membership",
    row=MemberReport,
    queries={"membership": membership},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
