"""Markdown of what generated pages are made of."""

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """A text in a table as code; an empty one as words."""
    return f"`{text}`".replace("|", r"\|") if text else "empty"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
