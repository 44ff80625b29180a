"""How much was written to each topic, and how unevenly is it spread over its partitions?"""

from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, make, natural
from recordings.spark.facts.offsets import partitions, topic_of
from recordings.spark.facts.totals import partition_totals
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows

SECOND_US = 1_000_000


class TopicThroughput(msgspec.Struct, frozen=True, kw_only=True):
    """A user's topic: the `records` and `bytes` that leaders appended, without control records.

    `records_per_s` and `bytes_per_s` are over the whole flight. `busiest` is the partition with most records, and
    `busiest_records` its number; `skew` is that number over the mean of all partitions (1: evenly spread; as many as
    there are partitions: all in one). `empty` counts partitions that got no record.
    """

    topic: str
    partitions: int
    records: int
    bytes: int
    records_per_s: float
    bytes_per_s: float
    busiest: str
    busiest_records: int
    skew: float
    empty: int


def topic_throughput(tables: Tables) -> DataFrame:
    """One row for each user's topic: `run_id`, and the fields of `TopicThroughput` but for rates and skew."""
    key = ("run_id", "partition")
    counted = partition_totals(tables).select(
        *key, sf.col("written").alias("records"), sf.col("written_bytes").alias("bytes")
    )
    users = tables["topic_created"].where("not internal").select("run_id", "topic").distinct()
    return (
        partitions(tables)
        .select(*key)
        .distinct()
        .withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(users), ["run_id", "topic"])
        .join(counted, list(key), "left")
        .fillna(0, ["records", "bytes"])
        .groupBy("run_id", "topic")
        .agg(
            sf.count("*").alias("partitions"),
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            sf.min_by("partition", sf.struct((-sf.col("records")).alias("fewest"), "partition")).alias("busiest"),
            sf.max("records").alias("busiest_records"),
            sf.count(sf.when(sf.col("records") == 0, 1)).alias("empty"),
        )
    )


def _build(rows: "FlightRows") -> list[TopicThroughput]:
    [flight] = rows["flights"]
    seconds = max(flight["virtual_us"], 1) / SECOND_US
    return [
        make(
            TopicThroughput,
            row,
            records_per_s=row["records"] / seconds,
            bytes_per_s=row["bytes"] / seconds,
            skew=row["busiest_records"] * row["partitions"] / row["records"] if row["records"] else 1.0,
        )
        for row in sorted(rows["throughput"], key=lambda row: natural(row["topic"]))
    ]


THROUGHPUT = Analysis(
    key="throughput",
    row=TopicThroughput,
    queries={"throughput": topic_throughput},
    build=_build,
)
