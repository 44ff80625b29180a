"""Lines of several logs in one order: merged by their instants, once or as the logs grow."""

import heapq
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter, gt, lt
from pathlib import Path
from typing import IO

from recordings.bounded_files import RecordingError
from recordings.log_reading.lines import LogFile, refuse_growing
from recordings.log_reading.writers import LogLine

LOOK_EVERY_S = 0.25
NEXT_LOG_US, MOST_HELD = 10_000_000, 30_000
NEWEST_FIRST = 9
"""A log is the wrong way round when so many times as many lines go back in time as go forward."""
_AT_US = attrgetter("at_us")


class Instants:
    """Instants counted from the first line (logs without dates: from midnight), never backwards."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        self._files = files
        self.began_us: int | None = None
        self.at_us = self.backwards = self.repeated = 0
        self._now: dict[tuple[str, tuple[str, ...], str], dict[tuple[int, int], int]] = {}
        self._now_us: int | None = None

    def counted(self, lines: Iterator[LogLine]) -> Iterator[LogLine]:
        """The lines with such instants, each once. Raises RecordingError if some files have dates and some not."""
        for line in lines:
            if self._repeats(line):
                self.repeated += 1
                continue
            if self.began_us is None:
                self.began_us = line.at_us if self.dated else 0
            at_us = line.at_us - self.began_us
            if at_us < self.at_us:
                self.backwards += 1
            self.at_us = max(self.at_us, at_us)
            yield LogLine(self.at_us, line.writer, line.names, line.message)

    def _repeats(self, line: LogLine) -> bool:
        """Whether another log has this line of this instant: logs overlap, or one is given twice.

        One log may have a line several times: it counts as often as in the log that has it most often.
        """
        if len(self._files) == self._files[0].parts == 1:
            return False
        if line.at_us != self._now_us:
            self._now_us, self._now = line.at_us, {}
        counts = self._now.setdefault(line[1:4], {})
        most = max(counts.values(), default=0)
        counts[line.source] = counts.get(line.source, 0) + 1
        return counts[line.source] <= most

    @property
    def dated(self) -> bool:
        """Whether the logs have dates."""
        kinds = {file.dated for file in self._files} - {None}
        if len(kinds) > 1:
            names = [next(str(file.path) for file in self._files if file.dated is kind) for kind in (True, False)]
            raise RecordingError(f"{names[0]} has dates and {names[1]} has none; read them apart")
        return True in kinds

    @property
    def began(self) -> str:
        """The first instant, ISO 8601; "" without a date."""
        if self.began_us is None or not self.dated:
            return ""
        return datetime.fromtimestamp(self.began_us / 1e6, UTC).isoformat(timespec="milliseconds")


def merged(files: Sequence[LogFile]) -> Iterator[LogLine]:
    """The lines of all logs by their instants. Raises RecordingError."""
    return heapq.merge(*(_parts_merged(file) for file in files), key=_AT_US)


def _parts_merged(file: LogFile) -> Iterator[LogLine]:
    """The lines of a log that may be several, one behind the other: these are merged.

    Where instants go back by less than `NEXT_LOG_US`, a clock was set, and the order of lines counts. A log with more
    than `MOST_HELD` lines is taken as one from there on. Raises RecordingError: its newest line is the first.
    """
    lines = file.read_lines()
    held = list(islice(lines, MOST_HELD))
    back, forth = (sum(map(steps, map(_AT_US, held), map(_AT_US, held[1:]))) for steps in (gt, lt))
    if back > NEWEST_FIRST * (forth + 1):
        raise RecordingError(f"{file.path}: the newest line is the first; turn the log round, e.g. with tac")
    parts: list[list[LogLine]] = [[]]
    last_us: int | None = None
    for line in held:
        if last_us is not None and line.at_us < last_us - NEXT_LOG_US:
            parts.append([])
        parts[-1].append(line._replace(source=(file.number, len(parts))) if len(parts) > 1 else line)
        last_us = line.at_us
    file.parts = len(parts)
    yield from heapq.merge(*parts, key=_AT_US)
    yield from lines


def followed(files: Sequence[LogFile], goes_on: Callable[[], bool]) -> Iterator[LogLine]:
    """What the logs have, then what is written to them, until `goes_on` says no. Raises RecordingError.

    A line counts when it is whole. Lines that are written between two looks are ordered by their instants. A log that
    was moved away or cut is read on from the beginning of the file that has its name.
    """
    with ExitStack() as stack:
        growing = [_Growing(file) for file in files]
        for one in growing:
            stack.callback(one.close)
        new = heapq.merge(*(one.new_lines() for one in growing), key=_AT_US)
        while True:
            for line in new:
                yield line
                if not goes_on():
                    return
            if not goes_on():
                return
            time.sleep(LOOK_EVERY_S)
            new = heapq.merge(*(one.new_lines() for one in growing), key=_AT_US)


class _Growing:
    """A log that is being written."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._file: IO[bytes] | None = None

    def new_lines(self) -> Iterator[LogLine]:
        """The lines since the last look."""
        path = self._log.path
        try:
            if self._file is None:
                self._file = path.open("rb")
                refuse_growing(path, self._file)
            yield from self._log.lines_in(_WholeLines(self._file).readline)
            if self._is_another(path):
                self._file.close()
                self._file = path.open("rb")
                yield from self._log.lines_in(_WholeLines(self._file).readline)
        except FileNotFoundError:  # between two files of one name
            if self._file is None:
                raise RecordingError(f"cannot read the log {path}: there is no such file") from None
        except IsADirectoryError:
            raise RecordingError(f"cannot read the log {path}: it is a directory; name the logs in it") from None
        except OSError as error:
            raise RecordingError(f"cannot read the log {path}: {error.strerror or error}") from error

    def _is_another(self, path: Path) -> bool:
        """Whether the name belongs to another file by now, or the file was cut."""
        assert self._file is not None
        mine, named = os.fstat(self._file.fileno()), path.stat()
        return (mine.st_dev, mine.st_ino) != (named.st_dev, named.st_ino) or named.st_size < self._file.seek(
            0, os.SEEK_CUR
        )

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class _WholeLines:
    """A file that gives whole lines only: a line that is being written comes with the next look."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readline(self, limit: int) -> bytes:
        """A line with its end, or as much of a longer one as the limit; nothing if there is none yet."""
        place = self._file.seek(0, os.SEEK_CUR)
        line = self._file.readline(limit)
        if line and not line.endswith(b"\n") and len(line) < limit:
            self._file.seek(place)
            return b""
        return line
