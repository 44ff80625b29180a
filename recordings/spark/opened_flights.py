"""Flights as DataFrames, for notebooks: `recordings.spark.open`.

Everything is lazy: a DataFrame reads files when it is shown, counted or collected. What several of them build on (lag,
rebalances, owners) is computed once and kept until `close`.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from cluster.config import nearest
from recordings.spark.analyses.availability import availability
from recordings.spark.analyses.producers import producer_totals
from recordings.spark.errors import ReportError
from recordings.spark.facts.lag import lag_by_partition
from recordings.spark.facts.lag_measures import group_lag
from recordings.spark.facts.ownership import owner_changes, unowned
from recordings.spark.facts.rebalances import rebalances
from recordings.spark.facts.time_windows import last_second
from recordings.spark.facts.totals import group_totals, partition_totals, reader_totals
from recordings.spark.facts.transactions import transactions
from recordings.spark.report import readable_tables
from recordings.spark.runtime.session import spark_session
from recordings.spark.tables import Tables
from recordings.tables.exported_files import refuse_unfit_files
from recordings.tables.schema import TABLES


class OpenedFlights:
    """Opened flights. Every row of every DataFrame has the `run_id` of its flight; instants are µs of virtual time.

    `spark` is the session, `tables` the exported tables by name, `warnings` what the recordings' readers warn of.
    """

    def __init__(self, places: Sequence[str | Path], *, spark: SparkSession | None, salvage: bool) -> None:
        if not places:
            raise ReportError("no flight is named: open a recording, or a place that flights were exported to")
        with ExitStack() as opening:
            found, self.warnings = opening.enter_context(readable_tables(places, None, None, salvage, lambda *_: None))
            for place in found:
                refuse_unfit_files(place)
            self.spark = spark or opening.enter_context(spark_session(name="flightdeck notebook"))
            self.tables = Tables(self.spark, found)
            self._open = opening.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the tables that were exported for this, and stop the session that was started for it."""
        self._open.close()

    @property
    def flights(self) -> DataFrame:
        """One row for each flight: scenario, seed, settings, `virtual_us`, counts of events by kind."""
        return self.tables.flights

    def events(self, kind: str) -> DataFrame:
        """The events of a kind, or the `commands`, with the columns of docs/data-dictionary.md.

        Raises ReportError for a kind that there is not.
        """
        if kind not in TABLES:
            near = nearest(kind, TABLES)
            raise ReportError(f"there is no kind of event {kind!r}" + (f" (did you mean {near}?)" if near else ""))
        return self.tables[kind]

    def lag(self) -> DataFrame:
        """Each group at each second: `group`, `second`, `lag` (records), `time_lag_us` (age of the oldest unread)."""
        return group_lag(self.tables)

    def lag_by_partition(self) -> DataFrame:
        """The same by partition, with `high_watermark`, `committed` (-1: none), `read_up_to` and `log_start`."""
        return lag_by_partition(self.tables)

    def rebalances(self) -> DataFrame:
        """Each rebalance: `group`, `generation`, `cause`, `trigger`, its instants, `ends`, members and costs.

        `started_us`, `closed_us`, `assigned_us`, `ended_us`; `moved` and `stopped_partition_us`, `stopped_member_us`,
        `reread` (records). `recordings.spark.facts.rebalances` documents every column.
        """
        return rebalances(self.tables)

    def ownership(self) -> DataFrame:
        """Each change of a partition's owner: `group`, `partition`, `seq`, `at_us`, `owner` ("": none), `before`."""
        return owner_changes(self.tables)

    def unowned(self) -> DataFrame:
        """Each stretch without an owner: `group`, `partition`, `owner` (the last one), `from_us`, `until_us`."""
        return unowned(self.tables)

    def totals(self) -> DataFrame:
        """Each group's records: `processed`, `duplicated`, and what became of them (docs/delivery.md).

        `acknowledged` = `delivered` + `lost` + `unread` + `skipped`; `out_of_order_keys` counts keys.
        """
        ends = self.flights.select("run_id", last_second().alias("second"))
        end = self.lag_by_partition().join(sf.broadcast(ends), ["run_id", "second"])
        return group_totals(self.tables, reader_totals(self.tables, end))

    def partition_totals(self) -> DataFrame:
        """Each partition: `topic`, `internal`, records `produced`, `acked` and `appended`, `bytes`."""
        return partition_totals(self.tables)

    def producers(self) -> DataFrame:
        """Each producer: records `acked` and `failed`, batches in `retries`, `failures` and `retried` by error."""
        return producer_totals(self.tables)

    def transactions(self) -> DataFrame:
        """Each transaction: `transactional_id`, `from_us`, `until_us`, `outcome`, `partitions`, `fenced_by`."""
        return transactions(self.tables)

    def availability(self) -> DataFrame:
        """Each topic that was not available throughout: partitions and µs without a leader, and below min ISR."""
        return availability(self.tables)
