"""No list is on a screen that the judge does not read: what places show is compared with what its bench makes."""

import pytest

from console.app import FlightdeckApp
from console.presenters.list_view import Listing
from console.screens.flight_screen import FlightScreen
from console.screens.overlays import Overlay
from tests.console.judge.bench import SECOND_US, false_claims, flown, named
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import PLACES, STATES, look, source_in

JUDGED_BY_LINE = {
    "MemberTimersListing": "one row of `MembersListing`, as it is",
    "RebalanceDetailsListing": "the bench reads `details_lines`",
    "CellListing": "the bench reads `cell_words`; the rest is the legend",
    "RasterLanesListing": "lanes as in the table of members, which the bench reads",
}
NO_CLAIM = {
    "ScenariosListing": "the library's files, not the flight",
    "RecordingsListing": "the headers of recordings, not the flight",
    "AboutListing": "a scenario's own words",
    "FaultMenuListing": "commands; what they would hit is held by tests of predictions",
    "TextListing": "the keys",
    "MessageListing": "the kind and the number of the selected message's event",
    "NoComparisonListing": "says only that there is none; test_comparisons.py judges those that there are",
    "NoGameListing": "says only that the flight is no game; test_debriefs.py judges the debrief of one",
    "NotThere": "says only that there is nothing",
}


def shown(state: str) -> set[str]:
    """The kinds of lists of every place in a state."""
    kinds: set[str] = set()

    async def script(seat: Seat) -> None:
        for place in PLACES:
            await look(seat, STATES[state].objects, place)
            screen = seat.app.screen
            panels = list(screen.board.panels.values()) if isinstance(screen, FlightScreen) else []
            panels += [screen.panel] if isinstance(screen, Overlay) else []
            lists = (panel._listing for panel in panels if panel.display and panel._listing is not None)
            kinds.update(type(one).__name__ for one in lists)

    sit(script, app=FlightdeckApp(source=source_in(state)))
    return kinds


@pytest.mark.timeout(600)
def test_every_list_of_every_place_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = shown("rebalancing") | shown("transaction stuck")
    read: set[str] = set()
    original = Listing.__init__

    def note(listing: Listing, width: int) -> None:
        read.add(type(listing).__name__)
        original(listing, width)

    monkeypatch.setattr(Listing, "__init__", note)
    for name, seconds in (("first-flight", 30), ("stuck-last-stable-offset", 30)):
        spec = named(name)
        assert false_claims(flown(spec, spec.seed, seconds * SECOND_US), spec, 3) == []
    assert seen - read - JUDGED_BY_LINE.keys() - NO_CLAIM.keys() == set()
    assert {"GroupsListing", "MembersListing", "LogListing", "WhyListing"} <= seen & read
