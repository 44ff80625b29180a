"""A rule: what the event log knows to be sick is on the overview at 80×24, without a key."""

import re
from collections.abc import Iterator, Sequence

import pytest

from cluster.events import Event
from cluster.spec import ScenarioSpec
from console.app import FlightdeckApp
from console.presenters.active_faults import ActiveFaultsListing
from console.presenters.producers.limits import configs_of
from console.widgets.panel import Panel
from console.widgets.panel_layout import SizeHint, share_heights
from recordings.scenarios.loader import load
from tests.console.judge.bench import SECOND_US, flown, instants
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict
from tests.console.judge.headline_judge import HeadlineJudge
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import source_in
from tests.support.console.stopped_clock import StillFlight
from tests.support.library import LIBRARY
from tests.support.slow_cases import mostly_slow, partly_campaign

QUICK = {
    "first-flight": (170, 8),
    "below-min-isr": (75, 4),
    "coordinator-failover": (125, 6),
    "zombie-producer": (60, 4),
}
AT_MOST_S = {"reference-m": 12, "reference-l": 4, "reference-xl": 3}


class SteppedFlight(StillFlight):
    """A flight that stands still at one checkpoint after the other."""

    def __init__(self, events: Sequence[Event], spec: ScenarioSpec) -> None:
        super().__init__(0.0, events=tuple(events))
        self.names, self.broker_session_us = spec.names(), spec.broker_session_us
        self.spec, self.producer_configs = spec, configs_of(spec)
        self._flown, self._waiting, self._at = events, [], 0

    def step_to(self, now_us: int) -> list[Event]:
        """Go on to an instant; the events until then."""
        begin = self._at
        while self._at < len(self._flown) and self._flown[self._at].at_us <= now_us:
            self._at += 1
        self._waiting = list(self._flown[begin : self._at])
        self.clock = self.clock._replace(now_us=now_us)
        return self._waiting[:]


def shown(name: str) -> str:
    """The pattern of a name: a long one is shortened in the middle."""
    return rf"(?:{re.escape(name)}|{re.escape(name[:2])}\S*…\S*{re.escape(name[-2:])})"


def sick(books: Books, now_us: int, spec: ScenarioSpec) -> Iterator[tuple[str, str]]:
    """What is not well by the event log, and the pattern that has to be on the screen."""
    cluster, judge = books.cluster, HeadlineJudge(books, now_us, Verdict(now_us), spec)
    for fault in cluster.faults.values():
        yield fault.text, re.escape(fault.text[:14])
    for number in cluster.brokers:
        if judge._broker(number) in {"down", "frozen"}:
            yield f"broker-{number}", rf"broker-{number} .*[✖‖] "
    bad = {*judge._unled(), *judge._below(), *judge._under()}
    for topic, made in cluster.topics.items():
        if not made.internal and any(one.rpartition("-")[0] == topic for one in bad):
            yield topic, rf"{re.escape(topic[:5])}.* [✖▽▲] \d"
    for name, producer in cluster.producers.items():
        if name in judge._still():
            yield name, rf"{re.escape(name)} .*▲ Running"
        if producer.state in {"Fenced", "Dead", "Paused"}:
            yield name, rf"{shown(name)} .*{producer.state}"
    for group in books.groups.values():
        if group in judge._out():
            yield group.name, rf"{shown(group.name)} .*✖"
        elif group in judge.rebalancing and (absent := judge._absent(group)):
            names = "|".join(shown(name) for name in absent.values())
            until = " .*within" if group.state == "PreparingRebalance" else ""
            yield group.name, rf"({names}).*{until}"


def missing(events: Sequence[Event], spec: ScenarioSpec, most: int) -> list[str]:
    """What is sick and not on the screen, at each checkpoint."""
    source, books, found = SteppedFlight(events, spec), Books(), []

    async def script(seat: Seat) -> None:
        for now_us in instants(events, most):
            for event in source.step_to(now_us):
                books.note(event)
            seat.app.draw()
            await seat.settle()
            text = seat.text()
            for name, pattern in sick(books, now_us, spec):
                if not re.search(pattern, text):
                    found.append(f"{now_us / 1e6:.1f} s: {name} ({pattern}) is not in\n{text}")

    sit(script, app=FlightdeckApp(source=source), size=(80, 24))
    return found


def lacking(name: str, seconds: int, most: int) -> list[str]:
    spec = load(name).spec
    return missing(flown(spec, spec.seed, seconds * SECOND_US), spec, most)


@pytest.mark.parametrize("name", mostly_slow(QUICK, quick=["first-flight", "coordinator-failover"]))
def test_what_is_sick_is_on_a_small_overview(name: str) -> None:
    assert "\n\n".join(lacking(name, *QUICK[name])[:2]) == ""


@pytest.mark.parametrize("name", partly_campaign(LIBRARY, 30))
def test_what_is_sick_is_on_a_small_overview_in_the_library(name: str) -> None:
    assert "\n\n".join(lacking(name, AT_MOST_S.get(name, 240), 10)[:2]) == ""


@pytest.mark.slow
def test_the_rule_finds_faults_that_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ActiveFaultsListing, "exceptions", lambda self: [])
    assert lacking("first-flight", 70, 4) != []


def test_exceptions_get_their_lines_before_all_else() -> None:
    size_hints = [SizeHint(20), SizeHint(4, exceptions=1), SizeHint(9, exceptions=3)]
    assert share_heights(size_hints, 0, 12) == [5, 3, 4]
    assert share_heights([SizeHint(9, exceptions=8), SizeHint(9, exceptions=8)], 0, 8) == [4, 4]


@pytest.mark.parametrize(("size", "shown"), [((120, 40), False), ((200, 60), True)])
def test_a_wide_overview_shows_the_partitions_of_the_worst_group_over_time(size: tuple[int, int], shown: bool) -> None:
    """`first-flight` has two groups; `billing` waits for a member, `audit` is Stable."""

    async def script(seat: Seat) -> None:
        await seat.settle()
        panel = seat.app.screen.query_one("#ownership", Panel)
        assert bool(panel.region) == shown
        await seat.press("7")
        assert panel.has_focus == shown
        if not shown:
            return
        text = panel.plain_text()
        assert "billing: ownership over time" in text
        assert "12 partitions" in text
        assert text.count("orders-") == 12
        assert "9 unowned now" in text
        await seat.press("enter")
        assert seat.app.place() == "billing"

    sit(script, app=FlightdeckApp(source=source_in("rebalancing")), size=size)


@pytest.mark.parametrize(
    ("place", "panel"),
    [
        ("topic orders", "1 topic orders ─"),
        ("partition orders-0", "1 log of orders-0 ─"),
        ("broker broker-2", "1 broker-2 ─"),
        ("billing", "1 billing ─"),
        ("member billing-3", "1 member billing-3 ─"),
        ("producer checkout-1", "1 producer checkout-1 ─"),
        ("rebalance 1 billing", "1 rebalance of billing ─"),
        ("raster", "1 billing: ownership over time ─"),
    ],
)
def test_a_place_names_its_object_where_the_headline_takes_the_breadcrumb(place: str, panel: str) -> None:
    async def script(seat: Seat) -> None:
        seat.app.go(place)
        await seat.settle()
        _, crumbs, *below = seat.text().splitlines()
        assert "billing waits for billing-3" in crumbs
        assert panel in "\n".join(below)

    sit(script, app=FlightdeckApp(source=StillFlight(20.0)), size=(80, 24))


def test_events_with_the_focus_leave_the_lines_that_they_cannot_fill() -> None:
    async def script(seat: Seat) -> None:
        panels = seat.app.flight_screen().board.panels  # type: ignore[union-attr]
        producers = panels["producers"].size.height
        await seat.press("5")
        blank = [row for row in panels["events"].plain_text().splitlines() if not row.strip()]
        assert panels["events"].has_focus
        assert not blank or panels["producers"].size.height == producers

    sit(script, app=FlightdeckApp(source=StillFlight(3.0)), size=(120, 36))
