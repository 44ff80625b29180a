"""One schema for everything: the structs of events give JSON, Arrow, Spark and the data dictionary.

A kind of event is a table. Its columns are the flight's `run_id`, then the struct's fields in their order; beside the
integer `at_us` stands the same instant as a timestamp `at` (the epoch plus virtual time, UTC). Two tables are not
events: `commands` (what was asked of the simulation) and `flights` (one row for each flight, written last).

    python -m recordings.tables.schema docs/data-dictionary.md     # writes the data dictionary
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args, get_origin

import msgspec

from cluster.events import EVENT_KINDS, Event
from recordings.journal.format import JournaledCommand

if TYPE_CHECKING:
    import pyarrow as pa

COMMANDS, FLIGHTS = "commands", "flights"


class FlightRow(msgspec.Struct, frozen=True, kw_only=True):
    """One flight: what its header says and what a whole pass over its events found.

    `until_us` is -1 for a flight without an end; `settings` are its `--set` as text; `turns` is -1 when only the flight
    could have known it. `complete` is false after a crash, Ctrl-C or damage, and then `warnings` say what is missing.
    """

    scenario: str
    seed: int
    until_us: int
    settings: tuple[str, ...]
    flightdeck: str
    started: str
    virtual_us: int
    events: int
    commands: int
    turns: int
    journal_sha256: str
    kinds: dict[str, int]
    complete: bool
    warnings: tuple[str, ...]
    scenario_text: str


class ColumnType(NamedTuple):
    """A column's type in Spark's words; `of` is the type of an array's elements or of a map's values (keys: text)."""

    name: str
    of: "ColumnType | None" = None

    @property
    def spark(self) -> str:
        """As Spark's DDL writes it: `bigint`, `map<string,array<string>>`."""
        if self.of is None:
            return self.name
        return f"map<string,{self.of.spark}>" if self.name == "map" else f"array<{self.of.spark}>"

    @property
    def json(self) -> str:
        """The type of a field in a recording's line."""
        if self.of is None:
            return JSON_NAMES[self.name]
        one, of, rest = self.of.json.partition(" ")
        return f"{'object' if self.name == 'map' else 'array'} of {one}s{of}{rest}"

    @property
    def parquet(self) -> str:
        """The type as Arrow's documentation writes it: `map<string, list<string>>`."""
        if self.of is None:
            return ARROW_NAMES[self.name]
        return f"map<string, {self.of.parquet}>" if self.name == "map" else f"list<{self.of.parquet}>"

    def arrow(self) -> "pa.DataType":
        """The type in Arrow, and so in Parquet."""
        import pyarrow as pa  # noqa: PLC0415 - seconds, and only exports need it

        if self.of is not None:
            values = self.of.arrow()
            return pa.map_(pa.string(), values) if self.name == "map" else pa.list_(values)
        scalars = {
            "string": pa.string(),
            "bigint": pa.int64(),
            "double": pa.float64(),
            "boolean": pa.bool_(),
            "timestamp": pa.timestamp("us", tz="UTC"),
        }
        return scalars[self.name]

    def parquet_columns(self, name: str) -> Iterator[str]:
        """The columns of a Parquet file that hold a column of this type, by their paths."""
        if self.of is None:
            yield name
        elif self.name == "map":
            yield f"{name}.key_value.key"
            yield from self.of.parquet_columns(f"{name}.key_value.value")
        else:
            yield from self.of.parquet_columns(f"{name}.list.element")


JSON_NAMES = {"string": "string", "bigint": "integer", "double": "number", "boolean": "boolean"}
ARROW_NAMES = {
    "string": "string",
    "bigint": "int64",
    "double": "float64",
    "boolean": "bool",
    "timestamp": "timestamp[us, UTC]",
}
SCALARS = {str: "string", int: "bigint", float: "double", bool: "boolean"}


class Column(NamedTuple):
    """A column of a table; `field` is the struct's field that it holds, "" for a column that no struct has."""

    name: str
    type: ColumnType
    field: str


class Table(NamedTuple):
    """A table: its name (an event's kind), its columns in order, and what a row is."""

    name: str
    columns: tuple[Column, ...]
    about: str

    @property
    def ddl(self) -> str:
        """The schema as Spark reads it: "`run_id` string, `seq` bigint, …"."""
        return ", ".join(f"`{column.name}` {column.type.spark}" for column in self.columns)

    def arrow(self) -> "pa.Schema":
        """The schema as Arrow has it; no column is nullable."""
        import pyarrow as pa  # noqa: PLC0415 - as above

        return pa.schema([pa.field(column.name, column.type.arrow(), nullable=False) for column in self.columns])


def column_type(annotation: object) -> ColumnType:
    """The column for a field's type. Raises TypeError for a type without one."""
    if annotation in SCALARS:
        return ColumnType(SCALARS[annotation])
    match get_origin(annotation), get_args(annotation):
        case builtin, (element, end) if builtin is tuple and end is Ellipsis:
            return ColumnType("array", column_type(element))
        case builtin, (key, value) if builtin is dict and key is str:
            return ColumnType("map", column_type(value))
    raise TypeError(f"no column holds a {annotation}: give it one in {__name__}, or the field another type")


def table_of(name: str, struct: type[msgspec.Struct]) -> Table:
    """The table that holds one struct a row. Raises TypeError, naming the field, for a type without a column."""
    columns = [Column("run_id", ColumnType("string"), "")]
    for field in msgspec.structs.fields(struct):
        try:
            columns.append(Column(field.name, column_type(field.type), field.name))
        except TypeError as error:
            raise TypeError(f"{name}.{field.name}: {error}") from error
        if field.name == "at_us":
            columns.append(Column("at", ColumnType("timestamp"), ""))
    return Table(name, tuple(columns), _paragraphs(struct.__doc__ or ""))


def _paragraphs(docstring: str) -> str:
    return "\n".join(line.strip() for line in docstring.strip().splitlines())


EVENT_TABLES: dict[type[Event], Table] = {cls: table_of(kind, cls) for kind, cls in EVENT_KINDS.items()}
TABLES: dict[str, Table] = {
    table.name: table
    for table in (*EVENT_TABLES.values(), table_of(COMMANDS, JournaledCommand), table_of(FLIGHTS, FlightRow))
}

UNITS = (
    ("_per_second", "each second"),
    ("deadline_us", "instant, µs; -1: none"),
    ("deadlines_us", "instants, µs"),
    ("_at_us", "instant, µs; -1: none"),
    ("until_us", "instant, µs; -1: none"),
    ("at_us", "instant, µs"),
    ("_us", "duration, µs"),
    ("_ms", "duration, ms"),
    ("bytes", "bytes"),
    ("offset", "offset"),
    ("offsets", "offsets"),
    ("positions", "offsets"),
    ("log_start", "offset"),
    ("log_end", "offset"),
    ("high_watermark", "offset"),
)
"""The unit that a name's suffix gives its numbers (the first that fits)."""


def unit_of(column: Column) -> str:
    """The unit of a column's numbers by its name; "" for names, flags and plain counts."""
    if column.name == "at":
        return "instant, UTC: the epoch is the flight's beginning"
    if "bigint" not in column.type.spark and "double" not in column.type.spark:
        return ""
    return next((unit for ending, unit in UNITS if column.name.endswith(ending)), "")


DICTIONARY_HEAD = """# Data dictionary

Written by `python -m recordings.tables.schema docs/data-dictionary.md docs/sql/tables.sql` from the structs in
`cluster/events/`; a test holds the two equal. `flightdeck export` writes each table as Parquet under `tables/<table>/`,
one file for each flight.

* Virtual time begins at 0. Instants and durations are whole microseconds (`_us`); `at` is the same instant as `at_us`
  as a timestamp, counted from 1970-01-01T00:00:00Z.
* `run_id` tells flights apart, `seq` counts a flight's events from 1: the two together name an event.
* A partition is named as Kafka prints it (`orders-0`), members and producers by their client id (`billing-1`), a
  broker by its id. Maps whose keys are not explained have partitions as keys.
* In a recording, a line is one event: `{"kind": "…", "seq": 1, "at_us": 0, …}`, the fields in the order given here.
  `run_id` and `at` exist in tables only.
* No column is ever null. -1 stands for an instant or offset that there is not, "" for a name.
"""


def data_dictionary() -> str:
    """The text of `docs/data-dictionary.md`."""
    return "\n".join(_dictionary_lines())


def _dictionary_lines() -> Iterator[str]:
    yield DICTIONARY_HEAD
    for table in TABLES.values():
        yield f"## `{table.name}`\n"
        yield f"{table.about}\n"
        yield "| column | in a recording | Parquet | Spark | unit |"
        yield "|---|---|---|---|---|"
        for column in table.columns:
            json = column.type.json if column.field else ""
            cells = (f"`{column.name}`", json, column.type.parquet, column.type.spark, unit_of(column))
            yield f"| {' | '.join(cells)} |"
        yield ""


VIEWS_HEAD = """-- The exported tables by name, as the questions of this directory read them.
-- Written by `python -m recordings.tables.schema docs/data-dictionary.md docs/sql/tables.sql`; a test holds them equal.
--
-- Before: SET VARIABLE tables = 'DIR/tables', where DIR is what `flightdeck export RECORDING --to DIR` wrote to.
"""


def sql_views() -> str:
    """The text of `docs/sql/tables.sql`: a view of each table for DuckDB."""
    lines = [
        f"CREATE OR REPLACE VIEW {name} AS"
        f" FROM read_parquet(getvariable('tables') || '/{name}/*.parquet', union_by_name = true);"
        for name in TABLES
    ]
    return "\n".join([VIEWS_HEAD, *lines, ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(data_dictionary(), encoding="utf-8")
    Path(sys.argv[2]).write_text(sql_views(), encoding="utf-8")
