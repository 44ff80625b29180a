"""Segments: the journal's lines in files of about 16 MiB, compressed once they are finished.

A growing segment is plain text under the name `….part`, written without a buffer in the process, so that written lines
survive the process. A finished one is renamed, so that another process can follow a flight file by file. A thread then
compresses it into independent zstd frames of about 4 MiB, cut at keyframes: a seek decompresses one frame. The
compressed file ends with the table of its frames (zstd's seekable format), which every decompressor skips.
"""

import os
import struct
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO

import zstandard

from recordings.bounded_files import RecordingError, open_ours, spoken_bytes
from recordings.journal.format import segment_name

SEGMENT_BYTES = 16 << 20
FRAME_BYTES = 4 << 20
CHUNK_BYTES = 1 << 18  # a seek decodes at most so much more than it folds
COMPRESSED_FROM_BYTES = 1 << 20  # smaller segments stay text: compression gains nothing, and grep works
LEVEL = 3

LONGEST_LINE_BYTES = 16 << 20
MOST_WINDOW_BYTES = 64 << 20
MOST_FRAME_BYTES = 64 << 20
MOST_TABLE_BYTES = 1 << 20
"""The limit for reading an untrusted segment: far above the size of the recorder's own."""

SKIPPABLE_MAGIC = 0x184D2A5E
SEEKABLE_MAGIC = 0x8F92EAB1
TABLE_FOOTER = struct.Struct("<IBI")  # frames, descriptor, magic
TABLE_ENTRY = struct.Struct("<II")  # compressed and decompressed bytes of a frame


class SegmentWriter:
    """Appends lines to the segments of a directory. Raises RecordingError when the disk refuses."""

    def __init__(self, directory: Path, limit_bytes: int = SEGMENT_BYTES) -> None:
        self.directory, self.limit_bytes = directory, limit_bytes
        self.number = 1
        self.offset = 0
        self._cuts: list[int] = []
        self._file = self._open()
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._compressor: _Compressor | None = None

    def write(self, lines: bytes) -> None:
        """Append whole lines; begins a new segment before them when the current one is full."""
        if self.offset >= self.limit_bytes:
            self._finish()
            self.number, self.offset, self._cuts = self.number + 1, 0, []
            self._file = self._open()
            self._inode = os.fstat(self._file.fileno()).st_ino
        self._see_that_it_is_there()
        try:
            self._put(lines)
        except OSError as error:
            self._drop_torn_line()
            raise RecordingError(
                f"cannot continue recording to {self.directory}: {error.strerror or error}; what was recorded is kept"
            ) from error
        self.offset += len(lines)
        if self.offset - (self._cuts[-1] if self._cuts else 0) >= FRAME_BYTES:
            self.cut()

    def _see_that_it_is_there(self) -> None:
        """Check that the file still exists: a write to a removed or moved file succeeds, and its lines are lost."""
        path = self.directory / segment_name(self.number, ".part")
        try:
            there = path.stat().st_ino == self._inode
        except (FileNotFoundError, NotADirectoryError):
            there = False
        except OSError as error:  # the cause is unknown: report the error's own reason
            raise RecordingError(f"cannot continue recording to {path}: {error.strerror or error}") from error
        if not there:
            raise RecordingError(
                f"cannot continue recording to {self.directory}: {path.name} was removed or moved away"
            )

    def _put(self, lines: bytes) -> None:
        view = memoryview(lines)
        while view:
            view = view[self._file.write(view) :]

    def cut(self) -> tuple[int, int]:
        """Begin a new frame here; returns (segment, offset in its text), the position to resume reading at."""
        if self.offset and self.offset not in self._cuts:
            self._cuts.append(self.offset)
        return self.number, self.offset

    def close(self) -> None:
        """Finish the last segment and wait until everything finished is compressed."""
        if not self._file.closed:
            self._finish()
        if self._compressor is not None:
            self._compressor.close()

    def abandon(self) -> None:
        """Close the files as they are, after an error."""
        self._file.close()
        if self._compressor is not None:
            self._compressor.close()

    def _open(self) -> BinaryIO:
        path = self.directory / segment_name(self.number, ".part")
        try:
            return path.open("xb", buffering=0)
        except OSError as error:
            raise RecordingError(f"cannot record to {path}: {error.strerror or error}") from error

    def _drop_torn_line(self) -> None:
        try:
            self._file.truncate(self.offset)
        except OSError:
            return  # the reader cuts the torn line

    def _finish(self) -> None:
        path = self.directory / segment_name(self.number)
        try:
            self._file.close()
            (self.directory / segment_name(self.number, ".part")).replace(path)
        except OSError as error:
            raise RecordingError(f"cannot finish {path}: {error.strerror or error}; it is kept as it is") from error
        if self.offset >= COMPRESSED_FROM_BYTES:
            if self._compressor is None:
                self._compressor = _Compressor()
            self.cut()
            self._compressor.put(path, self._cuts)


class _Compressor:
    """The thread that compresses finished segments, one after the other."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Path, list[int]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="segment compressor", daemon=True)
        self._thread.start()

    def put(self, path: Path, ends: list[int]) -> None:
        self._queue.put((path, ends))

    def close(self) -> None:
        """Wait for the remaining segments. A segment that cannot be compressed stays text, which is not an error."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (task := self._queue.get()) is not None:
            path, ends = task
            try:
                compress_segment(path, ends)
            except OSError:  # no room for a second copy: the segment stays text, and is read as well
                path.with_name(path.name + ".zst.part").unlink(missing_ok=True)


def compress_segment(path: Path, ends: list[int]) -> Path:
    """Replace a finished segment by its compressed form, one frame up to each of `ends` (offsets in its text)."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True, write_checksum=True)
    table, start = b"", 0
    growing = path.with_name(path.name + ".zst.part")
    with path.open("rb") as text, growing.open("wb") as file:
        for end in ends:  # in pieces: a whole segment would take most of the memory of a small flight
            frame = compressor.compress(text.read(end - start))
            file.write(frame)
            table += TABLE_ENTRY.pack(len(frame), end - start)
            start = end
        footer = TABLE_FOOTER.pack(len(ends), 0, SEEKABLE_MAGIC)
        file.write(struct.pack("<II", SKIPPABLE_MAGIC, len(table) + len(footer)) + table + footer)
    finished = path.with_name(path.name + ".zst")
    growing.replace(finished)
    path.unlink()
    return finished


class _NoTableError(RecordingError):
    """A compressed segment that has lost its end."""


def _frame_table(file: BinaryIO) -> list[tuple[int, int]]:
    """(compressed, decompressed) bytes of each frame of an open segment; rewinds the file."""
    size = file.seek(0, 2)
    if size < TABLE_FOOTER.size:
        raise _NoTableError("it is cut off: its table of frames is missing")
    file.seek(size - TABLE_FOOTER.size)
    frames, _, magic = TABLE_FOOTER.unpack(file.read(TABLE_FOOTER.size))
    table_bytes = frames * TABLE_ENTRY.size
    if magic != SEEKABLE_MAGIC or size < TABLE_FOOTER.size + table_bytes or table_bytes > MOST_TABLE_BYTES:
        raise _NoTableError("it does not end with a table of frames")
    file.seek(size - TABLE_FOOTER.size - table_bytes)
    table = [(int(packed), int(plain)) for packed, plain in TABLE_ENTRY.iter_unpack(file.read(table_bytes))]
    if any(packed > MOST_FRAME_BYTES for packed, _ in table) or sum(packed for packed, _ in table) > size:
        raise RecordingError("its table of frames claims more than the file holds")
    file.seek(0)
    return table


def line_chunks(path: Path, skip: int = 0) -> Iterator[bytes]:
    """Whole lines of a segment, about 256 KiB at a time, from offset `skip` of its text on.

    Only the last chunk can lack its newline: then the file ends in the middle of a line. Raises RecordingError when a
    compressed segment cannot be decompressed, after the lines before the damage; when a line is longer than any event
    (the reason alone: the caller names the place), or when the file is not a regular one; OSError when it cannot be
    read.
    """
    tail: list[bytes] = []
    tail_bytes = 0
    for piece in _pieces(path, skip):
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*tail, piece[:end]])
            tail, tail_bytes = [], 0
        tail.append(piece[end:])
        tail_bytes += len(piece) - end
        if tail_bytes > LONGEST_LINE_BYTES:
            raise RecordingError(f"a line is longer than {spoken_bytes(LONGEST_LINE_BYTES)}")
    if tail_bytes:
        yield b"".join(tail)


def _pieces(path: Path, skip: int) -> Iterator[bytes]:
    with open_ours(path) as file:
        if path.suffix != ".zst":
            file.seek(skip)
            while piece := file.read(CHUNK_BYTES):
                yield piece
            return
        try:
            table = _frame_table(file)
        except _NoTableError:  # what was written before a crash or a cut is as good as in a whole file
            file.seek(0)
            yield from _frame(path, _decompressed(file), skip)
            raise
        for packed, plain in table:
            if skip >= plain:
                file.seek(packed, 1)
                skip -= plain
                continue
            yield from _frame(path, _decompressed(BytesIO(file.read(packed))), skip)
            skip = 0


def _decompressed(packed: BinaryIO) -> BinaryIO:
    decompressor = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW_BYTES)
    return decompressor.stream_reader(packed, read_across_frames=True)


def _frame(path: Path, reader: BinaryIO, skip: int) -> Iterator[bytes]:
    try:
        while skip > 0 and (passed := len(reader.read(min(skip, CHUNK_BYTES)))):
            skip -= passed
        while piece := reader.read(CHUNK_BYTES):
            yield piece
    except zstandard.ZstdError as error:
        raise RecordingError(f"{path.name} cannot be decompressed: {error}") from error
