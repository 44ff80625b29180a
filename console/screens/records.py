"""The place of a partition's records: the batches of its log, and what its leaders refused to append."""

from typing import Self

from console.app_interface import AppInterface
from console.command_line import PARTITION, RECORDS, partition_place, records_place
from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.partitions.records import RecordsListing, RefusedListing
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class RecordsScreen(FlightScreen):
    """Batches, records and markers of one partition, and what was not appended."""

    AUTO_FOCUS = "#records"
    place, key, help = RECORDS.strip(), "E", "batches, records and markers of the selected partition"

    def __init__(self, partition: str = "") -> None:
        self.partition = partition
        self.place = records_place(partition) if partition else RECORDS.strip()
        self.above = partition_place(partition) if partition else ""
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `records orders-1`; of `records` alone that of the selected partition."""
        view = app.flight.view
        if place == RECORDS.strip():
            return cls(_selected(app))
        name = place.removeprefix(RECORDS)
        known = name in view.partitions or name in app.flight.names().partitions()
        return cls(name) if place.startswith(RECORDS) and known else None

    def panels(self) -> list[Panel]:
        """Two panels."""
        return [Panel(1, "records"), Panel(2, "refused")]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the newest events; no listing before the partition exists."""
        one = flight.view.partitions.get(self.partition)
        if one is None:
            return {}
        log = flight.source.newest().logs.of(self.partition)
        return {
            "records": lambda width: RecordsListing(one, log, width, self.unfolded),
            "refused": lambda width: RefusedListing(log, width),
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The records take the remaining lines."""
        return SizeHint(ALL_THERE_IS, 3) if panel.id == "records" else super().size_hint(panel, listing)

    def path(self) -> list[str]:
        """Its partition is above the records."""
        if not self.partition:
            return ["overview", "records"]
        return ["overview", self.partition.rpartition("-")[0], self.partition, "records"]

    def selected_target(self) -> CommandTarget | None:
        """The partition."""
        known = self.partition in self.console_app.flight.view.partitions
        return CommandTarget("partition", self.partition) if known else None


def _selected(app: AppInterface) -> str:
    """The partition whose place is shown, or the selected one, or the first of a user's topic; "" without one."""
    view, shown, target = app.flight.view, app.place(), app.selected_target()
    if shown.startswith(PARTITION):
        return shown.removeprefix(PARTITION)
    if target is not None and target.kind == "partition":
        return target.name
    users = (name for name, one in view.partitions.items() if not view.topics[one.topic].internal)
    return next(users, "")
