"""The file of a trace in Chrome's JSON format: an object whose `traceEvents` has one event a line.

A slice of a track is written when it ends (`X`, with its duration); spans that may overlap are asynchronous (`b`, `e`).
Viewers sort by time themselves. Source: "Trace Event Format", and Perfetto's importer of it.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from recordings.bounded_files import RecordingError

LINES: Final = 4_096


class Track(NamedTuple):
    """A row of a viewer: a thread of a process, in the words of the format."""

    pid: int
    tid: int


class TraceFile:
    """A trace that is being written; `events` counts what is in it, without the names of tracks.

    The file has its name when it is whole: `finish` gives it, `discard` removes what is there until then.
    Instants and durations are µs of virtual time. Every method raises RecordingError when the disk refuses.
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path, self.events = path, 0
        self._part = path.with_name(f".{path.name}.part")
        self._processes: dict[str, int] = {}
        self._tracks: dict[tuple[int, str], Track] = {}
        self._spans = 0
        self._encode = msgspec.json.Encoder().encode
        head = b'{"displayTimeUnit":"ms","otherData":' + self._encode(about) + b',"traceEvents":[\n'
        self._lines: list[bytes] = []
        self._separator = b""
        try:
            self._file = self._part.open("wb")
            self._file.write(head)
        except OSError as error:
            raise self._refused(error) from error

    def process(self, name: str) -> int:
        """The number of a process, which is named in the trace when it is asked for first."""
        pid = self._processes.get(name)
        if pid is None:
            pid = self._processes[name] = len(self._processes) + 1
            self._write({"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": name}})
            self._write({"ph": "M", "pid": pid, "tid": 0, "name": "process_sort_index", "args": {"sort_index": pid}})
        return pid

    def track(self, process: str, name: str) -> Track:
        """A track of a process, likewise."""
        pid = self.process(process)
        track = self._tracks.get((pid, name))
        if track is None:
            track = self._tracks[pid, name] = Track(pid, len(self._tracks) + 1)
            where = {"pid": pid, "tid": track.tid}
            self._write({"ph": "M", **where, "name": "thread_name", "args": {"name": name}})
            self._write({"ph": "M", **where, "name": "thread_sort_index", "args": {"sort_index": track.tid}})
        return track

    def slice(self, track: Track, name: str, from_us: int, to_us: int, args: dict[str, Any]) -> None:
        """A slice of a track; those of one track do not overlap."""
        place = {"pid": track.pid, "tid": track.tid}
        self._event({"ph": "X", **place, "name": name, "ts": from_us, "dur": to_us - from_us, "args": args})

    def instant(self, track: Track, name: str, at_us: int, args: dict[str, Any]) -> None:
        """A moment on a track."""
        self._event({"ph": "i", "s": "t", "pid": track.pid, "tid": track.tid, "name": name, "ts": at_us, "args": args})

    def counter(self, pid: int, name: str, at_us: int, values: dict[str, int]) -> None:
        """The values of a counter of a process from now on."""
        self._event({"ph": "C", "pid": pid, "name": name, "ts": at_us, "args": values})

    def begin(self, pid: int, category: str, name: str, at_us: int, args: dict[str, Any]) -> "Span":
        """Begin a span of a process, which may overlap with others of its name."""
        self._spans += 1
        span = Span(pid, category, name, self._spans)
        self._event({"ph": "b", **span.place(), "ts": at_us, "args": args})
        return span

    def end(self, span: "Span", at_us: int, args: dict[str, Any]) -> None:
        """End a span."""
        self._event({"ph": "e", **span.place(), "ts": at_us, "args": args})

    def finish(self) -> int:
        """Close the file and give it its name; returns its size in bytes."""
        try:
            self._flush()
            self._file.write(b"\n]}\n")
            self._file.close()
            self._part.replace(self.path)
            return self.path.stat().st_size
        except OSError as error:
            raise self._refused(error) from error

    def discard(self) -> None:
        """Remove what is not finished; after `finish` this does nothing."""
        self._file.close()
        self._part.unlink(missing_ok=True)

    def _event(self, event: dict[str, Any]) -> None:
        self.events += 1
        self._write(event)

    def _write(self, event: dict[str, Any]) -> None:
        self._lines.append(self._encode(event))
        if len(self._lines) >= LINES:
            try:
                self._flush()
            except OSError as error:
                raise self._refused(error) from error

    def _flush(self) -> None:
        if self._lines:
            self._file.write(self._separator + b",\n".join(self._lines))
            self._lines, self._separator = [], b",\n"

    def _refused(self, error: OSError) -> RecordingError:
        return RecordingError(f"cannot write a trace to {self.path}: {error.strerror or error}")


class Span(NamedTuple):
    """A span that has begun: its process, what kind it is, its name, and its number in the trace."""

    pid: int
    category: str
    name: str
    number: int

    def place(self) -> dict[str, Any]:
        """What its begin and its end have in common."""
        return {"cat": self.category, "id": self.number, "pid": self.pid, "tid": 0, "name": self.name}
