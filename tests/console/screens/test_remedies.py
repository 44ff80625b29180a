"""Remedies in a rebalance's details: measured on demand in another process, with progress; the same key cancels."""

from pathlib import Path

import pytest

from console.app import FlightdeckApp
from console.player import Player
from console.presenters.rebalance_details import remedies_section
from console.screens import rebalance_details
from console.screens.rebalance_details import RebalanceDetailsScreen
from recordings.flights.runner import fly, make_plan
from recordings.remedies.background import BackgroundSearch, RemediesProgress
from recordings.remedies.measure import Remedies, Remedy
from recordings.remedies.search import RemediesSearch
from recordings.scenarios.loader import parse_scenario
from tests.support.console.pilot import Seat, sit
from tests.support.minimal_scenario import SMALL

FOUND = RemediesSearch(
    found=[
        Remedies(
            group="billing",
            rebalance=None,
            remedies=[
                Remedy(text="static = true", settings=[], effect="better", words="2 fewer rebalances"),
                Remedy(text="heartbeat.interval.ms = 1000", settings=[], effect="worse", words="2 more duplicates"),
            ],
            sentence="static = true helps most.",
        )
    ],
    interrupted=False,
    warnings=["remedies are not kept in a.flight: Read-only file system"],
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "small.flight"
    fly(make_plan(parse_scenario(SMALL, "small.toml")), record=made)
    return made


class StoppedSearch:
    """A search that is as far as the test says."""

    begun: list[str]
    progress: RemediesProgress
    cancelled: int

    def __init__(self, path: Path, wanted: str) -> None:
        type(self).begun.append(wanted)

    def poll(self) -> RemediesProgress:
        return type(self).progress

    def cancel(self) -> None:
        type(self).cancelled += 1


async def open_details(seat: Seat) -> RebalanceDetailsScreen:
    await seat.press("t")
    await seat.type("7s")
    await seat.press("enter")
    seat.app.draw()
    seat.app.go("billing")
    await seat.settle()
    await seat.press("4", "enter")
    assert isinstance(seat.app.screen, RebalanceDetailsScreen)
    return seat.app.screen


def test_the_key_measures_shows_progress_and_cancels(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoppedSearch.begun, StoppedSearch.cancelled = [], 0
    StoppedSearch.progress = RemediesProgress(0.5)
    monkeypatch.setattr(rebalance_details, "BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        screen = await open_details(seat)
        assert "R flies the recording again with other settings" in seat.text()
        await seat.press("R")
        assert StoppedSearch.begun == ["billing:1"]
        assert "██████████░░░░░░░░░░  50%  R cancels" in seat.text()
        await seat.press("R")
        assert StoppedSearch.cancelled == 1
        assert "R flies the recording again with other settings" in seat.text()
        StoppedSearch.progress = RemediesProgress(1.0, FOUND)
        await seat.press("R")
        screen._poll()
        await seat.settle()
        said = seat.text()
        assert "✔ static = true: 2 fewer rebalances" in said
        assert "✖ heartbeat.interval.ms = 1000: worse: 2 more duplicates" in said
        assert "static = true helps most." in said
        assert "remedies are not kept in a.flight: Read-only file system" in said
        await seat.press("R")
        assert len(StoppedSearch.begun) == 2  # the answer stays

    sit(script, app=FlightdeckApp(source=Player(path, playing=False)), size=(120, 60))


def test_a_remedy_opens_as_a_comparison(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoppedSearch.begun, StoppedSearch.cancelled = [], 0
    settings = ["group.initial.rebalance.delay.ms=500"]
    remedy = Remedy(text="a shorter delay", settings=settings, effect="better", words="none")
    found = Remedies(group="billing", rebalance=None, remedies=[remedy], sentence="It helps.")
    result = RemediesSearch(found=[found], interrupted=False, warnings=[])
    StoppedSearch.progress = RemediesProgress(1.0, result)
    monkeypatch.setattr(rebalance_details, "BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        screen = await open_details(seat)
        await seat.press("R")
        screen._poll()
        await seat.settle()
        assert "enter shows both flights beside each other" in seat.text()
        await seat.press("enter")
        work = seat.app.forking._work
        assert work is not None, seat.notices()
        while not work.poll().ended:
            work._pipe.poll(5.0)
        await seat.settle()
        await seat.settle()
        assert seat.app.place() == "comparison", seat.notices()
        assert "only what-if: group.initial.rebalance.delay.ms=500" in seat.text()
        assert "what-if: billing" in seat.text()

    sit(script, app=FlightdeckApp(source=Player(path, playing=False)), size=(120, 60))


def test_leaving_the_details_ends_the_search(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoppedSearch.begun, StoppedSearch.cancelled = [], 0
    StoppedSearch.progress = RemediesProgress(0.5)
    monkeypatch.setattr(rebalance_details, "BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        await open_details(seat)
        await seat.press("R", "escape")
        assert StoppedSearch.cancelled == 1

    sit(script, app=FlightdeckApp(source=Player(path, playing=False)))


def test_elsewhere_the_key_says_what_is_missing() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("R")
        assert "open a rebalance first" in seat.notices()[-1]

    sit(script)


def test_a_live_flight_says_that_it_must_be_recorded() -> None:
    async def script(seat: Seat) -> None:
        seat.app.push_screen(RebalanceDetailsScreen("billing", "0"))
        await seat.settle()
        await seat.press("R")
        assert "record the flight, then play it" in seat.notices()[-1]
        assert "what would have helped" not in seat.text()

    sit(script)


def test_a_failed_search_says_why() -> None:
    rows = remedies_section(RemediesProgress(failed="it was not possible"), "R", 80)
    assert "it was not possible" in "".join(text for row, _ in rows for text, _ in row)


def ended(search: BackgroundSearch) -> RemediesProgress:
    while not search.poll().ended:
        search._pipe.poll(1.0)
    return search.poll()


def test_another_process_measures_and_keeps_them(path: Path) -> None:
    search = BackgroundSearch(path, "billing:1")
    found = ended(search).result
    assert found is not None
    assert [remedy.text.partition(" =")[0] for remedy in found.found[0].remedies] == [
        "group.initial.rebalance.delay.ms"
    ] * 2
    assert (path / "remedies.json").exists()
    search.cancel()


def test_a_process_that_cannot_find_any_says_why(path: Path) -> None:
    search = BackgroundSearch(path, "billing:77")
    assert "no group and no rebalance of this name" in ended(search).failed
    search.cancel()
