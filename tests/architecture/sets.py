"""A set's order differs in every process, so nothing in `cluster/` may depend on it.

The checker follows sets as far as a syntax tree shows them: literals, calls of `set`, set algebra, annotations, fields
(`self.members: set[str]`, also when another class reads them and all classes that have such a field agree), functions
that say they return one, and containers of sets (`dict[str, set[int]]`). Asking (`in`, `len`, `any`, `min`), comparing
and building another set are free; walking, unpacking, `pop()`, joining and printing are not, nor is `sorted` with a
key, whose ties keep the set's order. A line that is right all the same says so: `# order-free: why`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from tests.architecture.source import Breach, Module, Project, dotted


@dataclass(frozen=True)
class Rows:
    """A value whose elements are of a known kind: `list[set[int]]`."""

    of: Kind


@dataclass(frozen=True)
class Values:
    """A mapping whose values are of a known kind: `dict[str, set[int]]`."""

    of: Kind


Kind = Rows | Values | Literal["set"] | None

SET_NAMES = {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}
MAP_NAMES = {"dict", "defaultdict", "Mapping", "MutableMapping", "OrderedDict"}
ROW_NAMES = {"list", "tuple", "deque", "Sequence", "Iterable", "Iterator", "Collection"}
ALGEBRA = {"union", "intersection", "difference", "symmetric_difference"}
ORDER_FREE = {"any", "all", "sum", "set", "frozenset", "sorted", "min", "max"}
WALKS = {"list", "tuple", "iter", "next", "enumerate", "zip", "map", "filter", "deque", "Counter", "str", "repr"}
WALKING_METHODS = {"join", "extend", "fromkeys"}
MARK: Final = "# order-free: "


@dataclass
class Knowledge:
    """What the project declares: the kinds of classes' fields and of what functions return."""

    fields: dict[tuple[str, str], Kind] = field(default_factory=dict)
    returns: dict[str, list[Kind]] = field(default_factory=dict)

    def of_field(self, owner: str, name: str) -> Kind:
        """Say the kind of `name` in class `owner`; elsewhere, what all classes with such a field agree on."""
        return self.fields[owner, name] if (owner, name) in self.fields else self._shared.get(name)

    def of_call(self, function: str) -> Kind:
        """Say what functions of that name return, if they agree."""
        return _agreed(self.returns.get(function, []))

    @cached_property
    def _shared(self) -> dict[str, Kind]:
        by_name: dict[str, list[Kind]] = {}
        for (_, name), kind in self.fields.items():
            by_name.setdefault(name, []).append(kind)
        return {name: _agreed(kinds) for name, kinds in by_name.items()}

    def learn(self, module: Module) -> None:
        """Read the declarations of one module."""
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                self._learn_class(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.returns.setdefault(node.name, []).append(annotated(node.returns))

    def _learn_class(self, owner: ast.ClassDef) -> None:
        for node in owner.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._learn_field(owner.name, node.target.id, annotated(node.annotation))
            elif isinstance(node, ast.FunctionDef):
                if "property" in {dotted(mark).rpartition(".")[2] for mark in node.decorator_list}:
                    self._learn_field(owner.name, node.name, annotated(node.returns))
                self._learn_method(owner.name, node)

    def _learn_method(self, owner: str, method: ast.FunctionDef) -> None:
        scope = Scope(Knowledge(), owner, _parameters(method))
        for node in ast.walk(method):
            match node:
                case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation):
                    self._learn_field(owner, name, annotated(annotation))
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                    self._learn_field(owner, name, scope.kind(value))

    def _learn_field(self, owner: str, name: str, kind: Kind) -> None:
        self.fields[owner, name] = kind or self.fields.get((owner, name))


@dataclass
class Scope:
    """The names of one function (or of a module's top level), and the class it belongs to."""

    known: Knowledge
    owner: str = ""
    names: dict[str, Kind] = field(default_factory=dict)

    def kind(self, node: ast.expr) -> Kind:
        """Say what is known of an expression's value."""
        match node:
            case ast.Set() | ast.SetComp():
                return "set"
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Attribute(value=value, attr=name):
                return self.known.of_field(self.owner if dotted(value) == "self" else "", name)
            case ast.Subscript(value=value):
                return self.kind(value) if isinstance(node.slice, ast.Slice) else _inner(self.kind(value))
            case ast.BinOp(left=left, right=right, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
                sides = (self.kind(left), self.kind(right))
                return "set" if "set" in sides or _is_view(left) or _is_view(right) else None
            case ast.BoolOp(values=values):
                return next((kind for value in values if (kind := self.kind(value))), None)
            case ast.IfExp(body=body, orelse=orelse):
                return self.kind(body) or self.kind(orelse)
            case ast.NamedExpr(value=value):
                return self.kind(value)
            case ast.Call():
                return self._kind_of_call(node)
            case ast.DictComp(value=value):
                return _holding(Values, self.kind(value))
            case ast.ListComp(elt=value) | ast.GeneratorExp(elt=value):
                return _holding(Rows, self.kind(value))
        return None

    def _kind_of_call(self, call: ast.Call) -> Kind:
        function = dotted(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")
        if isinstance(call.func, ast.Name):
            if function in {"set", "frozenset"}:
                return "set"
            if function == "defaultdict" and call.args and dotted(call.args[0]) in {"set", "frozenset"}:
                return Values("set")
        elif isinstance(call.func, ast.Attribute):
            owner = self.kind(call.func.value)
            if owner == "set":
                return "set" if function in ALGEBRA | {"copy"} else None
            if isinstance(owner, Values) and function in {"values", "items"}:
                return Rows(owner.of)
            if owner is not None:
                return owner if function == "copy" else _inner(owner)
        return self.known.of_call(function)

    def bind(self, target: ast.expr, kind: Kind) -> None:
        """Remember that `target` is given a value of that kind."""
        if isinstance(target, ast.Name) and kind is not None:
            self.names[target.id] = kind

    def bind_loop(self, target: ast.expr, iterated: ast.expr) -> None:
        """Remember what a loop's target is: the last of a pair is the value of `items()`."""
        if (
            isinstance(target, ast.Tuple)
            and isinstance(iterated, ast.Call)
            and dotted(iterated.func).endswith(".items")
        ):
            target = target.elts[-1]
        kind = self.kind(iterated)
        self.bind(target, kind.of if isinstance(kind, Rows) else None)


def check_sets(project: Project) -> Iterator[Breach]:
    """Nothing in the cluster walks a set."""
    known = Knowledge()
    modules = list(project.inside("cluster"))
    for module in modules:
        known.learn(module)
    for module in modules:
        lines = module.text.splitlines()
        for breach in _breaches(module, module.tree, Scope(known)):
            if MARK not in lines[breach.line - 1]:
                yield breach


def annotated(annotation: ast.expr | None) -> Kind:
    """Read an annotation: `set[int] | None` is a set, `dict[str, set[int]]` a container of sets."""
    match annotation:
        case ast.Constant(value=str() as text):
            return annotated(ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, right=right):
            return annotated(left) or annotated(right)
        case ast.Name() | ast.Attribute():
            return "set" if dotted(annotation).rpartition(".")[2] in SET_NAMES else None
        case ast.Subscript(value=value, slice=inside):
            name = dotted(value).rpartition(".")[2]
            if name in SET_NAMES:
                return "set"
            parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            if name in {"Optional", "Final", "ClassVar", "Annotated"}:
                return annotated(parts[0])
            if name in MAP_NAMES:
                return _holding(Values, annotated(parts[-1]))
            if name in ROW_NAMES:
                return _holding(Rows, annotated(parts[0]))
    return None


def _breaches(module: Module, node: ast.AST, scope: Scope) -> Iterator[Breach]:
    """Look at everything below `node` that belongs to its scope, then into the scopes inside it."""
    own, inner = _split(node)
    outer = dict(scope.names)
    for _ in range(2):  # once more, for names that are bound from names bound further down
        for child in own:
            _learn_names(child, scope)
    free = {id(part) for child in own for part in _order_free_parts(child)}
    for child in own:
        for walked in _walked(child, scope):
            if id(child) not in free and scope.kind(walked) == "set":
                yield module.breach(walked, f"the order of {ast.unparse(walked)} is a set's: sort it first")
    seen = outer if isinstance(node, ast.ClassDef) else scope.names  # a class's names are not its methods'
    for child in inner:
        owner = child.name if isinstance(child, ast.ClassDef) else scope.owner
        yield from _breaches(module, child, Scope(scope.known, owner, seen | _local_names(child)))


def _local_names(node: ast.AST) -> dict[str, Kind]:
    """Begin a scope: what it assigns hides what is outside, what it is given is known by its annotation."""
    if isinstance(node, ast.ClassDef):
        return {}
    stored = (name for name in _split(node)[0] if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store))
    hidden: dict[str, Kind] = {name.id: None for name in stored}
    return hidden | _parameters(node)


def _parameters(node: ast.AST) -> dict[str, Kind]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return {}
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return {argument.arg: annotated(argument.annotation) for argument in arguments}


def _split(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """Divide what is below `node`: what shares its names, and the functions and classes that have their own."""
    own: list[ast.AST] = []
    inner: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            inner.append(child)
        else:
            deeper, scopes = _split(child)
            own += [child, *deeper]
            inner += scopes
    return own, inner


def _learn_names(node: ast.AST, scope: Scope) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                scope.bind(target, scope.kind(value))
        case ast.AnnAssign(target=target, annotation=annotation):
            scope.bind(target, annotated(annotation))
        case ast.NamedExpr(target=target, value=value):
            scope.bind(target, scope.kind(value))
        case ast.For(target=target, iter=iterated) | ast.comprehension(target=target, iter=iterated):
            scope.bind_loop(target, iterated)


def _order_free_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Find what walks a set where the result does not show it: in a set, or in a call like `any(…)`."""
    if isinstance(node, ast.SetComp):
        yield from node.generators
    elif isinstance(node, ast.Set):
        yield from node.elts
    elif isinstance(node, ast.Call) and dotted(node.func) in ORDER_FREE and not node.keywords:
        for argument in node.args:
            if isinstance(argument, ast.GeneratorExp | ast.ListComp):
                yield from argument.generators


def _walked(node: ast.AST, scope: Scope) -> Iterator[ast.expr]:
    """Find the expressions whose order `node` depends on."""
    match node:
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated) | ast.YieldFrom(value=iterated):
            yield iterated
        case ast.Starred(value=value) | ast.FormattedValue(value=value):
            yield value
        case ast.Assign(targets=[ast.Tuple() | ast.List(), *_], value=value):
            yield value
        case ast.AugAssign(op=ast.Add(), value=value):
            yield value
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            if name in WALKS or (name in {"sorted", "min", "max"} and any(word.arg == "key" for word in keywords)):
                yield from arguments
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=arguments):
            if method == "pop" and not arguments:
                yield owner
            if method in WALKING_METHODS:
                yield from arguments


def _holding(container: type[Rows | Values], kind: Kind) -> Kind:
    return None if kind is None else container(kind)


def _inner(kind: Kind) -> Kind:
    return kind.of if isinstance(kind, Rows | Values) else None


def _agreed(kinds: list[Kind]) -> Kind:
    return kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else None


def _is_view(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).endswith((".keys", ".items"))
