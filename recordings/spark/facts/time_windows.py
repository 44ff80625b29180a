"""Facts over time: their state at each whole second, and the last fact before another one.

Facts have a `seq` (their order within a flight) and an `at_us`. The state *at* a second is the sum of all events up to
and including that instant: the same as the view document at the checkpoint of that second.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

SECOND_US = 1_000_000


def checkpoint(at_us: str) -> Column:
    """The first whole second at which a fact of `at_us` holds: its own if it is one, else the next."""
    return sf.expr(f"({at_us} + {SECOND_US - 1}) div {SECOND_US}")


def last_second(virtual_us: str = "virtual_us") -> Column:
    """The flight's end as a checkpoint: its last whole second, or the next one for a flight that ended between two."""
    return checkpoint(virtual_us)


def every_second(
    changes: DataFrame, flights: DataFrame, keys: Sequence[str], values: Sequence[str], by: str | None = None
) -> DataFrame:
    """The `values` of each key at each whole second from its first change on.

    `changes`: `run_id`, the keys, `seq`, `at_us` and the values, where null means "as before"; one row for each change.
    `by`: the one key that tells the others, a number if it is to sort quickly. Returns `run_id`, the keys, `second` and
    the values.
    """
    key = ["run_id", *keys]
    order = Window.partitionBy(*(key if by is None else [by])).orderBy("seq")
    ends = flights.select("run_id", last_second().alias("_end"))
    stands = (
        changes.withColumn("second", checkpoint("at_us"))
        .select(
            *key,
            "second",
            *(sf.last(value, ignorenulls=True).over(order).alias(value) for value in values),
            sf.lead("second").over(order).alias("_next"),
        )
        .where("_next is null or _next > second")  # the last change before a checkpoint holds there
        .join(sf.broadcast(ends), "run_id")
        .where("second <= _end")
    )
    until = sf.coalesce(sf.least(sf.col("_next") - 1, sf.col("_end")), sf.col("_end"))
    return stands.withColumn("second", sf.explode(sf.sequence("second", until))).select(*key, "second", *values)


def last_before(queries: DataFrame, facts: DataFrame, keys: Sequence[str], order: str = "seq") -> DataFrame:
    """Each query with the columns of the last fact strictly before it, of the same keys; nulls if there is none.

    Both have `run_id`, the keys and `order`; otherwise their columns differ. One sort, no join: long lists of facts
    cost no more than short ones.
    """
    key = ["run_id", *keys]
    taken = [column for column in facts.columns if column not in {*key, order}]
    asked = [column for column in queries.columns if column not in {*key, order}]
    rows = queries.select(*key, order, sf.struct(sf.lit(True).alias("_is"), *asked).alias("_query")).unionByName(
        facts.select(*key, order, sf.struct(*taken).alias("_fact")), allowMissingColumns=True
    )
    place = Window.partitionBy(*key).orderBy(sf.col(order), sf.col("_query").isNull())  # at a tie the query comes first
    before = place.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    found = rows.withColumn("_fact", sf.last("_fact", ignorenulls=True).over(before)).where("_query is not null")
    return found.select(
        *key, order, *(sf.col(f"_query.{name}") for name in asked), *(sf.col(f"_fact.{name}") for name in taken)
    )
