"""The library: scenarios to start, recordings to play."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

from console.app_interface import AppInterface
from console.flight import Flight
from console.presenters.library import (
    AboutListing,
    RecordingsListing,
    ScenariosListing,
    about_recording,
    about_scenario,
)
from console.presenters.list_view import Listing
from console.screens.flight_screen import WIDE, FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, PanelSlot, SizeHint

if TYPE_CHECKING:
    from recordings.journal.catalogue import RecordingInfo
    from recordings.scenarios.loader import ScenarioInfo


class LibraryScreen(FlightScreen):
    """The library's scenarios with their lessons, and the recordings in a directory and among the samples."""

    AUTO_FOCUS = "#scenarios"
    place, key, help = "library", "H", "scenarios to start and recordings to play"

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.scenarios: list[ScenarioInfo] = []
        self.recordings: list[RecordingInfo] = []
        super().__init__()

    @classmethod
    def for_place(cls, place: str, app: AppInterface) -> Self | None:
        """The library with the recordings of the application's directory."""
        return cls(app.directory) if place == cls.place else None

    def panels(self) -> list[Panel]:
        """Scenarios, recordings, and the lesson of the selected row."""
        return [Panel(number, name) for number, name in enumerate(("scenarios", "recordings", "lesson"), 1)]

    def on_screen_resume(self) -> None:
        """Read both lists again: recordings may have been added or deleted."""
        from recordings.journal.catalogue import SAMPLES, find_recordings  # noqa: PLC0415
        from recordings.scenarios.loader import list_scenarios  # noqa: PLC0415 - not needed before the library is opened

        self.scenarios = list_scenarios()
        self.recordings = find_recordings([self.directory, SAMPLES])
        super().on_screen_resume()

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the lists on disk, not from the flight."""
        del flight
        return {
            "scenarios": lambda width: ScenariosListing(self.scenarios, width),
            "recordings": lambda width: RecordingsListing(self.recordings, self.directory, width),
            "lesson": self._about,
        }

    def arrangement(self, width: int) -> Arrangement:
        """The lesson beside the scenarios on wide terminals."""
        if width >= WIDE:
            return [[PanelSlot("scenarios", 3), PanelSlot("lesson", 2)], [PanelSlot("recordings")]]
        return [[PanelSlot("scenarios")], [PanelSlot("lesson")], [PanelSlot("recordings")]]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """Recordings are never folded; the lesson gets the lines that its text needs."""
        return SizeHint(panel.wanted_height(listing), 3, firm=panel.id == "recordings")

    def path(self) -> list[str]:
        """The library belongs to no flight."""
        return [self.place]

    def opened(self, panel: str, key: str) -> None:
        """Start the scenario, or play the recording."""
        if panel == "scenarios":
            self.console_app.warn(self.console_app.start_scenario(key))
        elif panel == "recordings":
            self.console_app.warn(self.console_app.play_recording(self.recordings[int(key)].path))

    def _about(self, width: int) -> AboutListing:
        recordings = self.board.panels["recordings"]
        if recordings.has_focus and recordings.selected:
            return about_recording(self.recordings[int(recordings.selected)], width)
        name = self.board.panels["scenarios"].selected
        found = next((scenario for scenario in self.scenarios if scenario["name"] == name), None)
        return about_scenario(found, width) if found is not None else AboutListing("", (), width)
