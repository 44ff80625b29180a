"""The screen of one partition: its log as a ruler, its readers, its open transactions, its replicas, its events."""

from collections.abc import Mapping, Sequence
from typing import Self

from console.app_interface import AppInterface
from console.command_line import PARTITION, broker_place, member_place, partition_place, records_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.partitions.tables import (
    LogListing,
    OpenTransactionsListing,
    ReadersListing,
    ReplicasListing,
)
from console.presenters.styled_text import PlaceLink
from console.presenters.transactions import transaction_of
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class PartitionScreen(FlightScreen):
    """Log, readers, open transactions, replicas and events of one partition."""

    AUTO_FOCUS = "#readers"
    presets: Mapping[str, Sequence[str]] = {
        "on-call": ("log", "readers", "transactions", "replicas"),
        "learning": ("log", "readers", "events"),
    }
    help = "a partition's log, readers, transactions, replicas"

    def __init__(self, partition: str) -> None:
        self.partition, self.place = partition, partition_place(partition)
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `partition orders-1`."""
        name = place.removeprefix(PARTITION)
        known = name in app.flight.view.partitions or name in app.flight.names().partitions()
        return cls(name) if place.startswith(PARTITION) and known else None

    def panels(self) -> list[Panel]:
        """Five panels."""
        names = ("log", "readers", "transactions", "replicas", "events")
        return [Panel(number, name) for number, name in enumerate(names, 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before the partition exists."""
        view, now_us = flight.view, flight.now_us
        one = view.partitions.get(self.partition)
        if one is None or one.topic not in view.topics:
            return {}
        return {
            "log": lambda width: LogListing(view, one, now_us, width),
            "readers": lambda width: ReadersListing(view, one, now_us, width),
            "transactions": lambda width: OpenTransactionsListing(view, one, now_us, width),
            "replicas": lambda width: ReplicasListing(view, one, width),
            "events": lambda width: EventLogListing(view, width, {self.partition}, self.unfolded),
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The log is firm; the events take the remaining lines."""
        if panel.id == "log":
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def path(self) -> list[str]:
        """Its topic is above the partition."""
        return ["overview", self.partition.rpartition("-")[0], self.partition]

    def selected_target(self) -> CommandTarget | None:
        """The selected group or broker, else the partition."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if self.partition not in view.partitions:
            return None
        kind = {"readers": "group", "replicas": "broker"}.get(panel.id or "") if panel is not None else None
        if panel is not None and kind is not None and panel.selected:
            return CommandTarget(kind, panel.selected)
        return CommandTarget("partition", self.partition)

    def opened(self, panel: str, key: str) -> None:
        """Open the log's records, the owner or the group, the transactions, or a broker."""
        if panel == "log":
            self.console_app.go(records_place(self.partition))
        elif panel == "readers":
            owner = self.console_app.flight.view.groups[key].owners.get(self.partition)
            self.console_app.go(member_place(owner) if owner else key)
        elif panel == "transactions":
            one = transaction_of(self.console_app.flight.view, int(key.partition("@")[0]))
            self.console_app.follow(
                PlaceLink("transaction", one.transactional_id)
                if one is not None
                else PlaceLink("place", "transactions")
            )
        elif panel == "replicas":
            self.console_app.go(broker_place(key))
