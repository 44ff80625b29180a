"""The flights of a sweep that have ended, one file each below `OUT/flights`: what ended once is never flown again.

A file is written under a hidden name, which Spark does not read, and renamed: it is there whole or not at all, also
after `kill -9`. Its name is a hash of everything that its flight depends on, so a sweep that has grown finds what it
has already, and two sweeps may share a directory.
"""

import posixpath
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from recordings.bounded_files import RecordingError, system_reason
from recordings.comparison.bill import MEASURES
from recordings.journal.format import FORMAT
from recordings.planning.grid import RowSettings, texts_of
from recordings.scenarios.custom_code import ASSIGNORS_KEYS, own_code
from recordings.scenarios.loader import Scenario
from recordings.tables.parquet_files import opened_place
from recordings.version import VERSION

FLIGHTS: Final = "flights"
KEY_DIGITS: Final = 24
COLUMNS: Final = ", ".join(
    (
        *("key string", "scenario string", "settings array<string>", "seed bigint", "journal_sha256 string"),
        *("events bigint", "held boolean", "failure string", "repeatable boolean"),
        f"measures struct<{', '.join(f'{measure.field}: bigint' for measure in MEASURES)}>",
    )
)
"""The columns of a kept flight, as Spark reads them."""


class SweptFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A flight that has ended: what it cost (`measures`, by the field of the bill), or why it failed (`failure`).

    `held`: no expectation of its scenario failed. `settings`: those of its point, as they are typed after `--set`.
    `repeatable`: another attempt would end in the same way; else a sweep that is resumed flies it again.
    """

    key: str
    scenario: str
    settings: list[str]
    seed: int
    journal_sha256: str = ""
    events: int = 0
    held: bool = False
    failure: str | None = None
    repeatable: bool = True
    measures: dict[str, int] | None = None


def key_of(scenario: Scenario, settings: RowSettings, seed: int, until_us: int | None) -> str:
    """The name of a flight: a hash of its scenario's text, its settings, its seed, its end and Flightdeck's version.

    And of the files of its own assignors, if it has any: a changed one makes another flight.
    """
    assignors = [value for _, key, value in settings if key in ASSIGNORS_KEYS]
    depends_on = [VERSION, FORMAT, scenario.text, texts_of(settings), seed, until_us]
    depends_on += own_code(scenario, assignors)
    return sha256(msgspec.json.encode(depends_on)).hexdigest()[:KEY_DIGITS]


class KeptFlights:
    """The directory of a sweep's flights, on the pyarrow filesystem that its path or URI names.

    Raises RecordingError when that refuses.
    """

    def __init__(self, out: str) -> None:
        self.out = out.rstrip("/") or "/"
        try:
            self.filesystem, self.root = opened_place(out)
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def uri(self, name: str) -> str:
        """A file or directory of the sweep, as Spark calls it."""
        return posixpath.join(self.out if "://" in self.out else f"file://{self.root}", name)

    def write(self, name: str, content: bytes) -> None:
        """Write a file beside the flights."""
        try:
            with self.filesystem.open_output_stream(posixpath.join(self.root, name)) as file:
                file.write(content)
        except (OSError, ValueError) as error:
            raise RecordingError(f"cannot write {self.out}/{name}: {system_reason(error)}") from error

    def prepare(self) -> None:
        """Make the directory, unless it is there; refuse one that is something else's."""
        from pyarrow import fs  # noqa: PLC0415 - a Spark task needs it, the driver's other modules do not

        try:
            above = self.filesystem.get_file_info(fs.FileSelector(self.root, allow_not_found=True))
            if above and all(posixpath.basename(each.path) != FLIGHTS for each in above):
                raise RecordingError(f"{self.out} already exists and is not a sweep's directory; choose another name")
            self.filesystem.create_dir(posixpath.join(self.root, FLIGHTS), recursive=True)
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def keep(self, flight: SweptFlight) -> None:
        """Write one flight, at once or not at all."""
        part, path = self._path(f".{flight.key}"), self._path(flight.key)
        try:
            with self.filesystem.open_output_stream(part) as file:
                file.write(msgspec.json.encode(flight) + b"\n")
            self.filesystem.move(part, path)
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def forget(self, keys: Iterable[str]) -> None:
        """Remove flights, to fly them again."""
        try:
            for key in keys:
                self.filesystem.delete_file(self._path(key))
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def has(self, key: str) -> bool:
        """Whether this flight has ended already."""
        from pyarrow import fs  # noqa: PLC0415 - see above

        return bool(self.filesystem.get_file_info(self._path(key)).type == fs.FileType.File)

    def keys(self) -> set[str]:
        """The names of all flights that have ended."""
        from pyarrow import fs  # noqa: PLC0415 - see above

        try:
            place = fs.FileSelector(posixpath.join(self.root, FLIGHTS), allow_not_found=True)
            found = self.filesystem.get_file_info(place)
        except (OSError, ValueError) as error:
            raise self._refused(error) from error
        names = (posixpath.basename(each.path) for each in found)
        return {name.removesuffix(".json") for name in names if name.endswith(".json") and not name.startswith(".")}

    def _path(self, key: str) -> str:
        return posixpath.join(self.root, FLIGHTS, f"{key}.json")

    def _refused(self, error: Exception) -> RecordingError:
        return RecordingError(f"cannot keep flights in {self.out}: {system_reason(error)}")
