"""When did a group rebalance again and again?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.spark.analyses.analysis import Analysis, make
from recordings.spark.facts.group_generations import GROUP
from recordings.spark.facts.rebalances import rebalances
from recordings.spark.formatting import clock, duration
from recordings.spark.report_model import FlightReport, Storm

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

STORM_GAP_US = 60_000_000
STORM_REBALANCES = 3
FORMING_US = 3_000_000  # group.initial.rebalance.delay.ms: under the consumer protocol no barrier gathers first joins
NEXT_ROUND = RebalanceCause.PARTITIONS_REVOKED.value  # the second round of a cooperative rebalance: no storm by itself


def storms(found: DataFrame, gap_us: int = STORM_GAP_US, least: int = STORM_REBALANCES) -> DataFrame:
    """Rebalances that follow one another within `gap_us`, at least `least` of them, from `rebalances`.

    `GROUP`, `from_us`, `until_us`, `rebalances`, `causes` (of each, in order), `stopped_partition_us`, `reread`. A
    group's first rebalance, first joins of an Empty group (and others within 3 s of one) and second rounds of
    cooperative rebalances do not count.
    """
    order = Window.partitionBy(*GROUP).orderBy("rebalance")
    begins = sf.coalesce(sf.col("started_us") - sf.lag("started_us").over(order) > gap_us, sf.lit(True))
    causes = sf.transform(sf.sort_array(sf.collect_list(sf.struct("rebalance", "cause"))), lambda row: row["cause"])
    forming = sf.col("initial") | (sf.col("rebalance") == 1)  # a pattern may set off the first one, before any join
    return (
        found.withColumn("formed_us", sf.max(sf.when(forming, sf.col("started_us"))).over(order))
        .where((sf.col("cause") != NEXT_ROUND) & ~forming)
        .where(sf.coalesce(sf.col("started_us") - sf.col("formed_us") > FORMING_US, sf.lit(True)))
        .withColumn("begins", begins)
        .withColumn("storm", sf.count_if("begins").over(order))
        .groupBy(*GROUP, "storm")
        .agg(
            sf.min("started_us").alias("from_us"),
            sf.max(sf.coalesce("ended_us", "started_us")).alias("until_us"),
            sf.count("*").alias("rebalances"),
            causes.alias("causes"),
            sf.sum("stopped_partition_us").alias("stopped_partition_us"),
            sf.sum("reread").alias("reread"),
        )
        .where(sf.col("rebalances") >= least)
        .drop("storm")
    )


def _build(rows: "FlightRows") -> list[Storm]:
    return [make(Storm, storm) for storm in sorted(rows["storms"], key=lambda storm: int(storm["from_us"]))]


def _sentences(flight: FlightReport) -> Iterator[str]:
    for storm in flight.storms:
        lasted = duration(storm.until_us - storm.from_us)
        number = storm.rebalances
        yield f"Rebalance storm in {storm.group} from {clock(storm.from_us)}: {number} rebalances in {lasted}."


STORMS = Analysis(
    key="storms",
    row=Storm,
    queries={"storms": lambda tables: storms(rebalances(tables))},
    build=_build,
    sentences=_sentences,
    eventful=lambda flight: bool(flight.storms),
)
