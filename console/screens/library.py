"""The library: scenarios to fly in the order of the course, recordings to play, compare and delete."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from textual.binding import Binding

from console.app_interface import AppInterface
from console.flight import Flight
from console.presenters.library import (
    AboutListing,
    RecordingsListing,
    ScenariosListing,
    ShelfState,
    about_recording,
    about_scenario,
    key_of,
)
from console.presenters.list_view import Listing
from console.screens.flight_screen import WIDE, FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, PanelSlot, SizeHint

if TYPE_CHECKING:
    from recordings.journal.catalogue import RecordingInfo
    from recordings.scenarios.course import Lesson

LOW_BOARD = 24  # below this height the lesson needs the lines of both lists
IN_USE, NOT_IN_USE = 7, 3  # their lines then
SELECT_FIRST = "select a recording first"
MARK_FIRST = "mark a recording with m, then select another one"


class LibraryScreen(FlightScreen):
    """The library's scenarios with their lessons, and the recordings in a directory and among the samples."""

    AUTO_FOCUS = "#scenarios"
    BINDINGS = [  # noqa: RUF012 - Textual's own way; `console.actions` has them in its table
        Binding("m", "library('mark')", "mark", False, id="library.mark", tooltip="mark a recording to compare"),
        Binding("c", "library('compare')", "compare two", False, id="library.compare", tooltip="the marked recordings"),
        Binding("d", "library('delete')", "delete", False, id="library.delete", tooltip="delete a recording"),
    ]
    in_logs = True
    place, key, help = "library", "H", "scenarios to fly, recordings to play and compare"
    footer_actions: ClassVar[tuple[str, ...]] = (
        *("library.mark", "library.compare", "library.delete", "list.filter", "go.next-panel", "go.back"),
    )

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lessons: tuple[Lesson, ...] = ()
        self.recordings: dict[str, RecordingInfo] = {}
        self._asked: Path | None = None  # the recording that d has been pressed for once
        self._entered = False
        self._used = "scenarios"  # the panel that had the focus last
        super().__init__()

    @property
    def marked(self) -> list[str]:
        """The keys of the marked recordings, kept while other places are shown."""
        return self.console_app.forking.marked

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The library with the recordings of the application's directory."""
        return cls(app.directory) if place == cls.place else None

    def panels(self) -> list[Panel]:
        """Scenarios, recordings, and the lesson of the selected row."""
        return [Panel(number, name) for number, name in enumerate(("scenarios", "recordings", "lesson"), 1)]

    def on_screen_resume(self) -> None:
        """Read both lists again: recordings may have been added or deleted. First, select what is flown."""
        from recordings.scenarios.course import lessons  # noqa: PLC0415 - not needed before the library is opened

        self.lessons = lessons()
        self._find()
        if not self._entered:
            self._entered = True
            self.board.panels["scenarios"].selected = self._flown()
            playing = self._shelf().playing
            if playing is not None and key_of(playing) in self.recordings:
                self.board.panels["recordings"].selected = key_of(playing)
                self.board.panels["recordings"].focus()
        super().on_screen_resume()

    def _find(self) -> None:
        from recordings.journal.catalogue import SAMPLES, find_recordings  # noqa: PLC0415 - as above

        self.recordings = {key_of(one.path): one for one in find_recordings([self.directory, SAMPLES])}
        self.marked[:] = [key for key in self.marked if key in self.recordings]

    def _flown(self) -> str:
        """The scenario of the shown flight."""
        return self.console_app.flight.source.title.partition(" · ")[0]

    def _shelf(self) -> ShelfState:
        flight = self.console_app.flight
        source, played = flight.source, flight.source.origin() if flight.clock.recorded else None
        return ShelfState(
            played.resolve() if isinstance(played, Path) else None,
            Path(source.recording).resolve() if source.recording else None,
            [self.recordings[key].path for key in self.marked if key in self.recordings],  # a frame may precede `_find`
        )

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the lists on disk, not from the flight."""
        flown = "" if flight.clock.recorded else self._flown()
        return {
            "scenarios": lambda width: ScenariosListing(self.lessons, flown, width),
            "recordings": lambda width: RecordingsListing(self.recordings, self.directory, self._shelf(), width),
            "lesson": self._about,
        }

    def arrangement(self, width: int) -> Arrangement:
        """The lesson beside the scenarios on wide terminals."""
        if width >= WIDE:
            return [[PanelSlot("scenarios", 3), PanelSlot("lesson", 2)], [PanelSlot("recordings")]]
        return [[PanelSlot("scenarios")], [PanelSlot("lesson")], [PanelSlot("recordings")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """Recordings are never folded; on a low terminal the lesson has what the panel in use leaves."""
        focused = self.console_app.focused_panel()
        self._used = focused.id or "" if focused is not None else self._used
        most = panel.wanted_height(listing)
        low = self.board.size.height < LOW_BOARD and self.size.width < WIDE
        if low and panel.id != "lesson":
            most = min(most, IN_USE if panel.id == self._used else NOT_IN_USE)
        return SizeHint(most, 3, firm=panel.id == "recordings" or (low and panel.id == self._used))

    def footer_enter(self) -> str:
        """Start a scenario, or play a recording."""
        return "play" if self.board.panels["recordings"].has_focus else "start"

    def path(self) -> list[str]:
        """The library belongs to no flight."""
        return [self.place]

    def _about(self, width: int) -> AboutListing:
        one = self._recording()
        if one is not None and self.board.panels["recordings"].has_focus:
            return about_recording(one, self._shelf(), width)
        name = self.board.panels["scenarios"].selected
        found = next((lesson for lesson in self.lessons if lesson.name == name), None)
        return about_scenario(found, width) if found is not None else AboutListing("", (), width)

    def _recording(self) -> "RecordingInfo | None":
        """The selected recording."""
        return self.recordings.get(self.board.panels["recordings"].selected)

    # --- acting -----------------------------------------------------------------------------------------------------

    def opened(self, panel: str, key: str) -> None:
        """Fly the scenario, or play the recording."""
        if panel == "scenarios":
            self.console_app.warn(self.console_app.start_scenario(key))
        elif panel == "recordings":
            self.console_app.warn(self.console_app.play_recording(self.recordings[key].path))

    def change_library(self, what: str) -> str:
        """Mark, compare or delete recordings; returns the reason of a refusal."""
        refusal = {"mark": self._mark, "compare": self._compare, "delete": self._delete}[what]()
        self.paint()
        return refusal

    def _mark(self) -> str:
        one = self._recording()
        if one is None or not self.board.panels["recordings"].has_focus:
            return SELECT_FIRST
        key = key_of(one.path)
        if key in self.marked:
            self.marked.remove(key)
        elif len(self.marked) == 2:
            return "A and B are marked: m on one of them removes its mark"
        else:
            self.marked.append(key)
        return ""

    def _compare(self) -> str:
        """Read the marked recordings beside each other, or the marked one beside the selected one."""
        chosen, one = [self.recordings[key].path for key in self.marked], self._recording()
        if len(chosen) == 1 and one is not None and one.path not in chosen:
            chosen.append(one.path)
        return self.console_app.forking.compare(*chosen) if len(chosen) == 2 else MARK_FIRST

    def _delete(self) -> str:
        """Delete the selected recording; the first press only warns."""
        from recordings.bounded_files import RecordingError  # noqa: PLC0415 - with the catalogue
        from recordings.journal.catalogue import delete_recording  # noqa: PLC0415

        one, shelf = self._recording(), self._shelf()
        if one is None or not self.board.panels["recordings"].has_focus:
            return SELECT_FIRST
        if one.path in {shelf.writing, shelf.playing}:
            return f"{one.path.name} is being {'written' if one.path == shelf.writing else 'played'}: it is not deleted"
        if self._asked != one.path:
            self._asked = one.path
            open_end = "" if one.closed else "it has no end, another process may still write it; "
            return f"{open_end}d again deletes {one.path}"
        self._asked = None
        try:
            delete_recording(one.path)
        except RecordingError as error:
            return str(error)
        finally:
            self._find()
        self.notify(f"deleted: {one.path}", timeout=4)
        return ""
