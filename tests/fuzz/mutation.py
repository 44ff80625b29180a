"""Mutations: a right text or file made wrong in ways that people, disks and strangers make them wrong."""

from collections.abc import Callable, Sequence
from random import Random

NUMBERS = (
    "0", "1", "-1", "2", "255", "65536", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
    "1e300", "1e-300", "0.1", "inf", "nan", "-0", "1" * 25, "9" * 5_000, "0x7fffffffffffffff", "1_000", "00", "1.5",
)  # fmt: skip
"""Where arithmetic, parsers and tables have their ends."""

MARKS = (
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    '"',
    "'",
    '"""',
    "'''",
    "#",
    "=",
    ".",
    ",",
    "\\",
    "\n",
    "\r\n",
    "\t",
    "-",
    "->",
    ":",
)
STRANGE = ("\0", "\x1b]0;x\x07", "\u009b", "\u202e", "\ufeff", "é", "𝄞", "\x7f", "\u2028")
TIMES = (2, 3, 10, 100, 1_000, 20_000)


def mutated_text(random: Random, bases: Sequence[str], words: Sequence[str]) -> str:
    """One of the texts, changed a few times; now and then it stays as it is."""
    text = random.choice(bases)
    if random.random() < 0.03:
        return text
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        text = random.choice(_TEXT_CHANGES)(random, text, bases, words)
    return text


def _place(random: Random, text: str) -> tuple[int, int]:
    start = random.randrange(len(text) + 1)
    return start, min(len(text), start + random.choice((0, 1, 2, 5, 20, 100)))


def _cut_out(random: Random, text: str, _bases: Sequence[str], _words: Sequence[str]) -> str:
    start, end = _place(random, text)
    return text[:start] + text[end:]


def _cut_off(random: Random, text: str, _bases: Sequence[str], _words: Sequence[str]) -> str:
    return text[: _place(random, text)[0]]


def _repeat(random: Random, text: str, _bases: Sequence[str], _words: Sequence[str]) -> str:
    start, end = _place(random, text)
    times = random.choice(TIMES[:3] if random.random() < 0.9 else TIMES)
    return text[:start] + (text[start:end] or random.choice(MARKS)) * times + text[end:]


def _insert(random: Random, text: str, _bases: Sequence[str], words: Sequence[str]) -> str:
    start, end = _place(random, text)
    new = random.choice(random.choice((NUMBERS, MARKS, STRANGE, words)))
    return text[:start] + new + text[random.choice((start, end)) :]


def _other_word(random: Random, text: str, _bases: Sequence[str], words: Sequence[str]) -> str:
    """A word of the text becomes another one: what a grammar lets through."""
    pieces = text.split(" ")
    place = random.randrange(len(pieces))
    pieces[place] = random.choice(words if random.random() < 0.7 else NUMBERS)
    return " ".join(pieces)


def _other_number(random: Random, text: str, _bases: Sequence[str], _words: Sequence[str]) -> str:
    digits = [place for place, character in enumerate(text) if character.isdigit()]
    if not digits:
        return text
    start = end = random.choice(digits)
    while end < len(text) and text[end].isdigit():
        end += 1
    return text[:start] + random.choice(NUMBERS) + text[end:]


def _splice(random: Random, text: str, bases: Sequence[str], _words: Sequence[str]) -> str:
    other = random.choice(bases)
    return text[: _place(random, text)[0]] + other[_place(random, other)[0] :]


def _move_line(random: Random, text: str, _bases: Sequence[str], _words: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        line = lines.pop(random.randrange(len(lines)))
        lines.insert(random.randrange(len(lines) + 1), line)
    return "".join(lines)


_TEXT_CHANGES: tuple[Callable[[Random, str, Sequence[str], Sequence[str]], str], ...] = (
    _cut_out,
    _cut_off,
    _repeat,
    _insert,
    _insert,
    _other_word,
    _other_word,
    _other_number,
    _splice,
    _move_line,
)


def mutated_bytes(random: Random, content: bytes) -> bytes:
    """A file's bytes with a few of them wrong."""
    for _ in range(random.choice((1, 1, 2, 4))):
        content = random.choice(_BYTE_CHANGES)(random, content)
    return content


def _flip(random: Random, content: bytes) -> bytes:
    if not content:
        return content
    place = random.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def _drop(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    return content[:start] + content[start + random.choice((1, 2, 8, 100)) :]


def _tear(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _put(random: Random, content: bytes) -> bytes:
    start = random.randrange(len(content) + 1)
    new = random.choice(
        (b"\xff", b"\0" * 8, b"\n", b"{", b"[" * 2_000, b'{"a":' * 1_500, b'"', b"9" * 30, b"\xed\xa0\x80")
    )
    return content[:start] + new + content[start:]


def _renumber(random: Random, content: bytes) -> bytes:
    digits = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return content
    start = end = random.choice(digits)
    while end < len(content) and 48 <= content[end] <= 57:
        end += 1
    return content[:start] + random.choice(NUMBERS).encode() + content[end:]


_BYTE_CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (_flip, _flip, _drop, _tear, _put, _renumber, _renumber)
