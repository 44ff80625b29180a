"""Everything that a report needs to know of its flights: each question as a DataFrame, asked and fetched.

Lag and rebalances are computed once and kept by Spark. Questions are asked a few at a time, because half of a short
query is planning, while the cores wait.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as sf

from recordings.spark.availability import availability, outages
from recordings.spark.lag import lag_by_partition
from recordings.spark.lag_measures import incidents, lag_by_group, lag_measures, recoveries
from recordings.spark.log_losses import log_losses
from recordings.spark.offsets import group_topics, read_partitions
from recordings.spark.ownership import unowned
from recordings.spark.producers import producer_totals
from recordings.spark.rebalances import attendance, rebalances, storms
from recordings.spark.report_model import ATTENDED, CELLS, HEAT_ROWS, POINTS
from recordings.spark.tables import Tables
from recordings.spark.time_windows import last_second
from recordings.spark.totals import group_totals, kinds, partition_totals, reader_totals

AT_ONCE = 3

Answers = dict[str, list[Row]]
Question = Callable[[Tables], DataFrame]


def ask(tables: Tables, progress: Callable[[str, int, int], object] | None = None) -> Answers:
    """The rows that answer each question, by its name. `progress` is told what was answered, how many, of how many."""
    answers: Answers = {}
    threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")
    futures = {threads.submit(_answer, question, tables): name for name, question in QUESTIONS.items()}
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            answers[futures[future]] = future.result()
            if progress is not None:
                progress(futures[future], done, len(futures))
    finally:  # after Ctrl-C nobody waits: what still runs ends with the session
        threads.shutdown(wait=len(answers) == len(futures), cancel_futures=True)
    return answers


def _answer(question: Question, tables: Tables) -> list[Row]:
    return question(tables).collect()


def _readers(tables: Tables) -> DataFrame:
    ends = tables.flights.select("run_id", last_second().alias("second"))
    end = lag_by_partition(tables).join(sf.broadcast(ends), ["run_id", "second"])
    return group_totals(tables, reader_totals(tables, end))


def _heat(tables: Tables) -> DataFrame:
    worst = _worst(tables).select("run_id", "group", "partition")
    rows = lag_by_partition(tables).join(sf.broadcast(worst), ["run_id", "group", "partition"])
    return _points(rows, tables, ["group", "partition"], CELLS)


def _unowned(tables: Tables) -> DataFrame:
    lasting = sf.sum(sf.col("until_us") - sf.col("from_us")).alias("unowned_us")
    return unowned(tables).where("seq is null").groupBy("run_id", "group").agg(lasting)


def _points(series: DataFrame, tables: Tables, keys: list[str], points: int) -> DataFrame:
    """The highest values of a series in each of at most so many stretches: `point`, `seconds` (of a stretch)."""
    widths = tables.flights.select("run_id", sf.expr(f"({_SECONDS}) div {points} + 1").alias("seconds"))
    return (
        series.join(sf.broadcast(widths), "run_id")
        .groupBy("run_id", *keys, "seconds", sf.expr("second div seconds").alias("point"))
        .agg(sf.max("lag").alias("lag"), sf.max("time_lag_us").alias("time_lag_us"))
    )


_SECONDS = "(virtual_us + 999999) div 1000000"


def _worst(tables: Tables) -> DataFrame:
    """The partitions in which a group was furthest behind, ranked."""
    measures = lag_measures(lag_by_partition(tables), ["group", "partition"])
    order = Window.partitionBy("run_id", "group").orderBy(sf.desc("lag_peak"), sf.desc("lag_area"), "partition")
    return measures.withColumn("rank", sf.row_number().over(order)).where(sf.col("rank") <= HEAT_ROWS)


def _longest(found: DataFrame) -> DataFrame:
    took: Column = sf.coalesce("ended_us", "closed_us", "started_us") - sf.col("started_us")
    order = Window.partitionBy("run_id").orderBy(sf.desc(took), "started_us", "group")
    return found.withColumn("_place", sf.row_number().over(order)).where(sf.col("_place") <= ATTENDED).drop("_place")


def _topics(tables: Tables) -> DataFrame:
    counted = ("produced", "acked", "appended", "bytes")
    return (
        partition_totals(tables)
        .groupBy("run_id", "topic", "internal")
        .agg(*(sf.sum(name).alias(name) for name in counted))
    )


def _declared(tables: Tables) -> DataFrame:
    """Each group with the topics it ever read, how many partitions those have in the end, how many members it had.

    `join_barriers`: how many join barriers were completed.
    """
    barriers = tables["join_barrier_completed"].groupBy("run_id", "group").agg(sf.count("*").alias("join_barriers"))
    members = tables["member_declared"].groupBy("run_id", "group").agg(sf.countDistinct("member").alias("members"))
    groups = tables["group_declared"].select("run_id", "group", "seq")
    topics = sf.sort_array(sf.collect_list(sf.struct("seq", "topic")))
    read = group_topics(tables).groupBy("run_id", "group").agg(topics.alias("topics"))
    sizes = read_partitions(tables).groupBy("run_id", "group").agg(sf.count("*").alias("partitions"))
    return (
        groups.join(sf.broadcast(read), ["run_id", "group"], "left")
        .join(sf.broadcast(sizes), ["run_id", "group"], "left")
        .join(sf.broadcast(members), ["run_id", "group"], "left")
        .join(sf.broadcast(barriers), ["run_id", "group"], "left")
        .withColumn("topics", sf.transform("topics", lambda row: row["topic"]))
        .fillna(0, ["members", "partitions", "join_barriers"])
    )


def _group_lag(tables: Tables) -> DataFrame:
    return tables.once("lag_by_group", lambda: lag_by_group(lag_by_partition(tables)))


QUESTIONS: dict[str, Question] = {
    "rebalances": rebalances,
    "groups": lambda tables: lag_measures(_group_lag(tables), ["group"]),
    "attendance": lambda tables: attendance(tables, _longest(rebalances(tables))),
    "series": lambda tables: _points(_group_lag(tables), tables, ["group"], POINTS),
    "partitions": _worst,
    "heat": _heat,
    "readers": _readers,
    "effects": lambda tables: recoveries(_group_lag(tables), incidents(tables)),
    "incidents": incidents,
    "storms": lambda tables: storms(rebalances(tables)),
    "unowned": _unowned,
    "topics": _topics,
    "declared": _declared,
    "producers": producer_totals,
    "outages": outages,
    "availability": availability,
    "log_losses": log_losses,
    "kinds": kinds,
    "flights": lambda tables: tables.flights,
}
"""Each question's rows are few, whatever the flights are like, and all have a `run_id`."""
