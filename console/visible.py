"""Control characters made visible: names, titles and comments come from files of unknown origin.

A terminal obeys such characters: it sets titles, moves the cursor, hides text. This module covers C0 and C1, DEL, the
marks that change the direction of text, and the separators of lines and paragraphs. On a stream they are spelled as
TOML and JSON spell them, so that JSON keeps its meaning. On a screen each takes one cell.
"""

import re

_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SEPARATORS = "\u2028\u2029"
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f{_DIRECTIONS}{_SEPARATORS}]")
_CONTROLS_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTIONS}{_SEPARATORS}]")
_PICTURES = 0x2400  # of C0, each one cell wide
_PICTURE_OF_DEL, _NO_PICTURE = "\u2421", "\ufffd"


def visible(text: str) -> str:
    """The text with control characters spelled out; newlines and tabs stay."""
    return _CONTROLS_IN_LINES.sub(_spelled, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """One line of text, with control characters, newlines and tabs spelled out."""
    return text if text.isprintable() else _CONTROLS.sub(_spelled, text)


def in_cells(text: str) -> str:
    """The text with a picture in the place of each control character, newlines and tabs too."""
    return text if text.isprintable() else _CONTROLS.sub(_pictured, text)


def _spelled(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _pictured(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0x7F:
        return _PICTURE_OF_DEL
    return chr(_PICTURES + code) if code < 0x20 else _NO_PICTURE
