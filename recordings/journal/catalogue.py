"""Find recordings in directories, read their summaries, delete one: only headers and footers are read."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from recordings.bounded_files import FOOTER_BYTES, HEADER_BYTES, RecordingError, decoded, read_ours
from recordings.journal.format import FOOTER, HEADER, KEYFRAMES, SEGMENT_NAME, segment_name
from recordings.journal.keyframes import INDEX
from recordings.journal.reader import FOOTER_DECODER, HEADER_DECODER

SAMPLES = Path(__file__).parents[1] / "samples"
"""The packaged recordings."""

_OWN_FILE = re.compile(rf"(header|footer|remedies)\.json(\.part)?|{SEGMENT_NAME.pattern}(\.part)?")
_KEYFRAME_FILE = re.compile(rf"{re.escape(INDEX)}|\d+\.msgpack\.(zst|part)")


class RecordingInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A recording: its scenario, seed, start and length. `failure`: why it cannot be played as a whole.

    `events` and `virtual_us` are None while the recording grows, or if its flight was killed. `complete`: the flight
    came to the end that its scenario sets.
    """

    path: Path
    scenario: str = ""
    seed: int = 0
    started: str = ""
    virtual_us: int | None = None
    events: int | None = None
    complete: bool = False
    failure: str = ""

    @property
    def closed(self) -> bool:
        """Whether the recording has its end."""
        return self.virtual_us is not None


def recordings_at(place: Path) -> list[Path]:
    """A recording itself, or all recordings of a directory by their names: none if there are none."""
    if (place / HEADER).exists() or not place.is_dir():
        return [place]
    return sorted(header.parent for header in place.glob(f"*/{HEADER}"))


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
    return msgspec.structs.replace(
        found,
        virtual_us=footer.virtual_us,
        events=footer.events,
        complete=footer.complete,
        failure=_missing(path) if footer.events else "",
    )


def _missing(path: Path) -> str:
    """The first segment that a finished recording lacks, as a reason; "" without one."""
    try:
        matches = (SEGMENT_NAME.fullmatch(each.name) for each in path.iterdir())
        numbers = {int(match[1]) for match in matches if match is not None}
    except OSError as error:
        return f"{path.name}: {error.strerror or error}"
    wanted = range(1, max(numbers, default=1) + 1)
    lost = next((number for number in wanted if number not in numbers), None)
    return "" if lost is None else f"{segment_name(lost)} is missing"


def delete_recording(path: Path) -> None:
    """Delete a recording's directory. Raises RecordingError, before anything is deleted, if it is not wholly ours.

    Ours is a directory with a readable header and nothing but what a recording consists of; a packaged one stays.
    """
    if path.is_symlink() or not path.is_dir():
        raise RecordingError(f"{path} is not a recording's directory")
    if path.resolve().parent == SAMPLES.resolve():
        raise RecordingError(f"{path.name} belongs to Flightdeck: it is not deleted")
    try:
        decoded(read_ours(path / HEADER, HEADER_BYTES), HEADER_DECODER)
        files = list(_own_files(path))
    except (OSError, RecordingError) as error:
        raise RecordingError(f"{path.name} is not deleted: {error}") from error
    try:
        # the header goes last: what is left after an error is still known as a recording
        for file in sorted(files, key=lambda file: file.name == HEADER):
            file.unlink()
        if (path / KEYFRAMES).is_dir():
            (path / KEYFRAMES).rmdir()
        path.rmdir()
    except OSError as error:
        raise RecordingError(f"{path.name} is not wholly deleted: {error.strerror or error}") from error


def _own_files(path: Path) -> Iterator[Path]:
    """The files of a recording. Raises RecordingError for any other entry, and OSError."""
    for directory, own in ((path, _OWN_FILE), (path / KEYFRAMES, _KEYFRAME_FILE)):
        for each in directory.iterdir() if directory.is_dir() else ():
            if each.name == KEYFRAMES and directory == path and each.is_dir() and not each.is_symlink():
                continue
            if each.is_symlink() or not each.is_file() or own.fullmatch(each.name) is None:
                raise RecordingError(f"{each.relative_to(path)} is not part of a recording")
            yield each
