"""Are these the files of an export by this version, and how many events of each kind have they?

Spark, which is asked next, reads what a file lacks as null.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from recordings.bounded_files import RecordingError
from recordings.tables.parquet_files import SCHEMA_FILE
from recordings.tables.schema import FLIGHTS, TABLES, Table

AGAIN = "`flightdeck export` makes it again"


class CountedFile(NamedTuple):
    """The events of one flight in one file: their number, and the first and the last of their numbers."""

    run_id: str
    kind: str
    events: int
    first_seq: int
    last_seq: int


def count_events(place: str) -> list[CountedFile] | None:
    """The events of each flight and kind in the files of a place, by reading `run_id` and `seq` of every row.

    None where pyarrow cannot count: a URI other than `file://`, no directory, or a file that it cannot read.
    """
    root = _directory(place)
    if root is None or not (root / "tables").is_dir():
        return None
    try:
        kinds = [table.name for table in sorted((root / "tables").iterdir()) if table.is_dir()]
        return [counted for kind in kinds for file in _files(root, kind) for counted in _counted(file, kind)]
    except (OSError, ValueError):  # of which pyarrow's errors are
        return None


def _counted(file: Path, kind: str) -> Iterator[CountedFile]:
    from pyarrow import parquet  # noqa: PLC0415 - see `parquet_files`

    opened = parquet.ParquetFile(file, read_dictionary=["run_id"])
    if not {"run_id", "seq"} <= set(opened.schema_arrow.names):  # the rows of `flights` and `commands` are no events
        return
    by_flight = opened.read(columns=["run_id", "seq"]).group_by("run_id")
    counts = by_flight.aggregate([("seq", "count"), ("seq", "min"), ("seq", "max")])
    for row in counts.to_pylist():
        if row["seq_count"]:
            yield CountedFile(row["run_id"], kind, row["seq_count"], row["seq_min"], row["seq_max"])


def refuse_unfit_files(place: str) -> None:
    """Look at the columns of every file with rows of a place. Only directories are looked at, and `file://` URIs.

    Raises RecordingError with the first file that is no whole Parquet file, or lacks a column of its table.
    """
    root = _directory(place)
    if root is None:
        return
    if not any(_files(root, FLIGHTS)):
        raise RecordingError(f"{place} holds no flight: its table `{FLIGHTS}` has no file; {AGAIN}")
    for name, table in TABLES.items():
        for file in _files(root, name):
            _refuse_unfit(file, table)


def _directory(place: str) -> Path | None:
    """The directory of a place on this machine; None for any other."""
    if "://" not in place:
        return Path(place)
    parts = urlsplit(place)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _files(root: Path, table: str) -> list[Path]:
    return sorted(
        file
        for file in (root / "tables" / table).glob("*.parquet")
        if file.name != SCHEMA_FILE and not file.name.startswith(".")
    )


def _refuse_unfit(file: Path, table: Table) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - see `parquet_files`

    try:
        known = parquet.read_schema(file)
    except (OSError, ValueError) as error:  # of which pyarrow's errors are
        reason = str(error).partition(". ")[0]
        raise RecordingError(f"the file {file} is damaged ({reason}); {AGAIN}") from error
    wanted = table.arrow()
    lacking = [name for name in wanted.names if name not in known.names]
    if not lacking:
        others = [field.name for field in wanted if known.field(field.name).type != field.type]
        if others:
            raise RecordingError(f"the file {file} has another type of `{others[0]}` than `{table.name}`; {AGAIN}")
        return
    if "run_id" in lacking:
        raise RecordingError(f"the file {file} is no file of the table `{table.name}`: remove it, or export again")
    raise RecordingError(
        f"the file {file} was exported by another version: it lacks `{lacking[0]}` of `{table.name}`; {AGAIN}"
    )
