"""The files of a recording: their names, the header, the footer, the lines (recordings format 4).

header.json               what was flown: scenario, settings, versions
segment-000001.jsonl      events and commands in order, one JSON object a line; `.part` while it grows,
                          `.jsonl.zst` once compressed
keyframes/                the view at some events, to seek from
footer.json               totals and the journal's hash; absent after a crash

Format 2 added `fault_kind` and `targets` to `fault_started`, and `kind` and `targets` to the line of a command.
Format 1 is read as well (`recordings/journal/upgrade.py`).
Format 3 changed no line: its flights draw from other random streams, one for each process instead of one for each link.
Format 4 added `keys` and `created_us` to `records_appended`, and events of fetches that poll() has not returned.
"""

import re
from pathlib import Path
from typing import Annotated

import msgspec

FORMAT = 4
SAME_EVENTS = 4
"""The first format whose flights have the events that they have now. A rerun of an older one is another flight."""

HEADER = "header.json"
FOOTER = "footer.json"
KEYFRAMES = "keyframes"
SEGMENT_NAME = re.compile(r"segment-(\d{6})\.jsonl(\.part|\.zst)?")

Count = Annotated[int, msgspec.Meta(ge=-1, le=1 << 60)]
"""A number or an instant in µs; -1: unknown. The bound refuses values that no flight has."""

Source = str
"""The source of a command: `operator`, `scenario`, `game`, `nemesis` or `autoscaler`."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the flight: seed, end in µs (None: it had none), each `--set` as (scope, key, value)."""

    seed: int
    until_us: Count | None
    set: tuple[tuple[str | None, str, str], ...] = ()


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a recording; `started` is wall time (ISO 8601, UTC), `run_id` identifies the flight in tables.

    `read_from`: the files of a recording that was read from logs (docs/read.md); none for a flight.
    """

    format: Count = FORMAT
    flightdeck: str
    run_id: str
    started: str
    scenario: str
    scenario_text: str
    settings: Settings
    read_from: tuple[str, ...] = ()


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a finished flight; `kinds` counts events by kind, `complete` is false after Ctrl-C or an error."""

    events: Count
    commands: Count
    turns: Count
    virtual_us: Count
    journal_sha256: str
    kinds: dict[str, Count]
    complete: bool


class JournaledCommand(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A command as journaled: executed at `turn` and `at_us`, after event `after_seq` and before the next one.

    `kind` is what the command does, e.g. `slow_disk`; `targets` are the processes, groups, topics and partitions that
    it names.
    """

    command: str
    source: Source
    turn: int
    at_us: int
    after_seq: int
    kind: str = ""
    targets: tuple[str, ...] = ()


class Position(msgspec.Struct, frozen=True):
    """A position to resume reading at: a segment, an offset in its text, and the last event before it (0: none)."""

    segment: int = 1
    offset: int = 0
    seq: int = 0
    at_us: int = 0


def segment_name(number: int, suffix: str = "") -> str:
    """The file name of a segment, counted from 1; `suffix` is `.part`, `.zst` or nothing."""
    return f"segment-{number:06}.jsonl{suffix}"


def write_json(path: Path, value: msgspec.Struct) -> None:
    """Write a header or footer so that it is either whole or absent. Raises OSError."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    growing = path.with_name(path.name + ".part")
    growing.write_bytes(text)
    growing.replace(path)


def clock(at_us: int) -> str:
    """Virtual time for people: `00:12:41.350000` (hours, minutes, seconds, microseconds)."""
    seconds, us = divmod(at_us, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{us:06}"
