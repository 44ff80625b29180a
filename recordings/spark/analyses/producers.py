"""Which producers failed to send, retried or were fenced, after which errors; how long did batches wait and take?"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from recordings.comparison.bill import LATE_US
from recordings.spark.analyses.analysis import Analysis, Fact, Gravity, make, natural
from recordings.spark.formatting import SECOND_US, SHOWN, by_count, first_few, listed, many, times
from recordings.spark.report_cluster_model import AckLatency, ProducerDelays, ProducerReport, QueueTime
from recordings.spark.report_model import POINTS, FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Row

    from recordings.spark.analyses.analysis import FlightRows

PRODUCER = ("run_id", "producer")
STEP_US = 100
INSTANT_BITS = 56  # of a bigint; above them is a number below `STEP_US`. 2^56 µs are 2,283 years
LAST_INSTANT = 2**INSTANT_BITS - 1
ACKNOWLEDGED, QUEUED = "acknowledged", "queued"


def producer_totals(tables: Tables) -> DataFrame:
    """Each producer instance at the end of its flight, one row each.

    `PRODUCER`, `acked` and `failed` (records; a send() that throws counts as failed), `retries` (batches sent again),
    `failures` (error → records that failed with it), `retried` (error → how often a batch failed with it and was put
    back; some expire before they are sent again), `fenced` (how often the producer became Fenced).
    """
    rows = tables["producer_declared"].select(*PRODUCER).distinct()
    one, none = sf.lit(1).cast("bigint"), sf.lit(None).cast("bigint")
    others = [
        tables["batch_acknowledged"].select(*PRODUCER, sf.col("records").alias("acked")),
        tables["batch_failed"].select(*PRODUCER, sf.col("records").alias("failed"), "error"),
        tables["send_refused"].select(*PRODUCER, sf.col("records").alias("failed"), "error"),
        tables["batch_retried"].select(*PRODUCER, one.alias("put_back"), none.alias("retries"), "error"),
        tables["producer_state_changed"].where("state = 'Fenced'").select(*PRODUCER, one.alias("fenced")),
    ]
    if tables.has_rows("batch_retried"):  # else no request has a batch again: they need not be read
        again = sf.size("retried").cast("bigint").alias("retries")
        others.append(tables["produce_sent"].where("size(retried) > 0").select(*PRODUCER, again))
    for other in others:
        rows = rows.unionByName(other, allowMissingColumns=True)
    counted = ("acked", "failed", "put_back", "retries", "fenced")
    by_error = rows.groupBy(*PRODUCER, "error").agg(*(sf.sum(name).alias(name) for name in counted))
    return (
        by_error.groupBy(*PRODUCER)
        .agg(
            *(sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in counted),
            _by_error("failed").alias("failures"),
            _by_error("put_back").alias("retried"),
        )
        .drop("put_back")
    )


def batch_times(tables: Tables) -> DataFrame:
    """How long each producer's batches took: `PRODUCER`, `what`, and the fields of `AckLatency` and of `QueueTime`.

    `what`: `ACKNOWLEDGED` (since their first record) or `QUEUED`. Batches are counted by steps of 0.1 ms first, so that
    no producer's percentiles need all of them at once.
    """
    acknowledged = tables["batch_acknowledged"].select(
        *PRODUCER, "at_us", "records", sf.col("latency_us").alias("us"), sf.lit(ACKNOWLEDGED).alias("what")
    )
    times = acknowledged.unionByName(_queued(tables).withColumn("what", sf.lit(QUEUED)), allowMissingColumns=True)
    steps = times.groupBy(*PRODUCER, "what", (sf.floor(sf.col("us") / STEP_US) * STEP_US).alias("took_us")).agg(
        sf.count("*").alias("batches"),
        sf.count_if(sf.col("unsent")).alias("unsent"),
        sf.sum(sf.when(sf.col("us") > LATE_US, sf.col("records")).otherwise(0)).alias("late"),
        sf.max(_rank()).alias("rank"),
    )
    slowest = sf.struct(
        (sf.col("took_us") + sf.shiftright("rank", INSTANT_BITS)).alias("us"),
        sf.expr(f"(rank & {LAST_INSTANT}) - {LAST_INSTANT}").alias("negated_us"),
    )
    percentiles = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}
    return (
        steps.groupBy(*PRODUCER, "what")
        .agg(
            *(sf.sum(name).alias(name) for name in ("batches", "unsent", "late")),
            *(sf.percentile("took_us", sf.lit(p), sf.col("batches")).alias(name) for name, p in percentiles.items()),
            sf.max(slowest).alias("slowest"),
        )
        .withColumns({"slowest_us": sf.col("slowest.us"), "slowest_at_us": -sf.col("slowest.negated_us")})
        .drop("slowest")
    )


def _rank() -> Column:
    """A number for a batch of one step, highest for the slowest, and for the first of these.

    Spark finds the highest number in a hash table, but sorts all batches to find the highest struct.
    """
    beyond = (sf.col("us") % STEP_US).cast("bigint")
    rank: Column = sf.shiftleft(beyond, INSTANT_BITS) + LAST_INSTANT - sf.col("at_us")
    return rank


def _queued(tables: Tables) -> DataFrame:
    """Each batch that left its producer's accumulator: `PRODUCER`, `at_us`, `us` (since it was opened), `unsent`.

    The batches of a partition leave in the order in which they were opened (`RecordAccumulator`): the nth to leave is
    the nth opened of its process. Both are lists of instants, in order: to sort and number the events themselves takes
    five times as long. An instant of leaving is twice itself, and one more for a batch that was not sent. Of batches
    that leave at one instant, the sent ones come first: their instants and times are exact, as a set.
    """
    key = (*PRODUCER, "partition", "seq")
    opened = tables["batch_opened"].select(*key, sf.col("at_us").alias("opened"))
    sent = tables["produce_sent"].select(
        *PRODUCER, sf.explode(sf.map_keys("records")).alias("partition"), "seq", (sf.col("at_us") * 2).alias("left")
    )
    failed = tables["batch_failed"].where("not sent").select(*key, (sf.col("at_us") * 2 + 1).alias("left"))
    rows = opened.unionByName(sent.unionByName(failed), allowMissingColumns=True)
    lists = [sf.sort_array(sf.collect_list(name)).alias(name) for name in ("opened", "left")]
    return (
        _with_life(tables, rows)
        .groupBy(*PRODUCER, "life", "partition")
        .agg(*lists)
        .select(*PRODUCER, sf.inline(sf.arrays_zip("opened", "left")))
        .where("left is not null")
        .withColumns({"at_us": sf.expr("left div 2"), "unsent": sf.col("left") % 2 == 1})
        .select(*PRODUCER, "at_us", (sf.col("at_us") - sf.col("opened")).alias("us"), "unsent")
    )


def _with_life(tables: Tables, rows: DataFrame) -> DataFrame:
    """The rows with `life`: how many processes of the producer had ended before. Their batches ended with them."""
    ends = (
        tables["producer_state_changed"]
        .where("state in ('Stopped', 'Dead')")
        .groupBy(*PRODUCER)
        .agg(sf.sort_array(sf.collect_list("seq")).alias("ends"))
    )
    life = sf.size(sf.filter("ends", lambda end: end < sf.col("seq")))
    return rows.join(sf.broadcast(ends), list(PRODUCER), "left").withColumn(
        "life", sf.when(sf.col("ends").isNull(), 0).otherwise(life)
    )


def producer_delays(tables: Tables) -> DataFrame:
    """When each producer could not go on: `PRODUCER`, and the fields of `ProducerDelays`."""
    second = sf.col("at_us") / SECOND_US
    since = sf.floor((sf.col("at_us") - sf.col("latency_us")) / SECOND_US)
    at = sf.floor(second).alias("second")
    seconds = (
        tables["batch_acknowledged"]
        .where(sf.col("latency_us") > LATE_US)
        .select(*PRODUCER, sf.explode(sf.sequence(since, sf.floor(second))).alias("second"))
        .withColumn("what", sf.lit("waiting"))
        .unionByName(tables["batch_failed"].select(*PRODUCER, at, sf.lit("failed").alias("what")))
        .unionByName(tables["send_refused"].select(*PRODUCER, at, sf.lit("refused").alias("what")))
    )
    width = sf.greatest(sf.lit(1), sf.ceil(sf.col("virtual_us") / SECOND_US / POINTS))
    flights = tables.flights.select("run_id", width.alias("seconds_per_cell"))
    cell = sf.floor(sf.col("second") / sf.col("seconds_per_cell")) * sf.col("seconds_per_cell")
    return (
        seconds.join(sf.broadcast(flights), "run_id")
        .groupBy(*PRODUCER, "seconds_per_cell")
        .agg(
            *(
                sf.sort_array(sf.collect_set(sf.when(sf.col("what") == what, cell))).alias(what)
                for what in ("waiting", "failed", "refused")
            )
        )
    )


def _by_error(counted: str) -> Column:
    """A map from each error that has any to its count."""
    entry = sf.when(sf.col(counted) > 0, sf.struct("error", counted))
    return sf.map_from_entries(sf.sort_array(sf.collect_list(entry)))


def _build(rows: "FlightRows") -> list[ProducerReport]:
    found = sorted(rows["producers"], key=lambda row: natural(row["producer"]))
    times = {(row["producer"], row["what"]): row for row in rows["batch_times"]}
    delays = {row["producer"]: make(ProducerDelays, row) for row in rows["producer_delays"]}
    return [
        make(
            ProducerReport,
            row,
            delays=delays.get(row["producer"]),
            latency=_latency(times.get((row["producer"], ACKNOWLEDGED))),
            queued=_queue_time(times.get((row["producer"], QUEUED))),
        )
        for row in found
    ]


def _latency(row: "Row | None") -> AckLatency | None:
    return None if row is None else make(AckLatency, row)


def _queue_time(row: "Row | None") -> QueueTime | None:
    if row is None:
        return None
    return make(QueueTime, row, longest_us=row["slowest_us"], longest_at_us=row["slowest_at_us"])


def _facts(flight: FlightReport) -> Iterator[Fact]:
    failed = sum(each.failed for each in flight.producers)
    if failed:
        yield Fact(Gravity.SENDS_FAILED, f"{many(failed, 'record')} {'fails' if failed == 1 else 'fail'} to send")
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
        yield f"Batches fail with retriable errors {times(retried.total())}: {listed(errors)}."


def _sentence(producer: ProducerReport) -> str:
    happened = []
    if producer.failed:
        errors = listed([error for error, _ in by_count(producer.failures)])
        happened.append(f"fails to send {many(producer.failed, 'record')} ({errors})")
    if producer.fenced:
        happened.append("is fenced" if producer.fenced == 1 else f"is fenced {times(producer.fenced)}")
    return f"{producer.producer} {listed(happened)}."


PRODUCERS = Analysis(
    key="producers",
    row=ProducerReport,
    queries={"producers": producer_totals, "batch_times": batch_times, "producer_delays": producer_delays},
    build=_build,
    facts=_facts,
    sentences=_sentences,
)
