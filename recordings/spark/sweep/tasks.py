"""The Spark tasks of a sweep: one order in, its flight flown and kept, its name out.

A task runs in a Python process of a worker. What happens to its flight is its row: an impossible setting, a bug of
Flightdeck, a process that the machine ends. Only a directory that cannot be written ends the sweep: that of results, or
that of recordings.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from pyspark import TaskContext

from recordings.bounded_files import RecordingError
from recordings.planning.flying import RowPilot, RowSeed
from recordings.planning.grid import RowSettings, texts_of
from recordings.planning.ranking import totals
from recordings.scenarios.loader import ScenarioErrors, SettingError
from recordings.spark.runtime.worker_tasks import ATTEMPTS
from recordings.spark.sweep.kept_flights import KeptFlights, SweptFlight
from recordings.spark.sweep.sweep_file import Sweep

ORDER: Final = "key string, scenario bigint, settings string, seed bigint"
ENDED: Final = "key string"


class FlightOrder(msgspec.Struct, frozen=True):
    """One flight to fly: its name, the number of its scenario, the settings of its point, its seed."""

    key: str
    scenario: int
    settings: RowSettings
    seed: int

    def row(self) -> tuple[str, int, str, int]:
        """The order as a row of a DataFrame."""
        return self.key, self.scenario, msgspec.json.encode(self.settings).decode(), self.seed


class SweepTask:
    """Flies orders in a worker. `recordings`: a directory for each flight's recording, None for none."""

    def __init__(self, sweep: Sweep, out: str, *, recordings: Path | None, allow_code: bool) -> None:
        self.sweep, self.out = sweep, out
        self.recordings, self.allow_code = recordings, allow_code

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fly each order that has not ended yet, keep its flight, and yield its name."""
        kept = KeptFlights(self.out)
        context = TaskContext.get()
        attempt = context.attemptNumber() if context is not None else 0
        for batch in batches:
            for row in batch.to_pylist():
                order = FlightOrder(
                    row["key"],
                    row["scenario"],
                    msgspec.json.decode(row["settings"], type=RowSettings),
                    row["seed"],
                )
                if not kept.has(order.key):
                    kept.keep(self.fly(order, attempt))
                yield pa.RecordBatch.from_pydict({"key": [order.key]})

    def fly(self, order: FlightOrder, attempt: int = 0) -> SweptFlight:
        """Fly one order; what goes wrong with the flight is its result."""
        scenario = self.sweep.scenarios[order.scenario]
        swept = SweptFlight(key=order.key, scenario=scenario.name, settings=texts_of(order.settings), seed=order.seed)
        if attempt >= ATTEMPTS:
            reason = f"its process ended {attempt} times: the machine may be out of memory"
            return msgspec.structs.replace(swept, failure=reason, repeatable=False)
        pilot = RowPilot(
            scenario,
            [order.settings],
            fixed=self.sweep.fixed,
            until_us=self.sweep.until_us,
            allow_code=self.allow_code,
        )
        return self._flown(pilot, swept, self._record_of(order.key))

    def _record_of(self, key: str) -> Path | None:
        """Where a flight is recorded; what an attempt left there that did not end is removed."""
        if self.recordings is None:
            return None
        path = self.recordings / f"{key}.flight"
        try:
            if path.exists():
                shutil.rmtree(path)
        except OSError as error:
            raise RecordingError(f"cannot record in {path}: {error.strerror or error}") from error
        return path

    @staticmethod
    def _flown(pilot: RowPilot, swept: SweptFlight, record: Path | None) -> SweptFlight:
        put: Callable[..., SweptFlight] = msgspec.structs.replace
        try:
            flight = pilot(RowSeed(0, swept.seed), record)
        except (SettingError, ScenarioErrors) as error:
            return put(swept, failure=str(error))
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug costs one flight, and its row names it
            reason = f"{type(error).__name__}: {error}"
            return put(swept, failure=reason, repeatable=not isinstance(error, MemoryError))
        if flight is None:
            raise InterruptedError("the flight was interrupted")
        if flight.failed is not None or flight.bill is None:
            return put(swept, failure=flight.failed)
        return put(
            swept,
            journal_sha256=flight.journal_sha256,
            events=flight.events,
            held=flight.held,
            measures=totals(flight.bill),
        )
