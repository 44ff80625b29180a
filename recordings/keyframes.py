"""Keyframes: the view at some events of a recording, so that a seek folds thousands of events and not millions.

    keyframes/index.jsonl                 first `{"fold": …}`, then the place behind each keyframe's event, in order
    keyframes/000000020000.msgpack.zst    the view after that event

A keyframe is what the fold made of the events before it, and only this fold: `fold` in the index is a fingerprint of
its code, and keyframes of another one are as good as absent. Whoever folds the events again makes new ones.
"""

import hashlib
from bisect import bisect_right, insort
from functools import cache
from pathlib import Path

import msgspec
import zstandard

from cluster import events, intervals, view
from cluster.view import ClusterView
from recordings.format import KEYFRAMES, Position

INDEX = "index.jsonl"
LEAST_EVENTS = 20_000
SHARE = 100  # at least this part of the flight lies between two keyframes

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(ClusterView)


class _Fold(msgspec.Struct, frozen=True):
    fold: str


class Keyframes:
    """The keyframes of a recording's directory, in order; those that cannot be used are as good as absent.

    `positions`: the place behind each. `put` and `get` work also where nothing can be written or read: what is put
    stays in memory then.
    """

    def __init__(self, recording: Path) -> None:
        self._directory = recording / KEYFRAMES
        self._memory: dict[int, bytes] = {}
        self.positions = self._read_index()

    def next_after(self, seq: int) -> int:
        """The first event at which a keyframe is due, when the last one was made at `seq`."""
        return seq + max(LEAST_EVENTS, seq // SHARE)

    def put(self, position: Position, view: ClusterView, *, keep: bool = False) -> None:
        """Store the view after the event before `position`. Raises OSError, unless `keep`: then memory will do."""
        packed = zstandard.ZstdCompressor(level=1).compress(_ENCODER.encode(view))
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
        """The view at one of `positions`, fresh for whoever asks; None when it cannot be read (any more)."""
        try:
            packed = self._memory.get(position.seq) or self._file(position.seq).read_bytes()
            return _DECODER.decode(zstandard.ZstdDecompressor().decompress(packed))
        except (OSError, zstandard.ZstdError, msgspec.DecodeError):
            self.positions.remove(position)
            return None

    def before_seq(self, seq: int) -> Position | None:
        """The last keyframe after an event not later than `seq`."""
        return self._before(bisect_right(self.positions, seq, key=_seq))

    def before_us(self, at_us: int) -> Position | None:
        """The last keyframe after an event not later than `at_us`."""
        return self._before(bisect_right(self.positions, at_us, key=lambda position: position.at_us))

    def forget_after(self, seq: int) -> None:
        """Keyframes behind event `seq` are of no use: the recording is not whole that far."""
        self.positions = [position for position in self.positions if position.seq <= seq]

    def _before(self, place: int) -> Position | None:
        return self.positions[place - 1] if place else None

    def _file(self, seq: int) -> Path:
        return self._directory / f"{seq:012}.msgpack.zst"

    def _begin(self) -> None:
        self._directory.mkdir(exist_ok=True)
        (self._directory / INDEX).write_bytes(msgspec.json.encode(_Fold(fingerprint())) + b"\n")

    def _read_index(self) -> list[Position]:
        """The places behind usable keyframes; a line that its writer could not finish is none."""
        try:
            first, *rest = (self._directory / INDEX).read_bytes().splitlines(keepends=True)
            if msgspec.json.decode(first, type=_Fold).fold != fingerprint():
                return []
            whole = {msgspec.json.decode(line, type=Position) for line in rest if line.endswith(b"\n")}
        except (OSError, ValueError, msgspec.DecodeError):
            return []
        return sorted(whole, key=_seq)


def _seq(position: Position) -> int:
    return position.seq


@cache
def fingerprint() -> str:
    """What tells this fold from any other: a hash of the code that it consists of."""
    digest = hashlib.sha256()
    files = [Path(str(module.__file__)) for module in (events, intervals)]
    for file in [*files, *sorted(Path(str(view.__file__)).parent.glob("*.py"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
