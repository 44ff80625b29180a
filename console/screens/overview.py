"""The first screen: is anything wrong, and where."""

from console.flight import Flight
from console.presenters.active_faults import ActiveFaultsListing, ending_command
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.overview import BrokersListing, GroupsListing, ProducersListing
from console.presenters.partition_grids import TopicsListing
from console.screens.flight_screen import WIDE, WIDEST, FlightScreen, Maker
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, Place, Wish

KINDS = {"groups": "group", "topics": "topic", "brokers": "broker", "producers": "producer"}


class OverviewScreen(FlightScreen):
    """Groups, topics, brokers, producers, what happened, and what is injured."""

    def panels(self) -> list[Panel]:
        """Five of them, and one for faults while there are any."""
        panels = [Panel(number, name) for number, name in enumerate((*KINDS, "events", "faults"), 1)]
        panels[-1].display = False
        return panels

    def makers(self, flight: Flight) -> dict[str, Maker]:
        """From the view, for every frame."""
        view, now_us = flight.view, flight.now_us
        faults = self.board.panels["faults"]
        if faults.display != bool(view.faults):
            faults.display = bool(view.faults)
        return {
            "groups": lambda width: GroupsListing(view, now_us, width),
            "topics": lambda width: TopicsListing(view, width),
            "brokers": lambda width: BrokersListing(view, width),
            "producers": lambda width: ProducersListing(view, now_us, width),
            "events": lambda width: EventLogListing(view, width),
            "faults": lambda width: ActiveFaultsListing(view, now_us, width),
        }

    def arrangement(self, width: int) -> Arrangement:
        """Brokers beside producers where there is room for both; on wide screens events beside topics."""
        last = [Place("events")]
        if self.board.panels["faults"].display:
            if width < WIDE:
                return [[Place(name)] for name in (*KINDS, "faults", "events")]
            last = [Place("events", 3), Place("faults", 2)]
        if width >= WIDEST:
            return [[Place("groups")], [Place("topics")], [Place("brokers", 2), Place("producers", 3)], last]
        if width >= WIDE:
            return [[Place("groups")], [Place("topics")], [Place("brokers"), Place("producers")], last]
        return [[Place(name)] for name in (*KINDS, "events")]

    def wish(self, panel: Panel, listing: Listing) -> Wish:
        """Events take what is left."""
        if panel.id == "events":
            return Wish(ALL_THERE_IS, 3)
        return super().wish(panel, listing)

    def path(self) -> list[str]:
        """Where everything begins."""
        return ["overview"]

    def thing(self) -> CommandTarget | None:
        """The selected row of the panel that has the focus."""
        panel = self.console_app.focused_panel()
        if panel is None or not panel.selected or panel.id not in KINDS:
            return None
        return CommandTarget(KINDS[panel.id], panel.selected)

    def opened(self, panel: str, key: str) -> None:
        """A group opens its own screen; of anything else the fault menu is what there is to open."""
        if panel == "groups":
            self.console_app.go(key)
        elif panel == "faults":
            fault = self.console_app.flight.view.faults.get(int(key))
            mend = ending_command(fault.text) if fault is not None else ""
            if mend:
                self.console_app.open_line(":", mend)
        else:
            self.console_app.action_fault()
