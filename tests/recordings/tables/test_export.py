"""Exported tables hold every event of a recording, typed, and appear completely or not at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyarrow import parquet

from cluster.events import EVENT_KINDS, Event, kind_of
from recordings.bounded_files import RecordingError, system_reason
from recordings.flights.runner import FlightResult, Plan, fly
from recordings.journal.format import FOOTER
from recordings.journal.reader import Recording
from recordings.tables import export as exporting
from recordings.tables import parquet_files as table_files
from recordings.tables.export import Exported, export
from recordings.tables.schema import TABLES, Table


def read(tables: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(tables / name).to_pylist(maps_as_pydicts="strict")
    return rows


def files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def as_row(event: Event) -> dict[str, Any]:
    """An event as its table has it, without the columns of our own."""
    fields = msgspec.structs.asdict(event)
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


@pytest.fixture
def exported(recorded: tuple[Path, FlightResult], tmp_path: Path) -> tuple[Path, Exported]:
    """The tables of the small recording, and what the export said of them."""
    [said] = export([recorded[0]], tmp_path / "out")
    return tmp_path / "out" / "tables", said


def test_every_event_is_a_row_of_its_table(
    recorded: tuple[Path, FlightResult], exported: tuple[Path, Exported]
) -> None:
    tables, said = exported
    events = list(Recording(recorded[0]).events())
    assert said.events == len(events) == recorded[1].events
    for kind in EVENT_KINDS:
        rows = read(tables, kind)
        for row in rows:
            assert row.pop("run_id") == said.run_id
            assert row.pop("at").timestamp() == pytest.approx(row["at_us"] / 1_000_000)
        assert rows == [as_row(event) for event in events if kind_of(event) == kind], kind


def test_columns_have_the_schema_s_types(exported: tuple[Path, Exported]) -> None:
    for name, table in TABLES.items():
        assert parquet.read_schema(exported[0] / name / "schema.parquet").equals(table.arrow())


def test_commands_and_the_flight_itself_are_tables_too(
    recorded: tuple[Path, FlightResult], exported: tuple[Path, Exported]
) -> None:
    tables, said = exported
    commands = read(tables, "commands")
    assert said.commands == len(commands) == 4
    assert [row["source"] for row in commands].count("scenario") == 1
    assert commands[0]["command"] == "stall billing-1 for 2s"
    [flight] = read(tables, "flights")
    footer = Recording(recorded[0]).footer
    assert footer is not None
    assert flight["kinds"] == footer.kinds
    assert flight["journal_sha256"] == recorded[1].journal_sha256
    assert (flight["complete"], flight["warnings"]) == (True, [])
    assert flight["virtual_us"] == 20_000_000


def test_files_are_zstd_in_large_groups(
    recorded: tuple[Path, FlightResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "GROUP_ROWS", 100)
    monkeypatch.setattr(exporting, "BATCH_ROWS", 50)
    [said] = export([recorded[0]], tmp_path)
    kind, rows = max((item for item in said.rows.items() if item[0] in EVENT_KINDS), key=lambda item: item[1])
    metadata = parquet.read_metadata(tmp_path / "tables" / kind / f"{said.run_id}.parquet")
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sum(sizes) == rows
    assert set(sizes[:-1]) == {100}
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_what_waits_for_its_group_is_bounded(
    recorded: tuple[Path, FlightResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "PENDING_BYTES", 10_000)
    monkeypatch.setattr(exporting, "BATCH_ROWS", 20)
    waiting: list[int] = []
    add = table_files.FlightTables.add

    def watched(self: table_files.FlightTables, table: Table, rows: Sequence[msgspec.Struct]) -> None:
        add(self, table, rows)
        waiting.append(sum(file.pending_bytes for file in self._files.values()))

    monkeypatch.setattr(table_files.FlightTables, "add", watched)
    [said] = export([recorded[0]], tmp_path)
    assert max(waiting) <= 10_000
    assert sum(said.rows[kind] for kind in EVENT_KINDS if kind in said.rows) == said.events


def test_many_flights_are_one_table(recorded: tuple[Path, FlightResult], plan: Plan, tmp_path: Path) -> None:
    other = tmp_path / "other.flight"
    fly(plan, record=other)
    both = export([recorded[0], other], tmp_path / "out")
    rows = read(tmp_path / "out" / "tables", "group_stabilized")
    assert {row["run_id"] for row in rows} == {said.run_id for said in both}
    assert len(read(tmp_path / "out" / "tables", "flights")) == 2


def test_the_same_flight_twice_is_refused(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="same flight"):
        export([recorded[0], recorded[0]], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_exported_again_a_flight_replaces_itself(
    recorded: tuple[Path, FlightResult], exported: tuple[Path, Exported]
) -> None:
    tables, said = exported
    before = files(tables)
    stale = tables / "broker_paused" / f"{said.run_id}.parquet"  # of an export that knew more
    stale.write_bytes(b"x")
    export([recorded[0]], tables.parent)
    assert files(tables) == before


def test_a_uri_is_as_good_as_a_directory(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    [said] = export([recorded[0]], (tmp_path / "by-uri").as_uri())
    assert len(read(tmp_path / "by-uri" / "tables", "flights")) == 1
    assert said.bytes == sum(
        path.stat().st_size for path in (tmp_path / "by-uri").rglob("*.parquet") if path.name != "schema.parquet"
    )


@pytest.mark.slow
@pytest.mark.parametrize("uri", ["gopher://nowhere/x", "s3://", "file"])
def test_a_place_that_cannot_be_written_is_named(uri: str, recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    to = str(tmp_path / "file") if uri == "file" else uri
    with pytest.raises(RecordingError, match=f"cannot export to {to}") as refused:
        export([recorded[0]], to)
    assert "rrno" not in str(refused.value)


def test_a_refusal_of_many_lines_is_told_by_its_first() -> None:
    looked_at = "Unable to load libjvm\ndlopen(/usr/lib/jvm/libjvm.so) failed: No such file or directory\ndlopen(/usr"
    assert system_reason(OSError(looked_at)) == "Unable to load libjvm"
    assert system_reason(OSError()) == "OSError"


def test_a_torn_tail_is_told_and_the_rest_is_there(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    (recorded[0] / FOOTER).unlink()
    segment = max(recorded[0].glob("segment-*.jsonl"))
    segment.write_bytes(segment.read_bytes()[:-30])
    [said] = export([recorded[0]], tmp_path / "out")
    assert not said.complete
    assert said.warnings
    [flight] = read(tmp_path / "out" / "tables", "flights")
    assert (flight["complete"], flight["warnings"]) == (False, said.warnings)
    assert flight["events"] == recorded[1].events - 1 == sum(flight["kinds"].values())


def damage(recording: Path) -> None:
    segment = min(recording.glob("segment-*.jsonl"))
    lines = segment.read_bytes().splitlines(keepends=True)
    lines[len(lines) // 2] = b'{"kind": "nonsense"}\n'
    segment.write_bytes(b"".join(lines))


def test_damage_leaves_nothing_behind(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    damage(recorded[0])
    with pytest.raises(RecordingError, match="damaged"):
        export([recorded[0]], tmp_path / "out")
    assert {Path(name).name for name in files(tmp_path / "out")} == {"schema.parquet"}


def test_salvage_reads_up_to_the_damage(recorded: tuple[Path, FlightResult], tmp_path: Path) -> None:
    damage(recorded[0])
    [said] = export([recorded[0]], tmp_path / "out", salvage=True)
    assert 0 < said.events < recorded[1].events
    [flight] = read(tmp_path / "out" / "tables", "flights")
    assert "line" in flight["warnings"][0]
    assert not flight["complete"]


def test_an_interrupted_export_leaves_nothing_behind(
    recorded: tuple[Path, FlightResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "BATCH_ROWS", 20)
    monkeypatch.setattr(exporting, "PROGRESS_EVENTS", 1)

    def interrupt(events: int, total: int) -> None:
        assert total > events
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export([recorded[0]], tmp_path / "out", progress=interrupt)
    assert {Path(name).name for name in files(tmp_path / "out")} == {"schema.parquet"}


def test_a_full_disk_is_one_clear_error(
    recorded: tuple[Path, FlightResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = parquet.ParquetWriter.write_table

    def until_full(self: parquet.ParquetWriter, table: pa.Table, row_group_size: int | None = None) -> None:
        if table.num_rows > 50:
            raise OSError(28, "No space left on device")
        write(self, table, row_group_size)

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", until_full)
    with pytest.raises(RecordingError, match="No space left"):
        export([recorded[0]], tmp_path / "out")
    assert {Path(name).name for name in files(tmp_path / "out")} == {"schema.parquet"}
