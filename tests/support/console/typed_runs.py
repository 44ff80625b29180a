"""Commands of a page's blocks, run one after another as by a reader who has the files that the page speaks of."""

import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from textual.pilot import Pilot

from console.app import FlightdeckApp
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from tests.support.console.command_processes import Ended, Flightdeck
from tests.support.console.console_page import files
from tests.support.console.typed_block import Typed, commands_of, to_be_run
from tests.support.console.typed_pages import NOT_RUN, STAND_INS
from tests.support.kafka_tools_recorded import LOOKS
from tests.support.minimal_scenario import SMALL
from tests.support.repository import ROOT

NOTES = re.compile(r" *\d+ %|metrics: http://127\.0\.0\.1:\d+/metrics$|\d+ of \d+ (?:pairs|flights|games)")
LOG = ROOT / "examples" / "member-killed.log"
CASES = ROOT / "tests" / "recordings" / "lint" / "cases"
MADE_BY = ("--out", "--record", "--openmetrics", "--as-scenario")
"""Options with a file or directory that a command makes."""
FINDS = {"lint", "prove"}
"""Commands that end with 1 here: files have faults, and a group loses or repeats more records than asked for."""
TOOLS = {"kafka-topics.sh": ("topics",), "kafka-consumer-groups.sh": ("billing-stable-members-verbose", "groups-all")}


def _own_flight() -> None:
    fly(make_plan(parse_scenario(SMALL, "small.toml"), until_us=15_000_000), record=Path("incident.flight"))


def _own_scenario() -> None:
    for name in ("my-scenario.toml", "my-load.toml", "mine.toml"):
        Path(name).write_text(SMALL)


def _own_logs() -> None:
    """One log of a real broker in the pattern that the page has, and in two files."""
    text = LOG.read_text()
    lines = text.splitlines(keepends=True)
    Path("b1.log").write_text(text)
    Path("app.log").write_text("".join(lines[:4]))
    Path("b2.log.gz").write_bytes(gzip.compress("".join(lines[4:]).encode()))
    Path("server.log").write_text("".join(map(_in_the_pattern_of_the_page, lines)))


def _in_the_pattern_of_the_page(line: str) -> str:
    at_ms, level, logger, thread, message = line.rstrip().split(" ", 4)
    at = datetime.fromtimestamp(int(at_ms) / 1000, ZoneInfo("Europe/Berlin"))
    return f"{at:%Y-%m-%d %H:%M:%S},{int(at_ms) % 1000:03d} {level:5} {thread} {message} ({logger})\n"


def _own_configurations() -> None:
    places = ("src/main/resources/application.yml", "k8s/consumer.yaml")
    for place in map(Path, places):
        place.parent.mkdir(parents=True)
        place.write_text("spring:\n  kafka:\n    consumer:\n      group-id: billing\n      max-poll-records: 50\n")
    for name in ("server.properties", "billing.properties"):
        Path(name).write_text("group.id=billing\nsession.timeout.ms=6000\nheartbeat.interval.ms=5000\n")
    Path("application.yaml").write_text(Path(places[0]).read_text())


def _own_sweep() -> None:
    text = (ROOT / "examples/sweeps/how-long-silent.toml").read_text()
    for long, short in (("seeds = 5", "seeds = 1"), ('"90s"', '"30s"'), ("10000, 20000, ", "")):
        assert long in text
        text = text.replace(long, short)
    Path("short.toml").write_text(text)


def _tools_prints() -> dict[str, Path]:
    for name, looks in TOOLS.items():
        Path(f"{name}.printed").write_text("\n".join(LOOKS[look]["printed"] for look in looks))
    return {name: Path(f"{name}.printed") for name in TOOLS}


OWN_FILES: dict[str, tuple[Callable[[], None], ...]] = {
    "alerts.md": (_own_flight,),
    "bench.md": (_own_scenario,),
    "cluster.md": (_own_flight,),
    "import.md": (_own_configurations,),
    "lint.md": (_own_configurations,),
    "metrics.md": (_own_flight,),
    "prove.md": (_own_scenario,),
    "raster.md": (_own_flight,),
    "read.md": (_own_logs,),
    "sweep.md": (_own_sweep,),
    "tutorial.md": (_own_scenario, _own_flight),
}


def run_page(name: str, flightdeck: Flightdeck, monkeypatch: pytest.MonkeyPatch) -> list[Typed]:
    """Run every command of a page's blocks in this directory; returns them. AssertionError for one that fails."""
    page = (ROOT / "docs" / name).read_text("utf-8")
    Path("examples").symlink_to(ROOT / "examples")
    for file, text in files(page).items():
        Path(file).write_text(text)
    for make in OWN_FILES.get(name, ()):
        make()
    prints, done = _tools_prints(), []
    for block in to_be_run(page, STAND_INS[name], NOT_RUN):
        for typed in commands_of(block, prints):
            _make_room(typed.words)
            with _a_screen(typed.words, monkeypatch) as opened:
                ended = flightdeck(*typed.words)
            _check(typed, ended, opened)
            done.append(typed)
    return done


def _made(words: list[str]) -> list[Path]:
    return [Path(value) for option, value in pairwise(words) if option in MADE_BY]


def _make_room(words: list[str]) -> None:
    """Commands of one block are often alternatives, which make the same file."""
    for path in _made(words):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _check(typed: Typed, ended: Ended, opened: list[str]) -> None:
    what = f"flightdeck {' '.join(typed.words)}:\n{ended.out}{ended.err}"
    assert [line for line in ended.err.splitlines() if not NOTES.match(line)] == [], what
    assert ended.code == 0 or (ended.code == 1 and typed.words[0] in FINDS), what
    assert ended.out or opened, what
    assert all(path.exists() for path in _made(typed.words)), what
    if typed.output is not None or "--json" in typed.words:
        assert json.loads(ended.out), what


@contextmanager
def _a_screen(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """For a command that opens the console: a terminal without a window, and a user who looks once and leaves."""
    opens = words[0] == "--scenario" or (
        words[0] in ("play", "game") and not {"--headless", "--list", "--score"} & {*words}
    )
    seen: list[str] = []
    if not opens:
        yield seen
        return
    run = FlightdeckApp.run

    async def look_and_leave(pilot: Pilot[object]) -> None:
        await pilot.pause()
        seen.append(pilot.app.screen.id or type(pilot.app.screen).__name__)
        await pilot.press("q")
        if pilot.app.is_running:  # a recorded flight asks whether it may end
            await pilot.press("q")

    with monkeypatch.context() as patched:
        patched.setenv("TERM", "xterm-256color")
        for stream in (sys.stdin, sys.stdout):
            patched.setattr(stream, "isatty", lambda: True)
        patched.setattr(
            FlightdeckApp,
            "run",
            lambda app, **_: run(app, headless=True, size=(120, 40), auto_pilot=look_and_leave),
        )
        yield seen
    assert seen, f"{words}: no console was opened"
