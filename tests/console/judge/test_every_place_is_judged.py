"""No list is on a screen that the judge does not read: what places show is compared with what its bench makes."""

from typing import Any

import pytest

from console.app import FlightdeckApp
from console.presenters import chrome
from console.presenters.list_view import Listing
from console.presenters.styled_text import fit, line, plain
from console.screens.flight_screen import FlightScreen
from console.screens.overlays import Overlay
from console.widgets.canvas import Canvas
from console.widgets.panel import Panel
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
    "MessageListing": "the selected message, of a row that is judged, and the kind and the number of its event",
    "NoComparisonListing": "says only that there is none; test_comparisons.py judges those that there are",
    "NoGameListing": "says only that the flight is no game; test_debriefs.py judges the debrief of one",
    "NotThere": "says only that there is nothing",
}


JUDGED_LINES = {
    "header": "frame_judge.py: health, lag, time",
    "crumbs": "headline_judge.py; the path is held by test_links.py",
    "strip": "frame_judge.py: marks and scale",
    "ticker": "event_log_judge.py",
    "footer": "keys, or a notice: notice_judge.py; the answers to diagnoses: debrief_judge.py",
    "notice": "as the footer",
    "feedback": "errors of the typed line: what they say of the flight is judged as notices are",
}
LINES_WITHOUT_CLAIM = {
    "caption": "a scenario's or a script's own words",
    "hints": "completions of the command line",
    "prompt": "`:` or `/`",
    "too-small": "the size of the terminal",
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


@pytest.mark.slow
def test_every_line_outside_lists_is_judged_or_claims_nothing() -> None:
    seen: set[str] = set()

    async def script(seat: Seat) -> None:
        for place in PLACES:
            await look(seat, STATES["rebalancing"].objects, place)
            seen.update(f"{one.id}" for one in seat.app.screen.query(Canvas) if not isinstance(one, Panel))

    sit(script, app=FlightdeckApp(source=source_in("rebalancing")))
    assert seen == JUDGED_LINES.keys() | LINES_WITHOUT_CLAIM.keys()


@pytest.mark.parametrize(("broken", "place"), [("ticker", "ticker"), ("strip_scale", "scale")])
def test_a_false_line_is_found(monkeypatch: pytest.MonkeyPatch, broken: str, place: str) -> None:
    """The ticker says another group's name; the scale runs a tenth too fast."""
    true = getattr(chrome, broken)
    spec = named("first-flight")

    def false(*arguments: Any) -> Any:  # noqa: ANN401 - of the true one
        if broken == "ticker":
            return [line(plain(row).replace("billing", "audit")) for row in true(*arguments)]
        at, width = arguments
        return fit(line(plain(true(at, width)).replace("0:10", "0:11")), width)

    monkeypatch.setattr(chrome, broken, false)
    found = false_claims(flown(spec, spec.seed, 30 * SECOND_US), spec, 3)
    assert any(place in words for words in found)
