"""Many small files of a table as one file, for a reader that pays for every file.

Spark opens each file anew for each query that reads its table. Of forty flights of three thousand events each, that is
half of what a report of them costs.
"""

from pathlib import Path

from recordings.tables.parquet_files import COMPRESSION, SCHEMA_FILE
from recordings.tables.schema import FLIGHTS, TABLES

FEWEST = 8
"""Flights that a place has at least, for its copy to pay."""
MOST_BYTES = 256 << 20
"""Files that are larger together stay where they are: each is long enough to be worth its opening."""


def compact(place: str, into: Path) -> str:
    """A place that has the rows of an export, with one file a table: `into`, or `place` itself where that pays.

    `place`: a directory or URI as `export` writes it; only a directory is copied. A table that is not there,
    or a file that pyarrow cannot read, leaves everything where it is: what reads it next names it.
    """
    tables = Path(place) / "tables"
    if "://" in place or not tables.is_dir():
        return place
    found = {table.name: _files(table) for table in tables.iterdir() if table.is_dir()}
    sizes = [file.stat().st_size for files in found.values() for file in files]
    if TABLES.keys() - found.keys() or len(found[FLIGHTS]) < FEWEST or sum(sizes) > MOST_BYTES:
        return place
    try:
        for name, files in found.items():
            _write(tables / name, files, into / "tables" / name)
    except (OSError, ValueError):  # of which pyarrow's errors are
        return place
    return str(into)


def _files(table: Path) -> list[Path]:
    """A table's files with rows. Spark and pyarrow pass dotted names over: they are not finished."""
    return sorted(
        file for file in table.glob("*.parquet") if file.name != SCHEMA_FILE and not file.name.startswith(".")
    )


def _write(table: Path, files: list[Path], into: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - see `parquet_files`
    from pyarrow import parquet  # noqa: PLC0415

    into.mkdir(parents=True)
    (into / SCHEMA_FILE).write_bytes((table / SCHEMA_FILE).read_bytes())
    if files:
        # to start threads for a file takes longer than to read a short one
        rows = [parquet.ParquetFile(file).read(use_threads=False) for file in files]
        together = pa.concat_tables(rows, promote_options="default")  # an older version's file may lack a column
        parquet.write_table(together, into / "all.parquet", compression=COMPRESSION)
