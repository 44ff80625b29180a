"""The partitions that rebalances gave to members: what a member reads again of these, the rebalance has cost.

An assignment may give a member only what it had: a static member comes back, within its generation or its session. A
classic group gives partitions with each new generation. A group of the consumer protocol has no generation to go by:
while it reconciles, every assignment is the rebalance's; afterwards only what a member had still to take over.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.consumer_members import holdings
from recordings.spark.facts.group_generations import EMPTY, GROUP, STABLE, group_changes, reconciles, rounds
from recordings.spark.facts.ownership import holding_facts
from recordings.spark.report_model import CONSUMER, CONVERTED
from recordings.spark.tables import Tables

TAKING = (*GROUP, "seq", "member", "partition")


def partitions_given(tables: Tables) -> DataFrame:
    """Each partition that a rebalance gave to a member: `GROUP`, `seq`, `member`, `partition`, `reconciled`.

    `reconciled`: the group was one of the consumer protocol then.
    """
    assigned = tables["partitions_assigned"].select(*GROUP, "seq", "member", "generation", "partitions")
    if tables.has_rows("static_member_replaced"):  # else planning would take longer than the result is worth
        assigned = assigned.unionByName(_inherited(tables), allowMissingColumns=True)
    assigned, life = _with_life(tables, assigned)
    once = Window.partitionBy(*GROUP, *life, "member").orderBy("seq")
    taken = (
        assigned.withColumn("last", sf.lag("generation").over(once))
        .withColumn("renewed", sf.col("last").isNull() | (sf.col("last") != sf.col("generation")))
        .select(*GROUP, "seq", "member", sf.explode("partitions").alias("partition"), "renewed")
    )
    if not reconciles(tables):
        return taken.where("renewed").select(*TAKING, sf.lit(False).alias("reconciled"))
    dated = _with_rebalance(tables, taken)
    first = Window.partitionBy(*GROUP, "partition", "closed_seq", "open").orderBy("seq")
    return (
        dated.withColumn("place", sf.row_number().over(first))
        .join(sf.broadcast(_awaited(tables)), [*GROUP, "closed_seq", "member", "partition"], "left")
        .withColumn("renewed", sf.when(sf.col("reconciled"), _is_given()).otherwise(sf.col("renewed")))
        .where("renewed")
        .select(*TAKING, "reconciled")
    )


def _inherited(tables: Tables) -> DataFrame:
    """The shares that static members have from their predecessors: `GROUP`, `seq`, `member`, `generation` (of both).

    No rebalance gives them, even if the member has another client id than its predecessor.
    """
    time = Window.partitionBy(*GROUP).orderBy("seq")
    heirs = tables["static_member_replaced"].where("goes_on").select(*GROUP, "seq", "member")
    generations = group_changes(tables).select(*GROUP, "seq", "generation")
    return (
        generations.unionByName(heirs, allowMissingColumns=True)
        .withColumn("generation", sf.coalesce(sf.last("generation", ignorenulls=True).over(time), sf.lit(0)))
        .where("member is not null")
    )


def _with_life(tables: Tables, assigned: DataFrame) -> tuple[DataFrame, list[str]]:
    """The rows with `life`, how often the group had been deleted before, or replaced by one of the other protocol.

    And the columns that tell its lives apart. The generations of a group that comes again begin anew: generation 1 of
    two lives is not the same one.
    """
    ends = [kind for kind in ("group_deleted", "group_protocol_converted") if tables.has_rows(kind)]
    if not ends:  # then planning would take longer than the result is worth
        return assigned, []
    time = Window.partitionBy(*GROUP).orderBy("seq")
    ended = tables.union(dict.fromkeys(ends, lambda rows: rows.select(*GROUP, "seq", sf.lit(1).alias("ended"))))
    rows = assigned.unionByName(ended, allowMissingColumns=True)
    life = sf.coalesce(sf.sum("ended").over(time), sf.lit(0))
    return rows.withColumn("life", life).where("member is not null").drop("ended"), ["life"]


def _is_given() -> Column:
    awaited = sf.col("awaited").isNotNull() & (sf.col("place") == 1)
    return sf.col("open") | awaited


def _with_rebalance(tables: Tables, taken: DataFrame) -> DataFrame:
    """What stands when a partition is taken.

    `reconciled`, `open` (a rebalance of the consumer protocol), `closed_seq` (the end of the last one; -1: none yet).
    """
    over = sf.col("ends").isin(STABLE, EMPTY) & sf.col("rebalances")
    closes = sf.when(over | (sf.col("ends") == CONVERTED), sf.col("seq"))
    turns = _with_rounds(tables).select(
        *GROUP,
        "seq",
        sf.when(sf.col("opens"), True).when(sf.col("ends").isNotNull(), False).alias("open"),
        closes.alias("closed_seq"),
        (sf.col("protocol") == CONSUMER).alias("reconciled"),
    )
    time = Window.partitionBy(*GROUP).orderBy("seq")
    stands = {"open": sf.lit(False), "closed_seq": sf.lit(-1), "reconciled": sf.lit(False)}
    last = {name: sf.coalesce(sf.last(name, ignorenulls=True).over(time), none) for name, none in stands.items()}
    return taken.unionByName(turns, allowMissingColumns=True).withColumns(last).where("member is not null")


def _with_rounds(tables: Tables) -> DataFrame:
    """The `rounds`; `rebalances`: the group epoch rose in it, else a static member was away.

    The group of a static member that leaves for a while is Reconciling until the member is back: no rebalance.
    """
    whole = Window.partitionBy(*GROUP, "round")
    opens = (sf.col("what") == "started") & (sf.col("protocol") == CONSUMER)
    return rounds(tables).withColumns({"opens": opens, "rebalances": sf.bool_or(opens).over(whole)})


def _awaited(tables: Tables) -> DataFrame:
    """What members had to take over yet when their group became Stable.

    `GROUP`, `closed_seq`, `member`, `partition`, `awaited` (true).
    """
    over = _with_rounds(tables).where(
        (sf.col("protocol") == CONSUMER) & (sf.col("ends") == STABLE) & sf.col("rebalances")
    )
    held = (sf.col("_from") <= sf.col("closed_seq")) & sf.coalesce(
        sf.col("until_seq") > sf.col("closed_seq"), sf.lit(True)
    )
    due = (
        holdings(tables)
        .withColumnRenamed("seq", "_from")
        .join(sf.broadcast(over.select(*GROUP, sf.col("seq").alias("closed_seq"))), list(GROUP))
        .where(held)
        .select(*GROUP, "closed_seq", "member", sf.explode("partitions").alias("partition"))
        .withColumn("seq", sf.col("closed_seq"))
    )
    time = Window.partitionBy(*GROUP, "member", "partition").orderBy("seq")
    facts = holding_facts(tables).select(*TAKING, "assigned")
    return (
        facts.unionByName(due, allowMissingColumns=True)
        .withColumn("has", sf.coalesce(sf.last("assigned", ignorenulls=True).over(time), sf.lit(False)))
        .where("closed_seq is not null and not has")
        .select(*GROUP, "closed_seq", "member", "partition", sf.lit(True).alias("awaited"))
    )
