"""What the deck can do besides a live flight: be anywhere in a recorded one, and go from one flight to another."""

from pathlib import Path

from console.bridge import Bridge
from console.deck import Deck
from console.flight import ONLY_RECORDED, Flight, Source
from console.presenters.chrome import instant_under
from console.screens.library import HangarScreen
from console.time_input import At

HANGAR = "hangar"


class Travel(Deck):
    """Jumps in time, the strip as a scrubber, the hangar. `directory` is where recordings are looked for."""

    directory = Path()

    # --- time ---------------------------------------------------------------------------------------------------------

    def say(self, words: str | None) -> None:
        """Something in passing, if there is anything to be said."""
        if words:
            self.notify(words, severity="warning", timeout=4)

    def action_events(self, by: int) -> None:
        """So many recorded events further on, or back; keys that are held down add up to one jump."""
        past = self.flight.past
        self.say(ONLY_RECORDED if past is None else past.move(by))
        self.call_later(self.draw)

    def action_landmark(self, by: int) -> None:
        """The next rebalance or fault, or the previous one."""
        past = self.flight.past
        self.say(ONLY_RECORDED if past is None else past.landmark(by))
        self.call_later(self.draw)

    def travel(self, at: At) -> None:
        """Be at an instant of the recording."""
        past = self.flight.past
        self.say(ONLY_RECORDED if past is None else past.seek(at.seen_from(self.flight.now_us)))
        self.call_later(self.draw)

    def scrub(self, x: int, width: int, *, first: bool) -> None:
        """The mouse holds the flight strip at a column: be at the instant that is drawn there."""
        past = self.flight.past
        if past is not None:
            past.seek(instant_under(x, self.flight.clock, width))
            self.call_later(self.draw)
        elif first:
            self.say(ONLY_RECORDED)

    # --- flights ------------------------------------------------------------------------------------------------------

    def place(self) -> str:
        """Where we are, as `go` names it."""
        return HANGAR if isinstance(self.flight_screen(), HangarScreen) else super().place()

    def go(self, place: str) -> None:
        """Show the hangar, or whatever the flight has."""
        super().go(place)
        if place == HANGAR:
            self.push_screen(HangarScreen(self.directory))

    def action_hangar(self) -> None:
        """Scenarios and recordings."""
        if self.place() != HANGAR:
            self.go(HANGAR)

    def start_scenario(self, scenario: str) -> None:
        """Leave this flight, and fly a scenario live."""
        self._fly(Bridge(scenario, invariants=self.invariants))

    def play_recording(self, path: Path) -> None:
        """Leave this flight, and play a recording; one that cannot be opened is said, and this flight stays."""
        from console.player import Player  # noqa: PLC0415 - a live flight needs no reader
        from recordings.journal.format import RecordingError  # noqa: PLC0415

        try:
            player = Player(path)
        except RecordingError as error:
            self.say(str(error))
        else:
            self._fly(player)

    def _fly(self, source: Source) -> None:
        self.flight.source.stop()
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.flight = Flight(source)
        self._asked_to_leave = self._told_failure = False
        self._last_place = "overview"
        self.begin()
