"""Blocks of a page without output: a shell reads them as they are typed, and says which commands it would run.

So loops, variables, quotes, globs, comments and redirections are the shell's own; `flightdeck` is run by the test.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(?:sh|)\n([^`]*(?:`[^`\n]+`[^`]*)*)^```$|^```[^\n]+\n.*?^```$", re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"^\s*flightdeck ", re.MULTILINE)
_ASKS = r"""flightdeck() { printf '%s\0' "$#" "$(readlink /proc/$$/fd/1)" "$@" >&3; }"""


class Typed(NamedTuple):
    """The words behind `flightdeck`, and the file that its output is for."""

    words: list[str]
    output: Path | None


class StandIn(NamedTuple):
    """A text of a page that a test cannot take as it is, what it takes instead, and why."""

    text: str
    by: str
    why: str


def blocks(page: str) -> list[str]:
    """The blocks of a page that have a command of ours and do not show what it prints."""
    return [match[1] for match in _BLOCK.finditer(page) if match[1] and _TYPED.search(match[1])]


def to_be_run(page: str, stand_ins: Iterable[StandIn], not_run: Iterable[str]) -> list[str]:
    """The blocks of a page without lines that begin with `not_run`, each text replaced wherever it stands.

    AssertionError for a text that no block has.
    """
    found = [_without(block, tuple(not_run)) for block in blocks(page)]
    for text, by, _ in stand_ins:
        assert any(text in block for block in found), f"no block of the page has {text!r}"
        found = [block.replace(text, by) for block in found]
    return found


def _without(block: str, beginnings: tuple[str, ...]) -> str:
    lines = block.replace("\\\n", " ").splitlines()
    return "\n".join(line for line in lines if not line.startswith(beginnings))


def commands_of(block: str, prints: Mapping[str, Path]) -> list[Typed]:
    """What a shell would run of a block, here; `prints`: other commands, and the file that has what they print.

    AssertionError if the shell cannot read the block, or finds a command that is in neither.
    """
    others = [f"{name}() {{ cat '{path}'; }}" for name, path in prints.items()]
    asked = Path("asked")
    script = "\n".join([f"exec 3> {asked}", "set -eu", _ASKS, *others, block])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stderr}in:\n{block}"
    fields = iter(asked.read_text().split("\0")[:-1])
    asked.unlink()
    typed = []
    for count in fields:
        output = Path(next(fields))
        typed.append(Typed([next(fields) for _ in range(int(count))], output if output.is_file() else None))
    return typed
