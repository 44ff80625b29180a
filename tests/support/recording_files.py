"""The files of a recording, changed as a crash leaves them."""

from pathlib import Path

from recordings.journal.reader import Recording
from recordings.journal.segments import line_chunks

SEGMENT = "segment-000001.jsonl"


def uncompressed(path: Path) -> bytes:
    """The text of a recording's only segment, which is then there as a growing one: what a crash leaves."""
    text = b"".join(chunk for segment in Recording(path).segments.values() for chunk in line_chunks(segment))
    for file in [*path.glob("segment-*"), path / "footer.json"]:
        file.unlink()
    (path / f"{SEGMENT}.part").write_bytes(text)
    return text
