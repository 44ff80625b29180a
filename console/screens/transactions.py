"""Transactional ids: their states, the partitions that they hold back, the legal next states, fenced producers."""

from collections.abc import Mapping, Sequence

from console.command_line import partition_place, producer_place
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
from console.presenters.why.answers import Subject
from console.screens.flight_screen import WIDEST, FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint


class TransactionsScreen(FlightScreen):
    """Ids, partitions held back, legal states, fencing."""

    AUTO_FOCUS = "#ids"
    presets: Mapping[str, Sequence[str]] = {
        "on-call": ("ids", "held"),
        "learning": ("ids", "states", "events"),
    }
    place, key, help = "transactions", "X", "transactional ids, partitions held back"

    def glossary(self) -> tuple[str, ...]:
        """Of transactional ids and their producers."""
        return "states of a transactional id", "states of a producer"

    def panels(self) -> list[Panel]:
        """Four panels."""
        return [Panel(number, name) for number, name in enumerate(("ids", "held", "states", "events"), 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view, for every frame."""
        view, now_us = flight.view, flight.now_us
        return {
            "ids": lambda width: TransactionsListing(view, now_us, width),
            "held": lambda width: HeldBackListing(view, now_us, width),
            "states": lambda width: StatesListing(view, width),
            "events": lambda width: TransactionEventsListing(view, width, self.unfolded),
        }

    def arrangement(self, width: int) -> Arrangement:
        """On wide terminals the events are beside the states."""
        top = [[PanelSlot("ids")], [PanelSlot("held")]]
        if width >= WIDEST:
            return [*top, [PanelSlot("states", 3), PanelSlot("events", 2)]]
        return [*top, [PanelSlot("states")], [PanelSlot("events")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The events take the remaining lines."""
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def selected_target(self) -> CommandTarget | None:
        """The producer that runs the selected transactional id."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is None or panel.id != "ids" or panel.selected not in view.transactions:
            return None
        chosen = view.transactions[panel.selected]
        for producer in view.producers.values():
            if transaction_of(view, producer.producer_id) is chosen:
                return CommandTarget("producer", producer.producer)
        return None

    def why_subject(self) -> Subject | None:
        """A partition that is held back, or the selected id."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is not None and panel.id == "held" and panel.selected in view.partitions:
            return Subject("partition", panel.selected)
        if panel is not None and panel.id == "ids" and panel.selected in view.transactions:
            return Subject("transaction", panel.selected)
        return super().why_subject()

    def opened(self, panel: str, key: str) -> None:
        """Open the producer that runs the id, or a partition that is held back."""
        producer = self.selected_target()
        if panel == "held":
            self.console_app.go(partition_place(key))
        elif panel == "ids" and producer is not None:
            self.console_app.go(producer_place(producer.name))
        elif panel == "ids":
            self.console_app.warn(f"no producer of this flight runs {key} now")
