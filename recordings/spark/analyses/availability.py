"""How long could partitions of users' topics not be written to: no live leader, or too few in-sync replicas?

A partition has no live leader while the controller has elected none, and from the instant at which the process of its
leader ends (or freezes) until another one leads: producers and consumers wait through both.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make
from recordings.spark.analyses.outages import lasting, outages
from recordings.spark.facts.offsets import partitions, topic_of
from recordings.spark.formatting import duration, many, partition_time
from recordings.spark.report_cluster_model import Availability
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

PARTITION = ("run_id", "partition")
MIN_ISR = "min.insync.replicas"


def availability(tables: Tables) -> DataFrame:
    """Each topic that was not available throughout: `run_id`, `topic` and, in partitions and microseconds:

    `without_leader` (partitions that ever had no live leader), `without_leader_us` (the sum over them),
    `longest_without_leader_us`; `below_min_isr`, `below_min_isr_us`, `longest_below_min_isr_us` likewise.
    """
    states = _states(tables)
    length = sf.col("until_us") - sf.col("from_us")
    below = states.where("leader >= 0 and isr < min_isr").select(*PARTITION, length.alias("below_us"))
    headless = states.where("leader < 0").select(*PARTITION, length.alias("headless_us"))
    rows = headless.unionByName(_led_by_the_dead(tables, states)).unionByName(below, allowMissingColumns=True)
    each = rows.groupBy(*PARTITION).agg(
        sf.coalesce(sf.sum("headless_us"), sf.lit(0)).alias("headless_us"),
        sf.coalesce(sf.sum("below_us"), sf.lit(0)).alias("below_us"),
    )
    return (
        each.withColumn("topic", topic_of("partition"))
        .groupBy("run_id", "topic")
        .agg(
            sf.count_if(sf.col("headless_us") > 0).alias("without_leader"),
            sf.sum("headless_us").alias("without_leader_us"),
            sf.max("headless_us").alias("longest_without_leader_us"),
            sf.count_if(sf.col("below_us") > 0).alias("below_min_isr"),
            sf.sum("below_us").alias("below_min_isr_us"),
            sf.max("below_us").alias("longest_below_min_isr_us"),
        )
        .where("without_leader > 0 or below_min_isr > 0")
    )


def _led_by_the_dead(tables: Tables, states: DataFrame) -> DataFrame:
    down = outages(tables).select(
        "run_id",
        sf.col("broker").alias("leader"),
        sf.col("from_us").alias("down_us"),
        sf.col("until_us").alias("up_us"),
    )
    overlap: Column = sf.least("until_us", "up_us") - sf.greatest("from_us", "down_us")
    return (
        states.join(sf.broadcast(down), ["run_id", "leader"])
        .where(overlap > 0)
        .select(*PARTITION, overlap.alias("headless_us"))
    )


def _states(tables: Tables) -> DataFrame:
    """Users' partitions, a row a change: `PARTITION`, `leader`, `isr` (count), `min_isr`, `from_us`, `until_us`."""
    key = (*PARTITION, "seq", "at_us")
    size = sf.size("isr").alias("isr")
    led = tables["leader_elected"].select(*key, "leader", size)
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
    rows = declared
    for other in (later.select(*key, "min_isr"), led, changed):
        rows = rows.unionByName(other, allowMissingColumns=True)
    time = Window.partitionBy(*PARTITION).orderBy("seq")
    filled = {name: sf.last(name, ignorenulls=True).over(time) for name in ("leader", "isr", "min_isr")}
    stretches = lasting(tables, rows.withColumns(filled), *PARTITION)
    known = stretches.where("min_isr is not null and leader is not null")
    return known.select(*PARTITION, "leader", "isr", "min_isr", "from_us", "until_us")


def _build(rows: "FlightRows") -> list[Availability]:
    return [make(Availability, row) for row in sorted(rows["availability"], key=lambda row: str(row["topic"]))]


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
            yield f"{topic.topic} had no live leader: {stretch}, at worst {duration(topic.longest_without_leader_us)}."
        if topic.below_min_isr:
            stretch = partition_time(topic.below_min_isr, topic.below_min_isr_us)
            yield f"{topic.topic} was below min.insync.replicas: {stretch}; leaders refuse acks=all meanwhile."


AVAILABILITY = Analysis(
    key="availability",
    row=Availability,
    queries={"availability": availability},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
