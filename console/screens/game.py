"""The place of a game: the briefing while it is played, the debrief on its recording."""

from console.flight import Flight
from console.presenters.game.briefing import AccusableListing, BriefingListing, DiagnosesListing, NoGameListing
from console.presenters.game.debrief import DebriefListing, ScoreListing, SymptomsListing, TruthListing
from console.presenters.list_view import Listing
from console.screens.flight_screen import FlightScreen, ListFactory
from console.widgets.panel import Panel
from console.widgets.panel_layout import ALL_THERE_IS, Arrangement, PanelSlot, SizeHint

PLAYING = ("briefing", "diagnoses", "accusable")
OVER = ("debrief", "truth", "score", "symptoms")


class GameScreen(FlightScreen):
    """Level, rules and diagnoses so far; after the game the truth, the score and what showed it."""

    place, help = "game", "the game's briefing, and its debrief"

    def panels(self) -> list[Panel]:
        """The panels of the briefing, and those of the debrief."""
        return [Panel(number, name) for names in (PLAYING, OVER) for number, name in enumerate(names, 1)]

    def list_factories(self, flight: Flight) -> dict[str, ListFactory]:
        """From the game of the flight."""
        game = flight.source.game()
        if game is None:
            return {"briefing": NoGameListing}
        if game.played is None or not flight.clock.recorded or flight.clock.live_us is not None:
            return {
                "briefing": lambda width: BriefingListing(game, flight.now_us, width),
                "diagnoses": lambda width: DiagnosesListing(game, width),
                "accusable": AccusableListing,
            }
        played, symptoms = game.played, game.symptoms
        return {
            "debrief": lambda width: DebriefListing(played, width),
            "truth": lambda width: TruthListing(played, symptoms, width),
            "score": lambda width: ScoreListing(played, width),
            "symptoms": lambda width: SymptomsListing(played, symptoms, width),
        }

    def arrangement(self, width: int) -> Arrangement:
        """One panel above the other."""
        del width
        shown = self.list_factories(self.console_app.flight)
        for name, panel in self.board.panels.items():
            if panel.display != (name in shown):
                panel.display = name in shown
        return [[PanelSlot(name)] for name in self.board.panels if name in shown]

    def size_hint(self, panel: Panel, listing: Listing) -> SizeHint:
        """Verdict and truth are firm; the last list has what is left."""
        if panel.id in {"accusable", "symptoms"}:
            return SizeHint(ALL_THERE_IS, 3)
        return SizeHint(panel.wanted_height(listing), firm=panel.id in {"debrief", "truth", "briefing"})

    def opened(self, panel: str, key: str) -> None:
        """Go to the instant of a fault or a symptom."""
        seekable = self.console_app.flight.seekable
        if panel in {"truth", "symptoms"} and seekable is not None:
            self.console_app.warn(seekable.seek(int(key.partition("/")[0])))
