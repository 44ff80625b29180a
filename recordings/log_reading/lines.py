"""Lines of a broker's log: their instants, and the context and sentence of a group coordinator's.

Read are Kafka's default layout (`[2026-11-27 05:10:11,123] INFO message (logger)`), also with the instants of
`flightdeck run --log`, and lines that begin with milliseconds since 1970. The date has no zone: it is taken as UTC.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from recordings.bounded_files import RecordingError

LONGEST_LINE = 65_536
"""In bytes; what a longer line has behind it is not read."""

DAY_US = 86_400_000_000
_COORDINATOR = b"[GroupCoordinator id="
_DATED = re.compile(rb"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\] ")
_VIRTUAL = re.compile(rb"\[(\d{2,4}):(\d\d):(\d\d),(\d{3})\] ")
_SINCE_1970 = re.compile(rb"(\d{13}) (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
_CONTEXT = re.compile(r"\[GroupCoordinator id=(\d{1,9}) topic=([\w.-]+) partition=(\d{1,9})\] (.*)")
_LOGGER = re.compile(r" \([\w.$]+\)$")


class CoordinatorLine(NamedTuple):
    """A line of a group coordinator: instant (µs since 1970, or virtual), broker, partition of its topic, sentence."""

    at_us: int
    broker: int
    partition: str
    message: str


class LogFile:
    """A log, streamed once; afterwards the numbers of its lines by what they were."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = self.without_instant = self.coordinator = 0
        self.dated: bool | None = None

    def coordinator_lines(self) -> Iterator[CoordinatorLine]:
        """Its coordinators' lines. Raises RecordingError: unreadable, or dated and undated lines in one file."""
        try:
            with self.path.open("rb") as file:
                while line := file.readline(LONGEST_LINE):
                    while not line.endswith(b"\n") and (rest := file.readline(LONGEST_LINE)):
                        if rest.endswith(b"\n"):
                            break
                    self.lines += 1
                    if _COORDINATOR in line and (found := self._parsed(line)) is not None:
                        self.coordinator += 1
                        yield found
        except OSError as error:
            raise RecordingError(f"cannot read the log {self.path}: {error.strerror or error}") from error

    def _parsed(self, line: bytes) -> CoordinatorLine | None:
        at_us = self._instant(line)
        if at_us is None:
            self.without_instant += 1
            return None
        text = _LOGGER.sub("", line.decode("utf-8", "replace").rstrip("\r\n"))
        found = _CONTEXT.search(text)
        if found is None:
            return None
        return CoordinatorLine(at_us, int(found[1]), f"{found[2]}-{found[3]}", found[4])

    def _instant(self, line: bytes) -> int | None:
        if found := _VIRTUAL.match(line):
            hours, minutes, seconds, ms = map(int, found.groups())
            self._agree(dated=False)
            return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + ms * 1_000
        if found := _SINCE_1970.match(line):
            self._agree(dated=True)
            return int(found[1]) * 1_000
        if found := _DATED.match(line):
            year, month, day, hour, minute, second, ms = map(int, found.groups())
            try:
                instant = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                return None
            self._agree(dated=True)
            return int(instant.timestamp()) * 1_000_000 + ms * 1_000
        return None

    def _agree(self, *, dated: bool) -> None:
        if self.dated is not None and self.dated is not dated:
            raise RecordingError(
                f"{self.path}, line {self.lines}: instants with and without a date are in one log; read them apart"
            )
        self.dated = dated
