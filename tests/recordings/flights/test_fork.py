"""A fork is the recorded flight up to its instant, and another one from there."""

import os
from pathlib import Path

import msgspec
import pytest

from cluster.commands import CommandError, parse
from console.cli.comparison import of_fork
from recordings.bounded_files import RecordingError
from recordings.comparison import course
from recordings.comparison.diff import diff
from recordings.flights.fork import ForkPoint, fork
from recordings.flights.rerun import rerun
from recordings.flights.runner import FlightResult, Replay, fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import Scenario, SettingError, parse_scenario
from tests.support.operator_commands import operated
from tests.support.recording_files import SEGMENT, uncompressed

Recorded = tuple[Path, FlightResult]
AT_US = 8_500_000


def lines(path: Path, before_us: int) -> list[bytes]:
    """The lines of the events before an instant."""
    every = b"".join(Recording(path).event_lines()).splitlines()
    return [line for line in every if msgspec.json.decode(line)["at_us"] < before_us]


def test_a_fork_without_a_change_is_the_recorded_flight(recorded: Recorded) -> None:
    path, flown = recorded
    again = fork(path, ForkPoint(at_us=AT_US))
    assert again.flight.journal_sha256 == flown.journal_sha256
    assert again.diff is not None
    assert again.diff.equal
    assert not again.diff.bills.differing
    shorter = fork(path, ForkPoint(at_us=AT_US), until_us=15_000_000)
    assert shorter.diff is not None
    assert shorter.diff.equal


def test_a_fork_is_the_recorded_flight_up_to_its_instant(recorded: Recorded, tmp_path: Path) -> None:
    path, _ = recorded
    other = tmp_path / "fork.flight"
    forked = fork(path, ForkPoint(at_us=AT_US, commands=("kill billing-1",)), record=other)
    assert forked.diff is not None
    assert not forked.diff.equal
    assert lines(other, AT_US) == lines(path, AT_US) != []
    given = [line for line in Recording(other).survey().commands if line.source == "operator"]
    recorded_commands = [line for line in Recording(path).survey().commands if line.source == "operator"]
    assert [line.command for line in given if line.at_us == AT_US] == ["kill billing-1"]
    assert [(line.at_us, line.command) for line in given if line.at_us != AT_US] == [
        (line.at_us, line.command) for line in recorded_commands
    ]
    assert forked.diff.logs.given_b[0].text == "kill billing-1"
    assert rerun(other).matches


def test_the_bill_of_a_fork_is_that_of_its_recording(recorded: Recorded, tmp_path: Path) -> None:
    path, other = recorded[0], tmp_path / "fork.flight"
    forked = fork(path, ForkPoint(at_us=AT_US, commands=("kill billing-1",)), record=other, until_us=25_000_000)
    again = fork(other, ForkPoint(at_us=AT_US), until_us=20_000_000)
    assert forked.diff is not None
    assert again.diff is not None
    assert forked.diff.until_us == 20_000_000  # where the recorded flight ends
    assert forked.diff.b.course.bill == again.diff.b.course.bill
    assert forked.diff.b.course.log == again.diff.b.course.log


def test_settings_are_set_in_flight_and_say_what_waits(recorded: Recorded) -> None:
    path, _ = recorded
    settings = (
        (None, "session.timeout.ms", "9000"),
        ("billing", "max.poll.records", "7"),
        ("billing", "static", "true"),
    )
    forked = fork(path, ForkPoint(at_us=AT_US, settings=settings))
    effects = {(change.scope, change.key): change.effect for change in forked.settings}
    assert effects["billing", "session.timeout.ms"] == "now"
    assert effects["billing", "static"] == "at the next start"
    with pytest.raises(SettingError, match="only read when the flight begins"):
        fork(path, ForkPoint(at_us=AT_US, settings=(("billing", "stagger", "3s"),)))


def test_a_killed_recording_has_forks(recorded: Recorded) -> None:
    path, _ = recorded
    text = uncompressed(path)
    (path / f"{SEGMENT}.part").write_bytes(text[: len(text) * 3 // 4])
    forked = fork(path, ForkPoint(at_us=6_000_000, commands=("kill billing-1",)))
    assert forked.diff is not None
    assert forked.flight.virtual_us == 20_000_000
    assert 6_000_000 < forked.diff.until_us < 20_000_000
    assert any("has no end" in warning for warning in forked.warnings)


def test_an_interrupted_recording_has_forks(tiny: Scenario, tmp_path: Path) -> None:
    def progress(now_us: int) -> None:
        if now_us == 14_000_000:
            raise KeyboardInterrupt

    path = tmp_path / "a.flight"
    fly(make_plan(tiny), record=path, progress=progress, replay=Replay(by_time=operated()))
    forked = fork(path, ForkPoint(at_us=13_000_000, commands=("kill billing-1",)))
    assert forked.diff is not None
    assert forked.diff.until_us == 14_000_000
    late = fork(path, ForkPoint(at_us=16_000_000, commands=("kill billing-1",)))
    assert late.diff is None
    assert any("before the fork" in warning for warning in late.warnings)


def test_an_interrupted_fork_is_compared_as_far_as_it_was_flown(recorded: Recorded) -> None:
    def progress(now_us: int) -> None:
        if now_us == 14_000_000:
            raise KeyboardInterrupt

    forked = fork(recorded[0], ForkPoint(at_us=AT_US, commands=("kill billing-1",)), progress=progress)
    assert forked.flight.interrupted
    assert forked.diff is not None
    assert forked.diff.until_us == forked.diff.a.course.bill.at_us == forked.diff.b.course.bill.at_us == 14_000_000


def test_a_fork_that_ends_before_its_instant_has_not_held(recorded: Recorded) -> None:
    def progress(now_us: int) -> None:
        if now_us == 4_000_000:
            raise KeyboardInterrupt

    forked = fork(recorded[0], ForkPoint(at_us=AT_US, commands=("kill billing-1",)), progress=progress)
    assert not forked.held
    assert forked.diff is None
    assert "the flight was ended at 4 s, before the fork: it has no course of its own" in forked.warnings
    nothing_else = msgspec.structs.replace(forked.flight, expectations=[])
    assert not msgspec.structs.replace(forked, flight=nothing_else).held
    assert msgspec.structs.replace(forked, flight=msgspec.structs.replace(nothing_else, virtual_us=AT_US)).held


def test_a_command_that_is_refused_leads_and_has_not_held(recorded: Recorded) -> None:
    twice = fork(recorded[0], ForkPoint(at_us=AT_US, commands=("kill billing-1", "kill billing-1")))
    assert [each.text for each in twice.refused] == ["kill billing-1"]
    assert not twice.held
    assert of_fork(twice, None).startswith("✖ refused, and without effect: kill billing-1: billing-1 ")
    once = fork(recorded[0], ForkPoint(at_us=AT_US, commands=("kill billing-1",)))
    assert not once.refused
    assert once.held == once.flight.held


def test_a_large_recording_is_read_in_another_process_meanwhile(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = recorded
    point = ForkPoint(at_us=AT_US, commands=("kill billing-1",))
    here = fork(path, point)
    monkeypatch.setattr(course, "ALONE_BELOW_BYTES", 0)
    monkeypatch.setattr(course, "can_fly_another", lambda: True)
    monkeypatch.setattr(course, "course_of", _not_here)
    meanwhile = fork(path, point)
    assert here.diff is not None
    assert meanwhile.diff is not None
    assert meanwhile.diff.report() == here.diff.report()
    monkeypatch.setattr(course, "_course_or_reason", _ends)
    with pytest.raises(RecordingError, match="could not be read: its process ended"):
        fork(path, point)


def _not_here(order: course.CourseOrder) -> course.Course:
    raise AssertionError(f"{order.path} is read in this process")


def _ends(_order: course.CourseOrder) -> None:
    """A process that the machine kills while it reads."""
    os._exit(9)


def test_what_cannot_be_forked_is_refused(recorded: Recorded) -> None:
    path, _ = recorded
    with pytest.raises(SettingError, match="the fork ends before it, at 20 s"):
        fork(path, ForkPoint(at_us=30_000_000))
    with pytest.raises(CommandError, match="billing-1"):
        fork(path, ForkPoint(at_us=AT_US, commands=("kill biling-1",)))
    header = path / "header.json"
    header.write_text(header.read_text().replace('"format": 4', '"format": 3'))
    with pytest.raises(RecordingError, match=r"other events \(format 3, now 4\)"):
        fork(path, ForkPoint(at_us=AT_US))


# --- topics that the flight has created before the fork ---------------------------------------------------------------

CREATING = """
title = "creating"
until = "6s"
[cluster]
brokers = 1
[[topic]]
name = "orders"
replication = 1
[[group]]
name = "g"
topics = ["orders"]
[[at]]
time = "2s"
do = "create topic returns partitions 2 replicas 1"
"""
CREATED_US = 4_000_000


@pytest.fixture(scope="module")
def creating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step has created `returns`, and the operator `extra` and a third member."""
    path = tmp_path_factory.mktemp("creating") / "creating.flight"
    given = ("create topic extra partitions 2", "add partitions extra to 3", "scale g to 3")
    replay = Replay(by_time=tuple((3_000_000, parse(text)) for text in given))
    fly(make_plan(parse_scenario(CREATING, "creating.toml")), record=path, replay=replay)
    return path


def test_a_fork_sets_what_a_step_or_the_operator_has_created(creating: Path) -> None:
    settings = (("returns", "retention.ms", "5s"), ("extra", "retention.ms", "6s"))
    forked = fork(creating, ForkPoint(at_us=CREATED_US, settings=settings))
    assert [(one.scope, one.value) for one in forked.settings] == [("returns", "5000"), ("extra", "6000")]
    of_all = fork(creating, ForkPoint(at_us=CREATED_US, settings=((None, "retention.ms", "5s"),)))
    assert {one.scope for one in of_all.settings} == {"orders", "returns", "extra"}


def test_a_fork_before_a_step_creates_the_topic_says_so(creating: Path) -> None:
    with pytest.raises(SettingError, match="there is no topic returns yet: a step creates it at 2s"):
        fork(creating, ForkPoint(at_us=1_000_000, settings=(("returns", "retention.ms", "5s"),)))


def test_a_command_of_a_fork_names_what_was_created_before_it(creating: Path) -> None:
    given = (
        "elect preferred extra-2",
        "create topic x",
        "add partitions x to 6",
        "add partitions extra to 6",
        "kill g-3",
    )
    forked = fork(creating, ForkPoint(at_us=CREATED_US, commands=given, settings=(("x", "retention.ms", "5s"),)))
    assert [one.text for one in forked.refused] == ["elect preferred extra-2"]  # its leader is the preferred one
    assert [(one.scope, one.value) for one in forked.settings] == [("x", "5000")]
    with pytest.raises(CommandError, match="no topic is named x"):
        fork(creating, ForkPoint(at_us=CREATED_US, commands=("add partitions x to 6", "create topic x")))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("create topic x partitions 2 config retention.ms=7,segment.ms=9",), ["x is created with 2 partitions"]),
        (
            ("create topic x config retention.ms=7", "set x retention.ms 8"),
            ["x is created with 1 partition", "set x retention.ms 8"],
        ),
        (("add partitions orders to 3",), ["orders has 3 partitions"]),
    ],
)
def test_a_topic_of_the_fork_is_its_change(creating: Path, given: tuple[str, ...], said: list[str]) -> None:
    """Neither its configuration nor the elections of its first leaders are a change, or a divergence, of their own."""
    found = fork(creating, ForkPoint(at_us=CREATED_US, commands=given)).diff
    assert found is not None
    assert [one.text for one in found.logs.given_b] == said
    assert found.logs.given_a == []
    assert found.logs.divergence is None or "created" not in found.logs.divergence.b[0].text


def test_a_topic_that_both_flights_create_diverges(creating: Path, tmp_path: Path) -> None:
    late = tmp_path / "late.flight"
    text = CREATING.replace('time = "2s"', 'time = "5s"')
    fly(make_plan(parse_scenario(text, "late.toml")), record=late)
    found = diff(creating, late)
    assert found.logs.divergence is not None
    assert found.logs.divergence.a[0].text == "returns is created with 2 partitions"
    assert {one.subject for one in found.logs.given_a} >= {"extra"}
