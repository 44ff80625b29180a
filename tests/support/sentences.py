"""The sentences that a user can see: strings of the product with two words or more, by file and line.

`python -m tests.support.sentences [PATH…]` prints them all, or those of the files below PATH, to be read in one go.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tests.support.repository import ROOT

PACKAGES = ("cluster", "console", "recordings")
MOST_WORDS = 20
NOT_JUDGED = (
    "recordings/kafka_log/",
    "recordings/library/",
    "cluster/coordinators/",  # reasons of a real coordinator's log
    "cluster/protocol/placement/topic_creation.py",  # what a real controller answers
    "recordings/tables/schema.py",  # a page of documentation
    "recordings/spark/runtime/standalone.py",  # a configuration of log4j
)
_VALUE = re.compile(r"\{[^{}]*\}")
_PARTS = re.compile(r"(?<=[.!?])\s|[;:]\s")
_WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]*\s[^A-Za-z]*[A-Za-z]{2,}")


class Sentence(NamedTuple):
    """One string of the product; a value that is filled in stands as its expression in braces."""

    path: str
    line: int
    text: str


def of_product(root: Path = ROOT) -> Iterator[Sentence]:
    """Visit the sentences of the three packages, and the titles and lessons of the library."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield from of_source(path.read_text(), str(path.relative_to(root)))
    for path in sorted((root / "recordings" / "library").rglob("*.toml")):
        table = tomllib.loads(path.read_text())
        yield from (
            Sentence(str(path.relative_to(root)), 1, f"{key}: {table[key]}")
            for key in ("title", "lesson")
            if key in table
        )


def of_source(text: str, path: str) -> Iterator[Sentence]:
    """Visit the strings of one module that are no docstring and have two words or more, in their order."""
    yield from sorted(_Strings(path).of(ast.parse(text)), key=lambda sentence: sentence.line)


class _Strings:
    def __init__(self, path: str) -> None:
        self._path = path

    def of(self, node: ast.AST) -> Iterator[Sentence]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Constant | ast.JoinedStr) and (text := rendered(node)) is not None:
            if _WORDS.search(text):
                yield Sentence(self._path, node.lineno, " ".join(text.split()))
            return
        for child in ast.iter_child_nodes(node):
            yield from self.of(child)


def rendered(node: ast.expr) -> str | None:
    """Return the text of a literal, with expressions in braces; None for what is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part) for part in node.values)
    return None


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        return "{" + ast.unparse(part.value) + "}"
    return rendered(part) or ""


def too_long(sentences: Iterable[Sentence]) -> Iterator[tuple[Sentence, int]]:
    """Visit the sentences of which a part between full stops, colons or semicolons has more than MOST_WORDS words.

    Kafka's own log lines and the lessons are not judged: the first are Kafka's, the second are prose.
    """
    for sentence in sentences:
        if sentence.path.startswith(NOT_JUDGED):
            continue
        parts = _PARTS.split(_VALUE.sub("X", sentence.text))
        if (longest := max(len(part.split()) for part in parts)) > MOST_WORDS:
            yield sentence, longest


def main(places: Sequence[str]) -> None:
    """Print the sentences of the files below `places` (without any: of all files), each behind its line."""
    shown = (found for found in of_product() if not places or found.path.startswith(tuple(places)))
    for path, sentences in groupby(shown, key=lambda found: found.path):
        lines = [f"{found.line}: {found.text}" for found in sentences]
        sys.stdout.write("\n".join([f"# {path}", *lines, "", ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
