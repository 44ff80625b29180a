"""How long could partitions of users' topics not be written to: no live leader, or too few in-sync replicas?

A partition has no live leader while the controller has elected none, and from the instant at which the process of its
leader ends (or freezes) until another one leads: producers and consumers wait through both.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make
from recordings.spark.analyses.outages import lasting, outages
from recordings.spark.facts.offsets import partitions, topic_of
from recordings.spark.formatting import duration, many, partition_time
from recordings.spark.report_cluster_model import Availability, Spell
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Row

    from recordings.spark.analyses.analysis import FlightRows

PARTITION = ("run_id", "partition")
MIN_ISR = "min.insync.replicas"
HEADLESS, BELOW = "without_leader", "below_min_isr"
STRETCHES = 200


def availability(tables: Tables) -> DataFrame:
    """Each topic that was not available throughout: `run_id`, `topic` and, in partitions and microseconds:

    `without_leader` (partitions that ever had no live leader), `without_leader_us` (the sum over them),
    `longest_without_leader_us` (all stretches of the worst of them); `without_leader_stretches`: the `STRETCHES`
    longest (`us`, `from_us`, `until_us`, `partitions`). `below_min_isr`, `below_min_isr_us`,
    `longest_below_min_isr_us` and `below_min_isr_stretches` likewise.
    """
    states = _states(tables)
    span = (*PARTITION, "from_us", "until_us")
    below = states.where("leader >= 0 and isr < min_isr").select(*span, sf.lit(BELOW).alias("lack"))
    headless = states.where("leader < 0").select(*span).unionByName(_led_by_the_dead(tables, states))
    length = sf.col("until_us") - sf.col("from_us")
    of_partition = Window.partitionBy(*PARTITION, "lack")
    same = (
        headless.withColumn("lack", sf.lit(HEADLESS))
        .unionByName(below)
        .withColumns({"topic": topic_of("partition"), "us": length})
        .where("us > 0")
        .withColumns(
            {
                "whole_us": sf.sum("us").over(of_partition),
                "first": sf.row_number().over(of_partition.orderBy("from_us")) == 1,
            }
        )
        .groupBy("run_id", "topic", "lack", "us", "from_us", "until_us")
        .agg(
            sf.count("*").alias("partitions"),
            sf.max("whole_us").alias("whole_us"),
            sf.count_if("first").alias("first"),
        )
    )
    return same.groupBy("run_id", "topic").agg(*_lacking(HEADLESS), *_lacking(BELOW))


def _lacking(lack: str) -> list[Column]:
    """The columns of a topic about what its partitions lacked."""

    def only(value: Column) -> Column:
        return sf.when(sf.col("lack") == lack, value)

    stretch = sf.struct("us", "from_us", "until_us", "partitions")
    return [
        sf.coalesce(sf.sum(only(sf.col("first"))), sf.lit(0)).alias(lack),
        sf.coalesce(sf.sum(only(sf.col("us") * sf.col("partitions"))), sf.lit(0)).alias(f"{lack}_us"),
        sf.coalesce(sf.max(only(sf.col("whole_us"))), sf.lit(0)).alias(f"longest_{lack}_us"),
        sf.slice(sf.sort_array(sf.collect_list(only(stretch)), asc=False), 1, STRETCHES).alias(f"{lack}_stretches"),
    ]


def _led_by_the_dead(tables: Tables, states: DataFrame) -> DataFrame:
    down = outages(tables).select(
        "run_id",
        sf.col("broker").alias("leader"),
        sf.col("from_us").alias("down_us"),
        sf.col("until_us").alias("up_us"),
    )
    since, until = sf.greatest("from_us", "down_us"), sf.least("until_us", "up_us")
    return states.join(sf.broadcast(down), ["run_id", "leader"]).select(
        *PARTITION, since.alias("from_us"), until.alias("until_us")
    )


def _states(tables: Tables) -> DataFrame:
    """Users' partitions, a row a change: `PARTITION`, `leader`, `isr` (count), `min_isr`, `from_us`, `until_us`.

    `min_isr` counts up to the number of replicas, those that are being added included (`Partition.effectiveMinIsr`).
    """
    key = (*PARTITION, "seq", "at_us")
    size, replicas = sf.size("isr").alias("isr"), sf.size("replicas").alias("replicas")
    led = tables["leader_elected"].select(*key, "leader", size, replicas)
    changed = tables["isr_changed"].select(*key, size)
    created = tables["topic_created"].where("not internal").select("run_id", "topic", "min_insync_replicas").distinct()
    every = partitions(tables).join(sf.broadcast(created), ["run_id", "topic"])
    declared = every.select(*key, sf.col("min_insync_replicas").alias("min_isr"))
    settings = (
        tables["setting_changed"]
        .where(sf.col("key") == MIN_ISR)
        .select("run_id", sf.col("scope").alias("topic"), "seq", "at_us", sf.col("value").cast("int").alias("min_isr"))
    )
    later = every.select(*PARTITION, "topic").join(sf.broadcast(settings), ["run_id", "topic"])
    others = [later.select(*key, "min_isr"), led, changed]
    if tables.has_rows("partition_reassigned"):  # else planning would take longer than the result is worth
        least = sf.col("min_insync_replicas").cast("int").alias("min_isr")
        reassigned = tables["partition_reassigned"].select(*key, replicas, least)
        others.append(reassigned.join(sf.broadcast(every.select(*PARTITION)), [*PARTITION], "left_semi"))
    rows = declared
    for other in others:
        rows = rows.unionByName(other, allowMissingColumns=True)
    time = Window.partitionBy(*PARTITION).orderBy("seq")
    filled = {name: sf.last(name, ignorenulls=True).over(time) for name in ("leader", "isr", "min_isr", "replicas")}
    stretches = lasting(tables, rows.withColumns(filled), *PARTITION)
    known = stretches.where("min_isr is not null and leader is not null")
    effective = sf.least("min_isr", "replicas").alias("min_isr")
    return known.select(*PARTITION, "leader", "isr", effective, "from_us", "until_us")


def _build(rows: "FlightRows") -> list[Availability]:
    return [
        make(
            Availability,
            row,
            without_leader_spells=spells(row["without_leader_stretches"]),
            below_min_isr_spells=spells(row["below_min_isr_stretches"]),
        )
        for row in sorted(rows["availability"], key=lambda row: str(row["topic"]))
    ]


def spells(stretches: "Iterable[Row]") -> list[Spell]:
    """How many partitions a topic lacked at once, from one change to the next; `stretches` may overlap."""
    changes: Counter[int] = Counter()
    for one in stretches:
        changes[one["from_us"]] += one["partitions"]
        changes[one["until_us"]] -= one["partitions"]
    found: list[Spell] = []
    partitions, since_us = 0, 0
    for at_us in sorted(at_us for at_us, change in changes.items() if change):
        if partitions:
            found.append(Spell(from_us=since_us, until_us=at_us, partitions=partitions))
        partitions, since_us = partitions + changes[at_us], at_us
    return found


def _facts(flight: FlightReport) -> Iterator[Fact]:
    without = [each for each in flight.availability if each.without_leader]
    if without:
        partitions = many(sum(each.without_leader for each in without), "partition")
        longest_us = max(each.longest_without_leader_us for each in without)
        yield Fact(Gravity.LEADERLESS, f"{partitions} without a live leader for up to {duration(longest_us)}")
    below = sum(each.below_min_isr for each in flight.availability)
    if below:
        yield Fact(Gravity.BELOW_MIN_ISR, f"{many(below, 'partition')} below min.insync.replicas")


def _sentences(flight: FlightReport) -> Iterator[str]:
    for topic in flight.availability:
        if topic.without_leader:
            stretch = partition_time(topic.without_leader, topic.without_leader_us)
            yield f"{topic.topic} has no live leader: {stretch}, at worst {duration(topic.longest_without_leader_us)}."
        if topic.below_min_isr:
            stretch = partition_time(topic.below_min_isr, topic.below_min_isr_us)
            yield f"{topic.topic} is below min.insync.replicas: {stretch}; leaders refuse acks=all meanwhile."


AVAILABILITY = Analysis(
    key="availability",
    row=Availability,
    queries={"availability": availability},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
