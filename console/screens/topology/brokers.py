"""The screen of all brokers: their processes and shares, and the links between processes."""

from console.command_line import broker_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.topology.brokers import BrokersTable
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class BrokersScreen(FlightScreen):
    """Every broker and its events."""

    AUTO_FOCUS = "#brokers"
    place, key, help = "brokers", "B", "brokers, what each leads and coordinates"

    def panels(self) -> list[Panel]:
        """Two panels."""
        return [Panel(number, name) for number, name in enumerate(("brokers", "events"), 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view, for every frame."""
        view, now_us = flight.view, flight.now_us
        subjects = {f"broker-{broker}" for broker in view.brokers}
        return {
            "brokers": lambda width: BrokersTable(view, now_us, width),
            "events": lambda width: EventLogListing(view, width, subjects),
        }

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The events take the remaining lines."""
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def selected_target(self) -> CommandTarget | None:
        """The selected broker."""
        panel = self.board.panels["brokers"]
        return CommandTarget("broker", panel.selected) if panel.selected else None

    def opened(self, panel: str, key: str) -> None:
        """Open the place of a broker."""
        if panel == "brokers":
            self.console_app.go(broker_place(key))
