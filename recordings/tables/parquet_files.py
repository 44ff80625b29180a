"""The tables of one flight as Parquet files: batches of structs become columns, columns row groups.

The functions that need pyarrow import it: nothing else of a flight does.
"""

import posixpath
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from recordings.bounded_files import RecordingError, system_reason
from recordings.tables.schema import Column, ColumnType, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

BATCH_ROWS = 512  # few enough to become columns while a processor's cache still holds them
GROUP_ROWS = 500_000
PENDING_BYTES = 64 << 20
COMPRESSION = "zstd"
UNIQUE = ("seq", "at_us", "at")  # columns whose values hardly repeat: a dictionary would double their size
SCHEMA_FILE = "schema.parquet"


def opened_place(uri: str) -> "tuple[fs.FileSystem, str]":
    """The pyarrow filesystem of a directory or URI, and the path there. Raises OSError or ValueError: it has none."""
    from pyarrow import fs  # noqa: PLC0415 - see the module

    if "://" in uri:
        filesystem, path = fs.FileSystem.from_uri(uri)
        return filesystem, path
    return fs.LocalFileSystem(), absolute(uri)


def absolute(place: str) -> str:
    """A directory's path for processes that run elsewhere; a URI stays as it is."""
    return place if "://" in place else Path(place).absolute().as_posix()


class Target:
    """The target of an export: a directory or a URI, on the pyarrow filesystem that it names.

    Raises RecordingError if there is no such filesystem or it refuses.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        try:
            self.filesystem, root = opened_place(uri)
        except (OSError, ValueError) as error:  # of which pyarrow's errors are
            raise self.refused(error) from error
        self.root = posixpath.join(root, "tables")

    def refused(self, error: Exception) -> RecordingError:
        """The RecordingError for an error of a filesystem."""
        return RecordingError(f"cannot export to {self.uri}: {system_reason(error)}")

    def prepare(self, tables: Iterable[Table]) -> None:
        """Create every table, with its schema and without rows."""
        from pyarrow import fs, parquet  # noqa: PLC0415 - see the module

        files = {self.path(table.name, SCHEMA_FILE): table for table in tables}
        try:
            for info in self.filesystem.get_file_info(list(files)):
                if info.type == fs.FileType.NotFound:
                    self.filesystem.create_dir(posixpath.dirname(info.path), recursive=True)
                    empty = files[info.path].arrow().empty_table()
                    parquet.write_table(empty, info.path, filesystem=self.filesystem)
        except (OSError, ValueError) as error:
            raise self.refused(error) from error

    def path(self, table: str, name: str) -> str:
        """A file of a table, as the filesystem calls it."""
        return posixpath.join(self.root, table, name)


class FlightTables:
    """The files of one flight: filled by `add`, visible after `publish`, removed by `discard` before it.

    `rows` counts the rows of each table that has any, `bytes` the size of the published files. Raises RecordingError
    when the target refuses.
    """

    def __init__(self, run_id: str, target: Target) -> None:
        self.run_id, self.target = run_id, target
        self.rows: dict[str, int] = {}
        self.bytes = 0
        self._files: dict[str, _TableFile] = {}
        self._pending_bytes = 0

    def add(self, table: Table, rows: Sequence[msgspec.Struct]) -> None:
        """Add rows to a table: structs of the type of its rows."""
        if not rows:
            return
        file = self._files.get(table.name)
        try:
            if file is None:
                file = self._files[table.name] = _TableFile(table, self.run_id, self.target)
            self._pending_bytes += file.add(rows)
            self.rows[table.name] = self.rows.get(table.name, 0) + len(rows)
            if file.pending_rows >= GROUP_ROWS:
                self._pending_bytes -= file.write_group()
            while self._pending_bytes > PENDING_BYTES:
                self._pending_bytes -= max(self._files.values(), key=attrgetter("pending_bytes")).write_group()
        except (OSError, ValueError) as error:
            raise self.target.refused(error) from error

    def publish(self, *, last: str) -> None:
        """Finish and rename the files, the table `last` after all others; replaces an earlier export."""
        try:
            for file in self._files.values():
                file.close()
            filesystem = self.target.filesystem
            self._forget_older(last)
            for name in sorted(self._files, key=lambda name: (name == last, name)):
                part, path = self._files[name].path, self.target.path(name, f"{self.run_id}.parquet")
                filesystem.move(part, path)
                self.bytes += filesystem.get_file_info(path).size
        except (OSError, ValueError) as error:
            raise self.target.refused(error) from error
        self._files.clear()

    def _forget_older(self, last: str) -> None:
        """Remove the files of an earlier export of the same flight, its entry in `last` first."""
        from pyarrow import fs  # noqa: PLC0415 - see the module

        filesystem = self.target.filesystem
        found = filesystem.get_file_info(fs.FileSelector(self.target.root, recursive=True))
        older = [info.path for info in found if info.base_name == f"{self.run_id}.parquet"]
        for path in sorted(older, key=lambda path: (posixpath.basename(posixpath.dirname(path)) != last, path)):
            filesystem.delete_file(path)

    def discard(self) -> None:
        """Remove the unpublished files."""
        from pyarrow import fs  # noqa: PLC0415 - see the module

        filesystem = self.target.filesystem
        for file in self._files.values():
            file.abandon()
            if filesystem.get_file_info(file.path).type == fs.FileType.File:
                filesystem.delete_file(file.path)
        self._files.clear()


class _TableFile:
    """One table's file: batches are collected until they fill a row group."""

    def __init__(self, table: Table, run_id: str, target: Target) -> None:
        import pyarrow as pa  # noqa: PLC0415 - see the module
        from pyarrow import parquet  # noqa: PLC0415

        self.table, self.run_id = table, run_id
        self.path = target.path(table.name, f".{run_id}.parquet.part")  # Spark and pyarrow pass dotted names over
        self.schema = table.arrow()
        self._fields = [column for column in table.columns if column.field]
        self._getters = [attrgetter(column.field) for column in self._fields]
        self._stored = pa.schema([self.schema.field(column.name) for column in self._fields])
        self._pending: list[pa.RecordBatch] = []
        self.pending_rows = self.pending_bytes = 0
        self._writer: parquet.ParquetWriter | None = parquet.ParquetWriter(
            self.path,
            self.schema,
            filesystem=target.filesystem,
            compression=COMPRESSION,
            use_dictionary=[path for column in table.columns for path in _repeating(column)],
        )

    def add(self, rows: Sequence[msgspec.Struct]) -> int:
        """Collect rows; returns how many bytes they occupy until they are written."""
        import pyarrow as pa  # noqa: PLC0415 - see the module

        arrays = [
            _array(column.type, list(map(get, rows))) for column, get in zip(self._fields, self._getters, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._stored)
        self._pending.append(batch)
        self.pending_rows += batch.num_rows
        self.pending_bytes += batch.nbytes
        return int(batch.nbytes)

    def write_group(self) -> int:
        """Write the collected rows as one row group; returns how many bytes that freed."""
        import pyarrow as pa  # noqa: PLC0415 - see the module

        freed = self.pending_bytes
        if self._pending and self._writer is not None:
            stored = pa.Table.from_batches(self._pending)
            columns = {name: stored.column(name) for name in stored.column_names}
            columns["run_id"] = pa.repeat(pa.scalar(self.run_id), stored.num_rows)
            if "at" in self.schema.names:
                columns["at"] = stored.column("at_us").cast(pa.timestamp("us", tz="UTC"))
            group = pa.Table.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
            self._pending, self.pending_rows, self.pending_bytes = [], 0, 0
            self._writer.write_table(group, row_group_size=GROUP_ROWS + BATCH_ROWS)
        return freed

    def close(self) -> None:
        """Write the collected rows and finish the file."""
        self.write_group()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def abandon(self) -> None:
        """Close the file, which is then removed."""
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.close()
            except (OSError, ValueError):  # a full disk: the error that ended the export is already raised
                return


def _repeating(column: Column) -> Iterable[str]:
    """The Parquet columns of a column, if a dictionary makes them smaller."""
    return () if column.name in UNIQUE else column.type.parquet_columns(column.name)


def _array(column: ColumnType, values: Sequence[Any]) -> "pa.Array":
    """A column's values as Arrow; maps and lists by their offsets, which takes a third of the time of Python pairs."""
    import pyarrow as pa  # noqa: PLC0415 - see the module

    if column.of is None:
        return pa.array(values, column.arrow())
    offsets = pa.array(list(accumulate(map(len, values), initial=0)), pa.int32())
    if column.name == "array":
        return pa.ListArray.from_arrays(offsets, _array(column.of, list(chain.from_iterable(values))))
    keys = pa.array(list(chain.from_iterable(values)), pa.string())
    items = _array(column.of, list(chain.from_iterable(map(dict.values, values))))
    return pa.MapArray.from_arrays(offsets, keys, items)
