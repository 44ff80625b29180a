"""The journal of a flight: every event's line is hashed, and written to disk if the flight is recorded.

An event is encoded once; hash, file and comparison share its bytes. Events are collected and flushed a thousand at a
time (0.3 µs per event in all). A recorder also flushes four times per second of wall time, from its own thread, so that
another process can follow a slow flight and a crash loses at most a quarter of a second.
"""

import hashlib
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import repeat, starmap
from pathlib import Path
from uuid import uuid4

import msgspec

from cluster.events import Event, kind_of
from cluster.view import ClusterView
from recordings.bounded_files import RecordingError
from recordings.journal.format import FOOTER, HEADER, Footer, Header, JournaledCommand, Position, Settings, write_json
from recordings.journal.keyframes import Keyframes
from recordings.journal.segments import SEGMENT_BYTES, SegmentWriter
from recordings.version import VERSION

FLUSH_LINES = 1_000
FLUSH_SECONDS = 0.25
LAST_EVENTS = 50


class JournalHash:
    """A sink of events that hashes their lines; each of `listeners` gets the lines of every batch of events.

    Call it with each event, in the order of `seq`. `flush` hashes the collected events; results flush first.
    """

    def __init__(self, *listeners: Callable[[bytes], None]) -> None:
        self._listeners = listeners
        self._encoder = msgspec.json.Encoder()
        self._hash = hashlib.sha256()
        self._kinds: Counter[type[Event]] = Counter()
        self._pending: deque[Event] = deque()
        self._due_seq = FLUSH_LINES
        self._settled: list[Event] = []
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Collect one event."""
        self._pending.append(event)
        if event.seq >= self._due_seq:
            self._on_due(event.seq)

    def _on_due(self, seq: int) -> None:
        """Flush after this event, and say when to flush again."""
        self.flush()
        self._due_seq = seq + FLUSH_LINES

    def flush(self) -> None:
        """Hash and write the collected events; any thread may call this. Raises the errors of listeners."""
        with self._lock:
            pending = self._pending
            if pending:
                self._settle(list(starmap(pending.popleft, repeat((), len(pending)))))

    def _settle(self, events: list[Event]) -> None:
        self._settled = [*self._settled, *events][-LAST_EVENTS:]
        lines = self._encoder.encode_lines(events)
        self._hash.update(lines)
        self._kinds.update(map(type, events))
        for listener in self._listeners:
            listener(lines)

    @property
    def sha256(self) -> str:
        """SHA-256 over the line of each event so far, each with its newline, in hexadecimal."""
        self.flush()
        return self._hash.hexdigest()

    @property
    def events(self) -> int:
        """The number of events."""
        self.flush()
        return self._kinds.total()

    @property
    def kinds(self) -> dict[str, int]:
        """The number of events of each kind, by the kind's name."""
        self.flush()
        return dict(sorted((kind_of(cls), count) for cls, count in self._kinds.items()))

    def last_events(self, count: int = LAST_EVENTS) -> list[Event]:
        """The last events (at most 50), to explain a crash."""
        return [*self._settled, *self._pending][-count:]


class _Ended(deque[Event]):
    """Write the rest of a recording that has ended: nothing."""

    def append(self, _event: Event, /) -> None:
        """Raise RecordingError."""
        raise RecordingError("the recording has ended")


class Recorder(JournalHash):
    """A journal that is also written to a recording's directory while the flight runs.

    Raises RecordingError, with the path and the reason, if the directory is not empty or the disk refuses; the recorded
    part is then kept, without a footer. `close` ends the recording; until then, or after a crash, it is readable up to
    its last whole line.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        *listeners: Callable[[bytes], None],
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        _claim(path, header)
        self.path, self.header = path, header
        self._segments = SegmentWriter(path, segment_bytes)
        super().__init__(self._write, *listeners)
        self._commands = 0
        self._keyframes = Keyframes(path)
        self._keyframe_seq = sys.maxsize
        self._view = ClusterView()
        self._error: RecordingError | None = None
        self._ended = threading.Event()
        self._flusher = threading.Thread(target=self._flush_regularly, name="recorder", daemon=True)
        self._flusher.start()

    def _on_due(self, seq: int) -> None:
        super()._on_due(seq)
        if seq >= self._keyframe_seq:
            self._make_keyframe()
        self._due_seq = min(self._due_seq, self._keyframe_seq)

    def watch(self, view: ClusterView) -> None:
        """Make keyframes of this view, which must be folded up to an event before the recorder gets it."""
        self._view = view
        self._keyframe_seq = self._keyframes.next_after(view.seq)
        self._due_seq = min(self._due_seq, self._keyframe_seq)

    def command(self, line: JournaledCommand) -> None:
        """Journal a command that is about to be executed, after the events so far."""
        self.flush()
        with self._lock:
            self._write(self._encoder.encode_lines([line]))
        self._commands += 1

    def close(self, *, turns: int, virtual_us: int, complete: bool = True) -> Footer | None:
        """End the recording with its footer; None if the recording failed before, and has none."""
        self._ended.set()
        self._flusher.join()
        if self._error is not None:
            self._segments.abandon()
            return None
        footer = Footer(
            events=self.events,
            commands=self._commands,
            turns=turns,
            virtual_us=virtual_us,
            journal_sha256=self.sha256,
            kinds=self.kinds,
            complete=complete,
        )
        self._segments.close()
        try:
            write_json(self.path / FOOTER, footer)
        except OSError as error:
            raise RecordingError(f"cannot write {self.path / FOOTER}: {error.strerror or error}") from error
        return footer

    def cut_off(self, *, turns: int, virtual_us: int) -> Footer | None:
        """End the recording of a flight that does not end, from another thread: later events are not recorded."""
        with self._lock:
            pending, self._pending = self._pending, _Ended()
            if pending and self._error is None:
                self._settle(list(pending))
        return self.close(turns=turns, virtual_us=virtual_us, complete=False)

    def _write(self, lines: bytes) -> None:
        if self._error is not None:
            raise self._error
        try:
            self._segments.write(lines)
        except RecordingError as error:
            self._error = error
            raise

    def _make_keyframe(self) -> None:
        self.flush()
        view = self._view
        with self._lock:
            segment, offset = self._segments.cut()
            try:
                self._keyframes.put(Position(segment, offset, view.seq, view.at_us), view)
            except OSError as error:
                self._error = RecordingError(f"cannot write a keyframe of {self.path}: {error.strerror or error}")
                raise self._error from error
        self._keyframe_seq = self._keyframes.next_after(view.seq)

    def _flush_regularly(self) -> None:
        while not self._ended.wait(FLUSH_SECONDS):
            try:
                self.flush()
            except RecordingError:  # kept in _error: the flight gets it with the next batch or command
                return


def new_header(scenario: str, scenario_text: str, settings: Settings) -> Header:
    """The header of a flight that begins now."""
    return Header(
        flightdeck=VERSION,
        run_id=uuid4().hex[:12],
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        scenario=scenario,
        scenario_text=scenario_text,
        settings=settings,
    )


def refuse_existing(path: Path) -> None:
    """Check that a recording can be created at `path`, which must not hold any file. Raises RecordingError."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise RecordingError(f"{path} already exists; choose another name, or remove it first")


def _claim(path: Path, header: Header) -> None:
    """Create the directory and write the header."""
    try:
        refuse_existing(path)
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / HEADER, header)
    except OSError as error:
        raise RecordingError(f"cannot record to {path}: {error.strerror or error}") from error
