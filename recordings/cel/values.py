"""CEL's operators and functions on values: pure rules, each of which charges a meter with its cost.

Differences from Python: `true` is no number, whole numbers have 64 bits and divide towards zero, text and lists of
different types are not added, and values of different types are never equal.
"""

import math
import operator as operators
import re
from collections.abc import Callable
from typing import Any

from recordings.cel.patterns import PatternError, check_pattern

STEPS = 1_000_000
"""The budget of one evaluation: a step is a node evaluated, an element compared or a character joined."""

_INT_MIN, _INT_MAX = -(1 << 63), (1 << 63) - 1


class EvaluationError(Exception):
    """An expression has no value here; the text says why."""


class AbsentError(EvaluationError):
    """A map has no such key: the text is the key."""


class BudgetError(Exception):
    """The evaluation would cost more than its budget; no operator absorbs this."""


class Meter:
    """The remaining budget of an evaluation."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS) -> None:
        self.left = steps

    def charge(self, steps: int) -> None:
        """Take steps from the budget. Raises BudgetError."""
        self.left -= steps
        if self.left < 0:
            raise BudgetError


def kind_of(value: object) -> str:
    """CEL's name of a value's type."""
    if isinstance(value, bool):
        return "bool"
    for cls, kind in ((int, "int"), (float, "double"), (str, "string"), (list | tuple, "list"), (dict, "map")):
        if isinstance(value, cls):
            return kind
    return "null"


def misfit(operator: str, *values: object) -> EvaluationError:
    """The error for values that an operator or function does not take."""
    kinds = ", ".join(kind_of(value) for value in values)
    return EvaluationError(f"incompatible types: {operator} of {kinds}")


# --- operators ----------------------------------------------------------------------------------------------------


def equal(left: Any, right: Any, meter: Meter) -> bool:  # noqa: ANN401 - values of any type
    """Whether two values are equal. Charges for every element compared."""
    pairs = [(left, right)]  # not by recursion: macros can nest lists deeper than the stack
    while pairs:
        left, right = pairs.pop()
        kind, other = kind_of(left), kind_of(right)
        if kind == other == "list":
            meter.charge(1 + min(len(left), len(right)))
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif kind == other == "map":
            meter.charge(1 + len(left))
            if left.keys() != right.keys():
                return False
            pairs.extend((left[key], right[key]) for key in left)
        else:
            meter.charge(1 + len(left) // 64 if kind == "string" else 1)
            if left != right or (kind != other and {kind, other} != {"int", "double"}):
                return False
    return True


def contains(needle: Any, hay: Any, meter: Meter) -> bool:  # noqa: ANN401
    """`needle in hay`: an element of a list, or a key of a map."""
    if isinstance(hay, list | tuple):
        meter.charge(len(hay))
        return any(equal(needle, each, meter) for each in hay)
    if isinstance(hay, dict):
        return is_key(needle) and needle in hay
    raise misfit("in", needle, hay)


def is_key(value: object) -> bool:
    """Whether a value can be a key of a map."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def compare(operator: str, left: Any, right: Any, meter: Meter) -> bool:  # noqa: ANN401
    """`<`, `<=`, `>` and `>=` of two numbers, texts or bools."""
    kinds = {kind_of(left), kind_of(right)}
    if not (kinds <= {"int", "double"} or kinds in ({"string"}, {"bool"})):
        raise misfit(operator, left, right)
    if kinds == {"string"}:
        meter.charge(min(len(left), len(right)) // 64)
    match operator:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def add(left: Any, right: Any, meter: Meter) -> Any:  # noqa: ANN401
    """`+` of two numbers, two texts or two lists. Charges for the length of the result."""
    kinds = kind_of(left), kind_of(right)
    if kinds == ("string", "string"):
        meter.charge(len(left) + len(right))
        return left + right
    if kinds == ("list", "list"):
        meter.charge(len(left) + len(right))
        return [*left, *right]
    return arithmetic("+", left, right)


_UNDIVIDED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
}


def arithmetic(operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
    """`+ - * / %` of two whole numbers, or all but `%` of two decimal ones."""
    kinds = kind_of(left), kind_of(right)
    if kinds == ("int", "int"):
        return fits(_whole(operator, left, right))
    if kinds != ("double", "double") or operator == "%":
        raise misfit(operator, left, right)
    if operator in _UNDIVIDED:
        return _UNDIVIDED[operator](left, right)
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _whole(operator: str, left: int, right: int) -> int:
    if operator in _UNDIVIDED:
        made: int = _UNDIVIDED[operator](left, right)
        return made
    if right == 0:
        raise EvaluationError("it divides by zero")
    quotient = abs(left) // abs(right)
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    return quotient if operator == "/" else left - quotient * right


def fits(number: int) -> int:
    """A whole number, if it has no more than 64 bits."""
    if not _INT_MIN <= number <= _INT_MAX:
        raise EvaluationError("a whole number grows beyond 64 bits")
    return number


def negative(value: Any) -> Any:  # noqa: ANN401
    """`-value`."""
    if kind_of(value) not in ("int", "double"):
        raise misfit("-", value)
    return fits(-value) if isinstance(value, int) else -value


def item(of: Any, key: Any) -> Any:  # noqa: ANN401
    """`of[key]`."""
    if isinstance(of, dict) and is_key(key):
        if key not in of:
            raise AbsentError(str(key))
        return of[key]
    if isinstance(of, list | tuple) and kind_of(key) == "int":
        if not 0 <= key < len(of):
            raise EvaluationError(f"a list of {len(of)} has no element {key}")
        return of[key]
    raise misfit("[ ]", of, key)


def field(of: Any, name: str) -> Any:  # noqa: ANN401
    """`of.name`."""
    if not isinstance(of, dict):
        raise misfit(f".{name}", of)
    if name not in of:
        raise AbsentError(name)
    return of[name]


# --- functions ----------------------------------------------------------------------------------------------------


def size(value: Any, meter: Meter) -> int:  # noqa: ANN401
    """How many characters, elements or keys."""
    del meter
    if kind_of(value) not in ("string", "list", "map"):
        raise misfit("size", value)
    return len(value)


def to_int(value: Any, meter: Meter) -> int:  # noqa: ANN401
    """A whole number: of a decimal one without its decimals, of a text as it is written."""
    del meter
    kind = kind_of(value)
    if kind == "int" or (kind == "double" and math.isfinite(value)):
        return fits(int(value))
    if kind == "string" and re.fullmatch(r"[+-]?[0-9]{1,19}", value):
        return fits(int(value))
    if kind in ("double", "string"):
        raise EvaluationError(f"int: {str(value)[:40]!r} is not a whole number")
    raise misfit("int", value)


def to_double(value: Any, meter: Meter) -> float:  # noqa: ANN401
    """A decimal number."""
    del meter
    kind = kind_of(value)
    if kind in ("int", "double"):
        return float(value)
    if kind == "string" and re.fullmatch(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?", value):
        return float(value)
    if kind == "string":
        raise EvaluationError(f"double: {value[:40]!r} is not a number")
    raise misfit("double", value)


def to_string(value: Any, meter: Meter) -> str:  # noqa: ANN401
    """A text: of a number as it is written, of a bool `true` or `false`."""
    del meter
    kind = kind_of(value)
    if kind == "string":
        return str(value)
    if kind == "bool":
        return str(value).lower()
    if kind == "double" and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if kind in ("int", "double"):
        return str(value)
    raise misfit("string", value)


def anything(value: Any, meter: Meter) -> Any:  # noqa: ANN401
    """`dyn`: the value itself."""
    del meter
    return value


def _of_two_texts(name: str, test: Callable[[str, str], bool]) -> Callable[[Any, Any, Meter], bool]:
    def function(text: Any, other: Any, meter: Meter) -> bool:  # noqa: ANN401
        if not (isinstance(text, str) and isinstance(other, str)):
            raise misfit(name, text, other)
        meter.charge(len(text) // 64)
        return test(text, other)

    return function


def matches(text: Any, pattern: Any, meter: Meter) -> bool:  # noqa: ANN401
    """Whether a regular expression is found in a text. Charges for its worst case."""
    if not (isinstance(text, str) and isinstance(pattern, str)):
        raise misfit("matches", text, pattern)
    try:
        compiled, repetitions = check_pattern(pattern)
    except PatternError as error:
        raise EvaluationError(f"matches: {error}") from None
    meter.charge(1 + len(pattern) * (1 + len(text)) ** (1 + repetitions) // 32)
    return compiled.search(text) is not None


FUNCTIONS: dict[str, tuple[int, str, Callable[..., Any]]] = {
    "size": (1, "int", size),
    "int": (1, "int", to_int),
    "double": (1, "double", to_double),
    "string": (1, "string", to_string),
    "dyn": (1, "any", anything),
    "contains": (2, "bool", _of_two_texts("contains", lambda text, other: other in text)),
    "startsWith": (2, "bool", _of_two_texts("startsWith", str.startswith)),
    "endsWith": (2, "bool", _of_two_texts("endsWith", str.endswith)),
    "matches": (2, "bool", matches),
}
"""Every function: its number of arguments (the target included), the type of its value, and its implementation."""
