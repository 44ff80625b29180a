"""The screen of all brokers: their processes and shares, and the links between processes, edited in place."""

from cluster.commands import undo_of
from console.command_line import broker_place, member_place, producer_place
from console.flight import Flight
from console.presenters.event_log import EventLogListing
from console.presenters.fault_menu import CommandTarget, healing_of
from console.presenters.list_view import Listing
from console.presenters.topology.brokers import BrokersTable
from console.presenters.topology.links import ROW, LinkListing, LinkMatrixListing, Links
from console.presenters.why.answers import Subject
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.cell_panel import CellPanel, LinkPanel
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, SizeHint

CUT = "cut {one} {other} for 30s"


class BrokersScreen(FlightScreen):
    """Every broker, the links of all processes with the brokers, the chosen link, and events."""

    AUTO_FOCUS = "#brokers"
    place, key, help = "brokers", "B", "brokers and links: what each leads, which link is cut"
    places_inside = {"links": "links"}  # noqa: RUF012 - as in the base class

    def __init__(self) -> None:
        self.column = 0  # of the chosen link: the place of a broker, ROW for the name of the row
        self._broker = ""  # selected when the screen was painted last
        super().__init__()

    def panels(self) -> list[Panel]:
        """Four panels."""
        return [Panel(1, "brokers"), LinkPanel(2, "links"), Panel(3, "link"), Panel(4, "events")]

    def paint(self, shares: int = 0, *, bars: bool = True) -> None:
        """Another selected broker selects its row of the matrix; until then that is the first with a fault."""
        panels = self.board.panels
        selected = panels["brokers"].selected
        if panels["brokers"].has_focus and self._broker not in {"", selected}:
            panels["links"].selected = selected
        self._broker = selected
        super().paint(shares, bars=bars)

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view, for every frame."""
        view, now_us, spec = flight.view, flight.now_us, flight.source.spec
        row = self.board.panels["links"].selected
        one, other = self._ends()
        subjects = {f"broker-{broker}" for broker in view.brokers}
        return {
            "brokers": lambda width: BrokersTable(view, now_us, width),
            "links": lambda width: LinkMatrixListing(view, spec, width, row, self.column),
            "link": lambda width: LinkListing(view, spec, one, other, now_us, width),
            "events": lambda width: EventLogListing(view, width, subjects, self.unfolded),
        }

    def _brokers(self) -> list[str]:
        return [f"broker-{number}" for number in sorted(self.console_app.flight.view.brokers)]

    def _ends(self) -> tuple[str, str]:
        """The row's process and the column's broker; the same one twice, or none, where no link is chosen."""
        brokers, one = self._brokers(), self.board.panels["links"].selected
        return one, brokers[self.column] if 0 <= self.column < len(brokers) else ""

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The chosen link is firm; the events take the remaining lines."""
        if panel.id == "link":
            return SizeHint(panel.wanted_height(listing), firm=True)
        if panel.id == "events":
            return SizeHint(ALL_THERE_IS, 3)
        return super().size_hint(panel, listing)

    def selected_target(self) -> CommandTarget | None:
        """The chosen link, the process of its row, or the selected broker."""
        panel = self.console_app.focused_panel()
        if panel is not None and panel.id in {"links", "link"}:
            one, other = self._ends()
            if one and other and one != other:
                return CommandTarget("link", f"{one} {other}")
            return self._process(one)
        broker = self.board.panels["brokers"].selected
        return CommandTarget("broker", broker) if broker else None

    def _process(self, name: str) -> CommandTarget | None:
        view = self.console_app.flight.view
        kinds = {"broker": self._brokers(), "member": view.members, "producer": view.producers}
        return next((CommandTarget(kind, name) for kind, names in kinds.items() if name in names), None)

    def why_subject(self) -> Subject | None:
        """The selected broker, or the process of the chosen link's row."""
        target = self.selected_target()
        if target is not None and target.kind == "link":
            target = self._process(target.name.partition(" ")[0])
        return Subject(*target) if target is not None else None

    def opened(self, panel: str, key: str) -> None:
        """Open a process, the fault menu of a link, or the command that ends a fault."""
        one, other = self._ends()
        if panel == "brokers":
            self.console_app.go(broker_place(key))
        elif panel == "links" and other and one != other:
            self.console_app.action_fault()
        elif panel == "links" or (panel == "link" and not key.isdecimal()):
            self._open_process(one)
        elif panel == "link":
            fault = self.console_app.flight.view.faults.get(int(key))
            ending = undo_of(fault.kind, fault.targets) if fault is not None else ""
            if ending:
                self.console_app.open_line(":", ending)

    def _open_process(self, name: str) -> None:
        view, go = self.console_app.flight.view, self.console_app.go
        if name in self._brokers():
            go(broker_place(name))
        else:
            go(member_place(name) if name in view.members else producer_place(name))

    def action_edit_link(self) -> None:
        """Open the command line with the command that ends the chosen link's fault, or that cuts the link."""
        one, other = self._ends()
        if not one or not other or one == other:
            self.console_app.warn("select a link first: ← → choose its broker")
            return
        flight = self.console_app.flight
        faults = Links(flight.view, flight.source.spec).on_link(one, other)
        if faults:
            self.console_app.open_line(":", healing_of(one, other, faults))
        else:
            self.console_app.open_line(":", CUT.format(one=one, other=other))

    def on_cell_panel_shifted(self, message: CellPanel.Shifted) -> None:
        """Choose another column."""
        self.column = max(ROW, min(len(self._brokers()) - 1, self.column + message.by))
        self.paint()

    def on_cell_panel_pointed(self, message: CellPanel.Pointed) -> None:
        """Choose the column under the mouse."""
        panel, flight = self.board.panels["links"], self.console_app.flight
        listing = LinkMatrixListing(flight.view, flight.source.spec, panel.size.width, panel.selected, self.column)
        column = listing.column_at(message.x)
        if column is not None:
            self.column = column
            self.paint()
