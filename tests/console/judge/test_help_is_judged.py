"""What help says cannot be done now is judged by what the screen shows and by the flight's events.

The judge reads the drawn help, the row that the screen marks, the place in its crumbs, and raw events; it asks no
function of the console for them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pytest

from cluster.events import Event
from console.app import FlightdeckApp
from console.presenters.help import COLUMN_CELLS
from console.presenters.styled_text import plain
from console.screens.overlays import HelpScreen
from console.time_input import Instant
from recordings.journal.reader import Recording
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import PLACES, STATES, _flown, look, source_in
from tests.support.slow_cases import mostly_slow

BEFORE_FAULTS_US = 6_500_000  # of the recorded flight
OVERLAYS = {"help", "fault menu", "why the group", "why the member"}
WITHOUT_OVERLAY = {place.name: place for place in PLACES if place.name not in OVERLAYS}


class Seen(NamedTuple):
    """What a screen shows: its crumbs, the marked row, its whole text; and what is known of the flight."""

    crumbs: str
    marked: str
    text: str
    events: Sequence[Event]
    recorded: bool

    @property
    def members(self) -> set[str]:
        """The client ids that events name as members."""
        return {name for event in self.events if (name := getattr(event, "member", ""))}

    @property
    def processes(self) -> set[str]:
        """The names that events give to members, producers and brokers."""
        producers = {name for event in self.events if (name := getattr(event, "producer", ""))}
        brokers = {f"broker-{event.broker}" for event in self.events if hasattr(event, "broker")}
        return self.members | producers | brokers

    def selects(self, names: Iterable[str]) -> bool:
        """Whether the marked row is about one of these, or, without a marked row, the place."""
        first = self.marked.split()[:2] if self.marked else self.crumbs.split(" › ")[-1:]
        return any(word in names for word in first)

    def at(self, place: str) -> bool:
        """Whether the crumbs or the title of a panel name the place."""
        return place in self.crumbs or f"▍{place}" in self.text


HOLDS: dict[str, Callable[[Seen], bool]] = {
    "the cluster is still being built": lambda seen: not seen.events,
    "this flight keeps no past: it cannot seek": lambda seen: not seen.recorded,
    "the screens show no past of a live flight": lambda seen: "viewing" not in seen.text.splitlines()[0],
    "a recording is read-only": lambda seen: seen.recorded,
    "no fault applies to the selection": lambda seen: not seen.selects(seen.processes),
    "select a member first": lambda seen: not seen.selects(seen.members),
    "open a rebalance first: enter in the group's list of rebalances": lambda seen: "generation " not in seen.crumbs,
    "open ownership over time first": lambda seen: not seen.at("ownership over time"),
    "open the comparison first: go comparison": lambda seen: not seen.at("comparison"),
    "open the library first: go library": lambda seen: not seen.at("library"),
    "there is no comparison yet: F, or `fork at TIME do COMMAND`": lambda seen: "A is " not in seen.text,
}
"""Reason → whether it holds. A reason that is not here fails the test."""


def seen_by(seat: Seat, events: Sequence[Event], *, recorded: bool) -> Seen:
    text = seat.text()
    crumbs = text.splitlines()[1].partition("  ▲")[0].partition("  ✖")[0].strip()
    marked = [row.partition("▸")[2] for row in text.splitlines() if "▸" in row]
    return Seen(crumbs, marked[0] if marked else "", text, events, recorded)


def said_impossible(seat: Seat) -> list[str]:
    """The lines below `not now`: keys, and the reason."""
    screen = seat.app.screen
    assert isinstance(screen, HelpScreen)
    lines = [plain(row).rstrip() for row in screen.lines(COLUMN_CELLS * 2 - 1)]  # one column
    said: list[str] = []
    for row in lines[lines.index("not now") + 1 :]:
        if not row.startswith("  "):
            break
        if row.startswith("    "):
            said[-1] += row.strip()
        else:
            said.append(row.strip())
    return said


def false_reasons(
    app: FlightdeckApp, events: Sequence[Event], objects: dict[str, str], places: Iterable[str], *, recorded: bool
) -> list[str]:
    """Each reason that help gives at a place although it does not hold there, and each that no rule judges."""
    wrong: list[str] = []

    async def script(seat: Seat) -> None:
        if recorded:
            seat.app.seek(Instant(events[-1].at_us))
            await seat.settle()
        for place in (WITHOUT_OVERLAY[name] for name in places):
            await look(seat, objects, place)
            seen = seen_by(seat, events, recorded=recorded)
            await seat.press("question_mark")
            for words in said_impossible(seat):
                rules = [holds for reason, holds in HOLDS.items() if words.endswith(f"  {reason}")]
                wrong.extend([] if rules and rules[0](seen) else [f"{place.name}: {words}"])
            await seat.press("escape")

    sit(script, app=app)
    return wrong


def in_state(state: str, places: Iterable[str] = WITHOUT_OVERLAY) -> list[str]:
    app = FlightdeckApp(source=source_in(state))
    return false_reasons(app, _flown(state)[1], STATES[state].objects, places, recorded=False)


@pytest.mark.parametrize("state", mostly_slow(("empty", "rebalancing", "transaction stuck"), quick=["rebalancing"]))
def test_every_reason_that_help_gives_holds(state: str) -> None:
    assert in_state(state) == []


@pytest.mark.slow
def test_every_reason_that_help_gives_for_a_recording_holds() -> None:
    events = [one for one in Recording(recorded_flight.recording()).events() if one.at_us <= BEFORE_FAULTS_US]
    objects = {**STATES["normal"].objects, "member": "billing-1", "producer": "checkout-1"}
    assert false_reasons(recorded_flight.app(), events, objects, WITHOUT_OVERLAY, recorded=True) == []


def test_a_false_reason_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlightdeckApp, "selected_target", lambda _: None)
    found = in_state("rebalancing", ["member in its group", "brokers"])
    assert any(words.startswith("member in its group") and "select a member first" in words for words in found)
    assert any(words.startswith("brokers") and "no fault applies to the selection" in words for words in found)


def test_a_reason_without_a_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(HOLDS, "select a member first")
    assert any("select a member first" in words for words in in_state("empty", ["brokers"]))
