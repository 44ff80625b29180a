"""Expressions on the view document, written in CEL: parsed once, evaluated often.

`recordings.cel` parses, checks and evaluates, within a budget. Here are the paths of the document that an expression
names: only those are built, an impossible name is found before the flight, and an answer can name the values found.
Nothing is evaluated before the flight.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from cluster.config import LONGEST_WORD, brief, nearest
from recordings.cel.evaluation import Program
from recordings.cel.nodes import Macro, Node, children
from recordings.cel.reading import ExpressionError, read
from recordings.cel.types import NOUNS, MisfitError, Type, path_of, type_of
from recordings.cel.values import STEPS, AbsentError, BudgetError, EvaluationError, kind_of
from recordings.scenarios.document_schema import SHAPE, ByName, KnownNames, path_error, written

_SHOWN_CHARACTERS = 160

Path = tuple[str, ...]


class PredicateError(ValueError):
    """An expression that cannot be evaluated: the `reason`, and a suggestion if there is one."""

    def __init__(self, reason: str, suggestion: str | None = None) -> None:
        reason = brief(reason)
        suggestion = suggestion if suggestion is None or len(suggestion) <= LONGEST_WORD else None
        self.reason, self.suggestion = reason, suggestion
        super().__init__(f"{reason} (did you mean {suggestion}?)" if suggestion else reason)


class Answer(msgspec.Struct, frozen=True):
    """The answer of an expression: whether it holds, and the values of the paths that it names, in words.

    `over_budget`: the evaluation would have taken more steps than it may.
    """

    holds: bool
    found: str
    over_budget: bool = False


class Predicate:
    """A CEL expression over the view document that is true or false.

    `needs`: the roots of the document that it names. Raises PredicateError for a text that is not CEL and for unknown
    roots and fields; `errors_in` checks names of groups, members and so on, and types.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            node = read(text)
            self.paths = tuple(dict.fromkeys(_paths_of(node, text, frozenset())))
            for path in self.paths:
                error = path_error(path, None)
                if error is not None:
                    raise PredicateError(*error)
        except ExpressionError as error:
            raise PredicateError(error.reason, error.suggestion) from None
        self._node, self._program = node, Program(node)
        self.needs = frozenset(path[0] for path in self.paths)

    def ask(self, document: Mapping[str, Any]) -> Answer:
        """Whether it holds in this document. An absent key makes it false, and `found` names the key.

        So does an evaluation that would take more than the budget.
        """
        try:
            value = self._program.run(document)
        except AbsentError as error:
            return Answer(holds=False, found=self._found(document, only_absent=True) or f"{error} is absent")
        except EvaluationError as error:
            return Answer(holds=False, found="; ".join(filter(None, (str(error), self._found(document)))))
        except BudgetError:
            return Answer(holds=False, found=f"not evaluated: it takes more than {STEPS:,} steps", over_budget=True)
        if not isinstance(value, bool):
            return Answer(holds=False, found=f"not a condition: it is {NOUNS[kind_of(value)]}")
        return Answer(holds=value, found=self._found(document))

    def holds(self, document: Mapping[str, Any]) -> bool:
        """Whether it holds in this document."""
        return self.ask(document).holds

    def errors_in(self, known_names: KnownNames) -> list[tuple[str, str | None]]:
        """The errors of the expression in one scenario (impossible names, wrong types), with suggestions or None."""
        errors = [error for path in self.paths if (error := path_error(path, known_names)) is not None]
        if errors:
            return list(dict.fromkeys(errors))
        try:
            kind = type_of(self._node, _type_at)
        except MisfitError as error:
            return [(str(error), None)]
        return [] if kind in ("bool", "any") else [(f"not a condition: it is {NOUNS[kind]}", None)]

    def _found(self, document: Mapping[str, Any], *, only_absent: bool = False) -> str:
        values = []
        for path in self.paths:
            value: Any = document
            for place, key in enumerate(path):
                if not isinstance(value, Mapping) or key not in value:
                    values.append(f"{written(path[: place + 1])} is absent")
                    break
                value = value[key]
            else:
                if not only_absent:
                    values.append(f"{written(path)} = {_shown(value)}")
        return ", ".join(dict.fromkeys(values))


def _paths_of(node: Node, text: str, bound: frozenset[str]) -> list[Path]:
    """Every path of the document that an expression writes out, in the order of the text."""
    path = path_of(node, dict.fromkeys(bound))
    if path is not None:
        if path[0] not in SHAPE:
            raise _unknown_root(text, path)
        return [path]
    if isinstance(node, Macro):
        inner = bound | {node.variable}
        below = [node.body] if node.where is None else [node.where, node.body]
        return _paths_of(node.of, text, bound) + [path for each in below for path in _paths_of(each, text, inner)]
    return [path for each in children(node) for path in _paths_of(each, text, bound)]


def _type_at(path: Path) -> Type:
    """The type of the value at a path that exists in the document's shape."""
    node: Any = SHAPE
    for key in path:
        node = node.node if isinstance(node, ByName) else node[key]
    return "map" if isinstance(node, ByName) else kind_of(node)


def _unknown_root(text: str, path: Path) -> PredicateError:
    """An unknown root; often the end of a name with a dash, which CEL reads as a subtraction, or unquoted text."""
    word = path[0]
    dashed = re.search(rf"(\w+)\.(\w+(?:-\w+)*-{word})\b", text)
    if dashed is not None:
        reason = f"{dashed[2]} is a subtraction; a name with a dash is written in brackets"
        return PredicateError(reason, f'{dashed[1]}["{dashed[2]}"]')
    near = nearest(word, SHAPE) or (f"'{word}'" if path == (word,) else None)
    return PredicateError(f"the view document has no {word}", near)


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
