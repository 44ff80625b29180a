"""YAML as Spring and Quarkus read it, flattened to dotted paths with the line of each value.

It is read event by event and not loaded: no object is built, an alias is followed within a budget, and a file cannot
make the reader recurse.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import yaml

from recordings.lint.reading.lint_input import LintInputError

MOST_VALUES: Final = 20_000
MOST_DOCUMENTS: Final = 500
MOST_LEVELS: Final = 60
MERGE: Final = "<<"
LETTERS_OF_A_VALUE: Final = 100
"""Longer texts of a list count as several values: aliases could join one text many times."""

_TRUE: Final = frozenset({"yes", "on"})
_FALSE: Final = frozenset({"no", "off"})
_UNDERSCORED: Final = re.compile(r"[-+]?[0-9][0-9_]*")

_TEMPLATE: Final = re.compile(r"^\s*\{\{-? ?(?:if|range|with|end|include|define|else|/\*)", re.MULTILINE)
_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line of YAML."""
_UNQUOTED: Final = re.compile(r"^([^\n#\"'{]*[:-] +)(\{\{[^\n]*)", re.MULTILINE)
_REASONS: Final = {
    "mapping values are not allowed": "a second `:` in the line, or a line above it is indented otherwise",
    "expected <block end>": "it is indented otherwise than the lines above",
    "could not find expected ':'": "a `:` is missing above it",
    "quoted scalar": "a quote has no end, or a wrong escape",
    "flow ": "a bracket or brace has no end",
}
"""By what the parser says."""

Path = tuple[str, ...]
YamlEntry = tuple[Path, str, int]


class YamlValue:
    """A scalar, or a list or mapping while it is being composed; `items` are its entries in order."""

    __slots__ = ("items", "kind", "line", "text")

    def __init__(self, kind: str, line: int, text: str = "") -> None:
        self.kind, self.line, self.text = kind, line, text
        self.items: list[tuple[YamlValue | None, YamlValue]] = []


def read_yaml(text: str, file: str) -> list[list[YamlEntry]]:
    """The documents of a file, each as (path, text, line) of its scalars in order. Raises LintInputError."""
    try:
        documents = list(islice(_documents(_with_scalars(text), file), MOST_DOCUMENTS + 1))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise LintInputError(file, line, f"it is not YAML{_why(error, text, line)}") from None
    except yaml.YAMLError:
        raise LintInputError(file, 0, "it is not YAML") from None
    except (ValueError, IndexError, RecursionError):  # PyYAML's own, for numbers and marks out of range
        raise LintInputError(file, 0, "it is not YAML") from None
    if len(documents) > MOST_DOCUMENTS:
        raise LintInputError(file, documents[-1].line, f"it has more than {MOST_DOCUMENTS} documents")
    budget = [MOST_VALUES]
    return [list(_flat(document, (), budget, file, 0)) for document in documents]


def _with_scalars(text: str) -> str:
    """A text of which no value begins with an unquoted `{{ … }}` of a template: YAML would read it as two mappings."""
    return _UNQUOTED.sub(lambda line: line[1] + line[2].replace("{{", "$(").replace("}}", ")"), text)


def _why(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    """The parser's reason in words that quote nothing of the file; empty where it has none that helps."""
    if _TEMPLATE.search(text) is not None:
        return ", but a template: lint what it renders, e.g. with `helm template`"
    said = f"{error.context} {error.problem}"
    (at,) = _BREAK.split(text)[line - 1 : line] or [""]
    if "\t" in at.partition(":")[0] and "any token" in said:
        return ": a tab indents the line"
    return next((f": {words}" for part, words in _REASONS.items() if part in said), "")


def _documents(text: str, file: str) -> Iterator[YamlValue]:
    """Compose each document from the parser's events."""
    composer = _Composer(file)
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark is not None else 0
        done = composer.take(event, line)
        if done is not None:
            yield done


class _Composer:
    """The collections that are open, and the anchors of the document."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[YamlValue] = []
        self._keys: list[YamlValue | None] = []  # of each open mapping: the key whose value comes next
        self._lines: list[dict[str, int]] = []  # of each open mapping: the lines of its keys so far
        self._anchors: dict[str, YamlValue] = {}
        self._values = 0  # so far: a huge file is refused where it has too many, not at its end

    def take(self, event: yaml.Event, line: int) -> YamlValue | None:
        """Take the next event; returns the document's value when it is whole. Raises LintInputError."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors = {}
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin("list" if isinstance(event, yaml.SequenceStartEvent) else "map", event.anchor, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._keys.pop()
            self._lines.pop()
            return self._put(self._open.pop())
        elif isinstance(event, yaml.ScalarEvent):
            return self._put(self._named(YamlValue("scalar", line, _as_spring_reads(event)), event.anchor))
        elif isinstance(event, yaml.AliasEvent):
            aliased = self._anchors.get(event.anchor or "")
            if aliased is None:
                raise LintInputError(self._file, line, "an alias has no anchor")
            return self._put(aliased)
        return None

    def _begin(self, kind: str, anchor: str | None, line: int) -> None:
        self._open.append(self._named(YamlValue(kind, line), anchor))
        self._keys.append(None)
        self._lines.append({})
        if len(self._open) > MOST_LEVELS:
            raise LintInputError(self._file, line, f"it has more than {MOST_LEVELS} levels")

    def _named(self, value: YamlValue, anchor: str | None) -> YamlValue:
        if anchor:
            self._anchors[anchor] = value
        return value

    def _put(self, value: YamlValue) -> YamlValue | None:
        """Put a whole value where it belongs: into the list or mapping around it; else it is the document."""
        if not self._open:
            return value
        self._values += self._open[-1].kind == "list" or self._keys[-1] is not None
        if self._values > 2 * MOST_VALUES:  # what is merged or is a key counts here, and does not later
            raise LintInputError(self._file, value.line, f"it has more than {MOST_VALUES:,} values")
        if self._open[-1].kind == "list":
            self._open[-1].items.append((None, value))
        elif self._keys[-1] is None:
            self._keys[-1] = value
            self._refuse_second(value)
        else:
            self._open[-1].items.append((self._keys[-1], value))
            self._keys[-1] = None
        return None

    def _refuse_second(self, key: YamlValue) -> None:
        """A key that a mapping has twice: one of its values would count for nothing, and nothing would say so."""
        if key.kind != "scalar" or key.text == MERGE:
            return
        first = self._lines[-1].get(key.text)
        self._lines[-1][key.text] = key.line
        if first is not None:
            reason = f"line {first} has this key already: keys of YAML are unique, and Spring does not start"
            raise LintInputError(self._file, key.line, reason)


def _as_spring_reads(event: yaml.ScalarEvent) -> str:
    """A scalar's text; a plain `yes` is true, and a plain `300_000` a number, as YAML 1.1 has them."""
    text = str(event.value)
    if event.style is None:
        if text.lower() in _TRUE | _FALSE:
            return "true" if text.lower() in _TRUE else "false"
        if "_" in text and _UNDERSCORED.fullmatch(text):
            return text.replace("_", "")
    return text


def _flat(value: YamlValue, path: Path, budget: list[int], file: str, level: int) -> Iterator[YamlEntry]:
    budget[0] -= 1
    _within(budget, value, file)
    if level > MOST_LEVELS:
        raise LintInputError(file, value.line, f"it has more than {MOST_LEVELS} levels, or an alias within itself")
    if value.kind == "scalar":
        yield path, value.text, value.line
        return
    if value.kind == "list":
        if all(item.kind == "scalar" for _, item in value.items):
            budget[0] -= sum(1 + len(item.text) // LETTERS_OF_A_VALUE for _, item in value.items)
            _within(budget, value, file)
            yield path, ",".join(item.text for _, item in value.items), value.line
            return
        for place, (_, item) in enumerate(value.items):
            yield from _flat(item, (*path, f"[{place}]"), budget, file, level + 1)
        return
    for key, item in _merged(value, file):
        name = key.text if key.kind == "scalar" else ""
        yield from _flat(item, (*path, name), budget, file, level + 1)


def _within(budget: list[int], value: YamlValue, file: str) -> None:
    if budget[0] < 0:
        raise LintInputError(file, value.line, f"it has more than {MOST_VALUES:,} values, aliases followed")


def _merged(value: YamlValue, file: str) -> Iterator[tuple[YamlValue, YamlValue]]:
    """The entries of a mapping, those of `<<` first: the mapping's own come later and win."""
    own = []
    for key, item in value.items:
        if key is None:
            continue
        if key.kind == "scalar" and key.text == MERGE:
            merged = [part for _, part in item.items] if item.kind == "list" else [item]
            for part in merged:
                if part is value:
                    raise LintInputError(file, key.line, "an alias within itself")
                yield from ((name, each) for name, each in part.items if name is not None)
        else:
            own.append((key, item))
    yield from own
