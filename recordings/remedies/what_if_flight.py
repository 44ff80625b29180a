"""A recorded flight, and flights of it with other settings: the same scenario, seed and operator's commands."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from cluster.commands import CommandError, parse
from cluster.spec import ScenarioSpec, SettingError
from cluster.view import ClusterView
from cluster.view.rebalances import RebalanceView
from recordings.bounded_files import RecordingError
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.flights.runner import FlightError, Plan, Replay, fly, make_plan
from recordings.journal.format import SAME_EVENTS, Header
from recordings.journal.misfits import MISFITS
from recordings.journal.reader import Recording
from recordings.remedies.candidates import CandidateSettings
from recordings.scenarios.loader import ScenarioErrors, parse_scenario


class RebalanceCost(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance of a group. `unread_partition_us` also counts the time without an owner before it began."""

    generation: int
    cause: str
    trigger: str
    started_us: int
    took_us: int
    unread_partition_us: int
    initial: bool
    epoch: bool = False  # `generation` is a group epoch


class WhatIfFlight(msgspec.Struct, frozen=True):
    """A flight: its bill and the rebalances of each group, or why it failed. It was interrupted without either."""

    bill: Bill | None = None
    rebalances: dict[str, list[RebalanceCost]] = {}
    failed: str | None = None


class WhatIfPilot:
    """Flies a recorded flight with further settings; a process gets it once."""

    def __init__(self, header: Header, until_us: int, given: Iterable[tuple[int, str]]) -> None:
        self._header, self._until_us, self._given = header, until_us, list(given)

    def plan(self, settings: CandidateSettings = ()) -> Plan:
        """The plan with further settings. Raises ScenarioErrors or SettingError if they are impossible."""
        scenario = parse_scenario(self._header.scenario_text, self._header.scenario, recorded=True)
        own = self._header.settings
        changed = [*own.set, *settings]
        return make_plan(scenario, seed=own.seed, until_us=self._until_us, settings=changed, invariants=False)

    def __call__(self, settings: CandidateSettings) -> WhatIfFlight:
        """Fly it."""
        try:
            plan = self.plan(settings)
            replay = Replay(by_time=tuple((at_us, parse(text)) for at_us, text in self._given))
            meter = BillMeter()
            result = fly(plan, replay=replay, meter=meter)
        except (ScenarioErrors, SettingError, FlightError) as error:
            return WhatIfFlight(failed=str(error))
        if result.interrupted:
            return WhatIfFlight()
        return WhatIfFlight(meter.bill(result.virtual_us), rebalance_costs(meter.view))


class RecordedFlight(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded flight as remedies need it. `journal_sha256` is "" for a flight that was not flown to its end."""

    path: Path
    spec: ScenarioSpec
    journal_sha256: str
    pilot: WhatIfPilot
    original: WhatIfFlight
    warnings: list[str]


def read_flight(path: Path, *, salvage: bool = False) -> RecordedFlight:
    """Read a recording. Raises RecordingError, and ScenarioErrors for code of the scenario that may not run.

    A recording of a version with other events is flown again, so that its remedies differ by their settings only.
    """
    recording = Recording(path, salvage=salvage)
    meter = BillMeter()
    for event in recording.events():
        try:
            meter(event)
        except MISFITS as error:
            raise recording.misfit(event) from error
    survey = recording.survey()
    header, totals = recording.header, survey.totals
    given = [(line.at_us, line.command) for line in survey.commands if line.source == "operator"]
    for _, text in given:
        try:
            parse(text)
        except CommandError as error:
            raise RecordingError(f"{path} is damaged: it holds the command {text!r}: {error}") from error
    pilot = WhatIfPilot(header, totals.virtual_us, given)
    spec = pilot.plan().spec
    if header.format < SAME_EVENTS:
        recording.warn(
            f"{path} was recorded by a version whose flights have other events: it is simulated again to compare"
        )
        original = pilot(())
    else:
        original = WhatIfFlight(meter.bill(totals.virtual_us), rebalance_costs(meter.view))
    return RecordedFlight(
        path=path,
        spec=spec,
        journal_sha256=totals.journal_sha256 if totals.complete else "",
        pilot=pilot,
        original=original,
        warnings=recording.warnings,
    )


def rebalance_costs(view: ClusterView) -> dict[str, list[RebalanceCost]]:
    """The rebalances that a view still has, by group."""
    return {name: [_cost(one) for one in group.rebalances] for name, group in view.groups.items()}


def _cost(one: RebalanceView) -> RebalanceCost:
    return RebalanceCost(
        generation=one.generation,
        cause=one.cause,
        trigger=one.trigger,
        started_us=one.started_us,
        took_us=one.took_us,
        unread_partition_us=one.stopped_partition_us + one.unowned_before_us,
        initial=one.initial,
        epoch=one.reconciliation is not None,
    )
