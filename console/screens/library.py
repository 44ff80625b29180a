"""The hangar: scenarios to start, recordings to play."""

from pathlib import Path
from typing import TYPE_CHECKING

from console.flight import Flight
from console.presenters.library import (
    AboutListing,
    RecordingsListing,
    ScenariosListing,
    about_recording,
    about_scenario,
)
from console.presenters.list_view import Listing
from console.screens.flight_screen import WIDE, FlightScreen, Maker
from console.widgets.panel import Panel
from console.widgets.panel_layout import Arrangement, Place, Wish

if TYPE_CHECKING:
    from recordings.journal.catalogue import RecordingInfo
    from recordings.scenarios.loader import ScenarioInfo


class HangarScreen(FlightScreen):
    """The library with its lessons, and the recordings of a directory beside those that come with Flightdeck."""

    AUTO_FOCUS = "#scenarios"

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.scenarios: list[ScenarioInfo] = []
        self.recordings: list[RecordingInfo] = []
        super().__init__()

    def panels(self) -> list[Panel]:
        """Scenarios, recordings, and the lesson of what is selected."""
        return [Panel(number, name) for number, name in enumerate(("scenarios", "recordings", "lesson"), 1)]

    def on_screen_resume(self) -> None:
        """Look again: recordings come and go."""
        from recordings.journal.catalogue import SAMPLES, find_recordings  # noqa: PLC0415
        from recordings.scenarios.loader import list_scenarios  # noqa: PLC0415 - not needed before the hangar is opened

        self.scenarios = list_scenarios()
        self.recordings = find_recordings([self.directory, SAMPLES])
        super().on_screen_resume()

    def makers(self, flight: Flight) -> dict[str, Maker]:
        """Not from the flight: from what was found."""
        del flight
        return {
            "scenarios": lambda width: ScenariosListing(self.scenarios, width),
            "recordings": lambda width: RecordingsListing(self.recordings, self.directory, width),
            "lesson": self._about,
        }

    def arrangement(self, width: int) -> Arrangement:
        """The lesson in a side pane where there is room for one."""
        if width >= WIDE:
            return [[Place("scenarios", 3), Place("lesson", 2)], [Place("recordings")]]
        return [[Place("scenarios")], [Place("lesson")], [Place("recordings")]]

    def wish(self, panel: Panel, listing: Listing) -> Wish:
        """Recordings stay in sight; the lesson has the room that its words need."""
        return Wish(panel.wanted_height(listing), 3, firm=panel.id == "recordings")

    def path(self) -> list[str]:
        """Beside every flight."""
        return ["hangar"]

    def opened(self, panel: str, key: str) -> None:
        """Start a scenario, play a recording."""
        if panel == "scenarios":
            self.console_app.start_scenario(key)
        elif panel == "recordings":
            self.console_app.play_recording(self.recordings[int(key)].path)

    def _about(self, width: int) -> AboutListing:
        recordings = self.board.panels["recordings"]
        if recordings.has_focus and recordings.selected:
            return about_recording(self.recordings[int(recordings.selected)], width)
        name = self.board.panels["scenarios"].selected
        found = next((scenario for scenario in self.scenarios if scenario["name"] == name), None)
        return about_scenario(found, width) if found is not None else AboutListing("", (), width)
