"""`--metrics` serves a flight or a playback while it goes on; `export --openmetrics` writes a file."""

import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from console.app import FlightdeckApp
from console.cli.scraping.metrics import flights_served, screen_served
from console.player import Player
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario
from tests.support.console.command_processes import Flightdeck
from tests.support.console.pilot import Seat, sit
from tests.support.minimal_scenario import SMALL
from tests.support.prometheus import get


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("metrics") / "a.flight"
    fly(make_plan(parse_scenario(SMALL, "small.toml"), until_us=20_000_000), record=path)
    return path


def scraped_while(*words: object) -> tuple[list[str], str, int]:
    """The pages that a command serves until it ends by itself, what it prints, and its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-m", "console.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    address = process.stderr.readline().removeprefix("metrics: ").strip()
    pages = []
    while process.poll() is None:
        try:
            pages.append(get(address))
        except OSError:
            break
    printed, _ = process.communicate(timeout=60)
    return pages, printed, process.returncode


def offsets(page: str) -> int:
    return sum(
        int(float(value))
        for value in re.findall(r"^kafka_topic_partition_current_offset\{.*\} (.*)$", page, re.MULTILINE)
    )


@pytest.mark.slow
def test_a_headless_playback_serves_its_metrics_and_ends(recording: Path) -> None:
    pages, printed, code = scraped_while("play", recording, "--headless", "--metrics", 0, "--speed", 20)
    assert (code, printed) == (0, "played to 00:00:20.000 of 00:00:20.000 at ×20\n")
    grown = [offsets(page) for page in pages]
    assert grown == sorted(grown)
    assert len(set(grown)) > 3


@pytest.mark.slow
def test_a_flight_serves_its_metrics_and_flies_the_same(small: str, flightdeck: Flightdeck) -> None:
    words = ("run", small, "--until", "20s", "--speed", 20, "--json")
    pages, printed, code = scraped_while(*words, "--metrics", 0)
    grown = [offsets(page) for page in pages]
    assert grown == sorted(grown)
    assert len(set(grown)) > 3
    sha = '"journal_sha256":"'
    alone = flightdeck("run", small, "--until", "20s", "--json").out
    assert (code, printed.partition(sha)[2][:64]) == (0, alone.partition(sha)[2][:64])


def test_the_console_serves_the_cursor_s_instant(recording: Path) -> None:
    player = Player(recording, playing=False)
    app, pages = FlightdeckApp(source=player), list[str]()
    addresses = list[str]()

    async def script(seat: Seat) -> None:
        for at_us in (15_000_000, 5_000_000):
            player.seek(at_us)
            await seat.wait_for(lambda: not player.busy and player.now_us == at_us)  # noqa: B023 - awaited in this turn
            scraper = threading.Thread(target=lambda: pages.append(get(addresses[0])))
            scraper.start()
            await seat.wait_for(lambda: not scraper.is_alive())  # noqa: B023

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("console.cli.scraping.metrics.write_line", lambda line, to: addresses.append(line[9:]))
        with screen_served(0, player, app):
            sit(script, app=app)
    assert offsets(pages[0]) > offsets(pages[1]) > 0


@pytest.mark.slow
def test_a_live_console_serves_the_flight_that_it_flies_now() -> None:
    addresses, pages = list[str](), list[str]()

    async def scrape(seat: Seat) -> str:
        scraper = threading.Thread(target=lambda: pages.append(get(addresses[0])))
        scraper.start()
        await seat.wait_for(lambda: not scraper.is_alive())
        return pages[-1]

    async def script(seat: Seat) -> None:
        for at_us in (15_000_000, 2_000_000):  # the second time in a flight that the console itself began
            await seat.wait_for(lambda: seat.app.flight.source.clock.now_us >= at_us)  # noqa: B023 - awaited here
            seat.app.flight.source.pause(paused=True)
            await scrape(seat)
            if len(pages) == 1:
                seat.app.start_scenario("first-flight")

    app = FlightdeckApp("first-flight", speed=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("console.cli.scraping.metrics.write_line", lambda line, to: addresses.append(line[9:]))
        with flights_served(0) as app.flight_watch:
            sit(script, app=app)
    assert offsets(pages[0]) > offsets(pages[1]) > 0


def test_a_port_in_use_is_one_sentence(recording: Path, flightdeck: Flightdeck) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = flightdeck("play", recording, "--headless", "--metrics", port)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"flightdeck: --metrics: port {port} of 127.0.0.1 is in use: choose another one")


def test_a_recording_becomes_a_file_of_openmetrics(recording: Path, flightdeck: Flightdeck, tmp_path: Path) -> None:
    options = ("--openmetrics", tmp_path / "a.om", "--step", "5s", "--start", "2026-11-27T14:00:00Z")
    ended = flightdeck("export", recording, *options)
    assert ended.code == 0
    assert " series at 5 instants, " in ended.out
    assert "from 2026-11-27 14:00:00 to 2026-11-27 14:00:20 UTC" in ended.out
    assert (tmp_path / "a.om").read_text(encoding="utf-8").endswith("# EOF\n")
    assert Recording(recording).footer is not None
    once = flightdeck("export", recording, "--openmetrics", tmp_path / "b.om", "--step", "1m").out
    assert " series at 1 instant, " in once
