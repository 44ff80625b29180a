"""Transactional ids: where each stands, which partitions wait for it, what may come next, and who was fenced."""

from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.transactions import (
    HeldBackListing,
    StatesListing,
    TransactionEventsListing,
    TransactionsListing,
    transaction_of,
)
from console.screens.flight_screen import WIDEST, FlightScreen, Maker
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, Place, Wish


class TransactionsScreen(FlightScreen):
    """Ids, partitions held back, legal states, fencing."""

    AUTO_FOCUS = "#ids"

    def panels(self) -> list[Panel]:
        """Four of them."""
        return [Panel(number, name) for number, name in enumerate(("ids", "held", "states", "events"), 1)]

    def makers(self, flight: Flight) -> dict[str, Maker]:
        """From the view, for every frame."""
        view, now_us = flight.view, flight.now_us
        return {
            "ids": lambda width: TransactionsListing(view, now_us, width),
            "held": lambda width: HeldBackListing(view, now_us, width),
            "states": lambda width: StatesListing(view, width),
            "events": lambda width: TransactionEventsListing(view, width),
        }

    def arrangement(self, width: int) -> Arrangement:
        """On wide screens events stand beside the states."""
        top = [[Place("ids")], [Place("held")]]
        if width >= WIDEST:
            return [*top, [Place("states", 3), Place("events", 2)]]
        return [*top, [Place("states")], [Place("events")]]

    def wish(self, panel: Panel, listing: Listing) -> Wish:
        """Events take what is left."""
        if panel.id == "events":
            return Wish(ALL_THERE_IS, 3)
        return super().wish(panel, listing)

    def path(self) -> list[str]:
        """One below the overview."""
        return ["overview", "transactions"]

    def thing(self) -> CommandTarget | None:
        """The producer that runs the selected transactional id."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is None or panel.id != "ids" or panel.selected not in view.transactions:
            return None
        chosen = view.transactions[panel.selected]
        for producer in view.producers.values():
            if transaction_of(view, producer.producer_id) is chosen:
                return CommandTarget("producer", producer.producer)
        return None

    def opened(self, panel: str, key: str) -> None:
        """What can be done to whoever runs it."""
        del key
        if panel == "ids":
            self.console_app.action_fault()
