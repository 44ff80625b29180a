"""The types of a CEL expression, without evaluating it: an expression that cannot have a value fails before a flight.

Samples give the types of a document: a leaf is a value of its type, a map with known keys a dict of samples. An unknown
type (`any`) fits every other.
"""

from collections.abc import Callable, Mapping

from recordings.cel import nodes as n
from recordings.cel.values import FUNCTIONS, kind_of

Type = str
"""`null`, `bool`, `int`, `double`, `string`, `list`, `map` or `any`."""

NOUNS = {
    "int": "a whole number", "double": "a decimal number", "string": "text", "list": "a list", "map": "a map",
    "null": "null", "bool": "true or false", "any": "a value",
}  # fmt: skip

Ask = Callable[[tuple[str, ...]], Type]
"""The type at a path of the document."""


class MisfitError(ValueError):
    """Types that never fit together; the text says which."""


def type_of(node: n.Node, ask: Ask, bound: Mapping[str, Type] | None = None) -> Type:
    """The type of an expression's value; `bound`: the variables of macros around it. Raises MisfitError."""
    return _Typing(ask).of(node, bound or {})


def path_of(node: n.Node, bound: Mapping[str, object]) -> tuple[str, ...] | None:
    """The path of the document that a node names, if the path is written out."""
    keys: list[str] = []
    while True:
        match node:
            case n.Select(of=of, field=field):
                keys.append(field)
                node = of
            case n.Index(of=of, key=n.Literal(value=str() as key)):
                keys.append(key)
                node = of
            case n.Name(name=name) if name not in bound:
                return (name, *reversed(keys))
            case _:
                return None


class _Typing:
    """One pass over a tree."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def of(self, node: n.Node, bound: Mapping[str, Type]) -> Type:
        path = path_of(node, bound)
        if path is not None:
            return "bool" if isinstance(node, n.Select) and node.test else self.ask(path)
        match node:
            case n.Literal(value=value):
                return kind_of(value)
            case n.Name(name=name):
                return bound[name]
            case n.Select(of=of, field=field, test=test):
                self.must(f"has .{field}" if test else f".{field}", self.of(of, bound), "map")
                return "bool" if test else "any"
            case n.Index():
                return self.index(node, bound)
            case n.Call():
                return self.call(node, bound)
            case n.Macro():
                return self.macro(node, bound)
            case n.ListOf(items=items):
                for each in items:
                    self.of(each, bound)
                return "list"
            case n.MapOf(entries=entries):
                for key, item in entries:
                    self.must("{ }", self.of(key, bound), "string", "int")
                    self.of(item, bound)
                return "map"
            case _:
                return self.operator(node, bound)

    def operator(self, node: n.Node, bound: Mapping[str, Type]) -> Type:
        match node:
            case n.Unary(operator="!", of=of):
                return self.must("!", self.of(of, bound), "bool")
            case n.Unary(of=of):
                return self.must("-", self.of(of, bound), "int", "double")
            case n.Logic(operator=operator, items=items):
                for each in items:
                    self.must(operator, self.of(each, bound), "bool")
                return "bool"
            case n.Choice(condition=condition, then=then, otherwise=otherwise):
                self.must("? :", self.of(condition, bound), "bool")
                first, second = self.of(then, bound), self.of(otherwise, bound)
                return first if first == second else "any"
            case n.Binary():
                return self.binary(node, bound)
        raise AssertionError(node)

    def binary(self, node: n.Binary, bound: Mapping[str, Type]) -> Type:
        left, right = self.of(node.left, bound), self.of(node.right, bound)
        operator = node.operator
        if operator in ("==", "!="):
            if not {left, right} & {"any", "null"} and left != right and {left, right} != {"int", "double"}:
                raise MisfitError(f"incompatible types: {left} {operator} {right}")
            return "bool"
        if operator == "in":
            self.must("in", right, "list", "map")
            return "bool"
        compares = operator in ("<", "<=", ">", ">=")
        takes = {"+": ("int", "double", "string", "list"), "%": ("int",)}.get(operator, ("int", "double"))
        if compares:
            takes = ("int", "double", "string", "bool")
        self.must(operator, left, *takes)
        self.must(operator, right, *takes)
        numbers = compares and {left, right} == {"int", "double"}
        if left != right and "any" not in (left, right) and not numbers:
            raise MisfitError(f"incompatible types: {left} {operator} {right}")
        return "bool" if compares else left if left != "any" else right

    def index(self, node: n.Index, bound: Mapping[str, Type]) -> Type:
        of, key = self.of(node.of, bound), self.of(node.key, bound)
        self.must("[ ]", of, "list", "map")
        self.must("[ ]", key, *({"list": ("int",)}.get(of, ("int", "string"))))
        return "any"

    def call(self, node: n.Call, bound: Mapping[str, Type]) -> Type:
        arguments = [self.of(each, bound) for each in node.arguments]
        wants, gives, _ = FUNCTIONS[node.function]
        if wants > 1:
            for each in arguments:
                self.must(node.function, each, "string")
        elif node.function == "size":
            self.must("size", arguments[0], "string", "list", "map")
        elif node.function in ("int", "double", "string"):
            numbers = ("int", "double", "string")
            self.must(node.function, arguments[0], *numbers, *(("bool",) if node.function == "string" else ()))
        return gives

    def macro(self, node: n.Macro, bound: Mapping[str, Type]) -> Type:
        of = self.must(node.name, self.of(node.of, bound), "list", "map")
        inner = {**bound, node.variable: "string" if of == "map" and path_of(node.of, bound) else "any"}
        if node.where is not None:
            self.must(node.name, self.of(node.where, inner), "bool")
        body = self.of(node.body, inner)
        if node.name in ("map", "filter"):
            if node.name == "filter":
                self.must("filter", body, "bool")
            return "list"
        return self.must(node.name, body, "bool")

    def must(self, operator: str, found: Type, *wanted: Type) -> Type:
        """The type, if an operator accepts it. Raises MisfitError."""
        if found != "any" and found not in wanted:
            raise MisfitError(f"incompatible types: {operator} of {found}")
        return found
