"""Which acknowledged records are lost: to a group that never processes them, or from every replica's log?

The two differ: a log may lose records that every group has read, a group records that every log still has.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from recordings.spark.analyses.analysis import Analysis, make
from recordings.spark.facts.log_entries import PARTITION, batches, named
from recordings.spark.facts.odd_records import RECORD, gone, serials, vanished
from recordings.spark.facts.offsets import topic_of
from recordings.spark.formatting import count, many
from recordings.spark.report_cluster_model import LogLoss
from recordings.spark.report_model import FlightReport
from recordings.spark.tables import Tables

if TYPE_CHECKING:
    from recordings.spark.analyses.analysis import FlightRows


def log_losses(tables: Tables) -> DataFrame:
    """Acknowledged records of users' topics that no replica's log holds any more: `run_id`, `topic`, `records`.

    Each counts once, however many groups read it or none. Records of aborted transactions are left out.
    """
    lost = tables["records_lost"].select(*PARTITION, "producer", "first_serial", "records")
    if not tables.has_rows("records_lost"):  # planning would take longer than the result is worth
        return lost.select("run_id", topic_of("partition").alias("topic"), "records")
    ranges = lost.groupBy(*PARTITION, "producer").agg(
        sf.min("first_serial").alias("low"), sf.max(sf.col("first_serial") + sf.col("records")).alias("high")
    )
    users = tables["topic_created"].where("not internal").select("run_id", "topic").distinct()
    return (
        named(tables, batches(tables).where("acked and not aborted"))
        .join(sf.broadcast(ranges), [*PARTITION, "producer"])
        .where("first_serial < high and first_serial + records > low")
        .select(*PARTITION, "producer", serials(), "appended_seq")
        .join(gone(tables), list(RECORD))
        .where(vanished())
        .select(*RECORD)
        .distinct()
        .withColumn("topic", topic_of("partition"))
        .join(sf.broadcast(users), ["run_id", "topic"], "left_semi")
        .groupBy("run_id", "topic")
        .agg(sf.count("*").alias("records"))
    )


def _build(rows: "FlightRows") -> list[LogLoss]:
    return [make(LogLoss, row) for row in sorted(rows["log_losses"], key=lambda row: str(row["topic"]))]


def lost_from_logs(flight: FlightReport) -> int:
    """Acknowledged records that no replica's log holds any more, processed before or not."""
    return sum(each.records for each in flight.log_losses)


def loses_records(flight: FlightReport) -> bool:
    """Whether acknowledged records are lost: to a group that never processes them, or from the log."""
    return flight.totals.lost > 0 or lost_from_logs(flight) > 0


def harms(flight: FlightReport) -> Iterator[str]:
    """The losses and the broken order, as parts of the headline."""
    totals, from_logs = flight.totals, lost_from_logs(flight)
    if from_logs:
        yield f"{many(from_logs, 'acknowledged record')} lost from the log"
    losing = [group for group in flight.groups if group.lost]
    several = f" by {len(losing)} groups in all" if len(losing) > 1 else ""  # perhaps the same records
    if totals.lost and from_logs:
        yield f"{count(totals.lost)} lost{several or f' by {losing[0].group}'}"
    elif totals.lost:
        yield f"{many(totals.lost, 'acknowledged record')} lost{several}"
    if totals.out_of_order_keys:
        yield f"{many(totals.out_of_order_keys, 'key')} processed out of order"


def _sentences(flight: FlightReport) -> Iterator[str]:
    yield _records(flight)
    yield from _lost(flight)


def _records(flight: FlightReport) -> str:
    totals = flight.totals
    made = f"{many(totals.produced, 'record')} produced, {count(totals.acked)} acknowledged"
    again = f"; {many(totals.duplicated, 'record')} processed more than once" if totals.duplicated else ""
    return f"{made[0].upper()}{made[1:]}{_fate(flight)}{again}."


def _fate(flight: FlightReport) -> str:
    """The fate of the acknowledged records; nothing where `_lost` has a sentence for each group that loses some."""
    if from_logs := lost_from_logs(flight):
        return f", {count(from_logs)} of them lost from the log"
    losing = [group for group in flight.groups if group.lost]
    if not losing:
        return ", none of them lost"
    return f", {count(losing[0].lost)} of them lost by {losing[0].group}" if len(losing) == 1 else ""


def _lost(flight: FlightReport) -> Iterator[str]:
    """The topics that lost acknowledged records, the groups that never process some, and those that had before."""
    for topic in flight.log_losses:
        records, them = many(topic.records, "acknowledged record"), "it" if topic.records == 1 else "them"
        yield f"Topic {topic.topic} loses {records}: no replica's log holds {them} any more."
    losing = [group for group in flight.groups if group.lost]
    if flight.log_losses or len(losing) > 1:
        for group in losing:
            yield f"{group.group} loses {many(group.lost, 'acknowledged record')} that it never processes."
    for group in flight.groups:
        if flight.log_losses and group.delivered_then_lost:
            records = many(group.delivered_then_lost, "acknowledged record")
            yield f"{group.group} has processed {records} that no replica's log holds any more."


LOG_LOSSES = Analysis(
    key="log_losses", row=LogLoss, queries={"log_losses": log_losses}, build=_build, sentences=_sentences
)
