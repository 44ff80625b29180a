"""A measured flight is the flight that `run` flies, in a process of its own, whose cost is counted."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from console.bench import measurement
from console.bench.measurement import FlightFailed, calibrate, environment_of, measure_flight
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.minimal_scenario import SMALL


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_a_checkout_comes_first_on_the_path_and_an_installation_is_not_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "mine")
    assert environment_of(tmp_path)["PYTHONPATH"] == "mine"
    (tmp_path / "pyproject.toml").touch()
    assert environment_of(tmp_path)["PYTHONPATH"] == f"{tmp_path}{os.pathsep}mine"
    monkeypatch.delenv("PYTHONPATH")
    assert environment_of(tmp_path)["PYTHONPATH"] == str(tmp_path)


def test_it_is_the_flight_of_run_and_leaves_nothing(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small.parent))
    flown = fly(make_plan(load(small), until_us=3_000_000))
    measured = measure_flight(str(small), "3s")
    assert (measured.events, measured.turns, measured.journal_sha256) == (
        flown.events,
        flown.turns,
        flown.journal_sha256,
    )
    assert measured.virtual_s == 3.0
    assert 0 < measured.wall_s < measured.process_s
    assert measured.user_s > 0
    assert 20 < measured.peak_rss_mb < 500
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_it_records_only_if_asked(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[list[str]] = []
    popen = subprocess.Popen

    def note(command: list[str], **options: object) -> object:
        words.append(command)
        return popen(["true"], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", note)
    for record in (True, False):
        with pytest.raises(FlightFailed, match="ended with exit code 0"):
            measure_flight(str(small), "1s", record=record)
    assert ["--record" in each for each in words] == [True, False]
    assert not any("--no-invariants" in each for each in words)


def test_a_flight_without_a_result_is_its_message(tmp_path: Path) -> None:
    with pytest.raises(FlightFailed, match=r"^nowhere: no scenario has this name$"):
        measure_flight("nowhere", "1s")


def test_an_interruption_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(_command: object, **options: object) -> object:
        started.append(popen(["sleep", "60"], **options))  # type: ignore[call-overload]
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        measure_flight("reference-s", "1h")
    assert started[0].returncode == -signal.SIGKILL
    assert time.monotonic() - began < 30


def test_the_calibration_uses_nothing_of_flightdeck() -> None:
    used = calibrate.__code__.co_names
    assert {each for each in used if not each.startswith(("heap", "_"))} <= {
        *("range", "dict", "int", "list", "CALIBRATION_STEPS", "time", "perf_counter"),
    }
    assert str(measurement.__file__).endswith(".py"), "a compiled calibration measures the compiler"
