"""The flights of a plan: one row's settings and one seed each, flown in this process or in another one."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cluster.simulation import garbage_collection
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.flights import interruption
from recordings.flights.processes import ProcessEnded, flown_in
from recordings.flights.runner import FlightError, Plan, fly, make_plan
from recordings.planning.grid import RowSettings
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import Scenario


class RowSeed(msgspec.Struct, frozen=True):
    """One flight to fly: a row of the plan, and a seed."""

    row: int
    seed: int


class RowFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A flight that has ended: its bill, or why it failed. `held`: no expectation failed.

    `repeatable`: another attempt would fail as well, so that a plan that is resumed does not fly it again.
    """

    row: int
    seed: int
    journal_sha256: str = ""
    events: int = 0
    held: bool = False
    bill: Bill | None = None
    failed: str | None = None
    repeatable: bool = True


class RowPilot:
    """Flies any row of a plan with any seed; a process gets it once."""

    def __init__(
        self,
        scenario: Scenario,
        rows: list[RowSettings],
        *,
        fixed: RowSettings = (),
        until_us: int | None = None,
        invariants: bool = True,
        allow_code: bool = False,
    ) -> None:
        self.scenario, self.rows, self.fixed, self.until_us = scenario, rows, fixed, until_us
        self._invariants, self._allow_code = invariants, allow_code
        self._plans: dict[int, Plan] = {}

    def plan(self, row: int, notify: Callable[[str], object] | None = None) -> Plan:
        """The flight plan of a row, read once. Raises ScenarioErrors or SettingError: the settings are impossible."""
        if row not in self._plans:
            self._plans[row] = make_plan(
                self.scenario,
                until_us=self.until_us,
                settings=[*self.fixed, *self.rows[row]],
                invariants=self._invariants,
                leave=Leave(notify or _say_nothing) if self._allow_code else None,
            )
        return self._plans[row]

    def __call__(self, order: RowSeed, record: Path | None = None) -> RowFlight | None:
        """Fly it, into a recording if one is named; None if the user has ended it."""
        plan = self.plan(order.row)
        plan = msgspec.structs.replace(plan, settings=msgspec.structs.replace(plan.settings, seed=order.seed))
        meter = BillMeter()
        try:
            result = fly(plan, record=record, meter=meter)
        except FlightError as error:
            return RowFlight(row=order.row, seed=order.seed, failed=str(error))
        if result.interrupted:
            return None
        violations = result.invariants["violations"]
        reason = (
            f"{violations[0]['invariant']} {violations[0]['name']}: {violations[0]['found']}" if violations else None
        )
        return RowFlight(
            row=order.row,
            seed=order.seed,
            journal_sha256=result.journal_sha256,
            events=result.events,
            held=result.held,
            bill=meter.bill(result.virtual_us) if reason is None else None,
            failed=reason,
        )

    def __getstate__(self) -> dict[str, object]:
        """Another process makes its own plans: that loads the scenario's code there."""
        return self.__dict__ | {"_plans": {}}


@contextmanager
def flown(pilot: RowPilot, orders: Iterable[RowSeed], jobs: int) -> Iterator[Iterator[RowFlight]]:
    """Fly the orders in `jobs` processes and yield each flight as soon as it has ended, until Ctrl-C."""
    if jobs == 1:
        with garbage_collection.few_collections():
            yield _one_by_one(pilot, orders)
        return
    with flown_in(jobs, pilot, orders) as results:
        yield _of_processes(results)


def _one_by_one(pilot: RowPilot, orders: Iterable[RowSeed]) -> Iterator[RowFlight]:
    for order in orders:
        flight = None if interruption.was_asked() else pilot(order)
        if flight is None:
            return
        yield flight


def _of_processes(results: Iterator[tuple[int, RowSeed, RowFlight | ProcessEnded | None]]) -> Iterator[RowFlight]:
    for _, order, flight in results:
        if isinstance(flight, ProcessEnded):
            yield RowFlight(row=order.row, seed=order.seed, failed=flight.reason, repeatable=False)
        elif flight is not None:
            yield flight


def _say_nothing(_: str) -> None:
    """The permission to run code was announced by the first process."""
