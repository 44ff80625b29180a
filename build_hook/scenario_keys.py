"""The page of all keys of a scenario file: what the parser reads, with its defaults, and a sentence for each."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args

from page_parts import code, table

from cluster.config import Scope, Value
from cluster.config.units import format_duration, format_rate, format_size
from cluster.spec import ArrivalsSpec, CommitPolicy, OnRevoked
from recordings.scenarios import group_parser, parser, toml_tables
from recordings.scenarios.toml_tables import Problem, TomlTable

T = TypeVar("T")
Read = Callable[[Any], object]

PAGE = """# Scenario keys

Every key of a [scenario file](scenario-format.md), by its table. Durations are written `"500us"`, `"20ms"`, `"30s"`,
`"10m"` or `"2h"`, sizes `"512B"` or `"1KiB"`, rates `"200/s"` or `"3/m"`. Kafka's own keys stand in tables called
`config`, under their own names: [Configuration keys](settings.md) lists them. `[defaults.topic]`, `[defaults.producer]`
and `[defaults.group]` hold keys for all tables of their kind. An unknown key is refused with the nearest right word."""
EVERY_TABLE = """
[cluster]
brokers = [{ id = 1 }]
replica_assignment = {}
[network]
links = [{}]
[[topic]]
[[producer]]
transactions = {}
keys = {}
[[group]]
autoscaler = {}
member.NAME = {}
[group.application]
outputs = [{}]
poison = {}
processing = {}
slow_keys = {}
fail = {}
retries = {}
[[at]]
[[expect]]
"""
"""A file with each table that a scenario may have, and nothing in them."""
A_NUMBER = EVERY_TABLE.replace("brokers = [{ id = 1 }]\n", "")
"""The same without the list that may stand in place of a number."""
ARRAYS = {"topic", "producer", "group", "at", "expect", "cluster.brokers", "network.links", "group.application.outputs"}
TEXTS = Path(__file__).with_suffix(".toml")
READERS: dict[Read, str] = {
    toml_tables.duration: "a duration",
    toml_tables.positive_duration: "a duration above 0",
    toml_tables.text: "text",
    toml_tables.filled_text: "text",
    toml_tables.flag: "`true`, `false`",
    toml_tables.filled_words: "a list of names",
    toml_tables.mapping: "a table",
    toml_tables.size: "a size",
    toml_tables.positive_rate: "a rate",
    group_parser.assignors: "a list of assignors",
}
VALUES = {
    ("cluster", "brokers"): "a whole number from 1 to 1,000, or a list",
    ("network.links", "between"): "two names",
    ("cluster.replica_assignment", "__consumer_offsets"): "lists of brokers",
    ("cluster.replica_assignment", "__transaction_state"): "lists of brokers",
    ("topic", "replica_assignment"): "lists of brokers: `[[1, 2], [2, 3]]`",
    ("producer", "arrivals"): '`"steady"`, `"poisson"`, or `[["30s", "200/s"], …]`',
    ("group.application", "commit"): toml_tables.one_of(*get_args(CommitPolicy)).__doc__,
    ("group.application.processing", "p50"): "a duration above 0",
    ("group.application.processing", "p99"): "a duration above 0",
    ("group.application", "on_revoked"): toml_tables.one_of(*get_args(OnRevoked)).__doc__,
    ("group.member.NAME", "on_revoked"): toml_tables.one_of(*get_args(OnRevoked)).__doc__,
    ("at", "do"): "text",
    ("expect", "after"): "text",
}
"""What may stand at keys whose reader does not say it."""
DECIDED_ELSEWHERE = {("topic", "replication"), ("group", "members"), ("group.application", "worker_threads")}
"""Keys whose default depends on others, or is none: the sentence says so."""


FORMATS: dict[Read, Callable[[Any], str]] = {
    toml_tables.duration: format_duration,
    toml_tables.positive_duration: format_duration,
    toml_tables.size: format_size,
    toml_tables.positive_rate: format_rate,
}
"""How a default is written that has a unit."""


class Key(NamedTuple):
    """A key as the parser reads it: its table, the function that reads a value, the default."""

    table: str
    name: str
    read: Read | None
    default: object
    required: bool


def scenario_keys() -> list[Key]:
    """Every key that the parser reads, in the order in which it does."""
    found: dict[tuple[str, str], Key] = {}

    class Observed(TomlTable):
        """A table that notes what is read of it."""

        def take(self, key: str, read: Callable[[Any], T], default: T, *, required: bool = False) -> T:
            self._note(key, read, default, required=required)
            return super().take(key, read, default, required=required)

        def config(self, scope: Scope, key: str = "config") -> dict[str, Value]:
            self._note(key, None, {}, required=False)
            return super().config(scope, key)

        def _note(self, key: str, read: Read | None, default: object, *, required: bool) -> None:
            if not isinstance(self.data.get(key), dict):  # else it is a table of its own
                table = ".".join(part for part in self.place if isinstance(part, str))
                found.setdefault((table, key), Key(table, key, read, default, required))

    for text in (EVERY_TABLE, A_NUMBER):
        problems: list[Problem] = []
        parser.read_scenario(tomllib.loads(text), problems, {}, [], Observed)
    return list(found.values())


def scenario_keys_page() -> str:
    """Every key with what may stand there, its default, and what it is for."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    parts = [PAGE]
    known = {(key.table, key.name): key for key in scenario_keys()}
    for name, sentences in texts.items():
        keys = ((known[name, each], meaning) for each, meaning in sentences.items())
        rows = ((code(key.name), _value(key), _default(key), meaning) for key, meaning in keys)
        parts += [f"## {_heading(name)}", table(("key", "value", "default", "meaning"), rows)]
    return "\n\n".join(parts)


def _heading(name: str) -> str:
    if not name:
        return "At the top of the file"
    return code(f"[[{name}]]" if name in ARRAYS else f"[{name}]")


def _value(key: Key) -> str:
    if (said := VALUES.get((key.table, key.name))) is not None:
        return said
    if key.read is None:
        return "Kafka's keys"
    return READERS.get(key.read) or str(key.read.__doc__)


def _default(key: Key) -> str:
    if key.required:
        return "required"
    default = key.default
    if default in ("", None, (), {}) or (key.table, key.name) in DECIDED_ELSEWHERE:
        return ""
    if isinstance(default, ArrivalsSpec):
        default = default.kind
    written = FORMATS.get(key.read) if key.read is not None else None
    if written is not None:
        return code(f'"{written(default)}"')
    if isinstance(default, tuple):
        return code("[" + ", ".join(f'"{each}"' for each in default) + "]")
    return code(toml_tables.shown(default).replace("'", '"'))
