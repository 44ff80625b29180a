"""A headless flight: what it reports, how it ends, and that recording it changes nothing."""

import errno
from collections import deque
from pathlib import Path

import msgspec
import pytest

from cluster.events import Event
from recordings.bounded_files import RecordingError
from recordings.flights.runner import FlightError, Plan, fly, make_plan
from recordings.journal.reader import Recording
from recordings.journal.segments import SegmentWriter
from recordings.scenarios.loader import Scenario, SettingError


def test_the_report_has_the_fields_of_the_contract_in_their_order(plan: Plan) -> None:
    report = fly(plan).report()
    assert list(report) == [
        "scenario", "seed", "virtual_s", "wall_s", "events", "turns", "journal_sha256", "expectations", "invariants",
        "view",
    ]  # fmt: skip
    assert (report["scenario"], report["seed"], report["virtual_s"]) == ("tiny", 5, 20.0)
    assert [judged["ok"] for judged in report["expectations"]] == [True, True, True]
    assert set(report["invariants"]) == {"checked", "violations"}
    assert report["view"]["now_ms"] == 20_000
    assert report["view"]["members"]["billing-2"]["alive"] is False
    assert msgspec.json.decode(msgspec.json.encode(report)) == report


def test_one_seed_is_one_flight_recorded_or_not_logged_or_not(plan: Plan, tmp_path: Path) -> None:
    told: list[Event] = []
    plain = fly(plan)
    recorded = fly(plan, record=tmp_path / "a.flight", log=told.append, progress=lambda _: None)
    assert plain.journal_sha256 == recorded.journal_sha256
    assert (plain.events, plain.turns) == (recorded.events, recorded.turns) == (len(told), plain.turns)
    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    recording = Recording(tmp_path / "a.flight")
    assert list(recording.events()) == told
    assert recording.survey().totals == recording.footer
    assert recording.footer is not None
    assert recording.footer.complete
    assert [(line.command, line.source, line.at_us) for line in recording.survey().commands] == [
        ("kill billing-2", "scenario", 12_000_000)
    ]


def test_an_event_does_not_change_after_it_was_told(plan: Plan) -> None:
    """Lines are encoded a batch at a time, which is only right if no code writes into an event's dictionaries."""
    lines: list[bytes] = []
    encoder = msgspec.json.Encoder()
    late: list[bytes] = []
    fly(plan, log=lambda event: lines.append(encoder.encode(event) + b"\n"), on_lines=late.append)
    assert b"".join(lines) == b"".join(late)


def test_another_seed_is_another_flight(tiny: Scenario, plan: Plan) -> None:
    assert fly(make_plan(tiny, seed=6)).journal_sha256 != fly(plan).journal_sha256


def test_settings_are_flown_and_recorded(tiny: Scenario, tmp_path: Path) -> None:
    plan = make_plan(tiny, settings=[("billing", "members", "3"), (None, "billing.session.timeout.ms", "7000")])
    result = fly(plan, record=tmp_path / "a.flight")
    assert "billing-3" in result.view["members"]
    settings = Recording(tmp_path / "a.flight").header.settings
    assert settings.set == (("billing", "members", "3"), (None, "billing.session.timeout.ms", "7000"))
    with pytest.raises(SettingError, match="billing"):
        make_plan(tiny, settings=[("biling", "members", "3")])


def test_a_shortened_flight_leaves_later_sentences_unjudged(tiny: Scenario) -> None:
    result = fly(make_plan(tiny, until_us=15_500_000))
    assert result.virtual_s == 15.5
    assert [judged["ok"] for judged in result.expectations] == [True, None, None]
    assert result.held


def test_a_sentence_that_does_not_hold_is_told(tiny: Scenario) -> None:
    result = fly(make_plan(tiny, settings=[("billing", "session.timeout.ms", "30000"), (None, "members", "2")]))
    assert [judged["ok"] for judged in result.expectations] == [True, False, False]
    assert not result.held


def interrupt_at(at_us: int) -> object:
    def progress(now_us: int) -> None:
        if now_us >= at_us:
            raise KeyboardInterrupt

    return progress


def test_ctrl_c_ends_a_flight_in_good_order(plan: Plan, tmp_path: Path) -> None:
    result = fly(plan, record=tmp_path / "a.flight", progress=interrupt_at(14_000_000))  # type: ignore[arg-type]
    assert result.interrupted
    assert result.virtual_s == 14.0
    assert [judged["ok"] for judged in result.expectations] == [True, None, None]
    recording = Recording(tmp_path / "a.flight")
    assert recording.footer is not None
    assert not recording.footer.complete
    assert recording.survey().totals.journal_sha256 == result.journal_sha256


def test_a_flight_without_an_end_goes_on_until_it_is_stopped(tiny: Scenario) -> None:
    result = fly(make_plan(tiny, forever=True), progress=interrupt_at(33_000_000))  # type: ignore[arg-type]
    assert result.virtual_s == 33.0
    assert result.interrupted


def test_a_bug_is_told_with_the_last_events_and_the_recording_is_closed(plan: Plan, tmp_path: Path) -> None:
    told: deque[Event] = deque(maxlen=50)

    def log(event: Event) -> None:
        told.append(event)
        if event.seq == 700:
            raise ZeroDivisionError("a bug")

    with pytest.raises(FlightError) as caught:
        fly(plan, record=tmp_path / "a.flight", log=log)
    assert "ZeroDivisionError: a bug (tests/recordings/flights/test_flight.py, line " in str(caught.value)
    assert "`tiny` with seed 5" in str(caught.value)
    assert caught.value.last_events == list(told)
    recording = Recording(tmp_path / "a.flight")
    assert len(list(recording.events())) == 700
    assert recording.footer is not None
    assert not recording.footer.complete


def test_a_disk_that_fills_up_ends_the_flight_and_keeps_what_there_is(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = SegmentWriter._put

    def put(segments: SegmentWriter, lines: bytes) -> None:
        if segments.offset > 300_000:  # the recording's own file stays open: only its writes fail
            with Path("/dev/full").open("wb", buffering=0) as full:
                full.write(lines)
        original(segments, lines)

    monkeypatch.setattr(SegmentWriter, "_put", put)
    with pytest.raises(RecordingError, match="No space left on device; what was recorded is kept"):
        fly(plan, record=tmp_path / "a.flight")
    events = list(Recording(tmp_path / "a.flight").events())
    assert len(events) >= 1_000


def test_a_disk_that_says_nothing_of_a_file_is_quoted_and_nobody_is_blamed_for_moving_it(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = Path.stat

    def fails(path: Path, *, follow_symlinks: bool = True) -> object:
        if path.name.endswith(".part"):
            raise OSError(errno.EIO, "Input/output error")
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", fails)
    with pytest.raises(RecordingError, match=r"\.part: Input/output error"):
        fly(plan, record=tmp_path / "a.flight")
