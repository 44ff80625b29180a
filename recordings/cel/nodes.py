"""The nodes of a CEL expression: a tree, as the text writes it."""

from collections.abc import Iterator
from typing import Literal as OneOf

import msgspec

Value = object
"""null, a bool, an int of 64 bits, a float, text, a list of values, or a map from text or ints to values."""

MacroName = OneOf["all", "exists", "exists_one", "map", "filter"]


class Literal(msgspec.Struct, frozen=True):
    """A number, text, `true`, `false` or `null`."""

    value: bool | int | float | str | None


class Name(msgspec.Struct, frozen=True):
    """A root of the document, or the variable of a macro."""

    name: str


class Select(msgspec.Struct, frozen=True):
    """`of.field`; with `test` it is `has(of.field)`."""

    of: "Node"
    field: str
    test: bool = False


class Index(msgspec.Struct, frozen=True):
    """`of[key]`."""

    of: "Node"
    key: "Node"


class Call(msgspec.Struct, frozen=True):
    """`function(arguments)`; of `target.function(arguments)` the target is the first argument."""

    function: str
    arguments: tuple["Node", ...]


class Macro(msgspec.Struct, frozen=True):
    """`of.name(variable, body)`; `where` is the condition of a `map` with three arguments."""

    name: MacroName
    of: "Node"
    variable: str
    body: "Node"
    where: "Node | None" = None


class ListOf(msgspec.Struct, frozen=True):
    """`[a, b]`."""

    items: tuple["Node", ...]


class MapOf(msgspec.Struct, frozen=True):
    """`{key: value}`."""

    entries: tuple[tuple["Node", "Node"], ...]


class Unary(msgspec.Struct, frozen=True):
    """`!of` or `-of`."""

    operator: str
    of: "Node"


class Binary(msgspec.Struct, frozen=True):
    """`left operator right`: arithmetic, a comparison or `in`."""

    operator: str
    left: "Node"
    right: "Node"


class Logic(msgspec.Struct, frozen=True):
    """`a && b && c` or `a || b || c`: one node, however many there are."""

    operator: str
    items: tuple["Node", ...]


class Choice(msgspec.Struct, frozen=True):
    """`condition ? then : otherwise`."""

    condition: "Node"
    then: "Node"
    otherwise: "Node"


Node = Literal | Name | Select | Index | Call | Macro | ListOf | MapOf | Unary | Binary | Logic | Choice


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one, in the order of the text."""
    match node:
        case Select(of=of) | Unary(of=of):
            return (of,)
        case Index(of=of, key=key):
            return of, key
        case Call(arguments=items) | ListOf(items=items) | Logic(items=items):
            return items
        case Macro(of=of, where=where, body=body):
            return (of, body) if where is None else (of, where, body)
        case MapOf(entries=entries):
            return tuple(node for entry in entries for node in entry)
        case Binary(left=left, right=right):
            return left, right
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return condition, then, otherwise
        case _:
            return ()


def levels(node: Node) -> Iterator[tuple[Node, ...]]:
    """The nodes of a tree level by level, without a call for each of them: a tree may be deeper than the stack."""
    level: tuple[Node, ...] = (node,)
    while level:
        yield level
        level = tuple(child for each in level for child in children(each))


def size_of(node: Node) -> int:
    """How many nodes a tree has."""
    return sum(len(level) for level in levels(node))
