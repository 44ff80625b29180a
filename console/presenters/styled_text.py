"""Lines of text with tones, fitted into a width in cells: East Asian characters are two cells wide.

Tuples instead of rich.Text or textual.Content: a frame makes thousands of lines, and tuples are faster to make.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from rich.cells import get_character_cell_size

from console.presenters.formatting import bar

Span = tuple[str, str]
"""Characters and their tone."""
Line = tuple[Span, ...]
"""One row of the screen, from left to right."""

# Tones. Six carry meaning, always with a glyph or a word of the same meaning; the others are typography.
PLAIN, STRONG, MUTED, FAINT = "plain", "strong", "muted", "faint"
OK, WARN, ERROR, MOVING, ACCENT = "ok", "warn", "error", "moving", "accent"
BANNER = "banner"
HUES = 8
"""The number of members' hues: each member has a letter and one of `hue-0` … `hue-7`."""
TONES = (PLAIN, STRONG, MUTED, FAINT, OK, WARN, ERROR, MOVING, ACCENT, BANNER, *(f"hue-{n}" for n in range(HUES)))

EMPTY: Line = ()

_UNEQUAL = re.compile(
    "[\u0300-\u036f\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe00-\ufe6f\uff00-\uffe6\U0001f000-\U0003fffd]"
)
"""What may take no cell or two; every other character takes one."""


def cells(text: str) -> int:
    """The number of cells of a text."""
    return len(text) if text.isascii() else _cells(text)


@lru_cache(maxsize=4096)  # most texts that are not ASCII are glyphs and rules, the same in every frame
def _cells(text: str) -> int:
    if _UNEQUAL.search(text) is None:
        return len(text)
    return sum(get_character_cell_size(character) if _UNEQUAL.match(character) else 1 for character in text)


def _beginning(text: str, room: int) -> str:
    """The longest beginning of a text that has room in so many cells."""
    if cells(text) == len(text):
        return text[:room]
    kept = ""
    for character in text:
        if cells(kept + character) > room:
            break
        kept += character
    return kept


class PlaceLink(NamedTuple):
    """What characters on a screen stand for, and so where they lead.

    `kind`: "group", "member", "producer", "topic", "partition", "broker", "transaction", or an "instant" in µs, a
    "place" of `go`, a "panel" of the overview, an "action" of the table of actions, a "column" of a list.
    """

    kind: str
    name: str


class LinkedText(str):
    """Characters of a span that lead somewhere, where their own words do not say so. Drawn as any other characters."""

    __slots__ = ("link",)
    link: PlaceLink


def linked(text: str, kind: str, name: str) -> LinkedText:
    """Characters that lead to an object, an instant, a place, or do an action."""
    made = LinkedText(text)
    made.link = PlaceLink(kind, name)
    return made


def line(*spans: Span | str) -> Line:
    """A line from spans; a bare string is plain."""
    return tuple([(span, PLAIN) if isinstance(span, str) else span for span in spans if span and span[0]])


def length(of: Iterable[Span]) -> int:
    """The number of cells of a line."""
    text = "".join([text for text, _ in of])  # one search in the whole line: a row of a grid has a hundred spans
    return len(text) if is_narrow(text) else _cells(text)


def is_narrow(text: str) -> bool:
    """Whether every character certainly takes one cell."""
    return text.isascii() or _UNEQUAL.search(text) is None


def plain(of: Iterable[Span]) -> str:
    """A line's characters without their tones."""
    return "".join([text for text, _ in of])


def fit(of: Line, width: int) -> Line:
    """The line in exactly `width` cells: padded, or cut with an ellipsis."""
    missing = width - length(of)
    if missing == 0:
        return of
    if missing > 0:
        return (*of, (" " * missing, PLAIN))
    return cut(of, width)


def cut(of: Line, width: int) -> Line:
    """At most `width` cells of the line; an ellipsis marks a cut."""
    if length(of) <= width:
        return of
    if width <= 0:
        return EMPTY
    kept: list[Span] = []
    room = width - 1
    for text, tone in of:
        if cells(text) >= room:
            shown = _beginning(text, room) + "…"
            kept.append((linked(shown, *text.link) if isinstance(text, LinkedText) else shown, tone))
            break
        kept.append((text, tone))
        room -= cells(text)
    return tuple(kept)


def fit_right(of: Line, width: int) -> Line:
    """Like `fit`, but against the right edge."""
    missing = width - length(of)
    return ((" " * missing, PLAIN), *of) if missing > 0 else cut(of, width)


def gauge(share: float, tone: str, width: int = 12) -> tuple[Span, Span, Span]:
    """A bar between two edges."""
    return ("  ▐", tone), (bar(share, width), tone), ("▏ ", FAINT)


def apart(left: Line, right: Line, width: int) -> Line:
    """`left` at the left edge and `right` at the right edge; `left` is cut when both do not fit."""
    right = cut(right, width)
    return (*fit(left, width - length(right)), *right)


def joined(parts: Iterable[Line], separator: Span) -> Line:
    """Lines in sequence with a separator between them, without empty lines."""
    result: list[Span] = []
    for part in parts:
        if part:
            if result:
                result.append(separator)
            result.extend(part)
    return tuple(result)


def merged(spans: Iterable[Span]) -> Line:
    """The line with neighbours of one tone merged into one span."""
    result: list[Span] = []
    run, run_tone = "", ""
    for text, tone in spans:
        if tone == run_tone:
            run += text
            continue
        if run:
            result.append((run, run_tone))
        run, run_tone = text, tone
    if run:
        result.append((run, run_tone))
    return tuple(result)


def runs_of_signs(cells: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Neighbouring cells of one sign as one: first column, column after the last, sign."""
    start = 0
    for sign, equal in groupby(cells):
        end = start + len(list(equal))
        yield start, end, sign
        start = end


def middle(text: str, width: int) -> str:
    """An identifier in at most `width` cells, shortened in the middle, where identifiers differ least."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def wrapped(of: Line, width: int, indent: int = 0) -> list[Line]:
    """The line broken at blanks into lines of at most `width` cells; lines after the first are indented."""
    rows: list[Line] = []
    row: list[Span] = []
    used = 0
    for text, tone in of:
        for word in _words(text):
            if used + cells(word.rstrip()) > width and used > (indent if rows else 0):
                rows.append(tuple(row))
                row, used = [(" " * indent, PLAIN)] if indent else [], indent
                word = word.lstrip()  # noqa: PLW2901 - a blank at the break is the break
            row.append((word, tone))
            used += cells(word)
    rows.append(tuple(row))
    return rows


def _words(text: str) -> list[str]:
    """Words with the blanks that follow them."""
    words = [f"{piece} " for piece in text.split(" ")]
    words[-1] = words[-1][:-1]
    return [word for word in words if word]
