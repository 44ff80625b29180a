"""Which producers failed to send, retried or were fenced, after which errors, and how long did their batches take?"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from recordings.comparison.bill import LATE_US
from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.formatting import SHOWN, by_count, first_few, listed, many, times
from recordings.spark.report_model import AckLatency, FlightReport, ProducerReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

PRODUCER = ("run_id", "producer")
STEP_US = 100


def producer_totals(tables: Tables) -> DataFrame:
    """Each producer instance at the end of its flight, one row each.

    `PRODUCER`, `acked` and `failed` (records; a send() that throws counts as failed), `retries` (batches sent again),
    `failures` (error → records that failed with it), `retried` (error → batches retried after it), `fenced` (how often
    the producer became Fenced).
    """
    rows = tables["producer_declared"].select(*PRODUCER).distinct()
    for other in (
        tables["batch_acknowledged"].select(*PRODUCER, sf.col("records").alias("acked")),
        tables["batch_failed"].select(*PRODUCER, sf.col("records").alias("failed"), "error"),
        tables["send_refused"].select(*PRODUCER, sf.col("records").alias("failed"), "error"),
        tables["batch_retried"].select(*PRODUCER, sf.lit(1).cast("bigint").alias("retries"), "error"),
        tables["producer_state_changed"]
        .where("state = 'Fenced'")
        .select(*PRODUCER, sf.lit(1).cast("bigint").alias("fenced")),
    ):
        rows = rows.unionByName(other, allowMissingColumns=True)
    counted = ("acked", "failed", "retries", "fenced")
    by_error = rows.groupBy(*PRODUCER, "error").agg(*(sf.sum(name).alias(name) for name in counted))
    return by_error.groupBy(*PRODUCER).agg(
        *(sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in counted),
        _by_error("failed").alias("failures"),
        _by_error("retries").alias("retried"),
    )


def ack_latency(tables: Tables) -> DataFrame:
    """How long each producer's acknowledged batches took: `PRODUCER`, and the fields of `AckLatency`.

    Batches are counted by steps of 0.1 ms first, so that no producer's percentiles need all of them at once.
    """
    took = sf.floor(sf.col("latency_us") / STEP_US) * STEP_US
    steps = (
        tables["batch_acknowledged"]
        .groupBy(*PRODUCER, took.alias("took_us"))
        .agg(
            sf.count("*").alias("batches"),
            sf.sum(sf.when(sf.col("latency_us") > LATE_US, sf.col("records")).otherwise(0)).alias("late"),
            sf.max(sf.struct("latency_us", (-sf.col("at_us")).alias("negated_us"))).alias("slowest"),
        )
    )
    percentiles = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}
    return (
        steps.groupBy(*PRODUCER)
        .agg(
            sf.sum("batches").alias("batches"),
            sf.sum("late").alias("late"),
            *(sf.percentile("took_us", sf.lit(p), sf.col("batches")).alias(name) for name, p in percentiles.items()),
            sf.max("slowest").alias("slowest"),
        )
        .withColumns({"slowest_us": sf.col("slowest.latency_us"), "slowest_at_us": -sf.col("slowest.negated_us")})
        .drop("slowest")
    )


def _by_error(counted: str) -> Column:
    """A map from each error that has any to its count."""
    entry = sf.when(sf.col(counted) > 0, sf.struct("error", counted))
    return sf.map_from_entries(sf.sort_array(sf.collect_list(entry)))


def _build(rows: "FlightRows") -> list[ProducerReport]:
    found = sorted(rows["producers"], key=lambda row: natural(row["producer"]))
    latency = {row["producer"]: make(AckLatency, row) for row in rows["ack_latency"]}
    return [make(ProducerReport, row, latency=latency.get(row["producer"])) for row in found]


def _facts(flight: FlightReport) -> Iterator[Fact]:
    failed = sum(each.failed for each in flight.producers)
    if failed:
        yield Fact(Gravity.SENDS_FAILED, f"{many(failed, 'record')} failed to send")
    fenced = [each.producer for each in flight.producers if each.fenced]
    if fenced:
        yield Fact(Gravity.PRODUCER_FENCED, f"{first_few(fenced)} fenced")


def _sentences(flight: FlightReport) -> Iterator[str]:
    """One for each producer with failed records or a fencing, those with most failed records first; then retries."""
    failing = [each for each in flight.producers if each.failed or each.fenced]
    failing.sort(key=lambda each: -each.failed)
    yield from map(_sentence, failing[:SHOWN])
    if len(failing) > SHOWN:
        rest = failing[SHOWN:]
        failed = many(sum(each.failed for each in rest), "failed record")
        yield f"{many(len(rest), 'more producer')} with {failed}."
    retried: Counter[str] = Counter()
    for each in flight.producers:
        retried.update(each.retried)
    if retried:
        errors = [f"{error} {times(number)}" for error, number in by_count(retried)[:SHOWN]]
        yield f"Producers retried {many(sum(retried.values()), 'batch', 'batches')}: {listed(errors)}."


def _sentence(producer: ProducerReport) -> str:
    happened = []
    if producer.failed:
        errors = listed([error for error, _ in by_count(producer.failures)])
        happened.append(f"{many(producer.failed, 'record')} failed to send ({errors})")
    if producer.fenced:
        happened.append("was fenced" if producer.fenced == 1 else f"was fenced {times(producer.fenced)}")
    return f"{producer.producer}: {listed(happened)}."


PRODUCERS = Analysis(
    key="producers",
    row=ProducerReport,
    queries={"producers": producer_totals, "ack_latency": ack_latency},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
