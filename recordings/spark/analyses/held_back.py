"""What held the last stable offset back, and how many records did readers of committed data wait for behind it?"""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make
from recordings.spark.facts.offsets import group_topics, topic_of
from recordings.spark.facts.open_transactions import open_transactions
from recordings.spark.formatting import clock, duration, many
from recordings.spark.lag_causes import BEHIND_US
from recordings.spark.report_cluster_model import HeldBack, LastingTransaction
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recordings.spark.analyses.analysis import FlightRows

LONGEST = 100


def held_back(tables: Tables) -> DataFrame:
    """The transactions that were open longest in a partition: those of more than `BEHIND_US`, and up to `LONGEST`.

    The columns of `open_transactions`, and `groups`: those that read only committed records of the topic.
    """
    flights = tables.flights.select("run_id", "virtual_us")
    took = sf.coalesce("until_us", "virtual_us") - sf.col("from_us")
    longest = Window.partitionBy("run_id").orderBy(sf.desc("took_us"), "from_us", "partition")
    committed = tables["group_declared"].where("read_committed").select("run_id", "group").distinct()
    readers = (
        group_topics(tables)
        .join(committed, ["run_id", "group"])
        .groupBy("run_id", "topic")
        .agg(sf.sort_array(sf.collect_set("group")).alias("groups"))
    )
    return (
        open_transactions(tables)
        .join(sf.broadcast(flights), "run_id")
        .withColumn("took_us", took)
        .withColumn("place", sf.row_number().over(longest))
        .where(f"place <= {LONGEST} or took_us > {BEHIND_US}")
        .withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(readers), ["run_id", "topic"], "left")
        .drop("topic", "place", "virtual_us")
    )


def _build(rows: "FlightRows") -> list[HeldBack]:
    found = [make(HeldBack, row, groups=row["groups"] or []) for row in rows["held_back"]]
    return sorted(found, key=lambda each: (each.from_us, each.partition, each.producer))


def _lasting(rows: "FlightRows") -> list[LastingTransaction]:
    found = [
        make(LastingTransaction, row, group=group)
        for row in rows["held_back"]
        if row["took_us"] > BEHIND_US
        for group in row["groups"] or []
    ]
    return sorted(found, key=lambda each: (each.from_us, each.partition, each.group))


def _worst(flight: FlightReport) -> "tuple[HeldBack, int] | None":
    """The transaction behind which most waited, and for how long, if it was open for long."""
    found: list[HeldBack] = getattr(flight, HELD_BACK.key)
    held = [(one, _held_us(one, flight.virtual_us)) for one in found if one.waiting]
    long = [each for each in held if each[1] > BEHIND_US]
    return max(long, key=lambda each: each[0].waiting, default=None)


def _facts(flight: FlightReport) -> "Iterator[Fact]":
    """No flight with such a transaction is calm, also if no group reads committed records."""
    if (found := _worst(flight)) is not None:
        worst, held_us = found
        yield Fact(Gravity.OTHER, f"last stable offset of {worst.partition} held back for {duration(held_us)}")


def _sentences(flight: FlightReport) -> "Iterator[str]":
    worst, held_us = _worst(flight) or (None, 0)
    if worst is not None and worst.held_from_us is not None:
        yield (
            f"A transaction of {worst.producer} holds the last stable offset of {worst.partition} back from"
            f" {clock(worst.held_from_us)} for {duration(held_us)}."
        )
        waiting = "1 offset waits" if worst.waiting == 1 else f"{many(worst.waiting, 'offset')} wait"
        yield f"{'When the flight ends' if worst.until_us is None else 'At its end'} {waiting} behind it."


def _held_us(one: HeldBack, end_us: int) -> int:
    """How long it held the last stable offset back: not while an earlier transaction of its partition was open."""
    return 0 if one.held_from_us is None else (end_us if one.until_us is None else one.until_us) - one.held_from_us


HELD_BACK = Analysis(
    key="held_back",
    row=HeldBack,
    queries={"held_back": held_back},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
LASTING_TRANSACTIONS = Analysis(key="lasting_transactions", row=LastingTransaction, queries={}, build=_lasting)
