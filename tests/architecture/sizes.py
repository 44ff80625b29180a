"""A function fits on a screen, a file is one idea."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.architecture.source import Breach, Module, Project

FILE_LINES = 400
ONE_CLASS_LINES = 600  # of a file that holds one class: sawn in two it would have halves that use each other's privates
FUNCTION_LINES = 50

LOOSE_MODULES: Mapping[str, int] = {"cluster": 4, "recordings": 4, "console": 18}

# What may be longer, and why. An entry that is no longer needed is a breach too.
LONGER_FILES: Mapping[str, str] = {
    "cluster/events.py": "the catalogue of facts: one struct for each, read as a list; every schema derives from it",
}
LONGER_FUNCTIONS: Mapping[str, str] = {}  # "cluster.view.fold": "one case for each event"


def check_sizes(
    project: Project,
    files: Mapping[str, str] = LONGER_FILES,
    functions: Mapping[str, str] = LONGER_FUNCTIONS,
) -> Iterator[Breach]:
    """No file above 400 lines (600 with one class), no function above 50, except those listed with a reason."""
    for module in project.modules:
        lines = len(module.text.splitlines())
        most = ONE_CLASS_LINES if _holds_one_class(module) else FILE_LINES
        yield from _judge(Breach(module.path, 1, f"{lines} lines"), module.path, lines > most, files)
        for name, node in _functions(module):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            breach = module.breach(node, f"{name} has {lines} lines")
            yield from _judge(breach, name, lines > FUNCTION_LINES, functions)


def check_loose_modules(project: Project, most: Mapping[str, int] = LOOSE_MODULES) -> Iterator[Breach]:
    """A module lies in the package of its subject; few stand loose beside the packages."""
    for top, allowed in most.items():
        loose = [each for each in project.inside(top) if each.path.count("/") == 1 and not each.is_package]
        if len(loose) > allowed:
            yield Breach(loose[-1].path, 1, f"is one of {len(loose)} loose modules of {top}/, which may have {allowed}")


def _judge(breach: Breach, name: str, is_long: bool, listed: Mapping[str, str]) -> Iterator[Breach]:
    if is_long and not listed.get(name):
        yield breach
    elif name in listed and not is_long:  # an entry for a file that is not there yet waits
        yield Breach(breach.path, breach.line, f"{name} is listed as longer, and no longer is")


def _holds_one_class(module: Module) -> bool:
    """Whether most of the file is one class; private ones beside it are its own."""
    classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
    public = [node for node in classes if not node.name.startswith("_")]
    if len(public) != 1:
        return False
    (only,) = public
    return (only.end_lineno or 0) - only.lineno >= len(module.text.splitlines()) / 2


def _functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    def inside(node: ast.AST, path: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path}.{child.name}", child
            name = getattr(child, "name", None) if isinstance(child, ast.ClassDef | ast.FunctionDef) else None
            yield from inside(child, f"{path}.{name}" if name else path)

    return inside(module.tree, module.name)
