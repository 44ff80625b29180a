"""A recording is read whole, or up to a place that is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.events import Event, HighWatermarkAdvanced
from recordings.bounded_files import RecordingError
from recordings.journal.format import JournaledCommand, Position, Settings
from recordings.journal.reader import DamagedError, Recording
from recordings.journal.segments import compress_segment, line_chunks
from recordings.journal.writer import Recorder, new_header

SEGMENT = "segment-000001.jsonl"


def watermarks(count: int) -> list[Event]:
    return [
        HighWatermarkAdvanced(seq=seq, at_us=seq * 10, partition="orders-0", offset=seq) for seq in range(1, count + 1)
    ]


@pytest.fixture
def flight(tmp_path: Path) -> Path:
    """A finished recording of twenty events and two commands."""
    path = tmp_path / "a.flight"
    recorder = Recorder(path, new_header("s", "", Settings(seed=1, until_us=200)))
    for event in watermarks(20):
        recorder(event)
        if event.seq in {5, 12}:
            text, turn = f"kill broker-{event.seq}", event.seq * 2
            recorder.command(
                JournaledCommand(command=text, source="operator", turn=turn, at_us=event.at_us, after_seq=event.seq)
            )
    recorder.close(turns=40, virtual_us=200)
    return path


def crashed(path: Path, keep_bytes: int | None = None) -> Path:
    """What a killed process leaves: no footer, a growing segment, perhaps cut in the middle of a line."""
    (path / "footer.json").unlink()
    text = (path / SEGMENT).read_bytes()
    (path / SEGMENT).unlink()
    (path / f"{SEGMENT}.part").write_bytes(text[:keep_bytes])
    return path


def test_events_and_commands_in_order(flight: Path) -> None:
    recording = Recording(flight)
    entries = list(recording.entries())
    assert [entry for entry in entries if isinstance(entry, Event)] == watermarks(20)
    assert isinstance(entries[5], JournaledCommand)
    assert recording.survey().commands == [entries[5], entries[13]]
    assert recording.survey().last_event == entries[-1]
    assert recording.warnings == []


def test_reading_goes_on_from_a_position(flight: Path) -> None:
    offset = (flight / SEGMENT).read_bytes().index(b'{"kind":"high_watermark_advanced","seq":11')
    events = list(Recording(flight).events(Position(1, offset, 10, 100)))
    assert events == watermarks(20)[10:]


def test_a_compressed_segment_reads_the_same_from_everywhere(flight: Path) -> None:
    text = (flight / SEGMENT).read_bytes()
    plain = list(Recording(flight).entries())
    compress_segment(flight / SEGMENT, [400, 900, len(text)])
    assert list(Recording(flight).entries()) == plain
    for seq in range(1, 20):
        offset = text.index(b'"seq":%d,' % (seq + 1)) - len('{"kind":"high_watermark_advanced",')
        assert list(Recording(flight).events(Position(1, offset, seq, seq * 10))) == watermarks(20)[seq:]


def test_a_torn_tail_is_cut_and_the_last_whole_event_named(flight: Path) -> None:
    path = crashed(flight, keep_bytes=-20)
    recording = Recording(path)
    assert list(recording.events()) == watermarks(19)
    (warning,) = recording.warnings
    assert warning.endswith("its last whole event is 19 (high_watermark_advanced) at 00:00:00.000190")
    totals = recording.survey().totals
    assert (totals.events, totals.turns, totals.complete) == (19, -1, False)
    assert b"".join(recording.event_lines()).count(b"\n") == 19
    assert len(recording.survey().commands) == 2


def test_every_way_to_cut_a_crashed_recording_gives_its_whole_events(flight: Path) -> None:
    text = (flight / SEGMENT).read_bytes()
    crashed(flight)
    for size in range(len(text) + 1):
        (flight / f"{SEGMENT}.part").write_bytes(text[:size])
        events = list(Recording(flight).events())
        assert events == watermarks(len(events))
        whole = text[:size].rpartition(b"\n")[0]
        assert len(events) == whole.count(b'{"kind"')


def replace(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda text: text.replace(old, new, 1)


DAMAGES: list[tuple[str, Callable[[bytes], bytes], str, int]] = [
    ("a changed field", replace(b'"offset":7}', b'"offset":8}'), "footer.json: the events have another hash", 20),
    ("a changed number", replace(b'"seq":7,', b'"seq":9,'), f"{SEGMENT}, line 8: event 9 follows event 6", 6),
    ("time", replace(b'"at_us":70,', b'"at_us":7,'), f"{SEGMENT}, line 8: time runs backwards", 6),
    ("no JSON", replace(b'"seq":3,', b'"seq"3,'), f"{SEGMENT}, line 3: ", 2),
    ("a foreign kind", replace(b"high_watermark_advanced", b"hello"), f"{SEGMENT}, line 1: Invalid value 'hello'", 0),
    ("a missing line", lambda text: b"".join(text.splitlines(keepends=True)[1:]), "line 1: event 2 follows event 0", 0),
    ("a cut end", lambda text: text[:-9], f"{SEGMENT}, line 22: the line is cut off", 19),
    ("a missing end", lambda text: b"".join(text.splitlines(keepends=True)[:-1]), "here are 19 events, but", 19),
    ("a moved command", replace(b'"after_seq":12', b'"after_seq":11'), "a command says it came after event 11", 12),
]


@pytest.mark.parametrize(("harm", "reason", "whole"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
def test_damage_is_refused_with_its_place_or_read_up_to_there(
    flight: Path, harm: Callable[[bytes], bytes], reason: str, whole: int
) -> None:
    (flight / SEGMENT).write_bytes(harm((flight / SEGMENT).read_bytes()))
    with pytest.raises(DamagedError) as refusal:
        list(Recording(flight).entries())
    assert reason in str(refusal.value)
    assert f"the {whole} events before it are whole" in str(refusal.value)
    salvaged = Recording(flight, salvage=True)
    assert len(list(salvaged.events())) == whole
    assert "read up to" in salvaged.warnings[0]


def test_a_missing_segment_is_damage(flight: Path) -> None:
    (flight / SEGMENT).rename(flight / "segment-000002.jsonl")
    with pytest.raises(DamagedError, match=r"segment-000001\.jsonl: the segment is missing"):
        list(Recording(flight).entries())


def test_a_missing_last_segment_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    recorder = Recorder(path, new_header("s", "", Settings(seed=1, until_us=200)), segment_bytes=400)
    for event in watermarks(20):
        recorder(event)
        recorder.flush()
    recorder.close(turns=40, virtual_us=200)
    *others, last = sorted(path.glob("segment-*"))
    last.unlink()
    with pytest.raises(DamagedError, match=rf"json counts 20: {last.name.partition('.')[0]}\.jsonl is missing"):
        list(Recording(path).entries())
    for other in others:
        other.unlink()
    with pytest.raises(DamagedError, match=r"damaged at segment-000001\.jsonl: .*: segment-000001\.jsonl is missing"):
        list(Recording(path).entries())


def test_a_damaged_frame_is_damage(flight: Path) -> None:
    text = (flight / SEGMENT).read_bytes()
    packed = compress_segment(flight / SEGMENT, [text.index(b"\n") + 1, len(text)])
    data = bytearray(packed.read_bytes())
    data[-60] ^= 0xFF
    packed.write_bytes(data)
    with pytest.raises(DamagedError, match="cannot be decompressed"):
        list(Recording(flight).entries())
    data[-60] ^= 0xFF
    packed.write_bytes(data[:-8])
    with pytest.raises(DamagedError, match="table of frames"):
        list(Recording(flight).entries())


@pytest.mark.parametrize("share", [0.35, 0.6, 0.95])
def test_what_a_cut_segment_still_has_is_read(flight: Path, share: float) -> None:
    whole = [event.seq for event in Recording(flight).events()]
    text = (flight / SEGMENT).read_bytes()
    lines = text.splitlines(keepends=True)
    frames = [len(b"".join(lines[: len(lines) * part // 3])) for part in (1, 2, 3)]
    packed = compress_segment(flight / SEGMENT, frames)
    data = packed.read_bytes()
    packed.write_bytes(data[: int(len(data) * share)])
    recording = Recording(flight, salvage=True)
    read = [event.seq for event in recording.events()]
    assert read == whole[: len(read)]
    assert len(whole) * int(share * 3) / 4 < len(read) <= len(whole) * max(share * 1.2, 0.5)
    assert ".zst, line " in recording.warnings[0]
    assert recording.warnings[0].count(".zst") == 1
    assert ": it does not end with a table of frames; read up to event" in recording.warnings[0]
    chunks = line_chunks(packed, frames[0] // 2)
    assert text[frames[0] // 2 :].startswith(next(chunks))
    with pytest.raises(RecordingError, match="table of frames"):
        list(chunks)
    with pytest.raises(DamagedError, match="table of frames"):
        list(Recording(flight).entries())


def test_what_is_no_recording(tmp_path: Path, flight: Path) -> None:
    def refusal(path: Path) -> str:
        with pytest.raises(RecordingError) as caught:
            Recording(path)
        return str(caught.value)

    assert "does not exist, so it is not a recording; did you mean" in refusal(tmp_path / "b.flight")
    assert "is not a directory" in refusal(flight / "footer.json")
    (tmp_path / "foreign").mkdir()
    assert "it has no header.json" in refusal(tmp_path / "foreign")
    for text, reason in [
        ("", "is empty"),
        ("\n", "is empty"),
        ("hello", "is not a recording's"),
        ('{"name": "package"}', "is not a recording's"),
        ('{"format": 1, "flightdeck": "0.1.0"}', "is not a recording's"),
    ]:
        (flight / "header.json").write_text(text)
        assert reason in refusal(flight)
    (flight / "header.json").write_text('{"format": 5, "flightdeck": "0.9.0", "new": []}')
    assert "recording format 5, and this version (0.1.0) reads up to 4: it needs flightdeck 0.9.0" in refusal(flight)


def test_a_damaged_footer_can_be_done_without(flight: Path) -> None:
    (flight / "footer.json").write_text('{"events": ')
    with pytest.raises(RecordingError, match=r"footer\.json is damaged"):
        Recording(flight)
    recording = Recording(flight, salvage=True)
    assert recording.survey().totals.events == 20
    assert "rebuilt" in recording.warnings[0]


def test_a_recording_without_a_segment_is_empty(flight: Path) -> None:
    crashed(flight)
    (flight / f"{SEGMENT}.part").unlink()
    recording = Recording(flight)
    assert list(recording.entries()) == []
    assert "there is no whole event" in recording.warnings[0]
