"""Which brokers were down or frozen, how, and for how long?"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make
from recordings.spark.formatting import duration, first_few, listed
from recordings.spark.report_cluster_model import Outage
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

PAUSED = "pause"  # how a broker is away that is frozen


def outages(tables: Tables) -> DataFrame:
    """Each stretch in which a broker does not serve or is frozen: `run_id`, `broker`, `from_us`, `until_us`.

    `how`: `stop`, `kill`, `crash`, `disk` or `pause`. A started broker serves once the controller has unfenced it. An
    outage that is not over lasts to the flight's end.
    """
    key = ("run_id", "broker", "seq", "at_us")
    nothing, back = sf.lit(None).cast("string"), sf.lit("")
    # null: a recording of an earlier version
    serves = tables["broker_started"].where("coalesce(serves, true)").select(*key)
    serves = serves.unionByName(tables["broker_state_changed"].where("state = 'Running'").select(*key))
    paused, resumed = tables["broker_paused"].select(*key), tables["broker_resumed"].select(*key)
    changes = tables["broker_stopped"].select(*key, sf.col("how").alias("down"), sf.lit(False).alias("frozen"))
    for rows, down, frozen in ((serves, back, None), (paused, nothing, True), (resumed, nothing, False)):
        changes = changes.unionByName(rows.withColumns({"down": down, "frozen": sf.lit(frozen).cast("boolean")}))
    time = Window.partitionBy("run_id", "broker").orderBy("seq")
    known = changes.withColumns({name: sf.last(name, ignorenulls=True).over(time) for name in ("down", "frozen")})
    how = sf.when(sf.col("down") != "", sf.col("down")).when(sf.col("frozen"), PAUSED).otherwise("")
    stretches = lasting(tables, known.withColumn("how", how), "run_id", "broker")
    return stretches.where("how != ''").select("run_id", "broker", "how", "from_us", "until_us")


def lasting(tables: Tables, changes: DataFrame, *key: str) -> DataFrame:
    """Each change with `from_us`, its instant, and `until_us`, that of the next of its key or the flight's end."""
    time = Window.partitionBy(*key).orderBy("seq")
    ends = tables.flights.select("run_id", sf.col("virtual_us").alias("end_us"))
    return (
        changes.withColumn("until_us", sf.lead("at_us").over(time))
        .join(sf.broadcast(ends), "run_id")
        .withColumn("until_us", sf.coalesce("until_us", "end_us"))
        .withColumnRenamed("at_us", "from_us")
    )


def _build(rows: "FlightRows") -> list[Outage]:
    return [make(Outage, row) for row in sorted(rows["outages"], key=lambda row: (row["from_us"], row["broker"]))]


def _facts(flight: FlightReport) -> Iterator[Fact]:
    """Left out where a partition had no live leader: that fact says more."""
    if flight.outages and not any(each.without_leader for each in flight.availability):
        brokers: dict[str, list[str]] = {}
        for state, broker in _away(flight):
            brokers.setdefault(state, []).append(f"broker-{broker}")
        yield Fact(Gravity.BROKER_DOWN, listed([f"{first_few(names)} {state}" for state, names in brokers.items()]))


def _sentences(flight: FlightReport) -> Iterator[str]:
    said, before = [], ""
    for (state, broker), took_us in _away(flight).items():
        verb = "" if state == before else f"is {state} "
        said.append(f"broker-{broker} {verb}for {duration(took_us)}")
        before = state
    if said:
        yield f"{first_few(said)}."


def _away(flight: FlightReport) -> dict[tuple[str, int], int]:
    """How long in all each broker was `down` or `frozen`, by state and broker, in µs."""
    away: Counter[tuple[str, int]] = Counter()
    for outage in flight.outages:
        away["frozen" if outage.how == PAUSED else "down", outage.broker] += outage.until_us - outage.from_us
    return dict(sorted(away.items()))


OUTAGES = Analysis(
    key="outages",
    row=Outage,
    queries={"outages": outages},
    build=_build,
    facts=_facts,
    sentences=_sentences,
    eventful=lambda flight: bool(flight.outages),
)
