"""A journal is the events' own lines: hashed, counted and written as they are."""

import hashlib
import json
import os
import time
from collections import deque
from pathlib import Path

import msgspec
import pytest

from cluster.events import Event, HeartbeatAnswered, HighWatermarkAdvanced
from recordings.bounded_files import RecordingError
from recordings.journal.format import FOOTER, Footer, Header, JournaledCommand, Settings
from recordings.journal.reader import Recording
from recordings.journal.segments import line_chunks
from recordings.journal.writer import JournalHash, Recorder, new_header


def watermarks(count: int, first: int = 1) -> list[Event]:
    return [
        HighWatermarkAdvanced(seq=seq, at_us=seq * 10, partition=f"orders-{seq % 7}", offset=seq)
        for seq in range(first, first + count)
    ]


def header(**settings: object) -> Header:
    return new_header("first-flight", 'title = "x"', Settings(**{"seed": 7, "until_us": 1_000, **settings}))  # type: ignore[arg-type]


def test_a_line_begins_with_kind_seq_and_at_us() -> None:
    lines: list[bytes] = []
    journal = JournalHash(lines.append)
    journal(
        HeartbeatAnswered(
            seq=1, at_us=5, group="billing", member="billing-1", member_id="m", error="NONE", session_deadline_us=9
        )
    )
    journal.flush()
    (line,) = lines
    assert line == (
        b'{"kind":"heartbeat_answered","seq":1,"at_us":5,"group":"billing","member":"billing-1","member_id":"m",'
        b'"error":"NONE","session_deadline_us":9}\n'
    )


@pytest.mark.parametrize("count", [0, 1, 999, 1_000, 1_001, 5_432])
def test_the_hash_is_over_every_line_with_its_newline(count: int) -> None:
    events = watermarks(count)
    journal = JournalHash()
    for event in events:
        journal(event)
    expected = hashlib.sha256(b"".join(msgspec.json.encode(event) + b"\n" for event in events)).hexdigest()
    assert journal.sha256 == expected
    assert journal.events == count
    assert journal.kinds == ({"high_watermark_advanced": count} if count else {})
    assert journal.last_events() == events[-50:]


def test_recording_and_not_recording_give_the_same_hash(tmp_path: Path) -> None:
    plain, recorder = JournalHash(), Recorder(tmp_path / "a.flight", header())
    for event in watermarks(3_500):
        plain(event)
        recorder(event)
        if event.seq == 1_234:
            recorder.command(
                JournaledCommand(
                    command="kill broker-2", source="operator", turn=77, at_us=event.at_us, after_seq=event.seq
                )
            )
    footer = recorder.close(turns=99, virtual_us=35_000)
    assert footer is not None
    assert footer.journal_sha256 == plain.sha256
    assert json.loads((tmp_path / "a.flight" / FOOTER).read_text()) == {
        "events": 3_500,
        "commands": 1,
        "turns": 99,
        "virtual_us": 35_000,
        "journal_sha256": plain.sha256,
        "kinds": {"high_watermark_advanced": 3_500},
        "complete": True,
    }
    assert sorted(path.name for path in (tmp_path / "a.flight").iterdir()) == [
        "footer.json",
        "header.json",
        "segment-000001.jsonl",
    ]


def test_segments_are_rotated_finished_and_compressed_frame_by_frame(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.flight", header(), segment_bytes=1_800_000)
    events = watermarks(40_000)
    for event in events:
        recorder(event)
    recorder.close(turns=1, virtual_us=400_000)
    names = sorted(path.name for path in (tmp_path / "a.flight").glob("segment*"))
    assert names == ["segment-000001.jsonl.zst", "segment-000002.jsonl.zst", "segment-000003.jsonl"]
    assert sum(map(len, line_chunks(tmp_path / "a.flight" / names[0]))) >= 1_500_000
    recording = Recording(tmp_path / "a.flight")
    assert list(recording.events()) == events
    assert b"".join(recording.event_lines()) == msgspec.json.Encoder().encode_lines(events)


def test_what_waits_is_written_within_a_moment_of_wall_time(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.flight", header())
    recorder(watermarks(1)[0])
    growing = tmp_path / "a.flight" / "segment-000001.jsonl.part"
    deadline = time.monotonic() + 5
    while not growing.stat().st_size and time.monotonic() < deadline:
        os.sched_yield()
    assert growing.read_bytes().count(b"\n") == 1
    recorder.close(turns=0, virtual_us=10)


def test_a_directory_with_something_in_it_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RecordingError, match="already exists; choose another name"):
        Recorder(tmp_path, header())
    with pytest.raises(RecordingError, match="already exists"):
        Recorder(tmp_path / "notes.txt", header())
    Recorder(tmp_path / "new" / "a.flight", header()).close(turns=0, virtual_us=0)
    (tmp_path / "empty").mkdir()
    Recorder(tmp_path / "empty", header()).close(turns=0, virtual_us=0)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"cannot record to .*file/a\.flight: Not a directory"):
        Recorder(tmp_path / "file" / "a.flight", header())


class FullDisk:
    """A file on a disk with room for `room` bytes."""

    def __init__(self, file: object, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: memoryview) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        written: int = self.file.write(data[: self.room])  # type: ignore[attr-defined]
        self.room -= written
        return written

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


def test_a_full_disk_keeps_what_was_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.flight", header())
    recorder._segments._file = FullDisk(recorder._segments._file, 150_000)  # type: ignore[assignment]
    events = watermarks(5_000)
    with pytest.raises(RecordingError, match="No space left on device; what was recorded is kept"):
        deque(map(recorder, events), maxlen=0)
    assert recorder.close(turns=1, virtual_us=1) is None
    recording = Recording(tmp_path / "a.flight")
    kept = list(recording.events())
    assert kept == events[: len(kept)]
    assert len(kept) >= 1_000
    assert "its last whole event is" in recording.warnings[0]
    with pytest.raises(RecordingError, match="No space left"):
        recorder.command(JournaledCommand(command="kill broker-1", source="operator", turn=1, at_us=1, after_seq=1))


def test_the_footer_is_what_the_reader_finds(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.flight", header())
    for event in watermarks(10):
        recorder(event)
    footer = recorder.close(turns=3, virtual_us=100, complete=False)
    recording = Recording(tmp_path / "a.flight")
    assert recording.footer == recording.survey().totals == footer
    assert isinstance(recording.footer, Footer)
    assert recording.header == recorder.header
