"""The screen of one broker: its process, what ends with it, its replicas, its coordinators, its events."""

from typing import Self

from console.app_interface import AppInterface
from console.command_line import BROKER, broker_place, partition_place, topic_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.styled_text import PlaceLink
from console.presenters.topology.broker import (
    GROUP,
    LOST,
    MOVED,
    SHORT,
    TRANSACTION,
    BrokerListing,
    BrokerReplicasListing,
    CoordinatedListing,
    RiskListing,
)
from console.presenters.topology.brokers import number_of
from console.screens.flight_screen import FlightScreen, ListFactory
from console.screens.topology.brokers import BrokersScreen
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class BrokerScreen(FlightScreen):
    """Process, risk, replicas, coordinators and events of one broker."""

    AUTO_FOCUS = "#risk"
    help = "a broker's process, replicas, coordinators, and what ends with it"

    def __init__(self, broker: str) -> None:
        self.broker, self.place = broker, broker_place(broker)
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `broker broker-2`."""
        name = place.removeprefix(BROKER)
        return cls(name) if place.startswith(BROKER) and name in app.flight.names().brokers else None

    def panels(self) -> list[Panel]:
        """Five panels."""
        names = ("broker", "risk", "replicas", "coordinators", "events")
        return [Panel(number, name) for number, name in enumerate(names, 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before the broker exists."""
        view, now_us, session_us = flight.view, flight.now_us, flight.source.broker_session_us
        one = view.brokers.get(number_of(self.broker))
        if one is None:
            return {}
        return {
            "broker": lambda width: BrokerListing(view, one, now_us, width),
            "risk": lambda width: RiskListing(view, one, width, session_us),
            "replicas": lambda width: BrokerReplicasListing(view, one, width),
            "coordinators": lambda width: CoordinatedListing(view, one, width),
            "events": lambda width: EventLogListing(view, width, {self.broker}, self.unfolded),
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The process is firm; the events take the remaining lines."""
        if panel.id == "broker":
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def path(self) -> list[str]:
        """Below the brokers."""
        return ["overview", BrokersScreen.place, self.broker]

    def selected_target(self) -> CommandTarget | None:
        """The selected partition or group, else the broker."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if number_of(self.broker) not in view.brokers:
            return None
        if panel is not None and panel.id == "replicas" and panel.selected in view.partitions:
            return CommandTarget("partition", panel.selected)
        if panel is not None and panel.id in {"risk", "coordinators"}:
            kind, _, name = panel.selected.partition("/")
            if kind in {LOST, SHORT}:
                return CommandTarget("partition", name)
            if kind == MOVED:
                return CommandTarget("topic", name)
            if kind == GROUP:
                return CommandTarget("group", name)
        return CommandTarget("broker", self.broker)

    def opened(self, panel: str, key: str) -> None:
        """Open a partition, a topic, a group, the transactions, the brokers."""
        kind, _, name = key.partition("/")
        if panel == "replicas":
            self.console_app.go(partition_place(key))
        elif kind in {LOST, SHORT}:
            self.console_app.go(partition_place(name))
        elif kind == MOVED:
            self.console_app.go(topic_place(name))
        elif kind == GROUP:
            self.console_app.go(name)
        elif kind == TRANSACTION:
            self.console_app.follow(PlaceLink("transaction", name))
        elif panel in {"risk", "coordinators"}:
            self.console_app.go(BrokersScreen.place)
