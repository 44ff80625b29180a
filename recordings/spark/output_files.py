"""The files of a report or a comparison: refused early, and written together or not at all."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile

from recordings.spark.errors import ReportError
from recordings.spark.runtime.interrupts import uninterrupted


def refuse_output(out: Path, names: Iterable[str], what: str = "a report") -> None:
    """Raise ReportError at once if these files cannot be written, not after half a minute."""
    parent = next((place for place in (out, *out.absolute().parents) if place.exists()), out)
    if not parent.is_dir():
        raise ReportError(f"cannot write {what} to {out}: {parent} is not a directory")
    for path in (out / name for name in names):
        if path.is_dir():
            raise ReportError(f"cannot write {what} to {out}: {path} is a directory")
    try:
        with TemporaryFile(dir=parent) as probe:  # permissions show neither a full disk nor, to root, a read-only one
            probe.write(b"\0")
    except OSError as error:
        raise ReportError(f"cannot write {what} to {out}: {parent} may not be written ({error.strerror})") from error


def reason_of(error: OSError) -> str:
    """The operating system's message, with its file."""
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None)


def write_output(out: Path, files: dict[str, bytes], what: str = "a report") -> None:
    """Write all files under temporary names, then rename them; removes them if anything fails.

    An interrupt takes effect before the files get their names; after that the output is complete. Raises ReportError.
    """
    homes = list(dict.fromkeys((out / name).parent for name in files))
    above = {place for home in homes for place in (home.absolute(), *home.absolute().parents)}
    missing = sorted((place for place in above if not place.exists()), key=lambda place: -len(place.parts))
    parts = {(out / name).with_name(f".{Path(name).name}.part"): out / name for name in files}
    fresh = [*parts, *(path for path in parts.values() if not path.exists())]
    try:
        for home in homes:
            home.mkdir(parents=True, exist_ok=True)
        for part, content in zip(parts, files.values(), strict=True):
            part.write_bytes(content)
        with uninterrupted():
            for part, path in parts.items():
                part.replace(path)
    except BaseException as error:
        for path in fresh:
            path.unlink(missing_ok=True)
        for place in missing:
            if place.exists():
                place.rmdir()
        if isinstance(error, OSError):
            raise ReportError(f"cannot write {what} to {out}: {reason_of(error)}") from error
        raise
