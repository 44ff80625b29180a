"""Find recordings in directories and read their summaries: only headers and footers are read."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from recordings.bounded_files import FOOTER_BYTES, HEADER_BYTES, RecordingError, decoded, read_ours
from recordings.journal.format import FOOTER, HEADER
from recordings.journal.reader import FOOTER_DECODER, HEADER_DECODER

SAMPLES = Path(__file__).parents[1] / "samples"
"""The packaged recordings."""


class RecordingInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A recording: its scenario, seed, start and length. `failure`: why its other fields are empty.

    `events` and `virtual_us` are None while the recording grows, or if its flight was killed.
    """

    path: Path
    scenario: str = ""
    seed: int = 0
    started: str = ""
    virtual_us: int | None = None
    events: int | None = None
    failure: str = ""


def find_recordings(directories: Iterable[Path]) -> list[RecordingInfo]:
    """The recordings directly in these directories, newest first; a missing directory counts as empty."""
    paths = {header.parent.resolve() for directory in directories for header in directory.glob(f"*/{HEADER}")}
    return sorted((_look_at(path) for path in paths), key=lambda one: (one.started, str(one.path)), reverse=True)


def _look_at(path: Path) -> RecordingInfo:
    try:
        header = decoded(read_ours(path / HEADER, HEADER_BYTES), HEADER_DECODER)
    except (OSError, RecordingError) as error:
        return RecordingInfo(path=path, failure=f"{HEADER}: {error}")
    found = RecordingInfo(path=path, scenario=header.scenario, seed=header.settings.seed, started=header.started)
    try:
        footer = decoded(read_ours(path / FOOTER, FOOTER_BYTES), FOOTER_DECODER)
    except FileNotFoundError:
        return found
    except (OSError, RecordingError) as error:
        return msgspec.structs.replace(found, failure=f"{FOOTER}: {error}")
    return msgspec.structs.replace(found, virtual_us=footer.virtual_us, events=footer.events)
