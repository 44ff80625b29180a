"""Keyframes: the view at some events of a recording, so that a seek folds thousands of events and not millions.

    keyframes/index.jsonl                 first `{"fold": …}`, then the place behind each keyframe's event, in order
    keyframes/000000014000.msgpack.zst    the view after that event

A keyframe is the result of one version of the fold: `fold` in the index is a fingerprint of its code, and keyframes of
another version count as absent. The next pass of the fold over the events makes new ones.

Keyframes are a cache and prove nothing: a wrong one is dropped. The reader of the journal confirms the position of each
before it begins there, and a fold that passes a keyframe compares it with its view.
"""

import hashlib
from bisect import bisect_right, insort
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType

import msgspec
import zstandard

from cluster import events, view
from cluster.commands import catalogue, command_kinds, forms
from cluster.config import units
from cluster.protocol import names, rebalance_causes, record_batch
from cluster.protocol.placement import partition_metadata
from cluster.storage import offset_ranges, transaction_index
from cluster.view import ClusterView
from recordings.bounded_files import RecordingError, decoded, read_ours
from recordings.journal import upgrade
from recordings.journal.format import KEYFRAMES, Position

INDEX = "index.jsonl"
LEAST_EVENTS = 14_000
SHARE = 400  # at least this share of the flight lies between two keyframes

INDEX_BYTES = 1 << 20
MOST_BYTES = 64 << 20  # compressed, and again decompressed: a keyframe of a cluster of 2,000 partitions has 2 MB
MOST_NUMBER = 1 << 60

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ClusterView)


class _Fold(msgspec.Struct, frozen=True):
    fold: str


_FOLD_DECODER = msgspec.json.Decoder(_Fold)
_POSITION_DECODER = msgspec.json.Decoder(Position)


class Keyframes:
    """The usable keyframes of a recording's directory, in order; unusable ones count as absent.

    `positions`: the position after each. `put` and `get` work also where nothing can be written or read: the keyframe
    then stays in memory.
    """

    def __init__(self, recording: Path) -> None:
        self._directory = recording / KEYFRAMES
        self._memory: dict[int, bytes] = {}
        self._confirmed: set[Position] = set()
        self.positions = self._read_index()

    def next_after(self, seq: int) -> int:
        """The first event at which a keyframe is due, when the last one was made at `seq`."""
        return seq + max(LEAST_EVENTS, seq // SHARE)

    def put(self, position: Position, view: ClusterView, *, keep: bool = False) -> None:
        """Store the view after the event before `position`. Raises OSError, unless `keep` permits memory instead."""
        packed = zstandard.ZstdCompressor(level=1, write_checksum=True).compress(_ENCODER.encode(view))
        try:
            if not self.positions:
                self._begin()
            growing = self._file(position.seq).with_suffix(".part")
            growing.write_bytes(packed)
            growing.replace(self._file(position.seq))
            with (self._directory / INDEX).open("ab") as index:
                index.write(msgspec.json.encode(position) + b"\n")
        except OSError:
            if not keep:
                raise
            self._memory[position.seq] = packed
        insort(self.positions, position, key=_seq)

    def get(self, position: Position) -> ClusterView | None:
        """A fresh copy of the view at one of `positions`; None if it cannot be read (any more)."""
        try:
            packed = self._memory.get(position.seq) or self._packed(position.seq)
            view = decoded(_unpacked(packed), _DECODER)
        except (OSError, RecordingError):
            view = None
        if view is None or (view.seq, view.at_us) != (position.seq, position.at_us):
            self.forget(position)
            return None
        return view

    def forget(self, position: Position) -> None:
        """Drop a wrong keyframe: it counts as absent, and another one may be made in its place."""
        self._memory.pop(position.seq, None)
        self.positions.remove(position)

    def forget_all(self) -> None:
        """Drop all keyframes: the next one begins a new index."""
        self._memory.clear()
        self.positions.clear()

    def between(self, before: int, seq: int) -> list[Position]:
        """The keyframes after events later than `before`, up to `seq`."""
        first = bisect_right(self.positions, before, key=_seq)
        return self.positions[first : bisect_right(self.positions, seq, key=_seq)]

    def confirm(self, position: Position, view: ClusterView) -> None:
        """Check the keyframe after this event against the view folded from the journal; replace it if it differs."""
        if position not in self.positions or position in self._confirmed:
            return
        self._confirmed.add(position)
        stored = self.get(position)
        if stored is not None and stored != view:
            self.forget(position)
        if position not in self.positions:
            self.put(position, view, keep=True)

    def before_seq(self, seq: int) -> Position | None:
        """The last keyframe after an event not later than `seq`."""
        return self._before(bisect_right(self.positions, seq, key=_seq))

    def before_us(self, at_us: int) -> Position | None:
        """The last keyframe after an event not later than `at_us`."""
        return self._before(bisect_right(self.positions, at_us, key=lambda position: position.at_us))

    def forget_after(self, seq: int) -> None:
        """Drop the keyframes behind event `seq`: the recording is not whole that far."""
        self.positions = [position for position in self.positions if position.seq <= seq]

    def _before(self, place: int) -> Position | None:
        return self.positions[place - 1] if place else None

    def _file(self, seq: int) -> Path:
        return self._directory / f"{seq:012}.msgpack.zst"

    def _packed(self, seq: int) -> bytes:
        if self._directory.is_symlink():
            raise RecordingError(f"{self._directory} is a symbolic link")
        return read_ours(self._file(seq), MOST_BYTES)

    def _begin(self) -> None:
        self._directory.mkdir(exist_ok=True)
        if self._directory.is_symlink() or (self._directory / INDEX).is_symlink():
            raise OSError("a link leads out of the recording")
        (self._directory / INDEX).write_bytes(msgspec.json.encode(_Fold(fingerprint())) + b"\n")

    def _read_index(self) -> list[Position]:
        """The positions of usable keyframes; skips a line that its writer did not finish."""
        try:
            if self._directory.is_symlink():
                return []
            lines = read_ours(self._directory / INDEX, INDEX_BYTES).splitlines(keepends=True)
            if not lines or decoded(lines[0], _FOLD_DECODER).fold != fingerprint():
                return []
            whole = [decoded(line, _POSITION_DECODER) for line in lines[1:] if line.endswith(b"\n")]
        except (OSError, RecordingError):
            return []
        latest = {
            position.seq: position for position in whole if _can_be(position)
        }  # a replaced keyframe stands further down
        return sorted(latest.values(), key=_seq)


def _seq(position: Position) -> int:
    return position.seq


def _can_be(position: Position) -> bool:
    """Whether its numbers are those of a position in some recording."""
    numbers = (position.segment - 1, position.offset, position.seq - 1, position.at_us)
    return all(0 <= number < MOST_NUMBER for number in numbers)


def _unpacked(packed: bytes) -> bytes:
    """Read a keyframe's file. Raises RecordingError; the sizes that its header claims are checked."""
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=MOST_BYTES).stream_reader(packed)
        plain = reader.read(MOST_BYTES + 1)
    except zstandard.ZstdError as error:
        raise RecordingError(f"it cannot be decompressed: {error}") from error
    if len(plain) > MOST_BYTES:
        raise RecordingError(f"it is larger than {MOST_BYTES} bytes")
    return plain


@cache
def fingerprint() -> str:
    """The fingerprint of this fold: a hash of its code."""
    digest = hashlib.sha256()
    for file in fold_files():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def fold_files() -> list[Path]:
    """The files of the fold: cluster/view, what it imports, and those that make old events new."""
    imported = (
        names, offset_ranges, partition_metadata, rebalance_causes, record_batch, transaction_index, units,
    )  # fmt: skip
    upgrading = (catalogue, command_kinds, forms, upgrade)
    files = [_source_of(module) for module in (*imported, *upgrading)]
    packages = [sorted(Path(str(package.__file__)).parent.rglob("*.py")) for package in (events, view)]
    return [*files, *chain.from_iterable(packages)]


def _source_of(module: ModuleType) -> Path:
    """The source of a module, which a compiled build has beside the extension module that it loads."""
    return Path(str(module.__file__)).with_name(f"{module.__name__.rpartition('.')[2]}.py")
