"""A file that cannot be linted, and the text of one that can: bounded, and without a traceback."""

from pathlib import Path
from typing import Final

from recordings.bounded_files import RecordingError, text_given

LARGEST_BYTES: Final = 512 << 10
"""Of a file; configurations have a hundredth of it."""


class LintInputError(Exception):
    """A file that is not what its name says: the file, its line (0: the whole file), the reason.

    The reason quotes nothing of the file: a configuration has secrets.
    """

    def __init__(self, file: str, line: int, reason: str) -> None:
        self.file, self.line, self.reason = file, line, reason
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")


def text_of_file(path: Path) -> str:
    """The text of a file that the user named. Raises LintInputError."""
    try:
        return text_given(path, LARGEST_BYTES)
    except RecordingError as error:
        raise LintInputError(str(path), 0, str(error)) from None
