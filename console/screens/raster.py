"""Ownership over time: the raster of a group with its members' poll loops on the same axis."""

from typing import ClassVar, Self

from cluster.view.state import ClusterView, GroupView
from console.app_interface import AppInterface
from console.command_line import member_place
from console.flight import Flight
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing, NotThere
from console.presenters.overview import NO_GROUPS
from console.presenters.raster.axis import ZOOMS, TimeAxis, axis_for
from console.presenters.raster.comparison import difference_words, most_unowned_us
from console.presenters.raster.files import SaveError, save, stem_of
from console.presenters.raster.grid import RasterGrid
from console.presenters.raster.lanes import RasterLanesListing
from console.presenters.raster.listing import (
    LEGEND,
    LINES_AROUND,
    CellCursor,
    CellListing,
    RasterListing,
    axis_width,
    cell_words,
    label_width,
)
from console.presenters.raster.picture import ROWS, WIDTH, Picture, RasterSubject, svg_of, text_of
from console.presenters.styled_text import MUTED, Line, line
from console.screens.flight_screen import FlightScreen, ListFactory
from console.themes.palettes import PRINT_HUES
from console.widgets.cell_panel import RasterPanel
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, PanelSlot, SizeHint

CELL_LINES = 3  # title, the cell in words, the legend
FEWEST = 6
TALL_BOARD = 24
NO_OWNERSHIP = "there is no ownership to show at this instant"
TITLES = {"raster": "ownership over time", "lanes": RasterLanesListing.title}


class RasterScreen(FlightScreen):
    """One group's raster; its axis follows the flight until a cell is chosen outside it."""

    AUTO_FOCUS = "#raster"
    place, key, help = "raster", "O", "ownership over time: partitions × time"
    footer_actions: ClassVar[tuple[str, ...]] = (
        *("time.pause", "raster.zoom", "raster.beside", "raster.save", "raster.group", "act.fault", "act.fork"),
        *("time.previous", "time.next", "go.back"),
    )

    def __init__(self, group: str = "") -> None:
        self.group, self.other = group, ""
        self._span_us = ZOOMS[0]
        self._at_us: int | None = None  # the chosen cell; None follows the flight
        self._last_us: int | None = None  # the axis ends here; None follows the flight
        self._axis = TimeAxis(0, 1, 1, 0)
        self._grids: dict[str, RasterGrid] = {}
        self._partition = ""  # the first one of the selected row
        self._first: dict[str | None, str] = {}  # panel → its first row, as long as that is selected
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
        """The raster, that of another group, the poll loops, the cell."""
        panels = [RasterPanel(1, "raster"), RasterPanel(2, "beside"), Panel(3, "lanes"), Panel(4, "cell")]
        panels[1].display = False
        return panels

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the view, on one axis."""
        subjects = self.subjects()
        if not subjects:
            return {}
        panel, now_us = self.board.panels["raster"], self.now_us()
        width = axis_width(panel.size.width or self.size.width)
        self._axis = axis = axis_for(now_us, width, self._span_us, self._last_us)
        made: dict[str, RasterListing] = {}

        def raster(name: str, subject: RasterSubject) -> ListFactory:
            def make(width: int) -> Listing:
                made[name] = listing = self.raster(name, subject, width)
                self._grids[name] = listing.grid
                key = self._keep_row(self.board.panels[name], listing.grid)
                listing.cursor = CellCursor(key if name == self._pointed else "", self.cursor_us())
                return listing

            return make

        factories = {name: raster(name, one) for name, one in zip(("raster", "beside"), subjects, strict=False)}
        if len(subjects) == 1:
            factories["lanes"] = lambda width: RasterLanesListing(flight.view, subjects[0].group, axis, width)
        factories["cell"] = lambda width: CellListing(self._lines(made, now_us), width)
        return factories

    def _not_there(self, name: str, width: int) -> NotThere:
        """Without a group there is no owner, at no instant."""
        found, view = super()._not_there(TITLES.get(name, name), width), self.console_app.flight.view
        if view.brokers and not view.groups:
            found.vacant = NO_GROUPS
        return found

    def subjects(self) -> list[RasterSubject]:
        """What is drawn, each in a panel: the group, and the one that it is compared with."""
        flight = self.console_app.flight
        shown = [group for group in (self._group(flight), self._other(flight)) if group is not None]
        return [RasterSubject(flight.view, group, group.group) for group in shown]

    def now_us(self) -> int:
        """The instant at which what is drawn ends."""
        return self.console_app.flight.now_us

    def cursor_us(self) -> int:
        """The instant of the chosen cell."""
        return self.now_us() if self._at_us is None else min(self._at_us, self.now_us())

    def raster(self, name: str, subject: RasterSubject, width: int) -> RasterListing:
        """The raster of a subject in a panel."""
        shown = [one.group for one in self.subjects()]
        return RasterListing(
            subject.view,
            subject.group,
            self._axis,
            width,
            room=self._room(subject.view, subject.group),
            grid=self._grids.get(name),
            most_us=most_unowned_us(shown, self.now_us()),
        )

    def _lines(self, made: dict[str, RasterListing], now_us: int) -> list[Line]:
        """The chosen cell; where two groups part, or the legend, for which a low terminal has no room."""
        listing = made.get(self._pointed, made["raster"])
        lines = [self._words(listing.group, listing)]
        if "beside" in made:
            one, other = made["raster"].group, made["beside"].group
            lines.append(difference_words((one.group, other.group), one.history, other.history, now_us))
        elif self.board.size.height >= TALL_BOARD:
            lines.append(LEGEND)
        return lines

    @property
    def _pointed(self) -> str:
        """The panel whose cell is chosen."""
        return "beside" if self.board.panels["beside"].has_focus else "raster"

    def _keep_row(self, panel: Panel, grid: RasterGrid) -> str:
        """The selected row; where rows are shared otherwise than before, the one that has its first partition."""
        row = grid.rows.get(panel.selected)
        if panel.selected == self._first.get(panel.id, ""):  # no other row was chosen yet: what matters most is first
            row = next(iter(grid.rows.values()), None)
            self._first[panel.id] = row.key if row is not None else ""
        elif row is None:
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

    def _room(self, view: ClusterView, group: GroupView) -> int:
        """The rows of partitions: all partitions if they fit or are few, else what the poll loops leave."""
        partitions = sum(len(view.partitions_by_topic.get(topic, ())) for topic in group.topics)
        if partitions <= ROWS:  # shared rows hide the owners' letters: these scroll
            return partitions
        if self.other:
            return max(FEWEST, (self.board.size.height - CELL_LINES) // 2 - LINES_AROUND)
        height = self.board.size.height - (CELL_LINES if self.board.size.height >= TALL_BOARD else 2) - LINES_AROUND
        if partitions < height:
            return partitions
        members = sum(1 for member in view.members.values() if member.group == group.group)
        return max(FEWEST, height - 1 - min(members, height // 4))

    def arrangement(self, width: int) -> Arrangement:
        """One below the other: they share the axis."""
        del width
        below = "beside" if self.other else "lanes"
        return [[PanelSlot("raster")], [PanelSlot(below)], [PanelSlot("cell")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The words of the cell are firm."""
        if panel.id == "cell":
            return SizeHint(panel.wanted_height(listing), firm=True)
        return SizeHint(panel.wanted_height(listing), 3 if panel.id == "lanes" else LINES_AROUND + 2)

    def path(self) -> list[str]:
        """Below the group."""
        groups = ", ".join(name for name in (self.group, self.other) if name)
        return ["overview", *([groups] if groups else []), "ownership over time"]

    def selected_target(self) -> CommandTarget | None:
        """The selected member, or the group."""
        panel, view = self.console_app.focused_panel(), self.console_app.flight.view
        if panel is not None and panel.id == "lanes" and panel.selected in view.members:
            return CommandTarget("member", panel.selected)
        return CommandTarget("group", self.group) if self.group in view.groups else None

    def opened(self, panel: str, key: str) -> None:
        """Open a member, or the group."""
        if panel == "lanes":
            self.console_app.go(member_place(key))
        elif self.group:
            self.console_app.go(self.other if panel == "beside" else self.group)

    # --- time -------------------------------------------------------------------------------------------------------

    def change_raster(self, what: str) -> str:
        """Show another span of time, or the next group."""
        if not self.subjects():
            return NO_OWNERSHIP
        refusal = {"zoom": self._zoom, "group": self._next_group, "beside": self._beside, "save": self._save}[what]()
        self.paint()
        return refusal

    def _zoom(self) -> str:
        """The next shorter span that the flight is longer than, around the chosen cell; then the whole flight."""
        now_us = self.now_us()
        shorter = [span_us for span_us in ZOOMS[1:] if span_us < (self._span_us or now_us + 1)]
        self._span_us = next((span_us for span_us in shorter if span_us < now_us), ZOOMS[0])
        self._last_us = None if self._at_us is None else min(now_us, self._at_us + self._span_us // 2)
        return ""

    def _next_group(self) -> str:
        names = list(self.console_app.flight.view.groups)
        self.group = names[(names.index(self.group) + 1) % len(names)]
        self._compare_with("")
        return ""

    def _beside(self) -> str:
        """The next other group, and after the last one none."""
        names = [name for name in self.console_app.flight.view.groups if name != self.group]
        if not names:
            return "the flight has one group: there is none to compare with"
        places = ["", *names]
        self._compare_with(places[(places.index(self.other) + 1) % len(places) if self.other in places else 0])
        return ""

    def _compare_with(self, other: str) -> None:
        panels = self.board.panels
        self.other = other
        panels["beside"].display, panels["lanes"].display = bool(other), not other
        if not any(panel.has_focus for panel in panels.values() if panel.display):
            panels["raster"].focus()

    def _other(self, flight: Flight) -> GroupView | None:
        return flight.view.groups.get(self.other) if self.other else None

    def _save(self) -> str:
        """Save what is shown as text and as SVG, beside the recordings."""
        axis = axis_for(self.now_us(), axis_width(WIDTH), self._span_us, self._last_us)
        picture = self.picture(axis)
        scenario = picture.title.partition(" · ")[0]
        stem = stem_of(scenario, *(subject.name for subject in picture.subjects), at_us=self.now_us())
        try:
            paths = save(
                self.console_app.directory, stem, {".txt": text_of(picture), ".svg": svg_of(picture, PRINT_HUES)}
            )
        except SaveError as error:
            return str(error)
        self.notify(f"saved: {' and '.join(str(path) for path in paths)}", timeout=6)
        return ""

    def picture(self, axis: TimeAxis) -> Picture:
        """What is saved."""
        return Picture(self.console_app.flight.source.title, self.subjects(), axis)

    def on_cell_panel_shifted(self, message: RasterPanel.Shifted) -> None:
        """Choose the cell before or after."""
        at_us = self.now_us() if self._at_us is None else self._at_us
        self.choose(at_us + message.by * self._axis.cell_us)

    def on_cell_panel_pointed(self, message: RasterPanel.Pointed) -> None:
        """Choose the cell under the mouse."""
        column = message.x - 2 - label_width(self.board.panels["raster"].size.width)
        if 0 <= column < self._axis.known:
            self.choose(self._axis.start_of(column))

    def choose(self, at_us: int) -> None:
        """Choose a cell; the axis moves if it lies outside."""
        now_us, axis = self.now_us(), self._axis
        at_us = max(0, at_us)
        if at_us < axis.first_us:
            self._last_us = min(now_us, at_us + (axis.width - 1) * axis.cell_us)
        elif at_us >= axis.end_us:
            self._last_us = at_us
        self._at_us = at_us // axis.cell_us * axis.cell_us
        if at_us >= now_us // axis.cell_us * axis.cell_us:
            self._at_us = self._last_us = None
        self.paint()
