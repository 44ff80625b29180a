"""Targets that are files of a recording: header, footer, journal, keyframes."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import msgspec
import zstandard

from cluster.view import ClusterView
from recordings.bounded_files import RecordingError
from recordings.flights.runner import fly, make_plan
from recordings.journal import keyframes
from recordings.journal.format import FOOTER, HEADER, Position
from recordings.journal.keyframes import Keyframes
from recordings.journal.playback import Playback
from recordings.journal.reader import Recording
from recordings.journal.segments import compress_segment
from recordings.tables.summary import summarize
from tests.fuzz.engine import Target
from tests.fuzz.mutation import mutated_bytes
from tests.fuzz.texts import small

SEGMENT = "segment-000001.jsonl"
FLOWN_US = 1_500_000
MEMORY = Path("/dev/shm")


class Flight(msgspec.Struct, frozen=True):
    """A small recording in a directory of its own, its files as they were, and its view at the end."""

    path: Path
    files: dict[str, bytes]
    view: ClusterView
    positions: list[Position]


@cache
def flight() -> Flight:
    """The recording that is damaged; made once in each process."""
    root = Path(tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    path = root / "a.flight"
    before, keyframes.LEAST_EVENTS = keyframes.LEAST_EVENTS, 60
    try:
        fly(make_plan(small(), until_us=FLOWN_US), record=path)
        playback = Playback(Recording(path))
        playback.seek_us(playback.end_us)
    finally:
        keyframes.LEAST_EVENTS = before
    names = [*(file.name for file in path.iterdir() if file.is_file()), *_keyframe_names(path)]
    files = {name: (path / name).read_bytes() for name in names}
    return Flight(path, files, playback.view, Keyframes(path).positions)


def _keyframe_names(path: Path) -> list[str]:
    return sorted(f"keyframes/{file.name}" for file in (path / "keyframes").iterdir())


def _with(changes: dict[str, bytes | None], look: Callable[[Path], object]) -> bool:
    """Look at the recording with some of its files changed (None: absent), and put them back."""
    whole = flight()
    try:
        for name, content in changes.items():
            if content is None:
                (whole.path / name).unlink(missing_ok=True)
            else:
                (whole.path / name).write_bytes(content)
        look(whole.path)
    finally:
        for name in changes:
            if name in whole.files:
                (whole.path / name).write_bytes(whole.files[name])
            else:
                (whole.path / name).unlink(missing_ok=True)
    return True


# --- header and footer --------------------------------------------------------------------------------------------


def _feed_header(content: bytes) -> bool:
    return _with({HEADER: content}, Recording)


def _feed_footer(made: tuple[bytes, bool]) -> bool:
    content, salvage = made
    return _with({FOOTER: content}, lambda path: summarize(path, salvage=salvage))


# --- journal ------------------------------------------------------------------------------------------------------


class Journal(msgspec.Struct, frozen=True):
    """A damaged journal: its text or its compressed bytes, and whether there is a footer."""

    content: bytes
    compressed: bool
    killed: bool
    salvage: bool


@cache
def _compressed() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / SEGMENT
        text = flight().files[SEGMENT]
        file.write_bytes(text)
        return compress_segment(file, [len(text) // 2, len(text)]).read_bytes()


def _make_journal(random: Random) -> Journal:
    compressed = random.random() < 0.2
    whole = _compressed() if compressed else flight().files[SEGMENT]
    other_lines = not compressed and random.random() < 0.5
    content = _other_lines(random, whole) if other_lines else mutated_bytes(random, whole)
    return Journal(content, compressed, killed=random.random() < 0.7, salvage=random.random() < 0.5)


def _other_lines(random: Random, text: bytes) -> bytes:
    """Lines that are each right, and do not belong together: names and numbers of others, another order."""
    lines = text.splitlines(keepends=True)
    for _ in range(random.choice((1, 2, 5))):
        place = random.randrange(len(lines))
        words = lines[place].split(b'"')
        others = random.choice(lines).split(b'"')
        word = random.randrange(len(words))
        words[word] = random.choice(others) if random.random() < 0.7 else mutated_bytes(random, words[word])
        lines[place] = b'"'.join(words)
    return b"".join(lines)


def _feed_journal(made: Journal) -> bool:
    changes: dict[str, bytes | None] = {SEGMENT: None, f"{SEGMENT}.zst": None, f"{SEGMENT}.part": None}
    name = f"{SEGMENT}.zst" if made.compressed else f"{SEGMENT}.part" if made.killed else SEGMENT
    changes[name] = made.content
    if made.killed:
        changes[FOOTER] = None
    return _with(changes, lambda path: summarize(path, salvage=made.salvage))


# --- keyframes ----------------------------------------------------------------------------------------------------


def _make_keyframes(random: Random) -> dict[str, bytes | None]:
    names = [name for name in flight().files if name.startswith("keyframes/")]
    changes: dict[str, bytes | None] = dict.fromkeys(names, b"")
    for name in names:
        changes[name] = flight().files[name]
    for name in random.sample(names, random.choice((1, 1, 2))):
        content = flight().files[name]
        if name.endswith(".zst") and random.random() < 0.5:
            packed = mutated_bytes(random, zstandard.ZstdDecompressor().decompress(content))
            changes[name] = zstandard.ZstdCompressor().compress(packed)
        else:
            changes[name] = mutated_bytes(random, content)
    return changes


def _feed_keyframes(made: dict[str, bytes | None]) -> bool:
    """The journal is whole: whatever a cache says, the flight is played, and as it was once everything is folded."""

    def look(path: Path) -> None:
        playback = Playback(Recording(path))
        playback.seek_us(playback.end_us // 2)
        playback.seek_us(playback.end_us)
        anew = Playback(Recording(path))
        anew.step(anew.events)
        assert anew.view == flight().view, "the whole journal adds up to another view"

    return _with(made, look)


FILES = (
    Target("header", 60, (RecordingError,), lambda random: mutated_bytes(random, flight().files[HEADER]), _feed_header),
    Target(
        "footer",
        20,
        (RecordingError,),
        lambda random: (mutated_bytes(random, flight().files[FOOTER]), random.random() < 0.5),
        _feed_footer,
    ),
    Target("journal", 40, (RecordingError,), _make_journal, _feed_journal),
    Target("keyframes", 10, (), _make_keyframes, _feed_keyframes),
)
"""Every target that is a file."""
