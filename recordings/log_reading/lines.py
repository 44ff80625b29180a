"""Logs, streamed: the lines of those who are read, with their instants, and how many lines were what."""

import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import zstandard

from recordings.bounded_files import RecordingError
from recordings.journal.reader import LATEST_US
from recordings.log_reading.compressed import CompressedLog, decompressor_of
from recordings.log_reading.layouts import Layouts
from recordings.log_reading.own_pattern import OwnPattern
from recordings.log_reading.writers import BEGINNINGS, COORDINATORS, LogLine, line_of

LONGEST_LINE = 65_536
"""In bytes; what a longer line has behind it is not read."""

DAY_US = 86_400_000_000
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

Readline = Callable[[int], bytes]
"""The next line of a file, of a longer one as much as the limit; nothing at the end."""


class LogFile:
    """A log, streamed once; afterwards the numbers of its lines by what they were.

    `ahead_us` is added to its instants: how far its clock is behind the others'. `own`: the pattern of its lines. Known
    instants are from 1970 to 2069. Files that gzip or zstd has compressed are read as they are; of one that is cut off,
    `cut_short`, the whole lines. `number`: its place among the logs that are read together. `parts`: how many logs it
    is, one behind the other.
    """

    def __init__(self, path: Path, *, own: OwnPattern | None = None, ahead_us: int = 0, number: int = 0) -> None:
        self.path, self.ahead_us, self.own, self.number = path, ahead_us, own, number
        self.cut_short, self.parts = False, 1
        self.lines = self.without_instant = self.coordinator = 0
        self.dated: bool | None = None
        self._layouts = Layouts(own)

    def read_lines(self) -> Iterator[LogLine]:
        """The lines of those who are read. Raises RecordingError: unreadable, or some lines are dated and some not."""
        try:
            with opened(self.path) as readline:
                yield from self.lines_in(readline)
        except EOFError:
            self.cut_short = True
        except IsADirectoryError:
            raise RecordingError(f"cannot read the log {self.path}: it is a directory; name the logs in it") from None
        except (OSError, zlib.error, zstandard.ZstdError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RecordingError(f"cannot read the log {self.path}: {reason}") from error

    def lines_in(self, readline: Readline) -> Iterator[LogLine]:
        """Such lines that a file gives."""
        while line := readline(LONGEST_LINE):
            while not line.endswith(b"\n") and (rest := readline(LONGEST_LINE)):
                if rest.endswith(b"\n"):
                    break
            self.lines += 1
            if BEGINNINGS.search(line) is not None and (found := self._parsed(line)) is not None:
                self.coordinator += found.writer in COORDINATORS
                yield found

    def _parsed(self, line: bytes) -> LogLine | None:
        at_us, dated, message = self._layouts.parse(line)
        found = line_of((at_us or 0) + self.ahead_us, message, (self.number, 0))
        if found is None:
            return None
        if at_us is None or not 0 <= found.at_us < LATEST_US:  # a date before 1970 or after 2069 is a broken one
            self.without_instant += 1
            return None
        self._agree(dated=dated)
        return found

    def _agree(self, *, dated: bool) -> None:
        if self.dated is not None and self.dated is not dated:
            raise RecordingError(
                f"{self.path}, line {self.lines}: instants with and without a date are in one log; read them apart"
            )
        self.dated = dated


@contextmanager
def opened(path: Path) -> Iterator[Readline]:
    """A log as it was written, also if it has been compressed since.

    Raises OSError; RecordingError: in UTF-16; in reading: EOFError, of a compressed file that is cut off.
    """
    with path.open("rb") as file:
        begin = file.peek(4)
        if begin.startswith(_UTF_16):
            raise RecordingError(f"{path} is in UTF-16; convert it, e.g. iconv -f UTF-16 -t UTF-8 {path.name}")
        if (decompressor := decompressor_of(begin)) is not None:
            with io.BufferedReader(CompressedLog(file, decompressor), 1 << 20) as lines:
                yield lines.readline
        else:
            yield file.readline


def refuse_growing(path: Path, file: IO[bytes]) -> None:
    """Refuse a log that cannot be read as it grows. Raises RecordingError: a pipe, compressed, or in UTF-16."""
    if not file.seekable():
        raise RecordingError(f"{path} is a pipe, and --follow reads files; what is piped is read to its end without it")
    begin = file.read(4)
    file.seek(0)
    if decompressor_of(begin) is not None:
        raise RecordingError(f"{path} is compressed, and a compressed log does not grow; read it without --follow")
    if begin.startswith(_UTF_16):
        raise RecordingError(f"{path} is in UTF-16; --follow reads logs in UTF-8")
