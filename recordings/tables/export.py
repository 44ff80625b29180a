"""Write recordings as typed Parquet tables, one for each kind of event, for Spark and other readers of Parquet.

    TO/tables/<table>/<run_id>.parquet      zstd, row groups of about half a million rows
    TO/tables/<table>/schema.parquet        no rows: the table exists, though nothing of its kind ever happened

A flight is streamed: only the row groups that are being filled are in memory. Its tables are written under hidden names
and renamed at the end, its row in `flights` last, so that a flight is there completely or not at all. A second export
replaces the first.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cluster.events import Event, kind_of
from recordings.bounded_files import RecordingError
from recordings.journal.format import HEADER, JournaledCommand
from recordings.journal.reader import Recording
from recordings.tables.parquet_files import BATCH_ROWS, FlightTables, Target
from recordings.tables.schema import COMMANDS, EVENT_TABLES, FLIGHTS, TABLES, FlightRow

PROGRESS_EVENTS = 65_536

Progress = Callable[[int, int], object]
"""(events read so far, events in all; -1 when the recording has no end)."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one recording; `rows` counts each table's rows, `bytes` is the size of its files."""

    run_id: str
    recording: str
    events: int
    commands: int
    rows: dict[str, int]
    bytes: int
    seconds: float
    complete: bool
    warnings: list[str]


def export(
    recordings: Sequence[Path], to: str | Path, *, salvage: bool = False, progress: Progress | None = None
) -> list[Exported]:
    """Write the tables of `recordings` below `to`, a directory or any URI that pyarrow's filesystems know.

    `salvage`: a damaged recording is read up to the damage. `progress` is called now and then, for each recording.
    Raises RecordingError: no recording, damaged, the same flight twice, or `to` cannot be written.
    """
    opened = [Recording(Path(path), salvage=salvage, logs=True) for path in recordings]
    _refuse_twins(opened)
    target = Target(str(to))
    target.prepare(TABLES.values())
    return [_export(recording, target, progress) for recording in opened]


def is_exported(place: str | Path) -> bool:
    """Whether a place holds exported tables: any URI is taken to, and a directory of tables that is no recording."""
    if "://" in str(place):
        return True
    return (Path(place) / "tables" / FLIGHTS).is_dir() and not (Path(place) / HEADER).exists()


def _refuse_twins(recordings: Iterable[Recording]) -> None:
    seen: dict[str, Path] = {}
    for recording in recordings:
        run_id = recording.header.run_id
        if run_id in seen:
            raise RecordingError(f"{seen[run_id]} and {recording.path} are the same flight: export one of them")
        seen[run_id] = recording.path


def _export(recording: Recording, target: Target, progress: Progress | None) -> Exported:
    began = time.perf_counter()
    tables = FlightTables(recording.header.run_id, target)
    try:
        row = _stream(recording, tables, progress)
        tables.add(TABLES[FLIGHTS], [row])
        tables.publish(last=FLIGHTS)
    finally:
        tables.discard()
    return Exported(
        run_id=recording.header.run_id,
        recording=str(recording.path),
        events=row.events,
        commands=row.commands,
        rows=tables.rows,
        bytes=tables.bytes,
        seconds=round(time.perf_counter() - began, 3),
        complete=row.complete,
        warnings=list(recording.warnings),
    )


def _stream(recording: Recording, tables: FlightTables, progress: Progress | None) -> FlightRow:
    """Hand every event and command to the flight's tables; returns the flight's row in `flights`."""
    buffers: dict[type[Event], list[Any]] = {cls: [] for cls in EVENT_TABLES}
    commands: list[JournaledCommand] = []
    append: dict[type, Callable[[Any], None]] = {cls: rows.append for cls, rows in buffers.items()}
    append[JournaledCommand] = commands.append
    total = recording.footer.events if recording.footer is not None else -1
    reported = 0
    last: Event | None = None
    for batch in recording.batches():
        for entry in batch.entries:
            append[type(entry)](entry)
        last = next((entry for entry in reversed(batch.entries) if isinstance(entry, Event)), last)
        for cls, rows in buffers.items():
            while len(rows) >= BATCH_ROWS:
                tables.add(EVENT_TABLES[cls], rows[:BATCH_ROWS])
                seq = rows[BATCH_ROWS - 1].seq
                del rows[:BATCH_ROWS]
                if progress is not None and seq - reported >= PROGRESS_EVENTS:
                    reported = seq
                    progress(reported, total)
    for cls, rows in buffers.items():
        tables.add(EVENT_TABLES[cls], rows)
    tables.add(TABLES[COMMANDS], commands)
    return _flight_row(recording, tables.rows, len(commands), last)


def _flight_row(recording: Recording, rows: dict[str, int], commands: int, last: Event | None) -> FlightRow:
    """The flight's row, after a whole pass; without a footer, or after damage, its totals are of the events read."""
    header, footer = recording.header, recording.footer
    settings = header.settings
    whole = footer if footer is not None and not recording.warnings else None
    kinds = {kind: rows[kind] for kind in sorted(map(kind_of, EVENT_TABLES)) if rows.get(kind)}
    return FlightRow(
        scenario=header.scenario,
        seed=settings.seed,
        until_us=-1 if settings.until_us is None else settings.until_us,
        settings=tuple(f"{scope}:{key}={value}" if scope else f"{key}={value}" for scope, key, value in settings.set),
        flightdeck=header.flightdeck,
        started=header.started,
        virtual_us=whole.virtual_us if whole else last.at_us if last else 0,
        events=whole.events if whole else last.seq if last else 0,
        commands=commands,
        turns=whole.turns if whole else -1,
        journal_sha256=whole.journal_sha256 if whole else "",
        kinds=whole.kinds if whole else kinds,
        complete=whole.complete if whole else False,
        warnings=tuple(recording.warnings),
        scenario_text=header.scenario_text,
    )
