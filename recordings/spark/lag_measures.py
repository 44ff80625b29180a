"""What `lag_by_partition` adds up to: series of groups, percentiles, peaks, the area below, what an incident cost."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables
from recordings.spark.time_windows import SECOND_US

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
BASELINE_SECONDS = 10
END_OF_TIME = 2**62
NO_INCIDENT = "mark "  # a command that only writes something down


def lag_by_group(lag: DataFrame) -> DataFrame:
    """Each group at each second: `run_id`, `group`, `second`, `lag` (the sum), `time_lag_us` (the worst one)."""
    return lag.groupBy("run_id", "group", "second").agg(
        sf.sum("lag").alias("lag"), sf.max("time_lag_us").alias("time_lag_us")
    )


def lag_measures(series: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The measures of each key's series (`second`, `lag`, `time_lag_us`) over its seconds.

    `lag_p50`, `lag_p95`, `lag_p99` (records, interpolated), `lag_peak`, `lag_peak_second` (the first), `lag_area`
    (record seconds: the sum over the seconds), `lag_end`; `time_lag_p50_us`, … `time_lag_peak_us`,
    `time_lag_peak_second`.
    """
    lags = sf.percentile("lag", list(PERCENTILES.values()))
    ages = sf.percentile("time_lag_us", list(PERCENTILES.values()))

    measured = series.groupBy("run_id", *keys).agg(
        lags.alias("lags"),
        ages.alias("ages"),
        sf.max(sf.struct("lag", (-sf.col("second")).alias("second"))).alias("peak"),
        sf.max(sf.struct("time_lag_us", (-sf.col("second")).alias("second"))).alias("oldest"),
        sf.sum("lag").alias("lag_area"),
        sf.max_by("lag", "second").alias("lag_end"),
    )
    return measured.select(
        "run_id",
        *keys,
        *(sf.col("lags")[place].alias(f"lag_{name}") for place, name in enumerate(PERCENTILES)),
        sf.col("peak.lag").alias("lag_peak"),
        (-sf.col("peak.second")).alias("lag_peak_second"),
        "lag_area",
        "lag_end",
        *(sf.col("ages")[place].alias(f"time_lag_{name}_us") for place, name in enumerate(PERCENTILES)),
        sf.col("oldest.time_lag_us").alias("time_lag_peak_us"),
        (-sf.col("oldest.second")).alias("time_lag_peak_second"),
    )


def incidents(tables: Tables) -> DataFrame:
    """What was done to each flight, in order: every command that did something, whoever gave it.

    `run_id`, `incident` (from 1), `at_us`, `text`, `source`, `fault` (it started one), `mended_us` (when that fault
    ended; null: never, or there was none), `refused` ("" or why it could not be), `next_us` (the next incident, or the
    flight's end).
    """
    return tables.once("incidents", lambda: _incidents(tables))


def _incidents(tables: Tables) -> DataFrame:
    order = Window.partitionBy("run_id").orderBy("after_seq", "turn", "command")
    key = ("run_id", "at_us", "text")
    ended = tables["fault_ended"].select("run_id", "fault", sf.col("at_us").alias("mended_us"))
    begun = tables["fault_started"].select(*key, "fault").join(ended, ["run_id", "fault"], "left")
    lasting = sf.max(sf.coalesce("mended_us", sf.lit(END_OF_TIME)))  # a fault that nothing ends lasts longest
    mended = begun.groupBy(*key).agg(
        sf.nullif(lasting, sf.lit(END_OF_TIME)).alias("mended_us"), sf.lit(True).alias("fault")
    )
    refused = tables["command_refused"].groupBy(*key).agg(sf.first("reason").alias("refused"))
    ends = tables.flights.select("run_id", "virtual_us")
    return (
        tables["commands"]
        .where(~sf.col("command").startswith(NO_INCIDENT))
        .withColumn("incident", sf.row_number().over(order))
        .withColumn("next_us", sf.lead("at_us").over(order))
        .select("run_id", "incident", "at_us", sf.col("command").alias("text"), "source", "next_us")
        .join(sf.broadcast(ends), "run_id")
        .join(mended, list(key), "left")
        .join(refused, list(key), "left")
        .withColumn("next_us", sf.coalesce("next_us", "virtual_us"))
        .withColumn("refused", sf.coalesce("refused", sf.lit("")))
        .withColumn("fault", sf.coalesce("fault", sf.lit(False)))
        .drop("virtual_us")
    )


def recoveries(by_group: DataFrame, happened: DataFrame) -> DataFrame:
    """What each incident did to each group's lag, from `lag_by_group` and `incidents`.

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
