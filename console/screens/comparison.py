"""Two flights beside each other: the verdict, both rasters on one axis, and the bill as it adds up at the cursor."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from console.app_interface import AppInterface
from console.flight import Flight
from console.forking.fork_line import NO_COMPARISON
from console.presenters.comparing.bill import BillListing
from console.presenters.comparing.raster import ComparedRasterListing, most_lag_us
from console.presenters.comparing.verdict import (
    NoComparisonListing,
    VerdictListing,
    given_words,
    parting_us,
    parting_words,
    verdict_words,
)
from console.presenters.fault_menu import CommandTarget
from console.presenters.list_view import Listing
from console.presenters.raster.axis import TimeAxis
from console.presenters.raster.comparison import most_unowned_us
from console.presenters.raster.picture import Picture, RasterSubject
from console.screens.flight_screen import ListFactory
from console.screens.raster import RasterScreen
from console.widgets.cell_panel import RasterPanel
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, PanelSlot, SizeHint

if TYPE_CHECKING:
    from recordings.comparison.course import Course
    from recordings.flights.beside import FlightsBeside

ROOM, LOW_ROOM = 12, 2  # rows of partitions: at most, and at least; more of them share rows
LOW_AROUND, AROUND = 4, 5  # title, times, barriers and cost around a raster's rows; on a higher board the lag
LOW_BOARD = 28  # below this height the bill needs the lines of the lag
LOW_VERDICT, VERDICT = 3, 6
LOW_BILL, BILL = 4, 7


class ComparisonScreen(RasterScreen):
    """A flight above the other one; the cursor of one axis of time moves both, and the bill."""

    place, key, help = "comparison", "D", "two flights beside each other, and what each costs"
    footer_actions: ClassVar[tuple[str, ...]] = (
        *(
            "comparison.swap",
            "comparison.divergence",
            "comparison.open",
            "comparison.keep",
            "raster.zoom",
            "raster.save",
        ),
        *("act.fork", "go.back"),
    )

    def __init__(self, beside: "FlightsBeside | None") -> None:
        self.beside = beside
        self._swapped = False
        self._pair = 0
        super().__init__()
        self._show_panels()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The last comparison; empty before there is one."""
        return cls(app.forking.beside) if place == cls.place else None

    def panels(self) -> list[Panel]:
        """The verdict, both rasters, the bill."""
        return [Panel(1, "verdict"), RasterPanel(2, "raster"), RasterPanel(3, "beside"), Panel(4, "bill")]

    # --- what is compared -------------------------------------------------------------------------------------------

    def show(self, beside: "FlightsBeside") -> None:
        """Show another comparison."""
        self.beside, self._pair, self._at_us, self._last_us = beside, 0, None, None
        self._grids.clear()
        self._show_panels()
        self.paint()

    def _show_panels(self) -> None:
        """Without a comparison there is one panel, which says so."""
        for name, panel in self.board.panels.items():
            panel.display = self.beside is not None or name == "verdict"

    def _courses(self) -> "list[Course]":
        """Above and below."""
        if self.beside is None:
            return []
        diff = self.beside.diff
        return [diff.b.course, diff.a.course] if self._swapped else [diff.a.course, diff.b.course]

    def _pairs(self) -> list[tuple[str, str]]:
        from recordings.comparison.bill import Scope  # noqa: PLC0415 - imported with the comparison

        return [] if self.beside is None else self.beside.diff.bills.pairs[Scope.GROUP]

    def subjects(self) -> list[RasterSubject]:
        """The groups of both flights that are compared with each other."""
        if self.beside is None or not self._pairs():
            return []
        diff, names = self.beside.diff, self._pairs()[self._pair % len(self._pairs())]
        shown = []
        for side, name in zip((diff.a, diff.b), names, strict=True):
            if side.course.detail is not None and name in side.course.detail.view.groups:
                view = side.course.detail.view
                shown.append(RasterSubject(view, view.groups[name], f"{side.label}: {name}"))
        return shown[::-1] if self._swapped else shown

    def now_us(self) -> int:
        """The end of the comparison."""
        return self.beside.diff.until_us if self.beside is not None else 0

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the comparison alone; the flight goes on elsewhere."""
        beside = self.beside
        if beside is None:
            under_way = self.console_app.forking.under_way
            return {"verdict": lambda width: NoComparisonListing(width, under_way=under_way)}
        factories = super().list_factories(flight)
        factories = {name: make for name, make in factories.items() if name in {"raster", "beside"}}
        key = self.console_app.keys_by_action()["comparison.divergence"]
        return {
            "verdict": lambda width: VerdictListing(beside.diff, beside.notes, key, width),
            **factories,
            "bill": lambda width: BillListing(beside.diff, self.cursor_us(), width),
        }

    def raster(self, name: str, subject: RasterSubject, width: int) -> ComparedRasterListing:
        """A flight's raster, both with the same heights of cost and lag."""
        subjects, courses = self.subjects(), self._courses()
        samples = [course.detail.samples for course in courses if course.detail is not None]
        lags = [most_lag_us(each, one.group.group) for each, one in zip(samples, subjects, strict=True)]
        listing = ComparedRasterListing(
            subject,
            self._axis,
            width,
            room=self._rows(),
            grid=self._grids.get(name),
            most_us=most_unowned_us([one.group for one in subjects], self.now_us()),
            samples=samples[name == "beside"],
            most_lag_us=0 if self._low else max(lags),
        )
        listing.parting_us = parting_us(self.beside.diff) if self.beside is not None else None
        return listing

    def _rows(self) -> int:
        """The rows of partitions of each raster."""
        verdict, bill, around = (LOW_VERDICT, LOW_BILL, LOW_AROUND) if self._low else (VERDICT, BILL, AROUND)
        return min(ROOM, max(LOW_ROOM, (self.board.size.height - verdict - bill) // 2 - around))

    @property
    def _low(self) -> bool:
        return self.board.size.height < LOW_BOARD

    # --- the screen -------------------------------------------------------------------------------------------------

    def arrangement(self, width: int) -> Arrangement:
        """From the verdict down to the bill."""
        del width
        return [[PanelSlot(name)] for name, panel in self.board.panels.items() if panel.display]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """The verdict and the rasters are firm; the bill has what is left."""
        if panel.id == "verdict":
            most = LOW_VERDICT if self._low else VERDICT
            return SizeHint(min(most, panel.wanted_height(listing)), firm=True)
        return SizeHint(panel.wanted_height(listing), LOW_BILL, firm=panel.id != "bill")

    def path(self) -> list[str]:
        """Both flights by their names."""
        if self.beside is None:
            return ["overview", self.place]
        return ["overview", self.place, f"{self.beside.diff.a.label} and {self.beside.diff.b.label}"]

    def selected_target(self) -> CommandTarget | None:
        """No fault applies to a flight that is over."""
        return None

    def opened(self, panel: str, key: str) -> None:
        """Open the flight below as the shown one."""
        del key
        if panel in {"raster", "beside"}:
            self.console_app.warn(self.change_comparison("open"))

    # --- keys -------------------------------------------------------------------------------------------------------

    def change_comparison(self, what: str) -> str:
        """Swap the flights, go to where they part, keep the second one, or show it."""
        if self.beside is None:
            return NO_COMPARISON
        refusal = {"swap": self._swap, "divergence": self._go_to_parting, "keep": self._keep, "open": self._open}[
            what
        ]()
        self.paint()
        return refusal

    def _swap(self) -> str:
        self._swapped = not self._swapped
        self._grids.clear()
        return ""

    def _beside(self) -> str:
        return self._swap()

    def _next_group(self) -> str:
        self._pair += 1
        self._grids.clear()
        return "" if len(self._pairs()) > 1 else "one group is compared: there is no next one"

    def _go_to_parting(self) -> str:
        assert self.beside is not None
        at_us = parting_us(self.beside.diff)
        if at_us is None:
            return parting_words(self.beside.diff)
        self.choose(at_us)
        return ""

    def _keep(self) -> str:
        try:
            self.notify(self.console_app.forking.keep(self.console_app.directory), timeout=6)
        except OSError as error:
            return f"the fork cannot be kept: {error.strerror or error}"
        return ""

    def _open(self) -> str:
        """Show the flight of the chosen raster."""
        assert self.beside is not None
        chosen = self._courses()[self._pointed == "beside"]
        return self.console_app.play_recording(Path(chosen.recording), "o")

    def picture(self, axis: TimeAxis) -> Picture:
        """Both rasters below the verdict, and the bill at the end."""
        assert self.beside is not None
        diff = self.beside.diff
        course = diff.a.course
        title = f"{course.scenario} · seed {course.settings.seed}"
        above = [verdict_words(diff), parting_words(diff), *given_words(diff)]
        return Picture(title, self.subjects(), axis, above, BillListing(diff, self.now_us(), axis.width).text())
