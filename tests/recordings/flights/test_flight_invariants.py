"""A flight whose cluster breaks a promise: it ends there, says what was seen, and its recording is whole."""

from pathlib import Path

import msgspec
import pytest

from cluster.broker.replica import Replica
from cluster.invariants import SENTENCES
from cluster.protocol.errors import ErrorCode
from console.cli.execution import main
from recordings.flights.rerun import rerun
from recordings.flights.runner import Plan, fly
from recordings.journal.reader import Recording

OF_A_PLAIN_GROUP = ("", "group", "pid", "acks=all")
"""What an invariant may need for a flight of a group and an idempotent producer."""


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaders that acknowledge before the high watermark."""
    monkeypatch.setattr(Replica, "when_committed", lambda _, __, committed: committed(ErrorCode.NONE))


def test_a_sound_flight_breaks_nothing_and_looking_changes_nothing(plan: Plan) -> None:
    looked, blind = fly(plan), fly(msgspec.structs.replace(plan, invariants=False))
    assert not looked.invariants["violations"]
    assert looked.invariants["checked"] == len([one for one in SENTENCES.values() if one.needs in OF_A_PLAIN_GROUP])
    assert blind.invariants == {"checked": 0, "violations": []}
    assert (looked.journal_sha256, looked.turns) == (blind.journal_sha256, blind.turns)
    assert looked.invariants["checked"] >= 41


def test_a_violation_ends_the_flight_where_it_was_seen(plan: Plan, hasty: None, tmp_path: Path) -> None:
    result = fly(plan, record=tmp_path / "broken.flight")
    [violation] = result.invariants["violations"]
    assert violation["invariant"] == "A1"
    assert violation["sentence"] == SENTENCES["A1"].words
    assert "acknowledged, the high watermark is" in violation["found"]
    assert violation["at_s"] == result.virtual_s < 20
    assert not result.held
    assert len(result.last_events) == 50
    assert result.last_events[-1].seq == violation["seq"] == result.events
    recording = Recording(tmp_path / "broken.flight")
    assert recording.footer is not None
    assert (recording.footer.events, recording.footer.complete) == (result.events, False)
    again = rerun(tmp_path / "broken.flight")
    assert again.matches
    assert again.flight.invariants["violations"] == [violation]


def test_the_command_says_it_and_ends_with_1(
    hasty: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["run", "first-join", "--until", "20s", "--json"])
    said = capsys.readouterr()
    assert left.value.code == 1
    report = msgspec.json.decode(said.out)
    assert [each["invariant"] for each in report["invariants"]["violations"]] == ["A1"]
    assert "the last 50 events:" in said.err
    [kept] = tmp_path.iterdir()
    assert f"it is recorded in {kept.name}; `flightdeck rerun {kept.name}` shows it again" in said.err
    assert rerun(kept).flight.invariants["violations"] == report["invariants"]["violations"]
    with pytest.raises(SystemExit) as left:
        main(["run", "first-join", "--until", "20s"])
    assert "✖ A1 AckedIsCommitted" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["run", "first-join", "--until", "20s", "--no-invariants", "--json"])
    assert msgspec.json.decode(capsys.readouterr().out)["invariants"] == {"checked": 0, "violations": []}
