"""Logs become a recording: the lines of several files merged by their instants, read, and journaled."""

import heapq
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from pathlib import Path

import msgspec
from msgspec.structs import force_setattr

from cluster.events import LogsRead
from cluster.view import ClusterView, fold
from recordings.bounded_files import RecordingError, decoded, read_ours
from recordings.journal.format import Settings, write_json
from recordings.journal.writer import Recorder, new_header, refuse_existing
from recordings.log_reading.lines import CoordinatorLine, LogFile
from recordings.log_reading.reader import GroupLogReader

READING = "reading.json"
READING_BYTES = 4 << 20
UNMATCHED_KEPT = 100


class LinesRead(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one log: all, those of group coordinators, and those of them whose instant is in no known form."""

    log: str
    lines: int
    coordinator: int
    without_instant: int


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: a recording keeps it as reading.json.

    `matched` and `unmatched` count lines of group coordinators; `sentences`: the unmatched ones, numbers as `#`, the
    most frequent first. `backwards`: lines whose instant is before that of an earlier line; their events are at the
    earlier instant. `began`: the first instant, "" if the logs have no date; `lasted_us` until the last one.
    """

    files: list[LinesRead]
    matched: int
    unmatched: int
    sentences: dict[str, int]
    backwards: int
    began: str
    lasted_us: int
    events: int


READING_DECODER = msgspec.json.Decoder(Reading)


class _Instants:
    """Instants counted from the first line (logs without dates: from midnight), never backwards."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        self._files = files
        self.began_us: int | None = None
        self.at_us = self.backwards = 0

    def counted(self, lines: Iterator[CoordinatorLine]) -> Iterator[CoordinatorLine]:
        """The lines with such instants. Raises RecordingError if some files have dates and others have not."""
        for line in lines:
            if self.began_us is None:
                self.began_us = line.at_us if self.dated else 0
            at_us = line.at_us - self.began_us
            if at_us < self.at_us:
                self.backwards += 1
            self.at_us = max(self.at_us, at_us)
            yield line._replace(at_us=self.at_us)

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


def read_logs(logs: Sequence[Path], out: Path) -> Reading:
    """Read logs into a new recording. Raises RecordingError: unreadable, no line of a coordinator, `out` exists."""
    refuse_existing(out)
    files = [LogFile(path) for path in logs]
    instants, reader, view = _Instants(files), GroupLogReader(), ClusterView()
    merged = heapq.merge(*(file.coordinator_lines() for file in files), key=attrgetter("at_us"))
    events = reader.read(instants.counted(merged))
    first = next(events, None)
    if first is None:
        raise RecordingError(f"{logs[0]}: {_nothing(files, reader)}")
    names = tuple(str(path) for path in logs)
    header = msgspec.structs.replace(new_header(logs[0].name, "", Settings(seed=0, until_us=None)), read_from=names)
    recorder = Recorder(out, header)
    recorder.watch(view)
    sequence, complete = 0, False
    try:
        source = LogsRead(logs=names, began_us=instants.began_us if instants.began_us and instants.dated else -1)
        for at_us, event in chain(((0, source), first), events):
            sequence += 1
            force_setattr(event, "seq", sequence)
            force_setattr(event, "at_us", at_us)
            fold(view, event)
            recorder(event)
        complete = True
    finally:
        recorder.close(turns=-1, virtual_us=instants.at_us, complete=complete)
    reading = Reading(
        files=[
            LinesRead(
                log=str(one.path), lines=one.lines, coordinator=one.coordinator, without_instant=one.without_instant
            )
            for one in files
        ],
        matched=reader.matched,
        unmatched=reader.unmatched.total(),
        sentences=dict(reader.unmatched.most_common(UNMATCHED_KEPT)),
        backwards=instants.backwards,
        began=instants.began,
        lasted_us=instants.at_us,
        events=sequence,
    )
    write_json(out / READING, reading)
    return reading


def _nothing(files: Sequence[LogFile], reader: GroupLogReader) -> str:
    """Why no event came of the logs."""
    lines = sum(file.lines for file in files)
    if without := sum(file.without_instant for file in files):
        return (
            f"{without:,} lines of group coordinators begin with no known instant; known is [2026-11-27 05:10:11,123]"
        )
    if reader.unmatched:
        return f"no sentence of {reader.unmatched.total():,} lines of group coordinators is known (Kafka 4.1 to 4.3 is)"
    return (
        f"none of {lines:,} lines is of a group coordinator, e.g. `[GroupCoordinator id=1 topic=…] Stabilized group …`"
    )


def reading_of(recording: Path) -> Reading:
    """What a recording keeps of its reading. Raises RecordingError."""
    path = recording / READING
    try:
        return decoded(read_ours(path, READING_BYTES), READING_DECODER)
    except (OSError, RecordingError) as error:
        raise RecordingError(f"{path} is damaged: {error}") from error
