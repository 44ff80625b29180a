"""Blocks of a page that show a terminal: each command is run, and what it prints is compared with what stands there.

A command stands behind `$ `, its output below it. `…` stands for any text of a line; a line of its own, for any lines.
"""

import re
import shlex
from typing import NamedTuple

ANYTHING = "…"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r'^```\w+ title="([\w.-]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)

_PROGRAM = re.compile(r"^```python\n([^`]*)^```\n[^`]*^```text\n([^`]*)^```$", re.MULTILINE)


class Shown(NamedTuple):
    """A command of a page and the output that the page has for it."""

    words: list[str]
    output: str


def shown(page: str) -> list[Shown]:
    """The commands of a page in their order."""
    found = []
    for block in _BLOCK.findall(page):
        assert block.startswith("$ "), f"a console block begins with a command: {block}"
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            found.append(Shown(shlex.split(line), output))
    return found


def files(page: str) -> dict[str, str]:
    """The files that a page tells its reader to save, by name."""
    return dict(_FILE.findall(page))


def programs(page: str) -> list[tuple[str, str]]:
    """The Python programs of a page that stand before what they print, and that."""
    return _PROGRAM.findall(page)


def is_what_one_sees(expected: str, printed: str) -> bool:
    """Whether a page's output is the printed one. The end of a line may be blank, and so may the page's last line."""
    pattern = "".join(map(_line, expected.rstrip().splitlines()))
    seen = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, seen) is not None


def _line(line: str) -> str:
    if line == ANYTHING:
        return r"(?:.*\n)*?"
    return "[^\n]*?".join(map(re.escape, line.split(ANYTHING))) + "\n"
