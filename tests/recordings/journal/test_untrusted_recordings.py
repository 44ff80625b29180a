"""Recordings that are hostile or damaged: one sentence, soon, and in little memory."""

import os
import re
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from recordings.bounded_files import RecordingError
from recordings.flights.runner import Plan, fly
from recordings.journal import keyframes, segments
from recordings.journal.catalogue import find_recordings
from recordings.journal.keyframes import Keyframes, fingerprint
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.tables.summary import summarize

SEGMENT = "segment-000001.jsonl"
MIB = 1 << 20


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> Path:
    path = tmp_path_factory.mktemp("strange") / "a.flight"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyframes, "LEAST_EVENTS", 500)
        fly(plan, record=path)
    return path


@pytest.fixture
def flight(flown: Path, tmp_path: Path) -> Path:
    """A copy of a small recording, to be damaged."""
    copy = tmp_path / "a.flight"
    shutil.copytree(flown, copy)
    return copy


def link_to_zero(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def link_out(file: Path) -> None:
    outside = file.parent.parent / "outside"
    file.rename(outside)
    file.symlink_to(outside)


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def huge(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(1 << 40)  # a hole: it takes no room


def nested(file: Path) -> None:
    file.write_bytes(b'{"a":' * 100_000)


def not_utf8(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"a", b"\xff"))


HARMS = [link_to_zero, link_out, pipe, directory, huge, nested, not_utf8]


@pytest.mark.parametrize("name", ["header.json", "footer.json", SEGMENT])
@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_file_is_one_sentence(flight: Path, name: str, harm: Callable[[Path], None]) -> None:
    harm(flight / name)
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError) as caught:
            summarize(flight)
        assert tracemalloc.get_traced_memory()[1] < 100 * MIB
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert str(flight) in str(caught.value)
    if name == "header.json":
        assert all(found.failure for found in find_recordings([flight.parent]))
    elif name == "footer.json":
        assert any("rebuilt from the events" in each for each in summarize(flight, salvage=True).warnings)
    else:
        assert summarize(flight, salvage=True).warnings


def test_a_run_id_that_leads_out_of_an_export_is_refused(flight: Path) -> None:
    header = flight / "header.json"
    run_id = Recording(flight).header.run_id
    header.write_text(header.read_text().replace(run_id, "../../x"))
    with pytest.raises(RecordingError, match="its run_id is not a valid file name"):
        Recording(flight)


def compressed(file: Path, pieces: list[bytes], plain: int) -> None:
    """A segment of one frame, with its table."""
    compressor = zstandard.ZstdCompressor().compressobj()
    frame = b"".join([*(compressor.compress(piece) for piece in pieces), compressor.flush()])
    table = segments.TABLE_ENTRY.pack(len(frame), plain) + segments.TABLE_FOOTER.pack(1, 0, segments.SEEKABLE_MAGIC)
    file.unlink()
    file.with_name(f"{file.name}.zst").write_bytes(
        frame + struct.pack("<II", segments.SKIPPABLE_MAGIC, len(table)) + table
    )


def test_a_line_without_an_end_is_not_collected(flight: Path) -> None:
    compressed(flight / SEGMENT, [b"a" * MIB] * 400, 400 * MIB)
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError, match="a line is longer than 16 MiB"):
            summarize(flight)
        assert tracemalloc.get_traced_memory()[1] < 100 * MIB
    finally:
        tracemalloc.stop()


def test_a_table_of_frames_is_not_believed(flight: Path) -> None:
    compressed(flight / SEGMENT, [b"a\n"], 2)
    file = flight / f"{SEGMENT}.zst"
    good = file.read_bytes()
    for entry in (segments.TABLE_ENTRY.pack(0xFFFFFFFF, 2), segments.TABLE_ENTRY.pack(len(good) * 2, 2)):
        end = len(good) - segments.TABLE_FOOTER.size
        file.write_bytes(good[: end - segments.TABLE_ENTRY.size] + entry + good[end:])
        with pytest.raises(RecordingError, match="its table of frames claims more than the file holds"):
            summarize(flight)


def killed_with(flight: Path, wrong: bytes, right: bytes, *, of: bytes = b"") -> int:
    """A flight that was killed, with some bytes of its journal replaced, after `of`; the event it happened to."""
    (flight / "footer.json").unlink()
    text = (flight / SEGMENT).read_bytes()
    where = text.index(right, text.index(of, len(text) // 2))
    (flight / SEGMENT).write_bytes(text[:where] + wrong + text[where + len(right) :])
    return text.count(b'{"kind"', 0, where)


def test_an_event_that_fits_none_before_it_is_named(flight: Path) -> None:
    seq = killed_with(flight, b'"partition":"nrders-', b'"partition":"orders-', of=b'"high_watermark_advanced"')
    shutil.rmtree(flight / "keyframes")
    reason = rf"is damaged at event {seq} \(.*\): it does not fit the events before it; the {seq - 1} events"
    with pytest.raises(RecordingError, match=reason):
        summarize(flight)
    playback = Playback(Recording(flight))
    with pytest.raises(RecordingError, match=reason):
        playback.seek_us(playback.end_us)
    salvaged = Playback(Recording(flight, salvage=True))
    salvaged.seek_us(salvaged.end_us)
    assert salvaged.seq == salvaged.events == seq - 1
    assert any(f"read up to event {seq - 1}" in each for each in salvaged.recording.warnings)
    assert any(f"read up to event {seq - 1}" in each for each in summarize(flight, salvage=True).warnings)


def index_of(flight: Path) -> Path:
    return flight / "keyframes" / "index.jsonl"


def wrong_places(flight: Path) -> None:
    lines = index_of(flight).read_text().splitlines()
    moved = [line.replace('"offset":', '"offset":1') for line in lines]
    index_of(flight).write_text("\n".join(moved) + "\n")


def another_segment(flight: Path) -> None:
    index_of(flight).write_text(index_of(flight).read_text().replace('"segment":1', '"segment":7'))


def impossible_numbers(flight: Path) -> None:
    lines = [f'{{"segment":{n},"offset":{10**30},"seq":{n},"at_us":0}}' for n in (-1, 0, 1, 10**30)]
    index_of(flight).write_text("\n".join([f'{{"fold":"{fingerprint()}"}}', *lines]) + "\n")


def swapped(flight: Path) -> None:
    first, second, *_ = sorted((flight / "keyframes").glob("*.zst"))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def bomb(flight: Path) -> None:
    claims = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x01\x00\x00"
    for file in (flight / "keyframes").glob("*.zst"):
        file.write_bytes(claims)


def zeros(flight: Path) -> None:
    for file in (flight / "keyframes").glob("*.zst"):
        file.write_bytes(zstandard.ZstdCompressor().compress(bytes(200 * MIB)))


def flipped(flight: Path) -> None:
    for file in (flight / "keyframes").glob("*.zst"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 4
        file.write_bytes(content)


def link_away(flight: Path) -> None:
    (flight / "keyframes").rename(flight.parent / "away")
    (flight / "keyframes").symlink_to(flight.parent / "away")


@pytest.mark.parametrize(
    "harm", [wrong_places, another_segment, impossible_numbers, swapped, bomb, zeros, flipped, link_away]
)
@pytest.mark.parametrize("salvage", [False, True])
def test_wrong_keyframes_are_only_a_wrong_cache(flight: Path, harm: Callable[[Path], None], salvage: bool) -> None:
    right = Playback(Recording(flight))
    assert len(Keyframes(flight).positions) >= 2
    end_us = right.end_us
    right.seek_us(end_us)
    harm(flight)
    playback = Playback(Recording(flight, salvage=salvage))
    for at_us in (end_us, end_us // 2, end_us):
        playback.seek_us(at_us)
    assert playback.view == right.view
    assert playback.recording.warnings == []


def test_a_keyframe_that_lies_is_made_anew_when_the_journal_is_folded(flight: Path) -> None:
    position = Keyframes(flight).positions[0]
    frames = Keyframes(flight)
    lie = frames.get(position)
    assert lie is not None
    lie.groups["billing"].generation = 77
    frames.forget(position)
    frames.put(position, lie)
    playback = Playback(Recording(flight))
    playback.step(position.seq + 10)
    playback.seek_seq(position.seq)
    assert playback.view.groups["billing"].generation < 77
    made = Keyframes(flight).get(position)
    assert made is not None
    assert made.groups["billing"].generation < 77


def test_a_keyframe_that_the_journal_contradicts_ends_nothing(flight: Path) -> None:
    position = Keyframes(flight).positions[0]
    right = Playback(Recording(flight))
    right.seek_us(right.end_us)
    frames = Keyframes(flight)
    lie = frames.get(position)
    assert lie is not None
    lie.partitions.clear()
    frames.forget(position)
    frames.put(position, lie)
    playback = Playback(Recording(flight))
    playback.seek_seq(position.seq + 1)
    playback.seek_us(playback.end_us)
    assert playback.view == right.view


def test_a_time_later_than_any_flight_is_damage(flight: Path) -> None:
    (flight / "footer.json").unlink()
    text = (flight / SEGMENT).read_bytes()
    last = text.rindex(b'"at_us":') + len(b'"at_us":')
    (flight / SEGMENT).write_bytes(text[:last] + b"9" * 400 + text[text.index(b",", last) :])
    with pytest.raises(RecordingError) as caught:
        summarize(flight)
    assert "is damaged at segment-000001.jsonl, line" in str(caught.value)
    (flight / SEGMENT).write_bytes(text[:last] + b"9" * 25 + text[text.index(b",", last) :])
    with pytest.raises(RecordingError, match="us is later than any flight"):
        summarize(flight)


def test_a_sequence_number_of_hundreds_of_digits_is_named_in_brief(flight: Path) -> None:
    text = (flight / SEGMENT).read_bytes()
    last = text.rindex(b'"seq":') + 6
    (flight / SEGMENT).write_bytes(text[:last] + b"9" * 2_800 + text[text.index(b",", last) :])
    with pytest.raises(RecordingError, match="follows event") as refused:
        _ = [*Recording(flight).entries()]
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize("name", ["events", "virtual_us", "turns"])
@pytest.mark.parametrize("salvage", [False, True])
def test_a_footer_that_counts_beyond_any_flight_is_damaged(flight: Path, name: str, salvage: bool) -> None:
    footer = (flight / "footer.json").read_text()
    (flight / "footer.json").write_text(re.sub(rf'"{name}": \d+', f'"{name}": ' + "9" * 400, footer, count=1))
    if salvage:
        assert summarize(flight, salvage=True).events
        return
    with pytest.raises(RecordingError, match=rf"footer.json is damaged: .*{name}") as caught:
        summarize(flight)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("partitions", [b"100001", b"9" * 18])
def test_a_topic_of_more_partitions_than_any_cluster_is_damage(flight: Path, partitions: bytes) -> None:
    text = (flight / SEGMENT).read_bytes()
    where = text.index(b'"partitions":', text.index(b'"kind":"topic_created"')) + len(b'"partitions":')
    (flight / SEGMENT).write_bytes(text[:where] + partitions + text[text.index(b",", where) :])
    shutil.rmtree(flight / "keyframes")
    with pytest.raises(RecordingError, match=r"\(topic_created, .*\): it does not fit the events before it"):
        summarize(flight)
