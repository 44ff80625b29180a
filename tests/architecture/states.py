"""Every enum of states has a table, and every change of state goes through it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source import Breach, Module, Project, dotted

TABLES = {"StateTable", "by_next_state"}
STATE_ATTRIBUTES = {"state", "_state", "phase", "_phase"}
# The view repeats what events say: the machine that emitted them has the table.
REPEATERS = ("cluster.view", "cluster.invariants")


def check_states(project: Project) -> Iterator[Breach]:
    """An enum named …State or …Phase stands in a StateTable; `x.state = …` takes what `next_state` returns."""
    tabled = {name for module in project.inside("cluster") for name in _tabled(module)}
    for module in project.inside("cluster"):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and _is_state_enum(node) and node.name not in tabled:
                yield module.breach(node, f"{node.name} is an enum of states without a StateTable")
        if not module.within(*REPEATERS):
            yield from _assignments(module)


def _is_state_enum(node: ast.ClassDef) -> bool:
    is_enum = any(dotted(base).rpartition(".")[2] in {"StrEnum", "Enum", "IntEnum"} for base in node.bases)
    return is_enum and node.name.endswith(("State", "States", "Phase"))


def _tabled(module: Module) -> Iterator[str]:
    """Name the enums whose members a table of this module uses, written out or by a short name (`_S = GroupState`)."""
    short = {
        target.id: dotted(node.value)
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    short |= {
        name.id: dotted(value)
        for node in module.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple)
        for name, value in zip(node.targets[0].elts, node.value.elts, strict=False)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in TABLES:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                    yield short.get(inner.value.id, inner.value.id)


def _assignments(module: Module) -> Iterator[Breach]:
    """Visit assignments to a state attribute outside `__init__` that bypass the table."""
    for function in ast.walk(module.tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name == "__init__":
            continue
        for node in ast.walk(function):
            targets = _targets(node)
            changed = [each.attr for each in targets if isinstance(each, ast.Attribute)]
            if STATE_ATTRIBUTES & set(changed) and not _by_table(node.value):  # type: ignore[attr-defined]
                yield module.breach(node, f"sets {changed[0]} without a table: use next_state")


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return [target]
    return []


def _by_table(value: ast.expr | None) -> bool:
    """Whether the value is what a table answers: `TABLE.next_state(…)`, or `TABLE.initial` of a new process."""
    if isinstance(value, ast.Call):
        return dotted(value.func).rpartition(".")[2] == "next_state"
    return isinstance(value, ast.Attribute) and value.attr == "initial"
