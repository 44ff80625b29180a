"""The owner of each partition on the clients' side, and the stretches without an owner.

A consumer holds a partition from onPartitionsAssigned until it revokes or loses it, stops, is killed or is fenced. Its
owner is the member that was assigned it last. When the owner gives it up while removed members still hold it, the
latest of them owns it again.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from recordings.spark.facts.time_windows import every_second
from recordings.spark.tables import Tables

PARTITION = ("run_id", "group", "partition")
NO_OWNER_YET = '{"holders": [], "owner": "", "changes": []}'
CHANGE = ("seq", "at_us", "member")
HOLDING = (
    "struct<holders:array<string>,owner:string,"
    "changes:array<struct<seq:bigint,at_us:bigint,owner:string,before:string,assigned:boolean>>>"
)


def owner_changes(tables: Tables) -> DataFrame:
    """Each change of an owner, and each assignment.

    `PARTITION`, `seq`, `at_us`, `owner` ("": none from now on), `before` (the owner until now), `assigned` (false: a
    release).
    """
    return tables.once("owner_changes", lambda: _owner_changes(tables))


def _owner_changes(tables: Tables) -> DataFrame:
    ordered = sf.sort_array(sf.collect_list(sf.struct("seq", "at_us", "member", "assigned")))
    folded = sf.aggregate("facts", sf.from_json(sf.lit(NO_OWNER_YET), HOLDING), _next_holding)
    return (
        holding_facts(tables)
        .groupBy(*PARTITION)
        .agg(ordered.alias("facts"))
        .select(*PARTITION, sf.explode(folded["changes"]))
        .select(*PARTITION, "col.*")
    )


def holding_facts(tables: Tables) -> DataFrame:
    """Each assignment of a partition to a member, and each release by one: `PARTITION`, `CHANGE`, `assigned`."""
    key = ("run_id", "group", *CHANGE)
    assigned = tables["partitions_assigned"].select(*key, sf.explode("partitions").alias("partition"))
    revoked = tables["partitions_revoked"].select(*key, sf.explode("partitions").alias("partition"))
    fenced = tables["member_state_changed"].where("state = 'Fenced'")
    gone = tables["member_stopped"].select(*key).unionByName(fenced.select(*key))
    held = assigned.select("run_id", "group", "member", "partition").distinct()
    released = revoked.unionByName(gone.join(held, ["run_id", "group", "member"]).select(revoked.columns))
    return assigned.withColumn("assigned", sf.lit(True)).unionByName(released.withColumn("assigned", sf.lit(False)))


def _next_holding(so_far: Column, now: Column) -> Column:
    """The fold of one partition: its holders by assignment (a removed member may be one), and its owner among them."""
    holders = sf.array_remove(so_far["holders"], now["member"])
    latest = sf.get(holders, sf.size(holders) - 1)
    heir = sf.when(so_far["owner"] == now["member"], sf.coalesce(latest, sf.lit("")))
    owner = sf.when(now["assigned"], now["member"]).otherwise(sf.coalesce(heir, so_far["owner"]))
    change = sf.struct(
        now["seq"].alias("seq"),
        now["at_us"].alias("at_us"),
        owner.alias("owner"),
        so_far["owner"].alias("before"),
        now["assigned"].alias("assigned"),
    )
    changed = now["assigned"] | (owner != so_far["owner"])
    return sf.struct(
        sf.when(now["assigned"], sf.array_append(holders, now["member"])).otherwise(holders).alias("holders"),
        owner.alias("owner"),
        sf.when(changed, sf.array_append(so_far["changes"], change)).otherwise(so_far["changes"]).alias("changes"),
    )


def owners_by_second(tables: Tables) -> DataFrame:
    """Each partition's owner at every second from its first one on: `PARTITION`, `second`, `owner` ("": none)."""
    return every_second(owner_changes(tables), tables.flights, ["group", "partition"], ["owner"])


def unowned(tables: Tables) -> DataFrame:
    """Each stretch in which a partition that had an owner had none.

    `PARTITION`, `owner` (the last), `from_us`, `seq` (of the assignment that ended it, null when nothing did),
    `until_us` (then the flight's end).
    """
    time = Window.partitionBy(*PARTITION).orderBy("seq")
    ends = tables.flights.select("run_id", "virtual_us")
    return (
        owner_changes(tables)
        .withColumns({"_seq": sf.lead("seq").over(time), "_until_us": sf.lead("at_us").over(time)})
        .where("owner = ''")
        .join(sf.broadcast(ends), "run_id")
        .select(
            *PARTITION,
            sf.col("before").alias("owner"),
            sf.col("at_us").alias("from_us"),
            sf.col("_seq").alias("seq"),
            sf.coalesce("_until_us", "virtual_us").alias("until_us"),
        )
    )
