"""The details of one finished rebalance."""

from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.rebalance_details import RebalanceDetailsListing
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint


class RebalanceDetailsScreen(FlightScreen):
    """First cause, chain of causes, the awaited member, moved partitions, cost."""

    def __init__(self, group: str, key: str) -> None:
        self.place = self.group = group
        self.started = key
        super().__init__()

    def panels(self) -> list[Panel]:
        """One panel of text."""
        return [Panel(1, "details")]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view's record of the rebalance."""
        group = flight.view.groups.get(self.group)
        if group is None:
            return {}
        return {"details": lambda width: RebalanceDetailsListing(flight.view, group, self.started, width)}

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """All lines of the board."""
        del panel, listing
        return SizeHint(ALL_THERE_IS)

    def path(self) -> list[str]:
        """Below the group."""
        group = self.console_app.flight.view.groups.get(self.group)
        number = (
            next((one.generation for one in group.rebalances if str(one.started_us) == self.started), 0) if group else 0
        )
        return ["overview", self.group, f"rebalance to generation {number}"]

    def selected_target(self) -> CommandTarget | None:
        """The group of the rebalance."""
        return CommandTarget("group", self.group) if self.group in self.console_app.flight.view.groups else None
