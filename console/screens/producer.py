"""The place of one producer: what it is, its clocks, partitions, batches, errors, transactions and events."""

from typing import Self

from console.app_interface import AppInterface
from console.command_line import PRODUCER, partition_place, producer_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.processes.batches import PART, BatchesListing
from console.presenters.processes.facts import FactsListing
from console.presenters.processes.producer_facts import life_of, producer_facts
from console.presenters.processes.producer_tables import (
    ClocksListing,
    ErrorsListing,
    LastTransactionsListing,
    WrittenListing,
)
from console.screens.flight_screen import WIDEST, FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint

PANELS = ("facts", "clocks", "partitions", "batches", "transactions", "errors", "events")
"""From top to bottom. The one that may be hidden has the last number: a number is that of a panel that is shown."""
TRANSACTIONS = "transactions"


class ProducerScreen(FlightScreen):
    """Facts, clocks, partitions, batches, errors, transactions and events of one producer."""

    AUTO_FOCUS = "#partitions"
    help = "a producer's clocks, partitions, errors, transactions"

    def __init__(self, producer: str) -> None:
        self.shown, self.place = producer, producer_place(producer)
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The screen of `producer settlement-1`."""
        name = place.removeprefix(PRODUCER)
        names = app.flight.names()
        declared = name in names.clients() and name not in names.members()  # a member may have one in its process
        known = declared or name in app.flight.view.producers
        return cls(name) if place.startswith(PRODUCER) and known else None

    def panels(self) -> list[Panel]:
        """Seven panels; that of transactions is shown for a producer with a transactional id."""
        names = (*(name for name in PANELS if name != TRANSACTIONS), TRANSACTIONS)
        panels = [Panel(number, name) for number, name in enumerate(names, 1)]
        panels[-1].display = False
        return panels

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view; no listing before the producer is declared."""
        view, now_us, name = flight.view, flight.now_us, self.shown
        one = view.producers.get(name)
        if one is None:
            return {}
        configs, panel = flight.source.producer_configs, self.board.panels[TRANSACTIONS]
        transactional = bool(life_of(view, one).transactional_id)
        if panel.display != transactional:
            panel.display = transactional
        return {
            "facts": lambda width: FactsListing(producer_facts(view, one, now_us, configs), width, f"producer {name}"),
            "clocks": lambda width: ClocksListing(view, one, now_us, width, configs),
            "partitions": lambda width: WrittenListing(view, one, now_us, width),
            "batches": lambda width: BatchesListing(one, now_us, width),
            "errors": lambda width: ErrorsListing(view, one, width),
            TRANSACTIONS: lambda width: LastTransactionsListing(view, one, now_us, width),
            "events": lambda width: EventLogListing(
                view, width, {name, life_of(view, one).transactional_id or name}, self.unfolded
            ),
        }

    def arrangement(self, width: int) -> Arrangement:
        """One below the other; on wide terminals errors beside the partitions, events beside the transactions."""
        shown = self.board.panels[TRANSACTIONS].display
        names = [name for name in PANELS if shown or name != TRANSACTIONS]
        if width < WIDEST:
            return [[PanelSlot(name)] for name in names]
        top = [[PanelSlot("facts")], [PanelSlot("clocks")], [PanelSlot("partitions", 3), PanelSlot("errors", 2)]]
        top.append([PanelSlot("batches")])
        last = [PanelSlot(TRANSACTIONS, 3), PanelSlot("events", 2)] if shown else [PanelSlot("events")]
        return [*top, last]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """Facts and clocks are firm: a low terminal shows the first facts. The events take the remaining lines."""
        if panel.id in {"facts", "clocks"}:
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def path(self) -> list[str]:
        """Producers have no place that lists them but the overview."""
        return ["overview", "producers", self.shown]

    def selected_target(self) -> CommandTarget | None:
        """The selected partition, else the producer."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is not None and panel.id == "partitions" and panel.selected in view.partitions:
            return CommandTarget("partition", panel.selected)
        return CommandTarget("producer", self.shown) if self.shown in view.producers else None

    def opened(self, panel: str, key: str) -> None:
        """Open a partition, the transactions with its transactional id selected, or the member that it is part of."""
        view, app = self.console_app.flight.view, self.console_app
        one = view.producers.get(self.shown)
        if one is None:
            return
        if panel in {"partitions", "batches"}:
            app.go(partition_place(key.partition(PART)[0]))
        elif panel == "facts":
            facts = producer_facts(view, one, app.flight.now_us, app.flight.source.producer_configs)
            app.follow(next(fact.opens for fact in facts if fact.label == key and fact.opens is not None))
