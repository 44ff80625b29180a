"""A file that is no whole file of a table, as this version exports it, is refused by its name."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from recordings.bounded_files import RecordingError
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from recordings.tables.export import export
from recordings.tables.exported_files import count_events, refuse_unfit_files
from recordings.tables.parquet_files import SCHEMA_FILE
from tests.support.minimal_scenario import TWO_MEMBERS


@pytest.fixture
def place(tmp_path: Path) -> Path:
    flight = tmp_path / "two.flight"
    fly(make_plan(parse_scenario(TWO_MEMBERS, "two.toml"), until_us=12_000_000), record=flight)
    export([flight], tmp_path / "exported")
    return tmp_path / "exported"


def file_of(place: Path, table: str) -> Path:
    [file] = (file for file in (place / "tables" / table).glob("*.parquet") if file.name != SCHEMA_FILE)
    return file


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def without(column: str) -> Callable[[Path], None]:
    return lambda file: parquet.write_table(parquet.read_table(file).drop_columns([column]), file)


def retyped(file: Path) -> None:
    rows = parquet.read_table(file)
    numbers = pa.array([7] * len(rows))
    parquet.write_table(rows.set_column(rows.schema.get_field_index("producer"), "producer", numbers), file)


def foreign(file: Path) -> None:
    parquet.write_table(pa.table({"name": ["elsewhere"]}), file)


def test_events_of_an_export_are_counted(place: Path) -> None:
    counted = count_events(str(place))
    assert counted is not None
    [flight] = parquet.read_table(file_of(place, "flights")).to_pylist()
    assert {each.kind: each.events for each in counted} == dict(flight["kinds"])
    assert min(each.first_seq for each in counted) == 1
    assert max(each.last_seq for each in counted) == sum(each.events for each in counted) == flight["events"]


def test_fewer_rows_count_less_and_a_damaged_file_is_not_counted(place: Path) -> None:
    file = file_of(place, "records_appended")
    rows = parquet.read_table(file)
    parquet.write_table(rows.slice(1), file)
    counted = {each.kind: each.events for each in count_events(str(place)) or []}
    assert counted["records_appended"] == len(rows) - 1
    cut(file)
    assert count_events(str(place)) is None
    assert count_events("s3a://nobody/looks") is None


def test_an_export_is_fit(place: Path) -> None:
    refuse_unfit_files(str(place))
    refuse_unfit_files(place.as_uri())
    refuse_unfit_files("s3a://nobody/looks")


@pytest.mark.parametrize(
    ("table", "spoil", "reason"),
    [
        (
            "records_appended",
            cut,
            "the file {} is damaged (Parquet magic bytes not found in footer)",
        ),
        (
            "records_appended",
            lambda file: file.write_bytes(b""),
            "the file {} is damaged (Parquet file size is 0",
        ),
        ("records_appended", lambda file: file.write_text("name,age\n" * 9), "the file {} is damaged (Parquet magic"),
        ("records_appended", foreign, "the file {} is no file of the table `records_appended`: remove it, or export"),
        ("records_appended", without("marker"), "the file {} was exported by another version: it lacks `marker` of"),
        ("records_appended", retyped, "the file {} has another type of `producer` than `records_appended`"),
        ("flights", without("kinds"), "the file {} was exported by another version: it lacks `kinds` of `flights`"),
    ],
)
def test_a_file_that_is_not_fit_is_named(table: str, spoil: Callable[[Path], object], reason: str, place: Path) -> None:
    file = file_of(place, table)
    spoil(file)
    for given in (str(place), place.as_uri()):
        with pytest.raises(RecordingError) as refused:
            refuse_unfit_files(given)
        assert str(refused.value).startswith(reason.format(file)), refused.value


def test_a_place_without_a_flight_is_named(place: Path) -> None:
    file_of(place, "flights").unlink()
    with pytest.raises(RecordingError, match="exported holds no flight: its table `flights` has no file"):
        refuse_unfit_files(str(place))
