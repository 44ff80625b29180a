"""Rerun a recording: its scenario, seed and operator's commands in a new simulation, compared event by event.

Without a change every command is executed at its turn, and the events must equal the recorded ones byte for byte. A
recording that is not complete (a crash, Ctrl-C) is rerun up to its last whole event. With a `--set` the rerun is a
what-if: turns lose their meaning, commands are executed at their instants, and a difference is the answer, not an
error. So it is with a recording whose version drew from other random streams (`SAME_DRAWS`): the rerun says so.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cluster.commands import Command, CommandError, parse
from recordings.bounded_files import RecordingError
from recordings.flights.runner import FlightResult, Plan, Replay, Setting, fly, make_plan
from recordings.journal.comparison import Comparison, Divergence
from recordings.journal.format import FORMAT, SAME_DRAWS, JournaledCommand
from recordings.journal.reader import Recording
from recordings.journal.upgrade import upgraded_lines
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import parse_scenario


class RerunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The new flight and its comparison: `matches` if no event differed as far as both flights go.

    `exact` is False for a what-if, and with `other_draws`: their events are expected to differ.
    """

    flight: FlightResult
    exact: bool
    other_draws: bool
    matches: bool
    compared_events: int
    first_divergence: Divergence | None
    warnings: list[str]

    def report(self) -> dict[str, Any]:
        """The object that `rerun --json` prints."""
        return self.flight.report() | {
            "exact": self.exact,
            "other_draws": self.other_draws,
            "matches": self.matches,
            "compared_events": self.compared_events,
            "first_divergence": msgspec.to_builtins(self.first_divergence),
        }

    @property
    def held(self) -> bool:
        """Whether the expectations and invariants held, and, if exact, the events matched."""
        return self.flight.held and (self.matches or not self.exact)


def rerun(
    path: Path,
    *,
    settings: Sequence[Setting] = (),
    until_us: int | None = None,
    record: Path | None = None,
    salvage: bool = False,
    progress: Callable[[int], object] | None = None,
    leave: Leave | None = None,
) -> RerunResult:
    """Rerun the recording at `path`; `settings` make it a what-if, `until_us` another end, `record` a recording of it.

    `leave` permits code that the recorded scenario names and the library does not ship. Raises RecordingError (no
    recording, or damaged), ScenarioErrors (an impossible setting, code without permission), FlightError.
    """
    recording = Recording(path, salvage=salvage)
    survey = recording.survey()
    nothing = not survey.totals.events  # killed before its first events were on disk: nothing can differ
    if nothing:
        recording.warn(f"{path} holds no whole event: there is nothing to compare with")
        until_us = 0
    leave = None if leave is None else msgspec.structs.replace(leave, never=path)
    other_draws = recording.header.format < SAME_DRAWS
    cut_off = not survey.totals.complete and until_us is None
    if cut_off and other_draws:  # the new flight has no such last event: it ends at that event's instant
        until_us = survey.totals.virtual_us
    plan = _plan(recording, settings, until_us, leave)
    if other_draws:
        recording.warn(
            f"{path} was flown by a version with other random draws (format {recording.header.format}, now {FORMAT}):"
            " its scenario and commands are flown anew, and events are expected to differ"
        )
    exact = not settings and not other_draws
    stop_at_seq = survey.totals.events if cut_off and exact else None
    replay = _replay(survey.commands, by_turn=exact, stop_at_seq=stop_at_seq)
    comparison = Comparison(upgraded_lines(recording.event_lines(), recording.header.format))
    flight = fly(plan, record=record, replay=replay, progress=progress, on_lines=comparison)
    comparison.finish(
        recorded_until_us=-1 if nothing else survey.totals.virtual_us,
        flown_until_us=flight.virtual_us if flight.diverged is None else math.inf,
    )
    return RerunResult(
        flight=flight,
        exact=exact,
        other_draws=other_draws,
        matches=comparison.divergence is None and flight.diverged is None,
        compared_events=comparison.compared,
        first_divergence=comparison.divergence,
        warnings=recording.warnings,
    )


def _plan(recording: Recording, settings: Sequence[Setting], until_us: int | None, leave: Leave | None) -> Plan:
    header = recording.header
    recorded = header.settings
    if until_us is None:
        until_us = recorded.until_us
    if until_us is None:  # a flight without a declared end: up to the instant at which it was stopped
        until_us = recording.survey().totals.virtual_us
    scenario = parse_scenario(header.scenario_text, header.scenario, recorded=True)
    return make_plan(scenario, seed=recorded.seed, until_us=until_us, settings=[*recorded.set, *settings], leave=leave)


def _replay(commands: list[JournaledCommand], *, by_turn: bool, stop_at_seq: int | None) -> Replay:
    """The operator's commands; scenario and seed reproduce all others."""
    given = [(line.turn, line.at_us, _parsed(line)) for line in commands if line.source == "operator"]
    if by_turn:
        return Replay(by_turn=tuple(given), stop_at_seq=stop_at_seq)
    return Replay(by_time=tuple((at_us, command) for _, at_us, command in given))


def _parsed(line: JournaledCommand) -> Command:
    try:
        return parse(line.command)
    except CommandError as error:
        raise RecordingError(f"the command after event {line.after_seq} is damaged: {error}") from error
