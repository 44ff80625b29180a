"""One rebalance told as a story."""

from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.rebalance_details import RebalanceDetailsListing
from console.screens.flight_screen import FlightScreen, Maker
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Wish


class CaseFileScreen(FlightScreen):
    """First cause, chain, which member was waited for, what moved, what it cost."""

    def __init__(self, group: str, key: str) -> None:
        self.group, self.key = group, key
        super().__init__()

    def panels(self) -> list[Panel]:
        """One, of words."""
        return [Panel(1, "case")]

    def makers(self, flight: Flight) -> dict[str, Maker]:
        """From what the view keeps of the rebalance."""
        group = flight.view.groups.get(self.group)
        if group is None:
            return {}
        return {"case": lambda width: RebalanceDetailsListing(flight.view, group, self.key, width)}

    def wish(self, panel: Panel, listing: Listing) -> Wish:
        """All the room there is."""
        del panel, listing
        return Wish(ALL_THERE_IS)

    def path(self) -> list[str]:
        """One below the group."""
        group = self.console_app.flight.view.groups.get(self.group)
        number = (
            next((one.generation for one in group.rebalances if str(one.started_us) == self.key), 0) if group else 0
        )
        return ["overview", self.group, f"rebalance to generation {number}"]

    def thing(self) -> CommandTarget | None:
        """The group that it befell."""
        return CommandTarget("group", self.group) if self.group in self.console_app.flight.view.groups else None
