"""Recordings as format 1 had them, made from recordings of today.

    python -m tests.support.older_format a.flight b.flight    # writes b.flight, in format 1

`format_1/` holds two recordings of today's flights as format 1 wrote them. When the library's flights become others,
and a rerun of these two no longer compares as equal, they are made anew with this program. `format_2/` holds a
recording that an earlier version flew, with its own events: it stays as it is.
"""

import hashlib
import re
import sys
from pathlib import Path

import msgspec

from recordings.journal.format import FOOTER, HEADER, segment_name, write_json
from recordings.journal.reader import COMMAND_START, FOOTER_DECODER, HEADER_DECODER
from recordings.journal.segments import compress_segment, line_chunks

ADDED = {  # what format 2 added, by the beginning of a line
    b'{"kind":"fault_started"': re.compile(rb',"fault_kind":"[a-z_]*","targets":\[[^\]]*\]'),
    COMMAND_START: re.compile(rb',"kind":"[a-z_]*","targets":\[[^\]]*\]\}$'),
}


def as_format_1(recording: Path, target: Path) -> Path:
    """Write a recording of one segment again, as format 1 had it."""
    target.mkdir()
    (segment,) = recording.glob("segment-*")
    lines = [_as_format_1(line) for chunk in line_chunks(segment) for line in chunk.splitlines(keepends=True)]
    plain = target / segment_name(1)
    plain.write_bytes(b"".join(lines))
    events = b"".join(line for line in lines if not line.startswith(COMMAND_START))
    if segment.suffix == ".zst":
        compress_segment(plain, [plain.stat().st_size])
    header = HEADER_DECODER.decode((recording / HEADER).read_bytes())
    footer = FOOTER_DECODER.decode((recording / FOOTER).read_bytes())
    write_json(target / HEADER, msgspec.structs.replace(header, format=1))
    write_json(target / FOOTER, msgspec.structs.replace(footer, journal_sha256=hashlib.sha256(events).hexdigest()))
    return target


def _as_format_1(line: bytes) -> bytes:
    for beginning, added in ADDED.items():
        if line.startswith(beginning):
            return added.sub(b"}" if beginning == COMMAND_START else b"", line.rstrip(b"\n")) + b"\n"
    return line


if __name__ == "__main__":
    as_format_1(Path(sys.argv[1]), Path(sys.argv[2]))
