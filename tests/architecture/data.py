"""What is data is read as data: no parsed sentence, no handler found by its name's spelling."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.architecture.source import Breach, Module, Project, dotted

SEARCHES = {"split", "startswith", "endswith", "partition", "rpartition", "find", "index", "removeprefix"}
PARSERS = {"parse", "parsed", "search", "match", "fullmatch"}
# Parsers: where text becomes a command, a scenario or an expression, once.
BORDERS = (
    *("cluster.commands", "recordings.scenarios", "recordings.cel", "recordings.journal.upgrade"),
    "recordings.spark.analyses.incidents",  # a command's own text: its durations are no columns of the tables
)

# getattr with a name that is computed, where it is right: function → reason.
BY_NAME: Mapping[str, str] = {
    "recordings.scenarios.custom_assignors.load": "the class of a module of the user's, named by the scenario",
}


# Constants that tests set to another value: constant → what for.
SET_BY_TESTS: Mapping[str, str] = {
    "cluster.broker.coordinator_runtime.LOAD_US": "coordinators that load slowly",
    "cluster.storage.batch_list.PACK_AT": "logs that pack after a few batches",
    "cluster.storage.batch_list.PACKED_TOGETHER": "logs that pack after a few batches",
    "cluster.virtual_time.timeline.TURNS_AT_ONE_INSTANT": "a livelock without a hundred thousand turns",
}


def check_constants(project: Project, listed: Mapping[str, str] = SET_BY_TESTS) -> Iterator[Breach]:
    """A number or text that is a constant of the cluster is Final: compiled code looks other names up for each use."""
    for module in project.modules:
        for node in module.tree.body if module.within("cluster") else ():
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name, value = node.targets[0].id, node.value
            if isinstance(value, ast.UnaryOp):
                value = value.operand
            if name.isupper() and isinstance(value, ast.Constant) and f"{module.name}.{name}" not in listed:
                yield module.breach(node, f"{name} is no Final")


def check_prose(project: Project) -> Iterator[Breach]:
    """The text of an event or a fault is shown, never parsed or searched: kind and targets are fields."""
    for module in project.modules:
        if module.within(*BORDERS):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and (text := _searched(node)):
                yield module.breach(node, f"reads {text}: use the kind and targets beside it")
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                text = _prose(node.comparators[0])
                if text:
                    yield module.breach(node, f"searches {text}: use the kind and targets beside it")


def _searched(node: ast.Call) -> str:
    """The prose that a call takes apart: `fault.text.split()`, `parse(fault.text)`; empty if it does not."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
        return _prose(node.func.value)
    if dotted(node.func).rpartition(".")[2] in PARSERS:
        return next((text for argument in node.args if (text := _prose(argument))), "")
    return ""


def _prose(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr="text"):
            return dotted(node)
        case ast.Subscript(slice=ast.Constant(value="text")):
            return f'{dotted(node.value)}["text"]'
    return ""


def check_handlers(project: Project, listed: Mapping[str, str] = BY_NAME) -> Iterator[Breach]:
    """A handler stands in a table that mypy reads: no getattr of a module, none with a computed name."""
    for module in project.modules:
        modules = set(_imported_modules(module, project))
        for function, node in _calls(module):
            if dotted(node.func) != "getattr" or f"{module.name}.{function}" in listed:
                continue
            if dotted(node.args[0]) in modules | {"module", "self"} and not isinstance(node.args[1], ast.Constant):
                yield module.breach(node, "a handler found by its name: put it into a table")


def _calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    def inside(node: ast.AST, path: str) -> Iterator[tuple[str, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if isinstance(child, ast.Call):
                yield path, child
            yield from inside(child, f"{path}.{child.name}".lstrip(".") if named else path)  # type: ignore[attr-defined]

    return inside(module.tree, "")


def _imported_modules(module: Module, project: Project) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in project.names:
                    yield alias.asname or alias.name
        elif isinstance(node, ast.Import):
            yield from (alias.asname or alias.name for alias in node.names)
