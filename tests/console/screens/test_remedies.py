"""Remedies in a rebalance's details: measured on demand in another process, with progress; the same key cancels."""

import json
import re
import shutil
from pathlib import Path

import pytest

from console.app import FlightdeckApp
from console.bridge import Bridge
from console.flight_clock import LIVE
from console.player import Player
from console.presenters.rebalance_details import remedies_section
from console.screens.rebalance_details import RebalanceDetailsScreen
from console.widgets.panel import Panel
from recordings.flights.rerun import rerun
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.journal.segments import line_chunks
from recordings.remedies.background import BackgroundSearch, RemediesProgress, search_one
from recordings.remedies.measure import Remedies, Remedy
from recordings.remedies.search import RemediesSearch
from recordings.scenarios.loader import parse_scenario
from recordings.scenarios.overrides import parse_setting
from tests.support.console.pilot import Seat, sit
from tests.support.independent_bill import IndependentBill
from tests.support.minimal_scenario import SMALL, TWO_MEMBERS

KILLED = """
[[at]]
time = "14s"
do = "scale billing to 3"
"""
UNREAD = re.compile(r"([\d.,]+) instead of ([\d.,]+) unread partition-seconds")
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
    monkeypatch.setattr("recordings.remedies.background.BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        await open_details(seat)
        assert "R flies this flight again with other settings" in seat.text()
        await seat.press("R")
        assert StoppedSearch.begun == ["billing:1"]
        assert "██████████░░░░░░░░░░  50%  R cancels" in seat.text()
        await seat.press("R")
        assert StoppedSearch.cancelled == 1
        assert "R flies this flight again with other settings" in seat.text()
        StoppedSearch.progress = RemediesProgress(1.0, FOUND)
        await seat.press("R")
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
    monkeypatch.setattr("recordings.remedies.background.BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        await open_details(seat)
        await seat.press("R")
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


def test_a_search_goes_on_elsewhere_and_its_answer_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoppedSearch.begun, StoppedSearch.cancelled = [], 0
    StoppedSearch.progress = RemediesProgress(0.5)
    monkeypatch.setattr("recordings.remedies.background.BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        await open_details(seat)
        await seat.press("R", "escape", "escape")
        assert StoppedSearch.cancelled == 0
        screen = seat.app.flight_screen()
        assert screen is not None
        assert "50%  remedies for billing" in screen.bars["ticker"].plain_text()
        StoppedSearch.progress = RemediesProgress(1.0, FOUND)
        await seat.settle()
        assert "remedies for billing" not in screen.bars["ticker"].plain_text()
        await open_details(seat)
        assert "✔ static = true: 2 fewer rebalances" in seat.text()
        assert StoppedSearch.begun == ["billing:1"]
        seat.app.play_recording(path)
        await open_details(seat)
        assert "static = true" not in seat.text(), "another flight has remedies of its own"

    sit(script, app=FlightdeckApp(source=Player(path, playing=False)))


def test_the_answer_stands_right_below_the_cost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StoppedSearch.begun, StoppedSearch.cancelled = [], 0
    StoppedSearch.progress = RemediesProgress(1.0, FOUND)
    monkeypatch.setattr("recordings.remedies.background.BackgroundSearch", StoppedSearch)

    async def script(seat: Seat) -> None:
        await open_details(seat)
        panel = seat.app.screen.query_one("#details", Panel)
        assert "how to avoid it" in panel.plain_text(), "the key is above the fold"
        await seat.press("R")
        rows = [row.strip() for row in panel.plain_text().splitlines()]
        assert rows.index("what it cost") < rows.index("how to avoid it, measured with the same seed")
        assert any("static = true: 2 fewer rebalances" in row for row in rows)
        for _ in range(30):
            await seat.press("j")
        assert "in the coordinator's log" in panel.plain_text(), "the rest can be scrolled to"
        await seat.press("g")
        assert "what it cost" in panel.plain_text()

    sit(script, app=FlightdeckApp(source=Player(path, playing=False)), size=(80, 24))


def test_elsewhere_the_key_says_what_is_missing() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("R")
        assert "open a rebalance first" in seat.notices()[-1]

    sit(script)


@pytest.mark.slow
def test_a_live_flight_is_measured_up_to_now(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(TWO_MEMBERS)

    async def script(seat: Seat) -> None:
        await seat.wait_for(lambda: seat.app.flight.clock.phase == LIVE)
        seat.app.execute_line("until now_ms > 9000")
        seat.app.execute_line("speed 20")
        await seat.wait_for(lambda: seat.app.flight.clock.phase == "paused")
        seat.app.go("billing")
        await seat.settle()
        await seat.press("4", "enter")
        await seat.press("R")
        search = seat.app.forking.remedies._search
        assert search is not None, seat.notices()
        while not search.poll().ended:
            search._pipe.poll(5.0)
        await seat.settle()
        assert "group.initial.rebalance.delay.ms = " in seat.text()
        assert Recording(seat.app.forking.remedies._recording).survey().totals.virtual_us == seat.app.flight.now_us
        await seat.press("enter")
        assert seat.app.forking.under_way
        assert seat.app.flight.clock.phase == "paused", "the shown flight goes its own way"
        await seat.press("F", "enter")

    sit(script, app=FlightdeckApp(source=Bridge(scenario, speed=1.0)))


def test_the_numbers_are_those_of_both_journals(tmp_path: Path) -> None:
    """A remedy's words beside bills made of the raw lines of two recordings."""
    made, again = tmp_path / "made.flight", tmp_path / "again.flight"
    fly(make_plan(parse_scenario(TWO_MEMBERS + KILLED, "two.toml")), record=made)
    (found,) = search_one(made, "billing", lambda _: None).found
    told = [one for one in found.remedies if UNREAD.search(one.words) is not None]
    assert told != [], [one.words for one in found.remedies]
    for remedy in told[:2]:
        shutil.rmtree(again, ignore_errors=True)
        rerun(made, settings=[parse_setting(text) for text in remedy.settings], record=again)
        match = UNREAD.search(remedy.words)
        assert match is not None
        for words, path in zip(match.groups(), (again, made), strict=True):
            assert abs(float(words.replace(",", "")) - unread_seconds(path)) <= 0.1, (remedy.words, words, path)


def unread_seconds(path: Path) -> float:
    bill, at_us = IndependentBill(), 0
    for segment in Recording(path).segments.values():
        for line in b"".join(line_chunks(segment)).splitlines():
            told = json.loads(line)
            if "seq" in told:
                bill.take(told)
    at_us = Recording(path).survey().totals.virtual_us
    return float(bill.bill(at_us)["groups"]["billing"]["unread_partition_us"]) / 1e6


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
