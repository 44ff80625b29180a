"""Looking at a stranger's scenario or recording runs none of its code, wherever that code lies.

A module is planted wherever Python or Flightdeck could find one; it leaves a trace when it runs. Every command is
tried, and those that may run it with leave are tried with leave, so that the trap is known to work.
"""

import shutil
import sys
from pathlib import Path

import pytest

from cluster.assignors import ASSIGNORS
from console.cli import execution as cli
from console.player import Player
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import load
from tests.support.minimal_scenario import DECLARED

NEEDED = "runs only with --allow-code"
SCENARIO = f"""title = "A stranger's"
until = "4s"
{DECLARED}assignors = ["planted.Assignor"]
"""
MODULE = """
class Assignor:
    name = "planted"
    def assign(self, partitions_per_topic, subscriptions):
        everything = [(topic, number) for topic, count in partitions_per_topic.items() for number in range(count)]
        first = min(subscriptions)
        return {member: everything if member == first else [] for member in subscriptions}
"""
LOOKS = {
    "show": ("show", "stranger/s.toml"),
    "play": ("play", "stranger/a.flight", "--headless"),
    "summary": ("summary", "stranger/a.flight"),
    "summary --json": ("summary", "stranger/a.flight", "--json"),
    "export": ("export", "stranger/a.flight", "--to", "tables"),
    "check": ("check", "--seeds", "1", "--virtual", "50s"),
    "scenarios": ("scenarios",),
    "doctor": ("doctor",),
}
FLIES = {
    "run": ("run", "stranger/s.toml"),
    "impact": ("impact", "stranger/s.toml", "kill broker-1", "--at", "2s"),
    "console --plain": ("--plain", "--scenario", "stranger/s.toml"),
    "rerun": ("rerun", "stranger/a.flight"),
    "rerun inside": ("rerun", "stranger/planted.d/b.flight"),
    "run --set": ("run", "first-flight", "--until", "2s", "--set", "billing.assignors=planted.Assignor"),
}


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's scenario and recordings, in a place that is full of planted modules."""
    trace, stranger = tmp_path / "trace", tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "s.toml").write_text(SCENARIO)
    (stranger / "planted.py").write_text(MODULE)
    plan = make_plan(load(stranger / "s.toml"), leave=Leave(len))
    fly(plan, record=stranger / "a.flight")
    (stranger / "planted.d").mkdir()
    shutil.copytree(stranger / "a.flight", stranger / "planted.d" / "b.flight")
    header = stranger / "planted.d" / "b.flight" / "header.json"
    header.write_text(header.read_text().replace('"scenario": "s"', '"scenario": "stranger/planted.d/b.flight/x"'))
    assert "b.flight/x" in header.read_text()
    ASSIGNORS.pop("planted.Assignor")
    on_path = tmp_path / "path"
    on_path.mkdir()
    for place in (tmp_path, stranger, on_path, *stranger.glob("*.flight"), *stranger.glob("planted.d/*.flight")):
        (place / "planted.py").write_text(f"__import__('pathlib').Path({str(trace)!r}).touch()\n{MODULE}")
    monkeypatch.syspath_prepend(on_path)
    monkeypatch.syspath_prepend("")
    monkeypatch.setenv("PYTHONPATH", str(on_path))
    monkeypatch.chdir(tmp_path)
    return trace


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """No test finds what another has loaded."""
    ASSIGNORS.pop("planted.Assignor", None)
    sys.modules.pop("planted", None)


@pytest.mark.parametrize("words", LOOKS.values(), ids=list(LOOKS))
def test_looking_runs_nothing(words: tuple[str, ...], trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli._run(words)
    assert code == 0 or words == ("doctor",), capsys.readouterr().err
    assert not trace.exists()


def test_opening_a_recording_on_the_screens_runs_nothing(trace: Path) -> None:
    assert Player(Path("stranger/a.flight")).names.groups == {"billing": ("billing-1", "billing-2")}
    assert not trace.exists()


@pytest.mark.slow
def test_a_report_runs_nothing(trace: Path) -> None:
    assert cli._run(["report", "stranger/a.flight", "--out", "report"]) == 0
    assert not trace.exists()


@pytest.mark.parametrize("words", [*FLIES.values(), ("bench", "stranger/s.toml")], ids=[*FLIES, "bench"])
def test_flying_without_leave_is_one_sentence_and_exit_code_2(
    words: tuple[str, ...], trace: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert cli._run(words) == 2
    error = capfd.readouterr().err.strip()
    assert error.count("\n") == 0
    assert (
        f"planted.Assignor is code of a {'recorded ' if words[0] == 'rerun' else ''}scenario, which {NEEDED}" in error
    )
    assert not trace.exists()


@pytest.mark.parametrize("name", [name for name in FLIES if name != "run --set"])
def test_the_trap_works_flying_with_leave_runs_it_and_says_so(
    name: str, trace: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*FLIES[name], "--allow-code", *(["stranger"] if "rerun" in name else [])]
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert cli._run(words) == 0
    said = capfd.readouterr().err
    assert trace.exists()
    assert f"scenario: {Path('stranger/planted.py')}, class Assignor" in said


@pytest.mark.parametrize("folder", ["stranger/a.flight", "nowhere"])
def test_leave_is_for_a_directory_that_is_not_the_recording(
    folder: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli._run(["rerun", "stranger/a.flight", "--allow-code", folder]) == 2
    words = "is not a directory" if folder == "nowhere" else "would be code of the recording itself"
    assert words in capsys.readouterr().err
    assert not trace.exists()
