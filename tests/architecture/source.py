"""The project's source as syntax trees: what every checker of this folder reads.

Nothing here imports the code it looks at, so a half-written tree can be checked as well as a whole one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PACKAGES = ("cluster", "recordings", "console")


@dataclass(frozen=True)
class Breach:
    """One place where a rule of the house is broken."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Import:
    """One imported name: `target` is the module it comes from, `names` the path from the top (`trio.Event`)."""

    target: str
    name: str
    line: int
    at_import: bool  # runs when the module is imported: not inside a function, not for the type checker only


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, its path from the root, its text and tree."""

    name: str
    path: str
    text: str
    tree: ast.Module = field(repr=False)
    is_package: bool = False

    def breach(self, node: ast.AST, reason: str) -> Breach:
        """Say that `node` breaks a rule, and why it is one."""
        return Breach(self.path, getattr(node, "lineno", 1), reason)

    def within(self, *prefixes: str) -> bool:
        """Whether this module is one of `prefixes`, or inside one of them."""
        return within(self.name, *prefixes)

    @cached_property
    def imports(self) -> list[Import]:
        """Every import, wherever it stands."""
        return list(_imports(self.tree, at_import=True))


@dataclass(frozen=True)
class Project:
    """All modules of the three packages below a root folder; missing ones are simply not there."""

    modules: tuple[Module, ...]

    @classmethod
    def read(cls, root: Path) -> Project:
        """Parse every Python file of the packages below `root`."""
        files = [file for package in PACKAGES for file in sorted((root / package).rglob("*.py"))]
        return cls(tuple(_module(root, file) for file in files))

    @cached_property
    def names(self) -> frozenset[str]:
        """The dotted names of all modules."""
        return frozenset(module.name for module in self.modules)

    def inside(self, *prefixes: str) -> Iterator[Module]:
        """Visit the modules that are, or lie in, one of `prefixes`."""
        return (module for module in self.modules if module.within(*prefixes))

    def resolve(self, imported: Import) -> str:
        """Name the module an import depends on: `from cluster import events` depends on `cluster.events`."""
        return imported.name if imported.name in self.names else imported.target


def within(name: str, *prefixes: str) -> bool:
    """Whether a dotted name is one of `prefixes`, or inside one of them."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def dotted(node: ast.AST) -> str:
    """Spell an attribute path (`self.group.members`); empty for anything that is not one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (front := dotted(node.value)):
        return f"{front}.{node.attr}"
    return ""


def used_names(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every attribute path and name in a module, with its imports written out (`Event` becomes `trio.Event`).

    Only the longest path is given: `trio.lowlevel.checkpoint`, but not `trio.lowlevel` again.
    """
    known = _bindings(module.tree)
    inner = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(module.tree):
        if id(node) in inner or not (path := dotted(node)):
            continue
        first, _, rest = path.partition(".")
        origin = known.get(first, first)
        yield node, f"{origin}.{rest}" if rest else origin


def _bindings(tree: ast.Module) -> dict[str, str]:
    """Map each name that an import binds to the path it stands for."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                bound[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            bound.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return bound


def _module(root: Path, file: Path) -> Module:
    path = file.relative_to(root)
    parts = path.with_suffix("").parts
    is_package = parts[-1] == "__init__"
    text = file.read_text(encoding="utf-8")
    name = ".".join(parts[:-1] if is_package else parts)
    return Module(name, path.as_posix(), text, ast.parse(text, str(path)), is_package)


def _imports(node: ast.AST, *, at_import: bool) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield Import(alias.name, alias.name, node.lineno, at_import)
        case ast.ImportFrom(module=module, names=names, level=level):
            target = "." * level + (module or "")
            for alias in names:
                yield Import(target, f"{target}.{alias.name}", node.lineno, at_import)
        case ast.If(test=test, body=body, orelse=orelse) if dotted(test).endswith("TYPE_CHECKING"):
            for statement in body:
                yield from _imports(statement, at_import=False)
            for statement in orelse:
                yield from _imports(statement, at_import=at_import)
        case _:
            at_import = at_import and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from _imports(child, at_import=at_import)
