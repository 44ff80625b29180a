"""How long partitions of users' topics could not be written to: no live leader, or fewer in-sync replicas than asked.

A partition has no live leader while the controller has elected none, and from the instant at which the process of its
leader ends (or freezes) until another one leads: producers and consumers wait through both.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.offsets import partitions, topic_of
from recordings.spark.tables import Tables

PARTITION = ("run_id", "partition")
MIN_ISR = "min.insync.replicas"


def outages(tables: Tables) -> DataFrame:
    """Each stretch in which a broker does not serve or is frozen: `run_id`, `broker`, `from_us`, `until_us`.

    `how`: `stop`, `kill`, `crash`, `disk` or `pause`. One that is started serves when the controller has let it in. One
    that is still down at the end is so until the flight's end.
    """
    key = ("run_id", "broker", "seq", "at_us")
    nothing, back = sf.lit(None).cast("string"), sf.lit("")
    serves = tables["broker_started"].where("coalesce(serves, true)").select(*key)  # null: recorded earlier
    serves = serves.unionByName(tables["broker_state_changed"].where("state = 'Running'").select(*key))
    paused, resumed = tables["broker_paused"].select(*key), tables["broker_resumed"].select(*key)
    changes = tables["broker_stopped"].select(*key, sf.col("how").alias("down"), sf.lit(False).alias("frozen"))
    for rows, down, frozen in ((serves, back, None), (paused, nothing, True), (resumed, nothing, False)):
        changes = changes.unionByName(rows.withColumns({"down": down, "frozen": sf.lit(frozen).cast("boolean")}))
    time = Window.partitionBy("run_id", "broker").orderBy("seq")
    known = changes.withColumns({name: sf.last(name, ignorenulls=True).over(time) for name in ("down", "frozen")})
    how = sf.when(sf.col("down") != "", sf.col("down")).when(sf.col("frozen"), "pause").otherwise("")
    lasting = _lasting(tables, known.withColumn("how", how), "run_id", "broker")
    return lasting.where("how != ''").select("run_id", "broker", "how", "from_us", "until_us")


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
    lasting = _lasting(tables, rows.withColumns(filled), *PARTITION)
    known = lasting.where("min_isr is not null and leader is not null")
    return known.select(*PARTITION, "leader", "isr", "min_isr", "from_us", "until_us")


def _lasting(tables: Tables, changes: DataFrame, *key: str) -> DataFrame:
    """Each change with `from_us`, its instant, and `until_us`, that of the next of its key or the flight's end."""
    time = Window.partitionBy(*key).orderBy("seq")
    ends = tables.flights.select("run_id", sf.col("virtual_us").alias("end_us"))
    return (
        changes.withColumn("until_us", sf.lead("at_us").over(time))
        .join(sf.broadcast(ends), "run_id")
        .withColumn("until_us", sf.coalesce("until_us", "end_us"))
        .withColumnRenamed("at_us", "from_us")
    )
