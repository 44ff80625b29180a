"""A copy with one file a table has the rows of the export that it was made of."""

from pathlib import Path

import pytest
from pyarrow import dataset, parquet

from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from recordings.tables.compaction import FEWEST, compact
from recordings.tables.export import export
from recordings.tables.parquet_files import SCHEMA_FILE
from recordings.tables.schema import TABLES
from tests.support.minimal_scenario import TWO_MEMBERS


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many flights as pay for a copy."""
    place = tmp_path_factory.mktemp("exported")
    scenario = parse_scenario(TWO_MEMBERS, "two.toml")
    flights = [place / f"seed-{seed}.flight" for seed in range(1, FEWEST + 1)]
    for seed, flight in enumerate(flights, start=1):
        fly(make_plan(scenario, seed=seed, until_us=12_000_000), record=flight)
    export(flights, place / "tables")
    return place / "tables"


def rows(place: str | Path, table: str) -> list[dict[str, object]]:
    """The rows of a table, in an order of their own."""
    found = dataset.dataset(Path(place) / "tables" / table, schema=TABLES[table].arrow()).to_table().to_pylist()
    return sorted(found, key=lambda row: (row["run_id"], repr(row)))


def copied(exported: Path, to: Path) -> Path:
    """The export once more, for a test that damages it."""
    for file in exported.rglob("*.parquet"):
        place = to / file.relative_to(exported)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    return to


@pytest.mark.slow
def test_a_copy_has_the_rows_of_all_tables_in_one_file_each(exported: Path, tmp_path: Path) -> None:
    place = compact(str(exported), tmp_path / "copy")
    assert place == str(tmp_path / "copy")
    filled = 0
    for table in TABLES:
        wanted = rows(exported, table)
        assert rows(place, table) == wanted, table
        files = {file.name for file in (Path(place) / "tables" / table).iterdir()}
        assert len(files - {SCHEMA_FILE}) == bool(wanted), table
        filled += bool(wanted)
    assert filled > 10


def test_few_flights_are_read_where_they_are(exported: Path, tmp_path: Path) -> None:
    place = copied(exported, tmp_path / "few")
    next((place / "tables" / "flights").glob("[!s]*.parquet")).unlink()
    assert compact(str(place), tmp_path / "copy") == str(place)
    assert compact("s3://bucket/tables", tmp_path / "copy") == "s3://bucket/tables"
    assert not (tmp_path / "copy").exists()


@pytest.mark.slow
def test_large_files_are_read_where_they_are(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recordings.tables.compaction.MOST_BYTES", 1_000)
    assert compact(str(exported), tmp_path / "copy") == str(exported)


def test_a_damaged_file_is_left_to_what_reads_it_next(exported: Path, tmp_path: Path) -> None:
    place = copied(exported, tmp_path / "damaged")
    damaged = next((place / "tables" / "records_appended").glob("[!s]*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    assert compact(str(place), tmp_path / "copy") == str(place)


def test_a_file_of_an_older_version_lacks_a_column(exported: Path, tmp_path: Path) -> None:
    place = copied(exported, tmp_path / "older")
    older = next((place / "tables" / "records_appended").glob("[!s]*.parquet"))
    known = parquet.ParquetFile(older).read()
    parquet.write_table(known.drop_columns(["leader_epoch"]), older)
    found = rows(compact(str(place), tmp_path / "copy"), "records_appended")
    assert found == rows(place, "records_appended")
    assert 0 < sum(row["leader_epoch"] is None for row in found) == known.num_rows < len(found)


def test_an_unfinished_file_is_no_part_of_a_table(exported: Path, tmp_path: Path) -> None:
    place = copied(exported, tmp_path / "unfinished")
    (place / "tables" / "records_appended" / ".x.parquet").write_bytes(b"begun")
    assert rows(compact(str(place), tmp_path / "copy"), "records_appended") == rows(exported, "records_appended")


def test_an_export_without_a_table_is_left_to_what_reads_it_next(exported: Path, tmp_path: Path) -> None:
    place = copied(exported, tmp_path / "lacking")
    (place / "tables" / "records_appended").rename(tmp_path / "elsewhere")
    assert compact(str(place), tmp_path / "copy") == str(place)
