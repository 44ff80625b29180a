"""Everything that is printed goes one way out, where control characters are made visible."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Project

BORDER = ("console.cli.streams", "console.cli.start")
"""Who may write to a stream: the border itself, and what runs before it is there (one constant line)."""
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__", "stream", "_stream"}
DRAWING = ("console.widgets", "console.terminal_output")
"""Where text becomes segments of cells: a widget that all others draw with, and the last to see what leaves."""


def check_printing(project: Project) -> Iterator[Breach]:
    """Only `console.cli.streams` prints; only the canvas makes strips of cells; both clean what they are given."""
    for module in project.inside("cluster", "recordings", "console"):
        if module.within(*BORDER):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id == "print":
                yield module.breach(node, "print: use console.cli.streams")
            elif isinstance(node, ast.Attribute) and node.attr in {"write", "writelines"} and _is_stream(node.value):
                yield module.breach(node, f"{node.attr}: use console.cli.streams")
            elif isinstance(node, ast.Attribute) and node.attr == "write" and _named(node.value) == "os":
                yield module.breach(node, "os.write: use console.cli.streams")
            elif isinstance(node, ast.Call) and _named(node.func) == "Strip" and not module.within(*DRAWING):
                yield module.breach(node, "Strip: draw with console.widgets.canvas")


def _is_stream(node: ast.expr) -> bool:
    return _named(node) in STREAMS


def _named(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
