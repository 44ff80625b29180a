"""Open a recording, verify it, and stream what is in it.

Verification happens while streaming: every line must decode, `seq` must count from 1 without a gap, time must not run
backwards, and a whole recording must have the hash and the number of events of its footer. A torn tail (the process was
killed) is cut with a warning; damage anywhere else is an error that names the place, unless `salvage` asks for
everything before it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import attrgetter, eq, le, or_
from pathlib import Path
from typing import NamedTuple

import msgspec

from cluster.config import brief, nearest
from cluster.events import EVENT_KINDS, Event, kind_of
from recordings.bounded_files import FOOTER_BYTES, HEADER_BYTES, RecordingError, decoded, read_ours
from recordings.journal.format import (
    FOOTER,
    FORMAT,
    HEADER,
    SEGMENT_NAME,
    Count,
    Footer,
    Header,
    JournaledCommand,
    Position,
    clock,
    segment_name,
)
from recordings.journal.segments import line_chunks
from recordings.journal.upgrade import upgraded_command, upgraded_events
from recordings.version import VERSION

Entry = Event | JournaledCommand

COMMAND_START = b'{"command"'
EVENT_DECODER = msgspec.json.Decoder(reduce(or_, EVENT_KINDS.values()))
COMMAND_DECODER = msgspec.json.Decoder(JournaledCommand)
HEADER_DECODER = msgspec.json.Decoder(Header)
FOOTER_DECODER = msgspec.json.Decoder(Footer)

_SEQ, _AT_US = attrgetter("seq"), attrgetter("at_us")

LATEST_US = 100 * 8_766 * 3_600_000_000  # a hundred years
MOST_COMMANDS = 1_000_000
RUN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


class DamagedError(RecordingError):
    """A recording cannot be read past a place (`segment-000001.jsonl, line 12`); `events` before it are whole."""

    def __init__(self, path: Path, place: str, reason: str, events: int) -> None:
        self.path, self.place, self.reason, self.events = path, place, reason, events
        super().__init__(
            f"{path} is damaged at {place}: {reason}; the {events} events before it are whole (--salvage reads those)"
        )


class Batch(NamedTuple):
    """Entries that were read together, verified, and the position to resume at."""

    entries: Sequence[Entry]
    end: Position


class Survey(msgspec.Struct, frozen=True):
    """The result of a whole pass over a recording: every command, the totals, and whether the flight was completed.

    `totals.turns` is -1 if only the flight could have known it.
    """

    commands: list[JournaledCommand]
    totals: Footer
    last_event: Event | None


class Recording:
    """A recording on disk; the module says when each part is verified.

    `footer` is None when the flight did not end (a crash). `warnings` grows while streaming, without repetitions.
    `salvage`: stop at the first damage with a warning instead of raising. Raises RecordingError when `path` is not a
    recording that this version reads, or was read from logs and `logs` is false: those do not tell what a flight does.
    """

    def __init__(self, path: Path, *, salvage: bool = False, logs: bool = False) -> None:
        self.path, self.salvage = path, salvage
        self.warnings: list[str] = []
        self.header = _read_header(path)
        if self.header.read_from and not logs:
            raise RecordingError(
                f"{path} was read from logs, without records: `flightdeck play` and `summary` show what they have"
            )
        self.footer = self._read_footer()
        self.segments = _find_segments(path)
        self._survey: Survey | None = None

    def entries(self, start: Position | None = None) -> Iterator[Entry]:
        """Every event and command in order, verified as far as the iteration has come.

        From a later `start` the hash cannot be verified. Raises DamagedError unless `salvage`.
        """
        return (entry for batch in self.batches(start) for entry in batch.entries)

    def batches(self, start: Position | None = None) -> Iterator[Batch]:
        """The same entries in batches, each with the position behind it."""
        return _Reading(self, start or Position()).batches()

    def events(self, start: Position | None = None) -> Iterator[Event]:
        """Every event in order, verified as `entries` are."""
        return (entry for entry in self.entries(start) if isinstance(entry, Event))

    def event_lines(self) -> Iterator[bytes]:
        """The lines of all whole events in batches, as they were hashed, not decoded."""
        left = self.survey().totals.events
        for _, segment in sorted(self.segments.items()):
            for chunk in line_chunks(segment):
                lines = _without_commands(chunk)
                count = lines.count(b"\n")
                if count > left or not lines.endswith(b"\n"):
                    lines = b"".join(lines.splitlines(keepends=True)[:left])
                    count = min(count, left)
                left -= count
                if lines:
                    yield lines
                if not left:
                    return

    def survey(self) -> Survey:
        """Read and verify the whole recording once; the result is cached."""
        if self._survey is None:
            reading = _Reading(self, Position())
            commands: list[JournaledCommand] = []
            for batch in reading.batches():
                commands += [entry for entry in batch.entries if isinstance(entry, JournaledCommand)]
                if len(commands) > MOST_COMMANDS:
                    raise RecordingError(f"{self.path} holds more than {MOST_COMMANDS:,} commands")
            self._survey = Survey(commands, reading.totals(len(commands)), reading.last)
        return self._survey

    def misfit(self, event: Event) -> DamagedError:
        """The error for an event that can be read and cannot follow those before it."""
        place = f"event {event.seq} ({kind_of(event)}, {clock(event.at_us)})"
        return DamagedError(self.path, place, "it does not fit the events before it", event.seq - 1)

    def warn(self, warning: str) -> None:
        """Add a warning for the user, once."""
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _read_footer(self) -> Footer | None:
        path = self.path / FOOTER
        try:
            return decoded(read_ours(path, FOOTER_BYTES), FOOTER_DECODER)
        except FileNotFoundError:
            return None
        except (OSError, RecordingError) as error:
            if not self.salvage:
                raise RecordingError(f"{path} is damaged: {error} (--salvage reads the events without it)") from error
            self.warn(f"{path} is damaged: {error}; it is rebuilt from the events")
            return None


class _Reading:
    """One pass over a recording: the state of its verification."""

    def __init__(self, recording: Recording, start: Position) -> None:
        self.recording, self.start = recording, start
        self.seq, self.at_us = start.seq, start.at_us
        self.hash = hashlib.sha256() if start == Position() else None
        self.kinds: Counter[type[Event]] = Counter()
        self.last: Event | None = None
        self.segment, self.line = "", 0
        self.whole = False

    def batches(self) -> Iterator[Batch]:
        recording = self.recording
        newest = max(recording.segments, default=0)
        try:
            for number in range(self.start.segment, newest + 1):
                offset = self.start.offset if number == self.start.segment else 0
                for chunk in self._chunks(number, offset):
                    end = chunk.rfind(b"\n") + 1
                    entries, damage = self._decoded(chunk[:end] if end < len(chunk) else chunk)
                    offset += end
                    yield Batch(entries, Position(number, offset, self.seq, self.at_us))
                    if damage is None and end < len(chunk) and (number < newest or recording.footer is not None):
                        self.line += 1
                        damage = self._damaged("the line is cut off")
                    if damage is not None:
                        raise damage
            self._compare_with_footer()
            self.whole = True
        except DamagedError as error:
            nothing = self.start.seq and self.seq == self.start.seq  # the position is wrong, not the line
            if nothing or not recording.salvage:
                raise
            recording.warn(f"{self.place()}: {error.reason}; read up to {self.last_event()}")

    def totals(self, commands: int) -> Footer:
        """The footer, if it is there and right, or else the totals that can be stated without one."""
        if self.recording.footer is not None and self.whole:
            return self.recording.footer
        return Footer(
            events=self.seq,
            commands=commands,
            turns=-1,
            virtual_us=self.at_us,
            journal_sha256=self.hash.hexdigest() if self.hash is not None else "",
            kinds=dict(sorted((kind_of(cls), count) for cls, count in self.kinds.items())),
            complete=False,
        )

    def place(self) -> str:
        return f"{self.segment}, line {self.line}" if self.line else self.segment

    def last_event(self) -> str:
        if self.last is None:
            return f"event {self.seq}" if self.seq else "its beginning: there is no whole event"
        return f"event {self.seq} ({kind_of(self.last)}) at {clock(self.at_us)}"

    def _chunks(self, number: int, offset: int) -> Iterator[bytes]:
        recording = self.recording
        path = recording.segments.get(number)
        if path is not None and recording.footer is None and not path.exists():  # finished or compressed meanwhile
            recording.segments = _find_segments(recording.path)
            path = recording.segments.get(number)
        self.segment, self.line = path.name if path is not None else segment_name(number), 0
        if path is None:
            raise self._damaged("the segment is missing")
        try:
            yield from line_chunks(path, offset)
        except DamagedError:
            raise
        except (OSError, RecordingError) as error:
            raise self._damaged(str(error)) from error

    def _decoded(self, lines: bytes) -> tuple[Sequence[Entry], DamagedError | None]:
        """Decode whole lines: all at once if they are sound, else one by one up to the damage."""
        if COMMAND_START in lines:
            return self._one_by_one(lines)
        try:
            events = upgraded_events(EVENT_DECODER.decode_lines(lines), self.recording.header.format)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, RecordingError):
            return self._one_by_one(lines)
        if not self._follow(events):
            return self._one_by_one(lines)
        self._account(lines, events)
        self.line += len(events)
        return events, None

    def _follow(self, events: Sequence[Event]) -> bool:
        """Whether these events follow the last one: by their numbers without a gap, and not back in time."""
        numbers = range(self.seq + 1, self.seq + 1 + len(events))
        instants = [self.at_us, *map(_AT_US, events)]
        return all(map(eq, map(_SEQ, events), numbers)) and all(map(le, instants, [*instants[1:], LATEST_US]))

    def _one_by_one(self, lines: bytes) -> tuple[Sequence[Entry], DamagedError | None]:
        entries: list[Entry] = []
        try:
            for line in lines.splitlines(keepends=True):
                self.line += 1
                entries.append(self._entry(line))
        except DamagedError as damage:
            return entries, damage
        return entries, None

    def _entry(self, line: bytes) -> Entry:
        try:
            entry = self._upgraded_entry(line)
        except RecordingError as error:
            raise self._damaged(str(error)) from error
        if entry.at_us < self.at_us:
            raise self._damaged(f"time runs backwards, from {self.at_us} us to {brief(str(entry.at_us))} us")
        if entry.at_us > LATEST_US:
            raise self._damaged(f"{brief(str(entry.at_us))} us is later than any flight")
        if isinstance(entry, JournaledCommand):
            if entry.after_seq != self.seq:
                raise self._damaged(f"a command says it came after event {brief(str(entry.after_seq))}, not {self.seq}")
        elif entry.seq != self.seq + 1:
            raise self._damaged(f"event {brief(str(entry.seq))} follows event {self.seq}")
        else:
            self._account(line, [entry])
        return entry

    def _upgraded_entry(self, line: bytes) -> Entry:
        version = self.recording.header.format
        if line.startswith(COMMAND_START):
            return upgraded_command(decoded(line, COMMAND_DECODER), version)
        (event,) = upgraded_events([decoded(line, EVENT_DECODER)], version)
        return event

    def _account(self, lines: bytes, events: Sequence[Event]) -> None:
        if events:
            self.last = events[-1]
            self.seq, self.at_us = self.last.seq, self.last.at_us
            self.kinds.update(map(type, events))
            if self.hash is not None:
                self.hash.update(lines)

    def _compare_with_footer(self) -> None:
        footer = self.recording.footer
        if footer is None:
            if self.hash is not None:  # a reader that starts in the middle has read the whole recording before
                self.recording.warn(
                    f"the flight has no end (it was killed, or goes on): its last whole event is "
                    f"{self.last_event().removeprefix('event ')}"
                )
        elif footer.events != self.seq:
            raise self._damaged(f"here are {self.seq} events, but {FOOTER} counts {footer.events}{self._missing()}")
        elif self.hash is not None and self.hash.hexdigest() != footer.journal_sha256:
            self.segment, self.line = FOOTER, 0
            raise self._damaged("the events have another hash than when they were recorded")

    def _missing(self) -> str:
        """The segment that is probably missing, when the footer counts more events than there are."""
        footer, last = self.recording.footer, max(self.recording.segments, default=0)
        if footer is None or footer.events < self.seq:
            return ""
        if not last:
            self.segment = segment_name(1)
        cut = "" if not last or self.segment.endswith(".zst") else f", or the end of {self.segment}"
        return f": {segment_name(last + 1)} is missing{cut}"

    def _damaged(self, reason: str) -> DamagedError:
        return DamagedError(self.recording.path, self.place(), reason, self.seq)


def _read_header(path: Path) -> Header:
    """The header, if `path` is a recording that this version reads."""
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "does not exist"
        near = nearest(path.name, _recordings_beside(path))
        meant = f"; did you mean {path.with_name(near)}?" if near else ""
        raise RecordingError(f"{path} {what}, so it is not a recording{meant}")
    try:
        text = read_ours(path / HEADER, HEADER_BYTES)
    except FileNotFoundError as error:
        raise RecordingError(f"{path} is not a recording: it has no {HEADER}") from error
    except OSError as error:
        raise RecordingError(f"cannot read {path / HEADER}: {error.strerror or error}") from error
    if not text.strip():
        raise RecordingError(f"{path} is not a Flightdeck recording: its {HEADER} is empty")
    foreign = f"{path} is not a Flightdeck recording: its {HEADER} is not a recording's"
    try:
        any_header = decoded(text, _ANY_HEADER_DECODER)
    except RecordingError as error:
        raise RecordingError(f"{foreign} ({error})") from error
    if any_header.format > FORMAT:
        raise RecordingError(
            f"{path} has recording format {any_header.format}, and this version ({VERSION}) reads up to {FORMAT}:"
            f" it needs flightdeck {brief(any_header.flightdeck)} or later"
        )
    try:
        header = decoded(text, HEADER_DECODER)
    except RecordingError as error:
        raise RecordingError(f"{foreign} ({error})") from error
    if not RUN_ID.fullmatch(header.run_id):  # an export names its files after it
        raise RecordingError(f"{foreign} (its run_id is not a valid file name)")
    return header


class _AnyHeader(msgspec.Struct):
    """The first fields of a header of any format."""

    format: Count
    flightdeck: str


_ANY_HEADER_DECODER = msgspec.json.Decoder(_AnyHeader)


def _recordings_beside(path: Path) -> list[str]:
    if not path.parent.is_dir():
        return []
    return sorted(other.parent.name for other in path.parent.glob(f"*/{HEADER}"))


def _find_segments(path: Path) -> dict[int, Path]:
    """Segment number → file; the plain one when a crash left it beside its compressed copy."""
    found: dict[int, Path] = {}
    for file in sorted(path.iterdir()):  # `.jsonl` comes before `.jsonl.part` and `.jsonl.zst`
        match = SEGMENT_NAME.fullmatch(file.name)
        if match is not None:
            found.setdefault(int(match[1]), file)
    return found


def _without_commands(lines: bytes) -> bytes:
    if COMMAND_START not in lines:
        return lines
    return b"".join(line for line in lines.splitlines(keepends=True) if not line.startswith(COMMAND_START))
