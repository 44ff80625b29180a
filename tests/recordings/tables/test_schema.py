"""One schema: what a line of a recording holds is what Arrow, Spark and the data dictionary say."""

import json
from pathlib import Path

import msgspec
import pytest

from cluster.events import EVENT_KINDS, GroupLoaded, OffsetsCommitted
from recordings.tables.schema import COMMANDS, EVENT_TABLES, FLIGHTS, TABLES, column_type, data_dictionary, table_of

DICTIONARY = Path(__file__).resolve().parents[3] / "docs" / "data-dictionary.md"


def test_every_kind_of_event_is_a_table_and_so_are_commands_and_flights() -> None:
    assert set(TABLES) == {*EVENT_KINDS, COMMANDS, FLIGHTS}


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_columns_are_the_fields_of_a_line_in_its_order(kind: str) -> None:
    fields = ["kind", *(field.encode_name for field in msgspec.structs.fields(EVENT_KINDS[kind]))]
    table = EVENT_TABLES[EVENT_KINDS[kind]]
    assert ["kind", *(column.field for column in table.columns if column.field)] == fields
    assert [column.name for column in table.columns][:4] == ["run_id", "seq", "at_us", "at"]
    assert table.arrow().names == [column.name for column in table.columns]


def test_maps_and_lists_keep_their_types() -> None:
    types = {column.name: column.type for column in EVENT_TABLES[GroupLoaded].columns}
    assert types["members"].spark == "map<string,string>"
    assert types["session_deadlines_us"].spark == "map<string,bigint>"
    assert types["assignment"].spark == "map<string,array<string>>"
    assert types["assignment"].json == "object of arrays of strings"
    assert str(types["offsets"].arrow()).startswith("map<string, int64")


def test_names_that_sql_knows_are_quoted() -> None:
    assert "`group` string" in EVENT_TABLES[OffsetsCommitted].ddl


@pytest.mark.parametrize("annotation", [bytes, int | None, list[int], dict[int, str], tuple[int, str], set[str]])
def test_a_type_without_a_column_is_an_error(annotation: object) -> None:
    with pytest.raises(TypeError, match="no column holds"):
        column_type(annotation)


def test_the_error_names_the_field() -> None:
    class Odd(msgspec.Struct):
        """Something."""

        group: str
        payload: bytes

    with pytest.raises(TypeError, match=r"odd\.payload"):
        table_of("odd", Odd)


def test_the_data_dictionary_is_the_one_in_the_docs() -> None:
    assert DICTIONARY.read_text(encoding="utf-8") == data_dictionary(), (
        "run `python -m recordings.tables.schema docs/data-dictionary.md docs/sql/tables.sql`"
    )


def test_instants_and_durations_say_so_in_the_dictionary() -> None:
    rows = {line.split("|")[1].strip(): line for line in data_dictionary().splitlines() if line.startswith("| `")}
    assert "instant, µs" in rows["`at_us`"]
    assert "duration, µs" in rows["`waited_us`"]
    assert "instant, µs" in rows["`closes_at_us`"]
    assert "duration, ms" in rows["`session_timeout_ms`"]


def test_json_has_the_types_that_the_schema_names() -> None:
    event = GroupLoaded(
        group="g",
        broker=1,
        state="Stable",
        generation=3,
        protocol="range",
        leader="g-1",
        members={"id": "g-1"},
        assignment={"id": ("t-0",)},
        session_deadlines_us={"id": 5},
    )
    line = json.loads(msgspec.json.encode(event))
    json_names = {str: "string", int: "integer", bool: "boolean", float: "number", dict: "object", list: "array"}
    for column in EVENT_TABLES[GroupLoaded].columns:
        if column.field:
            assert column.type.json.split()[0] == json_names[type(line[column.field])]
