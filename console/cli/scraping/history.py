"""`export --openmetrics FILE`: a recording's metrics with timestamps, for Prometheus to keep."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.errors import HELD, UsageError, warn
from console.cli.options import duration_of
from console.cli.streams import json_of, print_text
from console.presenters.formatting import many

if TYPE_CHECKING:
    from recordings.metrics.history import ExportedHistory

LEAST_STEP_US = 1_000  # OpenMetrics in Prometheus is precise to the millisecond

Openmetrics = Annotated[
    Path | None, Parameter(help="A file for the metrics of one recording, with timestamps, in OpenMetrics' format.")
]
Step = Annotated[
    str | None,
    Parameter(help="Virtual time between two samples of --openmetrics; default: 15s.", allow_leading_hyphen=True),
]
Start = Annotated[
    str | None,
    Parameter(
        help="Instant at which the flight of --openmetrics begins: 2026-11-27T14:00:00Z; default: when it was flown."
    ),
]


def export_metrics(
    recordings: list[Path], to: Path, step: str | None, start: str | None, *, salvage: bool, json: bool
) -> int:
    """Write the metrics of one recording; returns the exit code. Raises UsageError and RecordingError."""
    from recordings.metrics.history import DEFAULT_STEP_US, export_openmetrics

    if len(recordings) != 1:
        raise UsageError("--openmetrics takes one recording: its series would mix with those of another")
    given_us = duration_of("--step", step)
    step_us = DEFAULT_STEP_US if given_us is None else given_us
    if step_us < LEAST_STEP_US:
        raise UsageError("--step: at least 1ms: Prometheus knows no shorter time")
    found = export_openmetrics(recordings[0], to, step_us=step_us, start=_instant_of(start), salvage=salvage)
    warn(found.warnings)
    print_text(json_of(found) if json else _words(found))
    return HELD


def _instant_of(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--start: {text!r} is not an instant: write it like 2026-11-27T14:00:00Z") from None
    if instant.tzinfo is None:
        raise UsageError(f"--start: {text!r} has no time zone: write {text}Z for UTC")
    return instant


def _words(found: "ExportedHistory") -> str:
    begin, end = (
        datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S") for at_s in (found.from_s, found.to_s)
    )
    return (
        f"{found.openmetrics}: {found.samples:,} samples of {found.series:,} series at"
        f" {many(found.instants, 'instant')}, {found.bytes:,} bytes\n"
        f"from {begin} to {end} UTC; `promtool tsdb create-blocks-from openmetrics {found.openmetrics} DIR`"
        " makes blocks of them"
    )
