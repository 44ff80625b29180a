"""What the console shows of a recording of logs is what the lines say, at each instant; a false list is found."""

from pathlib import Path

import pytest
import zstandard

from cluster.view import ClusterView, fold
from console.presenters import formatting
from console.presenters.logged import group, groups
from recordings.journal.keyframes import Keyframes
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.log_reading.make import read_logs
from recordings.log_reading.summary import summary_of_logs
from tests.console.judge.logged_judge import books_of, false_claims
from tests.fidelity.recorder.raw import raw_of

RUNS = ("s02-three-joins", "s04-kill", "s17-kill-at-barrier", "s20-stall-at-barrier")


def kept(run: str, place: Path) -> Path:
    """The log of a real run, unpacked."""
    log = place / "server.log"
    with raw_of(run, "4.3.1").open("rb") as packed, log.open("wb") as file:
        zstandard.ZstdDecompressor().copy_stream(packed, file)
    return log


def lies(run: str, place: Path) -> list[str]:
    """False claims at each event's instant."""
    log = kept(run, place)
    read_logs([log], place / "read")
    dated = [line for line in log.read_text(encoding="utf-8").splitlines() if line[:13].isdecimal()]
    lines = sorted(dated, key=lambda line: int(line[:13]))  # the file has the logs of several processes
    playback = Playback(Recording(place / "read", logs=True), Keyframes(place / "read"))
    found: list[str] = []
    for event in list(Recording(place / "read", logs=True).events()):
        playback.seek_us(event.at_us)
        assert playback.view.logs is not None
        books = books_of(lines, playback.view.logs.began_us // 1000, event.at_us // 1000)
        found += false_claims(playback.view, event.at_us, books)
    return found


@pytest.mark.parametrize("run", RUNS)
def test_every_list_of_a_real_log_says_what_its_lines_say(run: str, tmp_path: Path) -> None:
    assert lies(run, tmp_path) == []


def test_a_list_that_shows_zero_for_the_unknown_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "NOT_LOGGED", ("0", "plain"))
    assert any("rebalance of" in claim for claim in lies("s04-kill", tmp_path))


def test_a_list_with_another_duration_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "duration", lambda us: formatting.duration(us * 2))
    assert any("rebalance of" in claim for claim in lies("s04-kill", tmp_path))


@pytest.mark.parametrize("run", [*RUNS, "s82-consumer-close", "s88-consumer-coordinator"])
def test_the_console_and_the_summary_know_the_same_rebalances(run: str, tmp_path: Path) -> None:
    read_logs([kept(run, tmp_path)], tmp_path / "read")
    view = ClusterView()
    for event in Recording(tmp_path / "read", logs=True).events():
        fold(view, event)
    summary = summary_of_logs(tmp_path / "read", salvage=False)
    assert summary is not None
    assert view.logs is not None
    shown = sorted(
        (one.began_us, name, one.generation, one.cause, one.took_us, one.attempts, one.trigger)
        for name, logged in view.logs.groups.items()
        for one in logged.rebalances
    )
    rows = sorted(
        (
            round(row.at_s * 1e6), row.group, row.generation, row.cause,
            None if row.took_s is None else round(row.took_s * 1e6), row.attempts, row.trigger,
        )
        for row in summary.rebalances
    )  # fmt: skip
    assert shown == rows
