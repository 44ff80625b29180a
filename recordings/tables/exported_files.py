"""Are these the files of an export by this version? Spark, which is asked next, reads what a file lacks as null."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from recordings.bounded_files import RecordingError
from recordings.tables.parquet_files import SCHEMA_FILE
from recordings.tables.schema import FLIGHTS, TABLES, Table

AGAIN = "`flightdeck export` makes it again"


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
