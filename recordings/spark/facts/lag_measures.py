"""Aggregates of `lag_by_partition`: series of groups, percentiles, peaks, the area below."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from recordings.spark.facts.lag import MEASURES, lag_by_partition
from recordings.spark.facts.time_windows import checkpoint, last_second
from recordings.spark.tables import Tables

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def group_lag(tables: Tables) -> DataFrame:
    """Each group at each second: `run_id`, `group`, `second`, `lag` (the sum), `time_lag_us` (the worst one).

    Both are 0 at a second at which the group reads no partition.
    """

    def make() -> DataFrame:
        rows = lag_by_partition(tables).select("run_id", "group", "second", *MEASURES)
        return (
            rows.unionByName(_never_behind(tables))
            .groupBy("run_id", "group", "second")
            .agg(sf.sum("lag").alias("lag"), sf.max("time_lag_us").alias("time_lag_us"))
        )

    return tables.once("group_lag", make)


def _never_behind(tables: Tables) -> DataFrame:
    """A lag of 0 for each group and second: all that there is of a group whose pattern matches no topic."""
    seconds = sf.explode(sf.sequence(checkpoint("at_us"), last_second()))
    ends = tables.flights.select("run_id", "virtual_us")
    return (
        tables["group_declared"]
        .join(sf.broadcast(ends), "run_id")
        .select("run_id", "group", seconds.alias("second"))
        .withColumns({name: sf.lit(0).cast("bigint") for name in MEASURES})
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
