"""`report` of a recording of logs, without Spark: report.json, and a report.html that needs no network."""

from pathlib import Path

import msgspec

from recordings.bounded_files import RecordingError
from recordings.log_reading.summary import ReadRebalanceRow, ReadSummary

HTML, JSON = "report.html", "report.json"
LANE_WIDTH, LANE_HEIGHT, LEAST_WIDTH = 900, 22, 1.5
CASES = 1_000
"""Rebalances on the page; report.json has all."""


class LaneMark(msgspec.Struct, frozen=True):
    """A rebalance in the picture of a group: its place and width in pixels; `known`: whether its end is."""

    x: float
    width: float
    known: bool
    words: str


def write_report(summary: ReadSummary, out: Path) -> list[Path]:
    """Write both files below a directory; returns their paths. Raises RecordingError: it cannot be written."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - heavy

    environment = Environment(
        loader=PackageLoader("recordings.log_reading", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_visible,
    )  # fmt: skip
    page = environment.get_template("report.html.j2").render(
        summary=summary, lanes=_lanes(summary), cases=summary.rebalances[:CASES],
        left_out=max(0, len(summary.rebalances) - CASES), width=LANE_WIDTH, height=LANE_HEIGHT, shown=_shown,
    )  # fmt: skip
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / JSON).write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
        (out / HTML).write_text(page, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"cannot write the report to {out}: {error.strerror or error}") from error
    return [out / JSON, out / HTML]


def _lanes(summary: ReadSummary) -> dict[str, list[LaneMark]]:
    """The rebalances of each group over the time of the logs."""
    length_s = max(summary.reading.lasted_us / 1e6, 1e-6)
    lanes: dict[str, list[LaneMark]] = {group.group: [] for group in summary.groups}
    for row in summary.rebalances:
        x = row.at_s / length_s * LANE_WIDTH
        width = max(LEAST_WIDTH, (row.took_s or 0.0) / length_s * LANE_WIDTH)
        lanes[row.group].append(LaneMark(round(x, 1), round(width, 1), row.took_s is not None, _words(row)))
    return lanes


def _words(row: ReadRebalanceRow) -> str:
    took = f"{row.took_s:.3f} s" if row.took_s is not None else "its duration is unknown"
    return f"{row.at_s:.3f} s: {row.cause or 'unknown cause'} ({row.trigger or 'unknown member'}), {took}"


def _visible(value: object) -> object:
    """A text of a log with control characters and marks of direction spelled out."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in value)


def _shown(value: object) -> object:
    """A cell: `unknown` for what no line tells."""
    return "unknown" if value is None or value == "" else f"{value:.3f}" if isinstance(value, float) else value
