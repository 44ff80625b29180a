"""Wherever a playback goes, and however it gets there, it shows what playing up to there shows."""

import ast
import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster import view
from cluster.events import Event, FaultStarted, RebalanceStarted
from cluster.view import ClusterView, document, fold
from recordings.flights.runner import Plan, fly
from recordings.journal import keyframes
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording

END_US = 240_000_000


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory, eventful: Plan) -> Path:
    """Four eventful minutes, with a keyframe every 1,500 events."""
    path = tmp_path_factory.mktemp("playback") / "a.flight"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyframes, "LEAST_EVENTS", 1_500)
        fly(eventful, record=path)
    return path


@pytest.fixture(scope="module")
def events(flight: Path) -> list[Event]:
    return list(Recording(flight).events())


def played(events: list[Event], *, seq: float = float("inf"), at_us: float = float("inf")) -> ClusterView:
    view = ClusterView()
    for event in events:
        if event.seq > seq or event.at_us > at_us:
            break
        fold(view, event)
    return view


@pytest.fixture(scope="module")
def playback(flight: Path) -> Playback:
    return Playback(Recording(flight))


@pytest.mark.slow
def test_a_recording_is_written_with_keyframes(flight: Path, events: list[Event]) -> None:
    positions = keyframes.Keyframes(flight).positions
    assert [position.seq for position in positions] == list(range(1_500, len(events), 1_500))[: len(positions)]
    assert len(positions) >= 10
    for position in positions[::7]:
        assert keyframes.Keyframes(flight).get(position) == played(events, seq=position.seq)


@settings(max_examples=25, deadline=None)
@given(targets=st.lists(st.integers(0, END_US + 1_000_000), min_size=1, max_size=4))
def test_seeking_an_instant_equals_playing_to_it(playback: Playback, events: list[Event], targets: list[int]) -> None:
    for target in targets:
        playback.seek_us(target)
    at_us = min(targets[-1], END_US)
    assert playback.at_us == at_us
    expected = played(events, at_us=at_us)
    assert playback.view == expected
    assert document(playback.view, at_us) == document(expected, at_us)


MOVES = st.one_of(
    st.tuples(st.just("seek_us"), st.integers(0, END_US)),
    st.tuples(st.just("seek_seq"), st.integers(0, 200_000)),
    st.tuples(st.just("step"), st.integers(-40, 40)),
    st.tuples(st.just("tick"), st.floats(0, 0.02)),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(moves=st.lists(MOVES, min_size=1, max_size=8))
def test_any_moves_end_in_the_view_of_their_place(
    playback: Playback, events: list[Event], moves: list[tuple[str, float]]
) -> None:
    heard: list[Event] = []
    playback.listeners = [heard.append]
    playback.playing, playback.speed = True, 500.0
    for move, argument in moves:
        before, jumps = playback.seq, playback.jumps
        heard.clear()
        getattr(playback, move)(argument)
        if playback.jumps == jumps:
            assert [event.seq for event in heard] == list(range(before + 1, playback.seq + 1))
        else:
            assert heard == []
    assert playback.view == played(events, seq=playback.seq)
    following = events[playback.seq].at_us if playback.seq < len(events) else END_US
    assert playback.view.at_us <= playback.at_us <= following


@pytest.mark.slow
def test_playing_to_the_end_tells_every_event_and_stops(flight: Path, events: list[Event]) -> None:
    playback = Playback(Recording(flight))
    heard: list[Event] = []
    playback.listeners.append(heard.append)
    playback.speed = 1_000.0
    playback.tick(1.0)
    assert playback.at_us == 0
    playback.playing = True
    for _ in range(1_000):
        playback.tick(0.01)
    assert heard == events
    assert not playback.playing
    assert playback.at_end
    assert playback.at_us == END_US


def test_speed_is_virtual_seconds_a_wall_second(flight: Path) -> None:
    playback = Playback(Recording(flight))
    playback.playing = True
    for speed, expected_us in ((1.0, 500_000), (20.0, 10_500_000), (0.01, 10_505_000), (1e9, 240_000_000)):
        playback.speed = speed
        playback.tick(0.5)
        assert playback.at_us == expected_us
    assert playback.speed == 1_000.0


def test_a_budget_puts_off_what_it_has_no_time_for(flight: Path) -> None:
    playback = Playback(Recording(flight))
    playback.playing, playback.speed = True, 1_000.0
    playback.tick(0.2, budget_s=0.0)
    assert 0 < playback.seq <= 64
    assert playback.at_us == playback.view.at_us
    assert playback.playing


def test_landmarks_are_the_rebalances_and_faults(playback: Playback, events: list[Event]) -> None:
    expected = [event.at_us for event in events if isinstance(event, RebalanceStarted | FaultStarted)]
    assert set(expected) <= {moment.at_us for moment in playback.landmarks()}
    playback.seek_us(0)
    forwards = []
    while (moment := playback.next_moment()) is not None:
        forwards.append(playback.at_us)
        assert moment.at_us == playback.at_us
    instants = sorted({moment.at_us for moment in playback.landmarks()} - {0})
    assert forwards == instants
    backwards = [playback.at_us]
    while playback.previous_moment() is not None:
        backwards.append(playback.at_us)
    assert backwards == instants[::-1]


def test_going_on_until_something_is_true(playback: Playback) -> None:
    playback.seek_us(0)
    assert playback.next_of_kind("group_stabilized")
    first = playback.at_us
    assert playback.view.groups["billing"].state == "Stable" or playback.view.groups["audit"].state == "Stable"
    assert playback.seek_when(lambda view, _: bool(view.faults))
    assert first < playback.at_us == 30_000_000
    assert not playback.next_of_kind("group_deleted")
    assert playback.at_end


def test_without_keyframes_they_are_made_by_the_first_reader(flight: Path, events: list[Event], tmp_path: Path) -> None:
    copy = tmp_path / "a.flight"
    copy.mkdir()
    for file in flight.iterdir():
        if file.is_file():
            (copy / file.name).write_bytes(file.read_bytes())
    first = Playback(Recording(copy))
    first.seek_us(END_US)
    positions = keyframes.Keyframes(copy).positions
    assert len(positions) >= len(events) // 30_000 >= 2
    again = Playback(Recording(copy))
    for at_us in (150_000_000, 100_000_000, 200_000_000):
        again.seek_us(at_us)
        assert again.view == played(events, at_us=at_us)


def test_the_fingerprint_covers_every_module_that_the_fold_imports() -> None:
    files = set(keyframes.fold_files())
    for file in Path(str(view.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("cluster."):
                module = importlib.import_module(str(node.module))
                for alias in node.names:
                    home = str(getattr(getattr(module, alias.name), "__module__", ""))
                    home = home if home.startswith("cluster.") else module.__name__  # a constant's
                    assert Path(str(sys.modules[home].__file__)) in files, f"{file.name} imports {home}"


def test_the_fingerprint_reads_sources_where_compiled_modules_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    files = keyframes.fold_files()
    (units,) = [file for file in files if file.name == "units.py"]
    monkeypatch.setattr("cluster.config.units.__file__", str(units.with_name("units.cpython-311-x86_64-linux-gnu.so")))
    assert keyframes.fold_files() == files


def test_keyframes_of_another_fold_or_damaged_ones_are_not_used(
    flight: Path, events: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = flight / "keyframes"
    kept = {file: file.read_bytes() for file in directory.iterdir()}
    monkeypatch.setattr(keyframes, "fingerprint", lambda: "another fold")
    assert keyframes.Keyframes(flight).positions == []
    monkeypatch.undo()
    try:
        for file in sorted(directory.glob("*.zst"))[2:]:
            file.write_bytes(b"no keyframe")
        playback = Playback(Recording(flight))
        playback.seek_us(END_US // 3)
        assert playback.view == played(events, at_us=END_US // 3)
    finally:
        for file, content in kept.items():
            file.write_bytes(content)


def test_a_salvaged_recording_plays_up_to_the_damage(flight: Path, events: list[Event], tmp_path: Path) -> None:
    copy = tmp_path / "a.flight"
    copy.mkdir()
    for name in ("header.json", "footer.json"):
        (copy / name).write_bytes((flight / name).read_bytes())
    lines = b"".join(Recording(flight).event_lines()).replace(b'"seq":5000,', b'"seq":5001,', 1)
    (copy / "segment-000001.jsonl").write_bytes(lines)
    playback = Playback(Recording(copy, salvage=True))
    playback.seek_us(END_US)
    assert playback.seq == playback.events == 4_999
    assert playback.view == played(events, seq=4_999)
