"""Java's `.properties`, as `java.util.Properties.load` reads them, with the line of each key."""

import re
from collections.abc import Iterator
from typing import Final

from recordings.lint.parts import Setting
from recordings.lint.reading.lint_input import LintInputError

_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_END: Final = re.compile("\r\n|\r|\n")
_DOCUMENT_END: Final = ("#---", "!---")


def read_properties(text: str, file: str) -> list[list[Setting]]:
    """The documents of a file (Spring parts them by `#---`), each with its keys in order. Raises LintInputError."""
    documents: list[list[Setting]] = [[]]
    for line, logical in _logical_lines(text):
        if logical is None:
            documents.append([])
            continue
        key, value = _divided(logical)
        written = _unescaped(key, file, line)
        documents[-1].append(Setting(_unescaped(value, file, line), file, line, written))
    return documents


def _logical_lines(text: str) -> Iterator[tuple[int, str | None]]:
    """Lines with their continuations joined and comments left out; None ends a document."""
    begun, parts = 0, list[str]()
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not parts and line[:1] in ("#", "!", ""):
            if line.rstrip() in _DOCUMENT_END:
                yield number, None
            continue
        begun = number if not parts else begun
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts.append(line[:-1])
            continue
        yield begun, "".join([*parts, line])
        parts = []
    if any(parts):
        yield begun, "".join(parts)


def _divided(line: str) -> tuple[str, str]:
    """Key and value: parted by the first `=`, `:` or blank that no backslash precedes."""
    place = 0
    while place < len(line) and line[place] not in "=:" + _BLANKS:
        place += 2 if line[place] == "\\" else 1
    rest = line[place:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return line[:place], rest


def _unescaped(text: str, file: str, line: int) -> str:
    if "\\" not in text:
        return text
    out, place = list[str](), 0
    while place < len(text):
        letter = text[place]
        place += 1
        if letter != "\\":
            out.append(letter)
        elif text[place : place + 1] == "u":
            digits = text[place + 1 : place + 5]
            if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                raise LintInputError(file, line, "malformed \\uxxxx encoding")
            out.append(chr(int(digits, 16)))
            place += 5
        else:
            out.append(_ESCAPES.get(text[place : place + 1], text[place : place + 1]))
            place += 1
    return "".join(out)
