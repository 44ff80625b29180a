"""From named files to one draft: what tools have printed first, then what needs to know its groups."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from recordings.importing.client_configs import read_configuration
from recordings.importing.draft import ClusterDraft, ImportFileError, text_of
from recordings.importing.tool_output import read_tool_output
from recordings.lint.reading.files import PROPERTIES, YAML

Reader = Callable[[str, str, ClusterDraft], None]
MOST_FILES: Final = 200


def read_files(paths: Sequence[Path]) -> ClusterDraft:
    """What all the files say, whatever their order. Raises ImportFileError."""
    if len(paths) > MOST_FILES:
        raise ImportFileError(str(paths[MOST_FILES]), 0, f"more than {MOST_FILES} files at once")
    draft = ClusterDraft()
    readers = [(path, _reader_of(path)) for path in paths]
    for wanted in _IN_ORDER:
        for path, reader in readers:
            if reader is wanted:
                reader(text_of(path), str(path), draft)
    return draft


def _reader_of(path: Path) -> Reader:
    """Who reads a file, by its suffix; any other than a configuration's is what a tool has printed."""
    suffix = path.suffix.lower()
    if suffix == ".toml":
        raise ImportFileError(str(path), 0, "it is a scenario already: `flightdeck run` flies it")
    return read_configuration if suffix in (*YAML, *PROPERTIES) else read_tool_output


_IN_ORDER: Final[tuple[Reader, ...]] = (read_tool_output, read_configuration)
