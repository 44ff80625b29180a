"""A plan's directory: what is flown, and a line for each flight that has ended, written at once.

A line is appended by one write and synced, so that a plan survives `kill -9`: it is then resumed without flying one of
its flights again. A last line without its end is from an interrupted write, and is cut off.
"""

import fcntl
import os
from io import FileIO
from pathlib import Path
from typing import Self

import msgspec

from recordings.bounded_files import FOOTER_BYTES, RecordingError, decoded, read_ours
from recordings.journal.format import write_json
from recordings.planning.flying import RowFlight

PLAN, FLIGHTS = "plan.json", "flights.jsonl"
FLIGHTS_BYTES = 1 << 30


class PlanHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What makes two plans the same: all that its flights depend on. The number of seeds may grow."""

    flightdeck: str
    format: int
    scenario: str
    scenario_sha256: str
    fixed: list[str]
    rows: list[list[str]]
    until_us: int
    invariants: bool
    first_seed: int


_SAID = {
    "flightdeck": "another version of Flightdeck",
    "format": "another version of Flightdeck",
    "scenario_sha256": "another scenario",
    "fixed": "other settings (--set)",
    "rows": "other values (--vary)",
    "until_us": "another end (--until)",
    "invariants": "another choice of --invariants",
    "first_seed": "another first seed (--seed)",
}


class PlanDirectory:
    """The directory of one plan, held by one process. Raises RecordingError.

    `flights` are those that an earlier process has flown.
    """

    def __init__(self, path: Path, header: PlanHeader) -> None:
        self.path = path
        try:
            _refuse_others(path)
            path.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = FileIO(os.open(path / FLIGHTS, flags, 0o666), "ab")
        except OSError as error:
            raise RecordingError(f"cannot keep flights in {path}: {error.strerror or error}") from error
        try:
            _lock(self._file, path)
            _claim(path, header)
            self.flights = self._read(rows=len(header.rows))
        except BaseException:
            self._file.close()
            raise

    def _read(self, *, rows: int) -> list[RowFlight]:
        content = read_ours(self.path / FLIGHTS, FLIGHTS_BYTES)
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)
        decoder = msgspec.json.Decoder(RowFlight)
        flights = []
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                flight = decoded(line, decoder)
            except RecordingError as error:
                raise RecordingError(f"{self.path / FLIGHTS}, line {number}: {error}") from error
            if not 0 <= flight.row < rows:
                raise RecordingError(f"{self.path / FLIGHTS}, line {number}: the plan has no row {flight.row}")
            flights.append(flight)
        return flights

    def append(self, flight: RowFlight) -> None:
        """Keep a flight that has ended, unless another attempt may end otherwise. Raises RecordingError."""
        if not flight.repeatable:
            return
        line = msgspec.json.encode(flight) + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise RecordingError(f"cannot keep a flight in {self.path}: the disk is full")
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise RecordingError(f"cannot keep a flight in {self.path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        """Hold the directory."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let another process fly into the directory."""
        self._file.close()


def _refuse_others(path: Path) -> None:
    if path.is_dir():
        others = {each.name for each in path.iterdir()} - {PLAN, f"{PLAN}.part", FLIGHTS}
        if not others:
            return
    elif not path.exists():
        return
    raise RecordingError(
        f"{path} already exists and is not a plan's directory; choose another name, or remove it first"
    )


def _lock(file: FileIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RecordingError(f"another `flightdeck plan` is flying into {path}") from None


def _claim(path: Path, header: PlanHeader) -> None:
    """Write the header, or compare it with the one that is there."""
    if not (path / PLAN).exists():
        if (path / FLIGHTS).stat().st_size:
            raise RecordingError(f"{path} has flights and no {PLAN}: it is damaged")
        try:
            write_json(path / PLAN, header)
        except OSError as error:
            raise RecordingError(f"cannot write {path / PLAN}: {error.strerror or error}") from error
        return
    try:
        found = decoded(read_ours(path / PLAN, FOOTER_BYTES), msgspec.json.Decoder(PlanHeader))
    except RecordingError as error:
        raise RecordingError(f"{path / PLAN} is damaged: {error}") from error
    differs = [name for name in _SAID if getattr(found, name) != getattr(header, name)]
    if differs:
        said = " and ".join(dict.fromkeys(_SAID[name] for name in differs))
        raise RecordingError(f"{path} holds a plan with {said}; choose another directory")
