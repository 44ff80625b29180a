"""Write a recording as a trace (Chrome's JSON format) that Perfetto and chrome://tracing open.

The recording is streamed: the fold, the open slices and a few thousand lines are in memory. The same flight gives the
same bytes. docs/trace.md says what each track shows.
"""

from pathlib import Path

import msgspec

from recordings.bounded_files import RecordingError
from recordings.journal.format import JournaledCommand
from recordings.journal.misfits import taken
from recordings.journal.reader import Recording
from recordings.trace.drawing import Drawing
from recordings.trace.trace_file import TraceFile


class Traced(msgspec.Struct, frozen=True, kw_only=True):
    """A trace that was written: `events` of the recording, `trace_events` of the trace, its size in `bytes`."""

    recording: str
    trace: str
    events: int
    trace_events: int
    bytes: int
    warnings: list[str]


def export_trace(path: Path, to: Path, *, salvage: bool = False) -> Traced:
    """Write the trace of the recording at `path` to the file `to`, and replace one that is there.

    Raises RecordingError: no recording, damaged (unless `salvage`), or `to` cannot be written.
    """
    recording = Recording(path, salvage=salvage)
    header, footer = recording.header, recording.footer
    if to.is_dir():
        raise RecordingError(f"cannot write a trace to {to}: it is a directory")
    about = {"scenario": header.scenario, "seed": header.settings.seed, "flightdeck": header.flightdeck}
    file = TraceFile(to, about | {"journal_sha256": footer.journal_sha256 if footer is not None else ""})
    try:
        drawing = Drawing(file)
        _draw(recording, drawing)
        at_us = drawing.view.at_us
        drawing.end(max(at_us, footer.virtual_us) if footer is not None and not recording.warnings else at_us)
        size = file.finish()
    finally:
        file.discard()
    return Traced(
        recording=str(path),
        trace=str(to),
        events=drawing.view.seq,
        trace_events=file.events,
        bytes=size,
        warnings=list(recording.warnings),
    )


def _draw(recording: Recording, drawing: Drawing) -> None:
    for entry in recording.entries():
        if isinstance(entry, JournaledCommand):
            drawing.command(entry.at_us, entry.command, entry.source)
            continue
        if not taken(recording, entry, drawing.take):
            return
