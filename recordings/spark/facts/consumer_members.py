"""The members of groups of the consumer protocol at their coordinator: how many, what each has, what it revokes."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.tables import Tables

MEMBER = ("run_id", "group", "member_id")


def member_counts(tables: Tables) -> DataFrame:
    """How many members a group has after each change: `run_id`, `group`, `seq`, `members`."""
    order = Window.partitionBy(*MEMBER).orderBy("seq")
    change = sf.col("present") - sf.coalesce(sf.lag("present").over(order), sf.lit(0))
    time = Window.partitionBy("run_id", "group").orderBy("seq")
    return (
        _presence(tables)
        .withColumn("change", change)
        .groupBy("run_id", "group", "seq")
        .agg(sf.sum("change").alias("change"))
        .select("run_id", "group", "seq", sf.sum("change").over(time).alias("members"))
    )


def holdings(tables: Tables) -> DataFrame:
    """What the coordinator has assigned to each member: `MEMBER`, `member`, `partitions`, `seq`, `until_seq`."""
    key = (*MEMBER, "seq")
    none = sf.array().cast("array<string>").alias("partitions")
    changed = tables["member_assignment_changed"].select(*key, sf.col("assigned").alias("partitions"))
    gone = _presence(tables).where("present = 0").select(*key, none)
    loaded = tables["consumer_group_loaded"].select(
        "run_id", "group", "seq", sf.explode("assigned").alias("member_id", "partitions")
    )
    order = Window.partitionBy(*MEMBER).orderBy("seq")
    return (
        changed.unionByName(gone)
        .unionByName(loaded)
        .join(sf.broadcast(_names(tables)), list(MEMBER))
        .withColumn("until_seq", sf.lead("seq").over(order))
    )


def steps(tables: Tables) -> DataFrame:
    """The members' steps towards their targets: `run_id`, `group`, `member`, `seq`, `at_us` and more.

    `pending_revocation` (what it must still revoke), `epoch` and `state` (null: the coordinator removed it).
    """
    key = ("run_id", "group", "member", "seq", "at_us")
    changed = tables["member_assignment_changed"].select(*key, "pending_revocation", "epoch", "state")
    none = sf.array().cast("array<string>").alias("pending_revocation")
    return changed.unionByName(tables["member_removed"].select(*key, none), allowMissingColumns=True)


def _names(tables: Tables) -> DataFrame:
    """The client id of each member id: `MEMBER`, `member`."""
    subscribed = tables["consumer_member_subscribed"].select(*MEMBER, "member")
    loaded = tables["consumer_group_loaded"].select(
        "run_id", "group", sf.explode("members").alias("member_id", "member")
    )
    # a static member that comes back has a new id, and need not subscribe anew
    changed = tables["member_assignment_changed"].select(*MEMBER, "member")
    return subscribed.unionByName(loaded).unionByName(changed).distinct()


def _presence(tables: Tables) -> DataFrame:
    """The events after which a member id is in the group (`present` 1) or is not (0): `MEMBER`, `seq`, `present`."""
    key = ("run_id", "group", "seq")
    here, gone = sf.lit(1).alias("present"), sf.lit(0).alias("present")
    subscribed = tables["consumer_member_subscribed"].select(*key, "member_id", here)
    removed = tables["member_removed"].select(*key, "member_id", gone)
    replaced = tables["static_member_replaced"]
    former = replaced.select(*key, sf.col("old_member_id").alias("member_id"), gone)
    heirs = replaced.select(*key, "member_id", here)
    known = _names(tables).select(*MEMBER)
    loaded = (
        tables["consumer_group_loaded"]
        .select(*key, sf.map_keys("members").alias("ids"))
        .join(sf.broadcast(known), ["run_id", "group"])
        .select(*key, "member_id", sf.array_contains("ids", sf.col("member_id")).cast("int").alias("present"))
    )
    rows = subscribed
    for other in (removed, former, heirs, loaded):
        rows = rows.unionByName(other)
    # a classic group has members of the same names, with other ids
    return rows.join(sf.broadcast(known), list(MEMBER), "left_semi")
