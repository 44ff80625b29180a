"""Class names are unique, bases have several subclasses, and a Protocol has several implementations."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.architecture.source import Breach, Module, Project, dotted

MOST_PROTOCOLS = 12

# A base that has one subclass and is never made itself, and why it stands.
SINGLE_BASES: Mapping[str, str] = {
    "BrokerHost": "the one host interface of cluster/broker: parts import it, Broker implements it",
    "ConsumerHost": "the one host interface of cluster/clients/consumer",
    "ProducerHost": "the one host interface of cluster/clients/producer",
}

# A Protocol with fewer than two implementations: which layer stands between its user and its one implementation.
SINGLE_PROTOCOLS: Mapping[str, str] = {
    "AppInterface": "the one host interface of console: screens and shutdown import it, the application implements it",
    "Endpoint": "the network knows no broker: cluster/broker's socket server implements it",
    "RunningCluster": "the one host interface of cluster/simulation: command modules import it",
}


@dataclass
class _Class:
    module: Module
    node: ast.ClassDef
    bases: tuple[str, ...]
    members: set[str] = field(default_factory=set)

    @property
    def is_protocol(self) -> bool:
        return "Protocol" in self.bases

    @property
    def is_private(self) -> bool:
        return self.node.name.startswith("_")


def check_unique_names(project: Project) -> Iterator[Breach]:
    """No class name occurs twice in the product: an import then says all there is to say."""
    for name, classes in sorted(_classes(project).items()):
        for other in classes[1:]:
            reason = f"{name} is also a class of {classes[0].module.path}"
            yield other.module.breach(other.node, reason)


def check_bases(project: Project, listed: Mapping[str, str] = SINGLE_BASES) -> Iterator[Breach]:
    """A class of ours has no subclass, or several, or is made alone: else it is half of one class."""
    classes = _classes(project)
    made = {name for module in project.modules for name in _values(module.tree)}
    subclasses: dict[str, list[_Class]] = defaultdict(list)
    for each in _all(classes):
        for above in each.bases:
            subclasses[above].append(each)
    for name, (base, *_) in sorted(classes.items()):
        below = subclasses[name]
        alone = len(below) == 1 and name not in made and not base.is_protocol
        if alone and not listed.get(name):
            yield base.module.breach(base.node, f"{name} has one subclass, {below[0].node.name}, and is never made")
        elif name in listed and not alone:
            yield base.module.breach(base.node, f"{name} is listed as a base of one class, and no longer is")


def check_protocols(
    project: Project, listed: Mapping[str, str] = SINGLE_PROTOCOLS, most: int = MOST_PROTOCOLS
) -> Iterator[Breach]:
    """A Protocol has two implementations, or a layer between it and its one implementation; and there are few."""
    classes = _classes(project)
    protocols = [each for each in _all(classes) if each.is_protocol]
    for each in protocols[most:]:
        yield each.module.breach(each.node, f"{each.node.name} is one of {len(protocols)} Protocols; {most} may be")
    for each in protocols:
        name = each.node.name
        wanted = _inherited(each, classes)
        by = [one for one in _all(classes) if not one.is_protocol and wanted <= _inherited(one, classes)]
        few = len(by) < 2 and not _is_callable(wanted)
        if few and not listed.get(name):
            known = ", ".join(one.node.name for one in by) or "none"
            yield each.module.breach(each.node, f"{name} is a Protocol with fewer than two implementations ({known})")
        elif name in listed and not few:
            yield each.module.breach(each.node, f"{name} is listed as a Protocol of one class, and no longer is")


def _values(node: ast.AST) -> Iterator[str]:
    """Name what is called or handed on (`kind = Broker`): not bases, annotations and tests of types."""
    match node:
        case ast.ClassDef():
            children: list[ast.AST | None] = [*node.body, *node.decorator_list]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            children = [*node.body, *node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        case ast.AnnAssign():
            children = [node.value]
        case ast.Subscript(value=ast.Name(id=generic)) if generic[0].isupper():  # Callable[[Broker], None]
            children = []
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "cast")):
            children = [node.args[0 if node.func.id != "cast" else 1]]  # type: ignore[attr-defined]
        case _:
            children = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield dotted(node).rpartition(".")[2]
    for child in children:
        if child is not None:
            yield from _values(child)


def _is_callable(members: set[str]) -> bool:
    """Whether functions implement it, too: those cannot be counted."""
    return members == {"__call__"}


def _all(classes: Mapping[str, list[_Class]]) -> Iterator[_Class]:
    return (each for found in classes.values() for each in found)


def _classes(project: Project) -> dict[str, list[_Class]]:
    found: dict[str, list[_Class]] = defaultdict(list)
    for module in project.modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
                names = tuple(dotted(base).rpartition(".")[2] for base in bases)
                found[node.name].append(_Class(module, node, names, set(_members(node))))
    return found


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Name the methods, fields and attributes that the class and its methods define."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child.name
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            yield child.target.id
        elif isinstance(child, ast.Assign):
            yield from (target.id for target in child.targets if isinstance(target, ast.Name))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and dotted(inner.value) == "self":
            yield inner.attr


def _inherited(each: _Class, classes: Mapping[str, list[_Class]]) -> set[str]:
    members = set(each.members) - {"__slots__", "__doc__"}
    for base in each.bases:
        for above in classes.get(base, ())[:1]:
            if above is not each:
                members |= _inherited(above, classes)
    return members
