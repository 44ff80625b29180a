"""The readable output of what was read from logs: what they do not tell is `unknown`.

Sentences that are not known come first, so that a reader sees what the tables below may lack.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from console.cli.output import table

if TYPE_CHECKING:
    from recordings.log_reading.summary import ReadSummary

SENTENCES_SHOWN = 10


def of_read_summary(found: "ReadSummary") -> str:
    """What was read of which logs, then groups and rebalances."""
    reading = found.reading
    began = f"from {reading.began}" if reading.began else "without dates: seconds count from midnight"
    lines = [f"read from {len(reading.files)} log{'s' if len(reading.files) != 1 else ''}, {began}"]
    for each in reading.files:
        more = f", {each.without_instant:,} without a known instant" if each.without_instant else ""
        lines.append(f"  {each.log}: {each.lines:,} lines, {each.coordinator:,} of group coordinators{more}")
    lines.append(f"{reading.matched:,} lines matched, {reading.unmatched:,} did not; {reading.events:,} events")
    if reading.backwards:
        lines.append(f"{reading.backwards:,} lines have an instant before that of an earlier line")
    shown = list(reading.sentences.items())[:SENTENCES_SHOWN]
    lines += [f"  {count:,} × {sentence}" for sentence, count in shown]
    if len(reading.sentences) > len(shown):
        lines.append(f"  … and {len(reading.sentences) - len(shown):,} more sentences (--json has them)")
    for title, rows in (("groups", found.groups), ("rebalances", found.rebalances)):
        if rows:
            lines += ["", title, *table([_shown(msgspec.structs.asdict(row)) for row in rows])]
    return "\n".join(lines)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row with `unknown` for what the logs do not tell."""
    return {name: "unknown" if value is None else value for name, value in row.items()}
