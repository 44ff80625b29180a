"""Questions about the view document, written in CEL: parsed once, asked many times.

CEL's own library parses and evaluates. What it does not tell is which paths of the document an expression names: they
are read from the words of the text, so that only they are handed over (converting a whole document costs far more than
asking), so that a name that cannot exist is found before the flight, and so that an answer can say what was there.
"""

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from cluster.words import nearest
from recordings.document_shape import SHAPE, Possible, impossible, written, zeros

if TYPE_CHECKING:
    from cel import Program

_TOKEN = re.compile(
    r"(?P<text>[rRbB]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'))"
    r"|(?P<comment>//[^\n]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9][A-Za-z0-9.]*)|(?P<mark>[^\sA-Za-z0-9_])",
    re.DOTALL,
)
_MACROS = ("all", "exists", "exists_one", "map", "filter")
_WORDS = ("true", "false", "null", "in")
_CEL_ERROR = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?(.*)")
_SHOWN_CHARACTERS = 160

Path = tuple[str, ...]


class PredicateError(ValueError):
    """An expression that cannot be asked: the `reason`, and the nearest right words if there are any."""

    def __init__(self, reason: str, suggestion: str | None = None) -> None:
        self.reason, self.suggestion = reason, suggestion
        super().__init__(f"{reason} (did you mean {suggestion}?)" if suggestion else reason)


class Answer(msgspec.Struct, frozen=True):
    """What an expression found: whether it holds, and the values of what it names, in words."""

    holds: bool
    found: str


class Predicate:
    """A CEL expression over the view document that is true or false.

    `needs`: the roots of the document that it names. Raises PredicateError for what is no CEL and for unknown roots
    and fields; names of groups, members and so on are checked by `trouble_in`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._program = _compiled(text)
        self.paths = _paths_of(text)
        for path in self.paths:
            trouble = impossible(path, None)
            if trouble is not None:
                raise PredicateError(*trouble)
        self.needs = frozenset(path[0] for path in self.paths)
        self._wanted = _tree(self.paths)

    def ask(self, document: Mapping[str, Any]) -> Answer:
        """Whether it holds in this document. An absent key makes it false, and `found` names the key."""
        try:
            value = self._program.execute(_pick(document, self._wanted))
        except (KeyError, IndexError) as error:
            reason = f"{error.args[0]} is absent" if isinstance(error, KeyError) else str(error)
            return Answer(holds=False, found=self._found(document, only_absent=True) or reason)
        except (TypeError, RuntimeError, ValueError, ArithmeticError) as error:
            return Answer(holds=False, found="; ".join(filter(None, (_reason(error), self._found(document)))))
        if not isinstance(value, bool):
            return Answer(holds=False, found=f"it is {_shown(value)}, neither true nor false")
        return Answer(holds=value, found=self._found(document))

    def holds(self, document: Mapping[str, Any]) -> bool:
        """Whether it holds in this document."""
        return self.ask(document).holds

    def trouble_in(self, possible: Possible) -> list[tuple[str, str | None]]:
        """What is wrong with it in one scenario (impossible names, wrong types), each with a suggestion or None."""
        troubles = [trouble for path in self.paths if (trouble := impossible(path, possible)) is not None]
        if troubles:
            return list(dict.fromkeys(troubles))
        try:
            value = self._program.execute(_pick(zeros(possible, self.needs), self._wanted))
        except (TypeError, RuntimeError) as error:
            return [(_reason(error), None)]
        except (KeyError, IndexError, ValueError, ArithmeticError):
            return []  # nothing to see in zeros: it may be there in flight
        return [] if isinstance(value, bool) else [(f"it is {_shown(value)}, neither true nor false", None)]

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


def _compiled(text: str) -> "Program":
    from cel import compile as compile_cel  # noqa: PLC0415 - with it comes its command line, a tenth of a second

    try:
        return compile_cel(text)
    except ValueError as error:
        match = _CEL_ERROR.search(str(error))
        if match is None:
            raise PredicateError(str(error).partition("\n")[0]) from None
        reason = match[3].partition(" expecting {")[0]
        suggestion = "==" if re.search(r"token recognition error at: '= ?", reason) else None
        reason = reason.replace("mismatched input '<EOF>'", "the expression ends too early")
        raise PredicateError(f"column {match[2]}: {reason}", suggestion) from None


def _paths_of(text: str) -> tuple[Path, ...]:
    """Every path of the document that an expression names, as far as it is written out, each once and in order."""
    tokens = [
        (match.lastgroup or "", match[0]) for match in _TOKEN.finditer(text) if match.lastgroup not in ("comment", None)
    ]
    tokens += [("end", "")] * 4
    bound = [
        tokens[place + 2][1]
        for place, (kind, word) in enumerate(tokens)
        if kind == "name" and word in _MACROS and tokens[place + 1][1] == "(" and tokens[place + 3][1] == ","
    ]
    paths: list[Path] = []
    for place, (kind, word) in enumerate(tokens):
        selects = place > 0 and tokens[place - 1][1] == "."
        if kind != "name" or selects or word in _WORDS or word in bound or tokens[place + 1][1] == "(":
            continue
        if word not in SHAPE:
            raise _unknown_root(text, word)
        paths.append((word, *_selectors(tokens, place + 1)))
    return tuple(dict.fromkeys(paths))


def _unknown_root(text: str, word: str) -> PredicateError:
    """An unknown root; often it is the end of a name with a dash, which CEL reads as a subtraction."""
    dashed = re.search(rf"(\w+)\.(\w+(?:-\w+)*-{word})\b", text)
    if dashed is not None:
        reason = f"{dashed[2]} is a subtraction; a name with a dash is written in brackets"
        return PredicateError(reason, f'{dashed[1]}["{dashed[2]}"]')
    return PredicateError(f"the view document has no {word}", nearest(word, SHAPE))


def _selectors(tokens: list[tuple[str, str]], place: int) -> list[str]:
    keys = []
    while True:
        mark, (kind, word), after = tokens[place][1], tokens[place + 1], tokens[place + 2][1]
        if mark == "." and kind == "name" and after != "(":
            keys.append(word)
            place += 2
        elif mark == "[" and kind == "text" and after == "]":
            keys.append(str(ast.literal_eval(word)))
            place += 3
        else:
            return keys


Wanted = dict[str, "Wanted | None"]


def _tree(paths: tuple[Path, ...]) -> Wanted:
    """The paths as a tree; None: everything below."""
    tree: Wanted = {}
    for path in paths:
        node = tree
        for key in path[:-1]:
            child = node.setdefault(key, {})
            if child is None:
                break
            node = child
        else:
            node[path[-1]] = None
    return tree


def _pick(document: Any, wanted: Wanted | None) -> Any:  # noqa: ANN401 - nested plain data
    if wanted is None or not isinstance(document, Mapping):
        return document
    return {key: _pick(document[key], below) for key, below in wanted.items() if key in document}


def _reason(error: Exception) -> str:
    """What the library says, without its advice."""
    text = str(error).partition(". ")[0]
    return "its types do not fit together" if text.startswith("No such overload") else text.removesuffix(".")


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
