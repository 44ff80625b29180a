"""Read untrusted TOML within bounds, or report the line and the reason.

`tomllib` recurses for nested values, takes quadratic time for keys of many parts, and raises Python's own errors at
Python's own limits.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from recordings.bounded_files import RecordingError, spoken_bytes, text_given

LARGEST_BYTES = 256 << 10
"""The size of a scenario or a script; the largest of the library has a twentieth of it."""
MOST_PARTS = 16
"""Parts of a dotted key."""

_PART = r"(?:[A-Za-z0-9_-]++|\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+')"
_WORD = re.compile(
    rf"(?P<run>{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_PARTS},}})"
    r'|"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''|" + rf"#[^\n]*+|{_PART}",
    re.DOTALL,
)


class TomlError(ValueError):
    """A text that is not read as TOML: the reason, and its line (0: the whole file)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        self.line = line
        super().__init__(reason)


def read_text(path: Path) -> str:
    """The text of a file that the user named. Raises TomlError."""
    try:
        return text_given(path, LARGEST_BYTES)
    except RecordingError as error:
        raise TomlError(str(error)) from None


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text. Raises TomlError."""
    if len(text) > LARGEST_BYTES:
        raise TomlError(f"it is larger than {spoken_bytes(LARGEST_BYTES)}")
    _look_at_keys(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(str(error), text) from None
    except RecursionError:
        raise TomlError("its values are nested too deeply") from None
    except ValueError as error:  # of Python's: digits beyond its limit, a date that does not exist
        raise TomlError(f"not TOML: {_reason(error)}") from None


def _look_at_keys(text: str) -> None:
    if all(line.count(".") < MOST_PARTS for line in text.splitlines()):
        return
    for match in _WORD.finditer(text):
        if match["run"] is not None:
            line = text.count("\n", 0, match.start()) + 1
            raise TomlError(f"a key of more than {MOST_PARTS} parts", line)


def _not_toml(message: str, text: str) -> TomlError:
    match = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)", message)
    if match is None:
        return TomlError(message, 1)
    line = int(match[1]) if match[1] else text.count("\n") + 1
    column = f" (column {match[2]})" if match[2] else " (the file ends too early)"
    return TomlError(f"not TOML: {message[: match.start()]}{column}", line)


def _reason(error: ValueError) -> str:
    return "a number has too many digits" if "digits" in str(error) else str(error)
