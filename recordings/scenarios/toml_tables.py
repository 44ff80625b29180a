"""Read a TOML table key by key, and collect all its errors instead of stopping at the first.

A reader is a function from a TOML value to the wanted value; it raises ReadError, or any ValueError with a reason.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from cluster.config import (
    LONG_MAX,
    ConfigError,
    Scope,
    Value,
    coerce,
    nearest,
    other_names,
    parse_duration,
    parse_rate,
    parse_size,
    scopes_of,
    skipped,
    without_effect,
    written,
)
from recordings.scenarios.toml_lines import Place

T = TypeVar("T")

Scalar = str | int | float | bool
"""A single value, as TOML gives it."""


class ReadError(ValueError):
    """A value that cannot be read: the reason, and a suggestion if there is one."""

    def __init__(self, reason: str, suggestion: str | None = None) -> None:
        super().__init__(reason)
        self.suggestion = suggestion


MOST_PROBLEMS = 50
"""Errors that are reported of one file."""

MOST_SHOWN = 80
"""Characters of a value that an error shows."""


class TooManyProblemsError(Exception):
    """A file has more errors than are reported."""


class Problem(msgspec.Struct, frozen=True):
    """An error at a place of the file: the reason, and a suggestion if there is one; a note refuses nothing."""

    place: Place
    reason: str
    suggestion: str | None = None
    is_note: bool = False


class TomlTable:
    """A TOML table that keeps the keys that were read; `close()` reports the others as unknown."""

    def __init__(
        self, data: Mapping[str, Any], place: Place, problems: list[Problem], around: "TomlTable | None" = None
    ) -> None:
        self.data, self.place, self.problems, self.around = data, place, problems, around
        self.known: list[str] = []
        self._names_of_tables: set[str] = set()
        self._tables: list[TomlTable] = []
        self._configs: list[tuple[str, Scope]] = []

    def wrong(self, key: str, reason: str, suggestion: str | None = None) -> None:
        """Add an error at a key, or at the table itself when the key is absent."""
        place = (*self.place, key) if key in self.data else self.place
        self.note(Problem(place, reason, suggestion))

    def note(self, problem: Problem) -> None:
        """Add an error or a note. Raises TooManyProblemsError when there are enough errors."""
        self.problems.append(problem)
        if not problem.is_note and sum(not each.is_note for each in self.problems) >= MOST_PROBLEMS:
            raise TooManyProblemsError

    def has(self, key: str) -> bool:
        """Whether the file has this key."""
        return key in self.data

    def take(self, key: str, read: Callable[[Any], T], default: T, *, required: bool = False) -> T:
        """The value at a key, read; the default when it is absent or wrong (which adds an error)."""
        self.known.append(key)
        if key not in self.data:
            if required:
                self.wrong(key, f"{key} is missing")
            return default
        try:
            return read(self.data[key])
        except ReadError as error:
            self.unreadable(key, f"{key}: {error}", error.suggestion)
        except ValueError as error:
            self.unreadable(key, f"{key}: {error}")
        return default

    def unreadable(self, key: str, reason: str, suggestion: str | None = None) -> None:
        """Add an error of a value that is wrong whatever stands beside it."""
        self.note(Problem((*self.place, key), reason, suggestion))

    def table(self, key: str) -> "TomlTable":
        """The table at a key; an empty one when it is absent or not a table."""
        self._names_of_tables.add(key)
        found = type(self)(self.take(key, mapping, {}), (*self.place, key), self.problems, self)
        self._tables.append(found)
        return found

    def tables(self, key: str) -> list["TomlTable"]:
        """The tables of an array at a key (`[[topic]]`)."""
        self.known.append(key)
        self._names_of_tables.add(key)
        found = self.data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.unreadable(key, f"{key} is written as [[{key}]]" if "." not in key else f"{key} is a list of tables")
            return []
        tables = [type(self)(each, (*self.place, key, index), self.problems, self) for index, each in enumerate(found)]
        self._tables += tables
        return tables

    def config(self, scope: Scope, key: str = "config") -> dict[str, Value]:
        """The `config` table, or that at another key: Kafka's keys, quoted or not, in their own types and units."""
        self.known.append(key)
        self._names_of_tables.add(key)
        self._configs.append((key, scope))
        found = self.data.get(key, {})
        if not isinstance(found, dict):
            self.unreadable(key, f"{key}: {shown(found)} is not a table")
            return {}
        values: dict[str, Value] = {}
        for place, name, raw in flat_config(found, (*self.place, key)):
            reason = without_effect(scope, name)
            if reason is not None:
                self.note(Problem(place, f"{name} has no effect: {reason}", is_note=True))
            if skipped(scope, name, raw):
                continue
            try:
                values[name] = coerce(scope, name, raw)
            except ConfigError as error:
                self.note(Problem(place, error.reason, error.suggestion))
        return values

    def close(self) -> None:
        """Report every key that was not read; for one of another table in this one or around it, where it belongs."""
        known = set(self.known)
        for key in self.data:
            if key in known:
                continue
            near = nearest(key, self.known)
            if near in self._names_of_tables and _is_table(self.data[key]):  # [[topics]] is a misspelt [[topic]]
                self.wrong(key, f"unknown key {cut(key)}", near)
            elif tables := dict.fromkeys([*self._tables_of(key, self.data[key]), *self._around_of(key)]):
                self.wrong(key, f"{key} belongs {' or '.join(tables)}")
            elif configs := [*self._configs_of(key)]:
                [name, *_] = self._names_of(key)
                self.wrong(key, f"{name} belongs in {' or '.join(configs)}")
            else:
                self.wrong(key, f"unknown key {cut(key)}", near)

    def _tables_of(self, key: str, value: object) -> Iterator[str]:
        """Where the tables in this one, however deep, have a key with such a value: `in [group.application]`."""
        for table in self._tables:
            if table._has_place_for(key, value):
                yield f"in {table.header()}"
            yield from table._tables_of(key, value)

    def _around_of(self, key: str) -> Iterator[str]:
        """Where the tables around this one have a key of this one: `at the top of the file`."""
        table = self.around
        while table is not None:
            if table._has_place_for(key, self.data[key]):
                yield f"in {table.header()}" if table.place else "at the top of the file"
            table = table.around

    def _has_place_for(self, key: str, value: object) -> bool:
        """Whether this table has the key, and not that of tables for a single value."""
        return key in self.known and (key not in self._names_of_tables or _is_table(value))

    def _configs_of(self, key: str) -> Iterator[str]:
        """The tables of Kafka's keys that have this one: `[producer.config]`."""
        names = self._names_of(key)
        for config, scope in self._configs:
            if names and all(scope in scopes_of(name) or name in other_names(scope) for name in names):
                yield self.header(config)

    def _names_of(self, key: str) -> list[str]:
        """A key as one of Kafka's, or those that begin with it: unquoted dots make tables."""
        return [name for _, name, _ in flat_config({key: self.data[key]}, ())]

    def header(self, *keys: str) -> str:
        """How the file begins this table, or one in it: `[group.application]`."""
        name = ".".join(part for part in (*self.place, *keys) if isinstance(part, str))
        return f"[[{name}]]" if not keys and isinstance(self.place[-1], int) else f"[{name}]"


class ValuesAlone(TomlTable):
    """A table of which only unreadable values are errors, not what is missing, unknown, or does not fit together."""

    def wrong(self, key: str, reason: str, suggestion: str | None = None) -> None:
        """Leave the error to the whole of which this is a part."""


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value))


def flat_config(table: Mapping[str, Any], place: Place, prefix: str = "") -> list[tuple[Place, str, object]]:
    """Kafka's keys hold dots, and unquoted TOML makes tables of them: `a.b = 1` is the key `a.b` all the same."""
    flat: list[tuple[Place, str, object]] = []
    for key, value in table.items():
        here = (*place, key)
        flat += (
            flat_config(value, here, f"{prefix}{key}.") if isinstance(value, dict) else [(here, prefix + key, value)]
        )
    return flat


def shown(value: object) -> str:
    """A TOML value as it is written in a file, if it is not too long."""
    return str(value).lower() if isinstance(value, bool) else cut(repr(value))


def cut(text: str) -> str:
    """A text as an error shows it: the beginning of a long one."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def text(value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ReadError(f"{shown(value)} is not text")
    return value


def filled_text(value: object) -> str:
    """A non-empty string without blanks around it."""
    written = text(value).strip()
    if not written:
        raise ReadError("it is empty")
    return written


def flag(value: object) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        raise ReadError(f"{shown(value)} is not true or false")
    return value


def mapping(value: object) -> Mapping[str, Any]:
    """A table."""
    if not isinstance(value, dict):
        raise ReadError(f"{shown(value)} is not a table")
    return value


def whole(low: int, high: int = LONG_MAX) -> Callable[[object], int]:
    """A whole number within bounds."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ReadError(f"{shown(value)} is not a whole number")
        if value < low:
            raise ReadError(f"{shown(value)} is below {low}")
        if value > high:
            raise ReadError(f"{shown(value)} is above {high}")
        return value

    read.__doc__ = f"a whole number from {low:,}" + (f" to {high:,}" if high < LONG_MAX else "")
    return read


def number(low: float, high: float) -> Callable[[object], float]:
    """A number within bounds."""

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ReadError(f"{shown(value)} is not a number")
        if not value >= low:
            raise ReadError(f"{shown(value)} is below {low:g}")
        if not value <= high:
            raise ReadError(f"{shown(value)} is above {high:g}")
        return float(value)

    read.__doc__ = f"a number from {low:g} to {high:g}"
    return read


def duration(value: object) -> int:
    """A duration in µs."""
    return parse_duration(written(value, "duration"))


def positive_duration(value: object) -> int:
    """A duration above 0, in µs."""
    read = duration(value)
    if read <= 0:
        raise ReadError("it is above 0")
    return read


def size(value: object) -> int:
    """A size in bytes: a number of them, or text with a unit."""
    return whole(0)(value) if type(value) is int else parse_size(written(value, "size"))


def rate(value: object) -> float:
    """A rate in records a second."""
    return parse_rate(written(value, "rate"))


def positive_rate(value: object) -> float:
    """A rate above 0, in records a second."""
    per_second = rate(value)
    if per_second <= 0:
        raise ReadError("a rate is above 0")
    return per_second


def scalar(value: object) -> Scalar:
    """A single value of any type."""
    if not isinstance(value, str | int | float | bool):
        raise ReadError(f"{shown(value)} is not a single value")
    return value


def one_of(*choices: str) -> Callable[[object], Any]:
    """One word of a few."""

    def read(value: object) -> str:
        if value not in choices:
            suggestion = nearest(value, choices) if isinstance(value, str) else None
            raise ReadError(f"{shown(value)} is none of {', '.join(choices)}", suggestion)
        return str(value)

    read.__doc__ = ", ".join(f'`"{choice}"`' for choice in choices)
    return read


def words(value: object) -> tuple[str, ...]:
    """A list of strings, each once."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ReadError(f"{shown(value)} is not a list of names")
    seen = set()
    for each in value:
        if each in seen:
            raise ReadError(f"{cut(each)} is listed twice")
        seen.add(each)
    return tuple(value)


def filled_words(value: object) -> tuple[str, ...]:
    """A list of strings, at least one."""
    found = words(value)
    if not found:
        raise ReadError("the list is empty")
    return found
