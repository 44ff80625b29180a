"""The figures of a measurement: medians, spreads, the machine, and what an interruption leaves."""

import re

import msgspec
import pytest

from console.bench import report
from console.bench.measurement import FlightFailed, MeasuredFlight
from console.bench.report import BenchReport, Spread, measure
from tests.support.console.command_processes import Flightdeck
from tests.support.repository import ROOT

LOADS = {"reference-s": "10m", "reference-l": "20s"}


def flight(wall_s: float = 2.0, **other: object) -> MeasuredFlight:
    usual = MeasuredFlight(
        virtual_s=600.0,
        wall_s=wall_s,
        process_s=wall_s + 0.5,
        user_s=wall_s + 0.4,
        peak_rss_mb=60.0,
        events=100_000,
        turns=200_000,
        journal_sha256="ab",
    )
    return msgspec.structs.replace(usual, **other)


@pytest.fixture
def flown(monkeypatch: pytest.MonkeyPatch) -> list[MeasuredFlight | BaseException]:
    """The flights to come, then usual ones, on a machine that calibrates at twice the normal speed."""
    coming: list[MeasuredFlight | BaseException] = []

    def fly(_scenario: str, _until: str, *, record: bool) -> MeasuredFlight:
        assert record
        found = coming.pop(0) if coming else flight()
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(report, "measure_flight", fly)
    monkeypatch.setattr(report, "calibrate", lambda: 2_000_000.0)
    return coming


def measured(rounds: int = 3) -> BenchReport:
    return measure(LOADS, rounds, record=True, progress=lambda *_: None)


def test_a_spread_is_the_median_between_the_extremes() -> None:
    spread = Spread.of([4.0, 1.0, 2.0])
    assert (spread.median, spread.lowest, spread.highest, spread.share) == (2.0, 1.0, 4.0, 1.5)


def test_figures_are_medians_of_the_rounds_and_normalised(flown: list[MeasuredFlight | BaseException]) -> None:
    slow, fast = flight(5.0), flight(1.0, process_s=3.0)
    flown += [flight(), flight(), slow, slow, fast, fast]
    found = measured().loads[0]
    assert (found.times_real.median, found.times_real.lowest, found.times_real.highest) == (300.0, 120.0, 600.0)
    assert (found.us_per_event, found.turns_per_s, found.start_and_exit_s) == (20.0, 100_000, 0.5)
    assert (found.normalised_times_real, found.normalised_us_per_event) == (150.0, 40.0)


def test_loads_are_flown_in_turn(flown: list[MeasuredFlight | BaseException]) -> None:
    shown: list[tuple[str, float]] = []
    measure(LOADS, 2, record=True, progress=lambda *what: shown.append(what))
    assert [words for words, _ in shown] == [
        f"round {number} of 2: {load}" for number in (1, 2) for load in ("reference-s, 10m", "reference-l, 20s")
    ]
    assert [share for _, share in shown] == [0.0, 0.25, 0.5, 0.75]


def test_an_interruption_leaves_the_finished_flights(flown: list[MeasuredFlight | BaseException]) -> None:
    flown += [flight(), flight(), flight(), KeyboardInterrupt()]
    found = measured()
    assert found.interrupted
    assert [(load.scenario, load.rounds) for load in found.loads] == [("reference-s", 2), ("reference-l", 1)]
    flown += [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        measured()


@pytest.mark.parametrize("other", [{"journal_sha256": "cd"}, {"turns": 200_001}])
def test_rounds_that_differ_are_said_and_exit_code_1(
    other: dict[str, object], flown: list[MeasuredFlight | BaseException], flightdeck: Flightdeck
) -> None:
    flown += [flight(), flight(), flight(), flight(1.0, **other)]
    ended = flightdeck("bench", *LOADS, "--rounds", 2)
    assert ended.code == 1
    assert "✖ reference-l: its rounds were not the same flight" in ended.out
    assert "✖ reference-s" not in ended.out


def test_the_command_prints_the_figures(flown: list[MeasuredFlight | BaseException], flightdeck: Flightdeck) -> None:
    flown += [flight(), flight(4.0)]
    ended = flightdeck("bench", *LOADS, "--rounds", 1)
    assert ended.code == 0
    assert re.search(r"pure  reference-s +10m +300\.0 +0% +150\.0 +100,000 +20\.0 +40\.0 +60 +0\.50 s\n", ended.out)
    assert "calibration 2,000,000 steps/s (spread 0%); 1 round." in ended.out
    assert "an event of reference-l costs 2.00 × one of reference-s" in ended.out
    assert "0 %  round 1 of 1: reference-s, 10m\n" in ended.err


def test_json_has_the_documented_fields(flown: list[MeasuredFlight | BaseException], flightdeck: Flightdeck) -> None:
    found = msgspec.json.decode(flightdeck("bench", "--rounds", 2, "--json").out)
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "bench.md").read_text(), re.MULTILINE))
    assert documented == {*found, *found["loads"][0], *found["calibration"]}
    assert [load["scenario"] for load in found["loads"]] == ["reference-s", "reference-m", "reference-l"]
    assert [load["until"] for load in found["loads"]] == ["10m", "2m", "20s"]


def test_the_table_of_the_readme_is_the_commands(
    flown: list[MeasuredFlight | BaseException], flightdeck: Flightdeck
) -> None:
    head, *_ = flightdeck("bench", "--markdown").out.splitlines()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert head in readme
    for load in report.LOADS:
        assert f"| {load} |" in readme


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--rounds", "0"), "--rounds: from 1 to 1000"),
        (("--rounds", "1.5"), "whole number"),
        (("--until", "0s"), "--until: there is nothing to measure in 0s"),
        (("--markdown", "--json"), "exclude each other"),
        (("reference-z",), "reference-z: no scenario has this name (did you mean reference-"),
    ],
)
def test_what_cannot_be_measured_is_exit_code_2(words: tuple[str, ...], error: str, flightdeck: Flightdeck) -> None:
    ended = flightdeck("bench", *words)
    assert ended.code == 2
    assert error in ended.err


def test_a_flight_that_fails_is_its_message(
    flown: list[MeasuredFlight | BaseException], flightdeck: Flightdeck
) -> None:
    flown += [FlightFailed("the simulation failed at 1 s")]
    ended = flightdeck("bench")
    assert (ended.code, ended.err.splitlines()[-1]) == (2, "flightdeck: the simulation failed at 1 s")
