"""The request for a live flight: the user's options, and the plan and recording made from them; how it is resumed."""

# ruff: noqa: PLC0415 - heavy imports wait until the first screen is drawn

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cluster.commands import Command

if TYPE_CHECKING:
    from recordings.flights.runner import Plan
    from recordings.journal.writer import Recorder
    from recordings.scenarios.custom_code import Leave
    from recordings.scenarios.loader import Scenario

Setting = tuple[str | None, str, str]


class FlightRequest(NamedTuple):
    """A scenario (a name, a file, or loaded) and its options; `leave`: permission to run the scenario's own code."""

    scenario: "str | Path | Scenario"
    seed: int | None = None
    until_us: int | None = None
    settings: Sequence[Setting] = ()
    record: str | Path | None = None
    invariants: bool = True
    leave: "Leave | None" = None

    def prepare(self) -> "tuple[Plan | None, Recorder | None, str]":
        """The plan, the recorder if one was requested, and the error if there is no plan."""
        from recordings.bounded_files import RecordingError
        from recordings.scenarios.loader import ScenarioErrors, SettingError

        try:
            plan = self.plan()
            return plan, self.recorder(plan), ""
        except (ScenarioErrors, SettingError, RecordingError) as error:
            return None, None, str(error)

    def plan(self) -> "Plan":
        """The flight's plan. Raises ScenarioErrors or SettingError."""
        from recordings.flights.runner import make_plan
        from recordings.scenarios.loader import load

        given = self.scenario
        return make_plan(
            load(given) if isinstance(given, str | Path) else given,
            seed=self.seed,
            until_us=self.until_us,
            settings=self.settings,
            invariants=self.invariants,
            leave=self.leave,
        )

    def recorder(self, plan: "Plan") -> "Recorder | None":
        """The recorder of the requested recording; None without a request. Raises RecordingError."""
        if self.record is None:
            return None
        from recordings.journal.writer import Recorder, new_header

        return Recorder(Path(self.record), new_header(plan.scenario, plan.text, plan.settings))


class Resumption(NamedTuple):
    """A flight that begins as another one: its commands by turn, flat out up to an instant; then as it was."""

    commands: list[tuple[int, int, Command]]
    until_us: int
    paused: bool
