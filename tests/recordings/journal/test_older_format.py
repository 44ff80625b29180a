"""Recordings of older formats are played, summarised, exported and reported as if this version had written them.

A rerun says that their version drew other random numbers.
"""

import shutil
from pathlib import Path

import msgspec
import pytest
from pyarrow import parquet

from cluster.commands import kind_of, parse, targets_of
from cluster.events import CommandRefused, FaultStarted
from cluster.view import document
from console.cli.output import of_rerun
from recordings.flights.rerun import rerun
from recordings.journal.format import FOOTER, FORMAT, JournaledCommand
from recordings.journal.playback import Playback
from recordings.journal.reader import DamagedError, Recording
from recordings.journal.upgrade import upgraded_events, upgraded_lines
from recordings.tables.export import export
from recordings.tables.summary import summarize
from tests.support.broker_flights import refusals
from tests.support.completed_flight import flown
from tests.support.older_format import as_format_1
from tests.support.recording_files import uncompressed
from tests.support.scenario_builders import spec

OLD = Path(__file__).with_name("format_1")
OTHER_EVENTS = Path(__file__).with_name("format_2") / "a-member-dies.flight"
NAMES = ("every-fault", "first-flight")
SEGMENT = "segment-000001.jsonl"


@pytest.fixture(params=NAMES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a recording that format 1 wrote: playing may leave keyframes in it."""
    return shutil.copytree(OLD / f"{request.param}.flight", tmp_path / f"{request.param}.flight")


@pytest.fixture
def faults(tmp_path: Path) -> Path:
    """A copy of the recording with every kind of fault; its segment is plain text."""
    return shutil.copytree(OLD / "every-fault.flight", tmp_path / "every-fault.flight")


def edit(recording: Path, before: bytes, after: bytes) -> None:
    """Change one place of the segment, and let the footer be lost, as its hash would be wrong."""
    text = (recording / SEGMENT).read_bytes()
    assert text.count(before) == 1
    (recording / SEGMENT).write_bytes(text.replace(before, after))
    (recording / FOOTER).unlink()


def test_the_recordings_are_of_the_old_format() -> None:
    for name in NAMES:
        assert Recording(OLD / f"{name}.flight").header.format == 1 < FORMAT
    text = (OLD / "every-fault.flight" / SEGMENT).read_bytes()
    assert b"fault_kind" not in text
    assert b"targets" not in text


def test_every_fault_and_command_has_its_kind_and_targets(old: Path) -> None:
    recording = Recording(old)
    started = [event for event in recording.events() if isinstance(event, FaultStarted)]
    assert started
    for fault in started:
        assert (fault.fault_kind, fault.targets) == (kind_of(parse(fault.text)), targets_of(parse(fault.text)))
    for line in recording.survey().commands:
        assert (line.kind, line.targets) == (kind_of(parse(line.command)), targets_of(parse(line.command)))
    assert recording.warnings == []


def test_kinds_and_targets_of_some(faults: Path) -> None:
    found = {event.text: event for event in Recording(faults).events() if isinstance(event, FaultStarted)}
    for text, kind, targets in [
        ("cut billing-1 -> broker-1 for 1s", "cut_one_way", ("billing-1", "broker-1")),
        ("cut broker-1 broker-2 for 1s", "cut", ("broker-1", "broker-2")),
        ("lose next 1 responses of Heartbeat from broker-1 to billing-1", "lose_responses", ("broker-1", "billing-1")),
        ("set orders retention.ms 60000 for 2s", "set", ("orders",)),
        ("nemesis on seed 4 for 5s", "nemesis", ()),
    ]:
        assert (found[text].fault_kind, found[text].targets) == (kind, targets)
    assert len({event.fault_kind for event in found.values()}) >= 17


def test_a_rerun_of_other_events_is_another_flight_and_no_fault(tmp_path: Path) -> None:
    result = rerun(OTHER_EVENTS, record=tmp_path / "now.flight")
    assert (result.matches, result.exact, result.held) == (False, False, True)
    (warning,) = result.warnings
    assert "recorded by a version whose flights have other events (format 2, now 4)" in warning
    assert "other events: another flight after" in of_rerun(result, None)
    (killed,) = Recording(tmp_path / "now.flight").survey().commands
    assert (killed.command, killed.at_us) == ("kill billing-2", 4_000_000)
    again = rerun(tmp_path / "now.flight")
    assert (again.matches, again.exact, again.warnings) == (True, True, [])


def test_a_flight_of_other_events_that_was_killed_is_flown_anew_up_to_where_it_was(tmp_path: Path) -> None:
    killed = shutil.copytree(OTHER_EVENTS, tmp_path / "killed.flight")
    text = uncompressed(killed)
    (killed / f"{SEGMENT}.part").write_bytes(text[: len(text) // 2])
    totals = Recording(killed).survey().totals
    assert not totals.complete
    result = rerun(killed)
    assert (result.flight.virtual_us, result.report()["other_events"]) == (totals.virtual_us, True)
    assert totals.virtual_us < Recording(OTHER_EVENTS).survey().totals.virtual_us


def test_it_is_played(old: Path) -> None:
    playback = Playback(Recording(old))
    playback.seek_us(15_500_000)
    assert all(fault.kind == kind_of(parse(fault.text)) for fault in playback.view.faults.values())
    playback.seek_us(playback.end_us)
    assert document(playback.view, playback.at_us)["faults"] is not None
    assert playback.seq == Recording(old).survey().totals.events


@pytest.mark.parametrize("old", ["every-fault", pytest.param("first-flight", marks=pytest.mark.slow)], indirect=True)
def test_it_is_rerun_as_equal_and_the_new_recording_holds_the_same(old: Path, tmp_path: Path) -> None:
    result = rerun(old, record=tmp_path / "again.flight")
    assert result.matches, "flights are others now: see tests.support.older_format.py"
    assert not result.exact
    assert result.compared_events == Recording(old).survey().totals.events
    again = Recording(tmp_path / "again.flight")
    assert again.header.format == FORMAT
    assert list(again.entries()) == list(Recording(old).entries())


def test_a_rerun_finds_a_fault_that_was_another(faults: Path) -> None:
    edit(faults, b'"text":"isolate broker-2 for 1s","ends_at_us":14000000', b'"text":"heal","ends_at_us":14000000')
    result = rerun(faults, salvage=True)
    assert not result.matches
    assert result.first_divergence is not None
    assert result.first_divergence.recorded is not None
    assert result.first_divergence.recorded["fault_kind"] == "heal"


def test_a_fault_whose_command_cannot_be_read_is_damage(faults: Path) -> None:
    edit(faults, b'"text":"isolate broker-2 for 1s","ends_at_us":14000000', b'"text":"???","ends_at_us":14000000')
    with pytest.raises(DamagedError, match="the command of fault 15 cannot be read"):
        list(Recording(faults).entries())
    salvaged = Recording(faults, salvage=True)
    assert max(entry.seq for entry in salvaged.events()) == 676


def test_a_command_that_cannot_be_read_has_no_kind(faults: Path) -> None:
    edit(faults, b'{"command":"isolate broker-2 for 1s"', b'{"command":"???"')
    (line,) = [line for line in Recording(faults).survey().commands if line.command == "???"]
    assert (line.kind, line.targets) == ("", ())


def test_it_is_summarised(faults: Path, tmp_path: Path) -> None:
    rerun(faults, record=tmp_path / "again.flight")
    old, new = summarize(faults), summarize(tmp_path / "again.flight")
    assert len(old.faults) == 20
    made = {name: getattr(old, name) for name in ("recording", "started", "journal_sha256")}
    assert old == msgspec.structs.replace(new, **made)


def test_it_is_exported_with_the_added_columns(faults: Path, tmp_path: Path) -> None:
    export([faults], tmp_path / "out")
    rows = parquet.read_table(tmp_path / "out" / "tables" / "fault_started").to_pylist()
    events = [event for event in Recording(faults).events() if isinstance(event, FaultStarted)]
    assert [(row["fault_kind"], tuple(row["targets"])) for row in rows] == [
        (event.fault_kind, event.targets) for event in events
    ]
    commands = parquet.read_table(tmp_path / "out" / "tables" / "commands").to_pylist()
    assert {row["kind"] for row in commands} >= {"isolate", "mark", "subscribe"}


@pytest.mark.slow  # a Java virtual machine
@pytest.mark.timeout(300)
def test_it_is_reported(faults: Path, tmp_path: Path) -> None:
    from recordings.spark.report import report  # noqa: PLC0415 - PySpark takes seconds to load

    (flight,) = report([faults], tmp_path / "report").report.flights
    assert {each.text for each in flight.incidents} >= {"isolate broker-2 for 1s", "kill broker-1"}


def test_a_recording_of_today_can_be_made_older(faults: Path, tmp_path: Path) -> None:
    rerun(faults, record=tmp_path / "again.flight")
    made = as_format_1(tmp_path / "again.flight", tmp_path / "old.flight")
    assert (made / SEGMENT).read_bytes() == (faults / SEGMENT).read_bytes()
    assert (made / FOOTER).read_bytes() == (faults / FOOTER).read_bytes()


def test_a_command_line_keeps_what_it_says(faults: Path) -> None:
    (first, *_) = Recording(faults).survey().commands
    assert first == JournaledCommand(
        command="kill billing-2 for 2s", source="scenario", turn=885, at_us=4_000_000, after_seq=359,
        kind="kill", targets=("billing-2",),
    )  # fmt: skip


REWORDED = (
    ("LEADER_NOT_AVAILABLE: nobody leads orders-0", "LEADER_NOT_AVAILABLE: orders-0 has no leader"),
    ("nobody sends ConsumerGroupHeartbeat yet", "ConsumerGroupHeartbeat requests are not simulated yet"),
    ("no such link is injured", "no such link fault is in force"),
)


def test_the_simulation_refuses_in_the_words_that_format_1_is_read_in() -> None:
    """But for the APIs that were not simulated then, and are now."""
    steps = [(5.0, "kill broker-1"), (5.5, "delete records orders-0 before 1"), (7.0, "heal")]
    assert refusals(flown(spec(*steps, until_s=8))) == [now for _, now in REWORDED if "not simulated" not in now]


@pytest.mark.parametrize(("before", "now"), [*REWORDED, ("broker-1 is not paused", "broker-1 is not paused")])
def test_a_reason_of_a_refused_command_is_in_todays_words(before: str, now: str) -> None:
    refused = CommandRefused(text="heal a b", reason=before)
    (event,) = upgraded_events([refused], 1)
    assert isinstance(event, CommandRefused)
    assert event.reason == now
    assert upgraded_events([refused], FORMAT) == [refused]
    line = msgspec.json.encode(refused) + b"\n"
    assert b"".join(upgraded_lines(iter([line]), 1)) == msgspec.json.encode(event) + b"\n"
