"""A CEL expression as a function of a document: built once from its nodes, evaluated often, within a budget.

Every node becomes a closure. A closure outside macros runs at most once for each node of the text. Only the rounds of
macros and lengths can grow: both are charged before they are spent. `&&`, `||`, `all` and `exists` absorb an error when
another operand decides, as the language definition requires; exceeding the budget is not absorbed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from recordings.cel import nodes as n
from recordings.cel import values
from recordings.cel.values import STEPS, AbsentError, EvaluationError, Meter, misfit

Scope = dict[str, Any]
"""The document's roots, and the variables of the macros around a node."""

Code = Callable[[Scope, Meter], Any]
Ask = Callable[[], Any]
Rounds = Iterator[Any]


class Program:
    """An expression that can be evaluated: `run(document)` is its value.

    Raises EvaluationError where it has none (AbsentError for an absent key), and BudgetError.
    """

    def __init__(self, node: n.Node) -> None:
        self._code = _code(node)
        self._steps = n.size_of(node)

    def run(self, document: Mapping[str, Any], steps: int = STEPS) -> Any:  # noqa: ANN401 - values of any type
        """The value in a document of plain data, within a number of steps."""
        meter = Meter(steps)
        meter.charge(self._steps)
        return self._code(dict(document), meter)


def _code(node: n.Node) -> Code:  # noqa: C901 - one case a node
    match node:
        case n.Literal(value=value):
            return _literal(value)
        case n.Name(name=name):
            return _name(name)
        case n.Select(of=of, field=field, test=test):
            return _has(_code(of), field) if test else _select(_code(of), field)
        case n.Index(of=of, key=key):
            inner, at = _code(of), _code(key)
            return lambda scope, meter: values.item(inner(scope, meter), at(scope, meter))
        case n.Call(function=function, arguments=arguments):
            return _call(function, [_code(each) for each in arguments])
        case n.Macro():
            return _macro(node)
        case n.ListOf(items=items):
            made = [_code(each) for each in items]
            return lambda scope, meter: [each(scope, meter) for each in made]
        case n.MapOf(entries=entries):
            return _map([(_code(key), _code(value)) for key, value in entries])
        case n.Unary(operator=operator, of=of):
            return _not(_code(of)) if operator == "!" else _negative(_code(of))
        case n.Binary(operator=operator, left=left, right=right):
            return _binary(operator, _code(left), _code(right))
        case n.Logic(operator=operator, items=items):
            return _logic(operator, [_code(each) for each in items])
        case n.Choice(condition=condition, then=then, otherwise=otherwise):
            return _choice(_code(condition), _code(then), _code(otherwise))


def _literal(value: object) -> Code:
    def code(_scope: Scope, _meter: Meter) -> object:
        return value

    return code


def _name(name: str) -> Code:
    def code(scope: Scope, _meter: Meter) -> Any:  # noqa: ANN401
        if name not in scope:
            raise AbsentError(name)
        return scope[name]

    return code


def _select(of: Code, field: str) -> Code:
    return lambda scope, meter: values.field(of(scope, meter), field)


def _has(of: Code, field: str) -> Code:
    def code(scope: Scope, meter: Meter) -> bool:
        value = of(scope, meter)
        if not isinstance(value, dict):
            raise misfit("has", value)
        return field in value

    return code


def _call(name: str, arguments: list[Code]) -> Code:
    _, _, function = values.FUNCTIONS[name]
    if len(arguments) == 1:
        (only,) = arguments
        return lambda scope, meter: function(only(scope, meter), meter)
    first, second = arguments
    return lambda scope, meter: function(first(scope, meter), second(scope, meter), meter)


def _map(entries: list[tuple[Code, Code]]) -> Code:
    def code(scope: Scope, meter: Meter) -> dict[Any, Any]:
        made = {}
        for key_code, value_code in entries:
            key = key_code(scope, meter)
            if not values.is_key(key):
                raise misfit("{ }", key)
            made[key] = value_code(scope, meter)
        return made

    return code


def _not(of: Code) -> Code:
    return lambda scope, meter: not _truth(of(scope, meter), "!")


def _negative(of: Code) -> Code:
    return lambda scope, meter: values.negative(of(scope, meter))


def _binary(operator: str, left: Code, right: Code) -> Code:
    match operator:
        case "==":
            return lambda scope, meter: values.equal(left(scope, meter), right(scope, meter), meter)
        case "!=":
            return lambda scope, meter: not values.equal(left(scope, meter), right(scope, meter), meter)
        case "in":
            return lambda scope, meter: values.contains(left(scope, meter), right(scope, meter), meter)
        case "+":
            return lambda scope, meter: values.add(left(scope, meter), right(scope, meter), meter)
        case "-" | "*" | "/" | "%":
            return lambda scope, meter: values.arithmetic(operator, left(scope, meter), right(scope, meter))
        case _:
            return lambda scope, meter: values.compare(operator, left(scope, meter), right(scope, meter), meter)


def _truth(value: object, operator: str) -> bool:
    if not isinstance(value, bool):
        raise misfit(operator, value)
    return value


def _logic(operator: str, items: list[Code]) -> Code:
    decides = operator == "||"

    def code(scope: Scope, meter: Meter) -> bool:
        return _decided((partial(item, scope, meter) for item in items), operator, decides=decides)

    return code


def _decided(asked: Iterable[Ask], operator: str, *, decides: bool) -> bool:
    """Whether one of the operands decides; an error of one counts only if no other decides."""
    failure: EvaluationError | None = None
    for ask in asked:
        try:
            if _truth(ask(), operator) is decides:
                return decides
        except EvaluationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not decides


def _choice(condition: Code, then: Code, otherwise: Code) -> Code:
    return lambda scope, meter: (then if _truth(condition(scope, meter), "?") else otherwise)(scope, meter)


# --- macros -------------------------------------------------------------------------------------------------------


def _macro(node: n.Macro) -> Code:
    """A macro's rounds; each is charged with all nodes that it can evaluate."""
    of, body = _code(node.of), _code(node.body)
    where = _code(node.where) if node.where is not None else None
    steps = 1 + n.size_of(node.body) + (n.size_of(node.where) if node.where is not None else 0)
    variable, name = node.variable, node.name
    take = _ROUNDS[name]

    def code(scope: Scope, meter: Meter) -> Any:  # noqa: ANN401
        elements = of(scope, meter)
        if not isinstance(elements, list | tuple | dict):
            raise misfit(name, elements)
        inner = scope.copy()

        def rounds() -> Iterator[Any]:
            for element in elements:
                meter.charge(steps)
                inner[variable] = element
                if where is None or _truth(where(inner, meter), name):
                    yield element

        return take(rounds(), lambda: body(inner, meter))

    return code


def _all(rounds: Rounds, ask: Ask) -> bool:
    return _decided((ask for _ in rounds), "all", decides=False)


def _exists(rounds: Rounds, ask: Ask) -> bool:
    return _decided((ask for _ in rounds), "exists", decides=True)


def _exists_one(rounds: Rounds, ask: Ask) -> bool:
    return sum(_truth(ask(), "exists_one") for _ in rounds) == 1


def _filtered(rounds: Rounds, ask: Ask) -> list[Any]:
    return [element for element in rounds if _truth(ask(), "filter")]


def _mapped(rounds: Rounds, ask: Ask) -> list[Any]:
    return [ask() for _ in rounds]


_ROUNDS: dict[str, Callable[..., Any]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "filter": _filtered,
    "map": _mapped,
}
