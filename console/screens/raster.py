"""Ownership over time: the raster of a group with its members' poll loops on the same axis."""

from typing import Self

from cluster.view.state import GroupView
from console.app_interface import AppInterface
from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.raster.axis import ZOOMS, TimeAxis, axis_for
from console.presenters.raster.grid import RasterGrid
from console.presenters.raster.lanes import RasterLanesListing
from console.presenters.raster.listing import (
    LEGEND,
    CellCursor,
    CellListing,
    RasterListing,
    axis_width,
    cell_words,
    label_width,
)
from console.presenters.styled_text import MUTED, Line, line
from console.screens.flight_screen import NO_RASTER, FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, PanelSlot, SizeHint
from console.widgets.raster_panel import RasterPanel

CELL_LINES = 3  # title, the cell in words, the legend
AROUND = 4  # title, times, barriers and cost around the rows
FEWEST = 6
TALL_BOARD = 24


class RasterScreen(FlightScreen):
    """One group's raster; its axis follows the flight until a cell is chosen outside it."""

    AUTO_FOCUS = "#raster"
    place, key, help = "raster", "O", "ownership over time: partitions × time"

    def __init__(self, group: str = "") -> None:
        self.group = group
        self._span_us = ZOOMS[0]
        self._at_us: int | None = None  # the chosen cell; None follows the flight
        self._last_us: int | None = None  # the axis ends here; None follows the flight
        self._axis = TimeAxis(0, 1, 1, 0)
        self._grid: RasterGrid | None = None
        self._partition = ""  # the first one of the selected row
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The raster of the group that is shown or selected, else of the first one."""
        if place != cls.place:
            return None
        view, target = app.flight.view, app.selected_target()
        if target is not None and target.kind == "group":
            return cls(target.name)
        if target is not None and target.name in view.members:
            return cls(view.members[target.name].group)
        return cls(app.place() if app.place() in view.groups else "")

    def panels(self) -> list[Panel]:
        """The raster, the poll loops, the cell."""
        return [RasterPanel(1, "raster"), Panel(2, "lanes"), Panel(3, "cell")]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view, on one axis."""
        group = self._group(flight)
        if group is None:
            return {}
        panel, now_us = self.board.panels["raster"], flight.now_us
        self._axis = axis = axis_for(
            now_us, axis_width(panel.size.width or self.size.width), self._span_us, self._last_us
        )
        at_us = now_us if self._at_us is None else min(self._at_us, now_us)
        view, room = flight.view, self._room(flight, group)
        raster: list[RasterListing] = []

        def make(width: int) -> Listing:
            listing = RasterListing(view, group, axis, width, room=room, grid=self._grid)
            self._grid = listing.grid
            listing.cursor = CellCursor(self._keep_row(panel, listing.grid), at_us)
            raster.append(listing)
            return listing

        return {
            "raster": make,
            "lanes": lambda width: RasterLanesListing(view, group, axis, width),
            "cell": lambda width: CellListing(self._lines(self._words(group, raster[0])), width),
        }

    def _lines(self, words: Line) -> list[Line]:
        """The lines of the cell's panel; a low terminal has no room for the legend."""
        return [words, LEGEND] if self.board.size.height >= TALL_BOARD else [words]

    def _keep_row(self, panel: Panel, grid: RasterGrid) -> str:
        """The selected row; where rows are shared otherwise than before, the one that has its first partition."""
        row = grid.rows.get(panel.selected)
        if row is None:
            having = (one for one in grid.rows.values() if self._partition in one.partitions)
            row = next(having, next(iter(grid.rows.values()), None))
        if row is None:
            return ""
        panel.selected, self._partition = row.key, row.partitions[0]
        return row.key

    @staticmethod
    def _words(group: GroupView, raster: RasterListing) -> Line:
        cursor = raster.cursor
        row = raster.grid.rows.get(cursor.key) if cursor is not None else None
        if cursor is None or row is None:
            return line(("the group reads no topic", MUTED))
        return cell_words(group, row, raster.axis, cursor.at_us)

    def _group(self, flight: Flight) -> GroupView | None:
        self.group = self.group or next(iter(flight.view.groups), "")
        return flight.view.groups.get(self.group)

    def _room(self, flight: Flight, group: GroupView) -> int:
        """The rows of partitions: all partitions if they fit, else what the poll loops leave."""
        height = self.board.size.height - (CELL_LINES if self.board.size.height >= TALL_BOARD else 2) - AROUND
        partitions = sum(len(flight.view.partitions_by_topic.get(topic, ())) for topic in group.topics)
        if partitions < height:
            return partitions
        members = sum(1 for member in flight.view.members.values() if member.group == group.group)
        return max(FEWEST, height - 1 - min(members, height // 4))

    def arrangement(self, width: int) -> Arrangement:
        """One below the other: they share the axis."""
        del width
        return [[PanelSlot("raster")], [PanelSlot("lanes")], [PanelSlot("cell")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The words of the cell are firm."""
        if panel.id == "cell":
            return SizeHint(panel.wanted_height(listing), firm=True)
        return SizeHint(panel.wanted_height(listing), AROUND + 2 if panel.id == "raster" else 3)

    def path(self) -> list[str]:
        """Below the group."""
        return ["overview", self.group, "ownership over time"]

    def selected_target(self) -> CommandTarget | None:
        """The selected member, or the group."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is not None and panel.id == "lanes" and panel.selected in view.members:
            return CommandTarget("member", panel.selected)
        return CommandTarget("group", self.group) if self.group in view.groups else None

    def opened(self, panel: str, key: str) -> None:
        """Open the fault menu of a member, or the group."""
        del key
        if panel == "lanes":
            self.console_app.action_fault()
        elif panel == "raster" and self.group:
            self.console_app.go(self.group)

    # --- time -------------------------------------------------------------------------------------------------------

    def change_raster(self, what: str) -> str:
        """Show another span of time, or the next group."""
        if self._group(self.console_app.flight) is None:
            return NO_RASTER
        {"zoom": self._zoom, "group": self._next_group}[what]()
        self.paint()
        return ""

    def _zoom(self) -> None:
        """The next shorter span that the flight is longer than, around the chosen cell; then the whole flight."""
        now_us = self.console_app.flight.now_us
        shorter = [span_us for span_us in ZOOMS[1:] if span_us < (self._span_us or now_us + 1)]
        self._span_us = next((span_us for span_us in shorter if span_us < now_us), ZOOMS[0])
        self._last_us = None if self._at_us is None else min(now_us, self._at_us + self._span_us // 2)

    def _next_group(self) -> None:
        names = list(self.console_app.flight.view.groups)
        self.group = names[(names.index(self.group) + 1) % len(names)]

    def on_raster_panel_shifted(self, message: RasterPanel.Shifted) -> None:
        """Choose the cell before or after."""
        now_us = self.console_app.flight.now_us
        at_us = now_us if self._at_us is None else self._at_us
        self._choose(at_us + message.by * self._axis.cell_us)

    def on_raster_panel_pointed(self, message: RasterPanel.Pointed) -> None:
        """Choose the cell under the mouse."""
        column = message.x - 2 - label_width(self.board.panels["raster"].size.width)
        if 0 <= column < self._axis.known:
            self._choose(self._axis.start_of(column))

    def _choose(self, at_us: int) -> None:
        """Choose a cell; the axis moves if it lies outside."""
        now_us, axis = self.console_app.flight.now_us, self._axis
        at_us = max(0, at_us)
        if at_us < axis.first_us:
            self._last_us = min(now_us, at_us + (axis.width - 1) * axis.cell_us)
        elif at_us >= axis.end_us:
            self._last_us = at_us
        self._at_us = at_us // axis.cell_us * axis.cell_us
        if at_us >= now_us // axis.cell_us * axis.cell_us:
            self._at_us = self._last_us = None
        self.paint()
