"""A recording flown again is the same flight, up to its last whole event; a changed one says where it differs."""

from pathlib import Path

import pytest

from cluster.commands import parse
from recordings.flights.rerun import rerun
from recordings.flights.runner import FlightResult, Plan, Replay, fly, make_plan
from recordings.journal.reader import DamagedError, Recording
from recordings.scenarios.loader import Scenario, ScenarioErrors, parse_scenario
from tests.support.minimal_scenario import MINIMAL
from tests.support.operator_commands import OPERATOR
from tests.support.recording_files import SEGMENT, uncompressed

Recorded = tuple[Path, FlightResult]


def test_the_operators_commands_make_the_same_flight_again(recorded: Recorded, tmp_path: Path) -> None:
    path, flown = recorded
    again = rerun(path, record=tmp_path / "again.flight")
    assert again.matches
    assert again.held == flown.held
    assert again.first_divergence is None
    assert again.compared_events == flown.events == again.flight.events
    assert (again.flight.journal_sha256, again.flight.turns) == (flown.journal_sha256, flown.turns)
    assert again.flight.expectations == flown.expectations
    assert again.flight.view == flown.view
    commands = [(line.command, line.at_us) for line in Recording(path).survey().commands if line.source == "operator"]
    assert commands == [(text, at_us) for at_us, text in OPERATOR]
    assert Recording(tmp_path / "again.flight").survey().commands == Recording(path).survey().commands


def test_the_report_of_a_rerun_says_the_same_and_how_it_compares(recorded: Recorded) -> None:
    report = rerun(recorded[0]).report()
    assert list(report)[-5:] == ["exact", "other_events", "matches", "compared_events", "first_divergence"]
    assert report["journal_sha256"] == recorded[1].journal_sha256


@pytest.mark.parametrize("share", [0.02, 0.3, 0.77, 0.9999])
def test_a_flight_that_was_killed_is_flown_again_to_its_last_whole_event(recorded: Recorded, share: float) -> None:
    path, _ = recorded
    text = uncompressed(path)
    (path / f"{SEGMENT}.part").write_bytes(text[: int(len(text) * share)])
    survey = Recording(path).survey()
    again = rerun(path)
    assert again.matches
    assert again.compared_events == again.flight.events == survey.totals.events
    assert again.flight.journal_sha256 == survey.totals.journal_sha256
    assert "its last whole event is" in again.warnings[0]


def test_an_interrupted_flight_is_flown_again_to_where_it_was(plan: Plan, tmp_path: Path) -> None:
    def progress(now_us: int) -> None:
        if now_us == 14_000_000:
            raise KeyboardInterrupt

    flown = fly(plan, record=tmp_path / "a.flight", progress=progress)
    again = rerun(tmp_path / "a.flight")
    assert again.matches
    assert (again.flight.events, again.flight.journal_sha256) == (flown.events, flown.journal_sha256)


def test_a_flight_killed_before_its_first_event_was_on_disk_differs_in_nothing(recorded: Recorded) -> None:
    uncompressed(recorded[0])
    (recorded[0] / f"{SEGMENT}.part").write_bytes(b'{"kind":"broker_st')
    again = rerun(recorded[0])
    assert (again.matches, again.held, again.compared_events, again.flight.virtual_us) == (True, True, 0, 0)
    assert "nothing to compare with" in again.warnings[-1]


def test_a_changed_recording_names_the_first_event_that_differs(recorded: Recorded) -> None:
    path, _ = recorded
    text = uncompressed(path)
    changed = text.replace(b'"reason":"session expired"', b'"reason":"member left"', 1)
    seq = int(changed[: changed.index(b'"reason":"member left"')].rpartition(b'"seq":')[2].partition(b",")[0])
    (path / f"{SEGMENT}.part").write_bytes(changed)
    again = rerun(path)
    assert not again.matches
    assert not again.held
    assert again.compared_events == seq - 1
    assert again.first_divergence is not None
    assert again.first_divergence.seq == seq
    assert again.first_divergence.recorded is not None
    assert again.first_divergence.rerun is not None
    assert again.first_divergence.recorded["reason"] == "member left"
    assert again.first_divergence.rerun["reason"] == "session expired"


def test_a_damaged_recording_is_refused_or_flown_up_to_the_damage(recorded: Recorded) -> None:
    path, _ = recorded
    footer = (path / "footer.json").read_bytes()
    text = uncompressed(path)
    (path / f"{SEGMENT}.part").unlink()
    (path / "footer.json").write_bytes(footer)
    (path / SEGMENT).write_bytes(text.replace(b'"seq":900,', b'"seq":901,', 1))
    with pytest.raises(DamagedError, match="event 901 follows event 899"):
        rerun(path)
    again = rerun(path, salvage=True)
    assert again.matches
    assert again.compared_events == again.flight.events == 899


def test_another_end(recorded: Recorded) -> None:
    path, flown = recorded
    shorter = rerun(path, until_us=10_000_000)
    assert shorter.matches
    assert shorter.flight.virtual_s == 10.0
    assert shorter.compared_events == shorter.flight.events < flown.events
    longer = rerun(path, until_us=25_000_000)
    assert longer.matches
    assert longer.compared_events == flown.events < longer.flight.events


def test_what_if_gives_the_commands_at_their_instants(recorded: Recorded, tmp_path: Path) -> None:
    path, _ = recorded
    what_if = rerun(path, settings=[("billing", "session.timeout.ms", "9000")], record=tmp_path / "b.flight")
    assert not what_if.matches
    assert not what_if.exact
    assert what_if.first_divergence is not None
    commands = [line for line in Recording(tmp_path / "b.flight").survey().commands if line.source == "operator"]
    assert [(line.at_us, line.command) for line in commands] == list(OPERATOR)
    assert rerun(tmp_path / "b.flight").matches


def test_a_flight_whose_commands_cannot_come_again_says_so(recorded: Recorded) -> None:
    path, _ = recorded
    text = uncompressed(path)
    turn = Recording(path).survey().commands[0].turn
    later = text.replace(b'"turn":%d,' % turn, b'"turn":%d,' % (turn + 400), 1)
    (path / f"{SEGMENT}.part").write_bytes(later)
    again = rerun(path)
    assert not again.matches
    assert again.first_divergence is not None or again.flight.diverged is not None


def test_a_forever_flight_is_flown_again(tiny: Scenario, tmp_path: Path) -> None:
    def progress(now_us: int) -> None:
        if now_us == 22_000_000:
            raise KeyboardInterrupt

    flown = fly(
        make_plan(tiny, forever=True),
        record=tmp_path / "a.flight",
        progress=progress,
        replay=Replay(by_time=((21_000_000, parse("kill broker-1")),)),
    )
    again = rerun(tmp_path / "a.flight")
    assert again.matches
    assert again.compared_events == flown.events


ENDLESS = f"""until = "4s"
{MINIMAL}
[[expect]]
that = "groups.billing.members == 2"
by = "9s"
[[expect]]
event = "member_removed"
by = "3s"
to = "5s"
"""


def test_what_an_earlier_version_flew_and_recorded_is_flown_again(tmp_path: Path) -> None:
    """A deadline after the end is a mistake of a file; a recording has it for good, and its events are the same."""
    with pytest.raises(ScenarioErrors, match="after the end of the flight"):
        parse_scenario(ENDLESS, "endless.toml")
    flown = fly(make_plan(parse_scenario(ENDLESS, "endless.toml", recorded=True)), record=tmp_path / "a.flight")
    again = rerun(tmp_path / "a.flight")
    assert again.matches
    assert again.flight.expectations == flown.expectations
    assert rerun(tmp_path / "a.flight", settings=[("billing", "session.timeout.ms", "9000")]).flight.virtual_s == 4.0


def test_what_cannot_be_flown_is_not_flown_again_either() -> None:
    with pytest.raises(ScenarioErrors, match="from: it is after the end of the flight"):
        parse_scenario(ENDLESS.replace('to = "5s"', 'from = "5s"'), "endless.toml", recorded=True)
