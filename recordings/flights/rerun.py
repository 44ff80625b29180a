"""Rerun a recording: its scenario, seed and operator's commands in a new simulation, compared event by event.

Without a change every command is executed at its turn, and the events must equal the recorded ones byte for byte. A
recording that is not complete (a crash, Ctrl-C) is rerun up to its last whole event. With a `--set` the rerun is a
what-if: turns lose their meaning, commands are executed at their instants, and a difference is the answer, not an
error. So it is with a recording whose version had other events (`SAME_EVENTS`): the rerun says so.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from recordings.comparison.course import Course, CourseOrder, course_of
from recordings.comparison.diff import FlightDiff, Side
from recordings.comparison.samples import meter_up_to
from recordings.flights.runner import FlightResult, Replay, Setting, fly
from recordings.flights.what_if import compare_with, flown_course, operators_commands, plan_of
from recordings.journal.comparison import Comparison, Divergence
from recordings.journal.format import FORMAT, SAME_EVENTS, JournaledCommand
from recordings.journal.reader import Recording
from recordings.journal.upgrade import upgraded_lines
from recordings.scenarios.custom_code import Leave


class RerunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The new flight and its comparison: `matches` if no event differed as far as both flights go.

    `exact` is False for a what-if, and with `other_events`: their events are expected to differ. `diff` compares what a
    what-if costs with what was recorded.
    """

    flight: FlightResult
    exact: bool
    other_events: bool
    matches: bool
    compared_events: int
    first_divergence: Divergence | None
    warnings: list[str]
    diff: FlightDiff | None = None

    def report(self) -> dict[str, Any]:
        """The object that `rerun --json` prints."""
        report = self.flight.report() | {
            "exact": self.exact,
            "other_events": self.other_events,
            "matches": self.matches,
            "compared_events": self.compared_events,
            "first_divergence": msgspec.to_builtins(self.first_divergence),
        }
        return report if self.diff is None else report | {"diff": self.diff.report()}

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
    step_us: int | None = None,
) -> RerunResult:
    """Rerun the recording at `path`; `settings` make it a what-if, `until_us` another end, `record` a recording of it.

    `leave` permits code that the recorded scenario names and the library does not ship. `step_us`: the courses of a
    what-if get a detail with such a step. Raises RecordingError (no recording, or damaged), ScenarioErrors (an
    impossible setting), FlightError.
    """
    recording = Recording(path, salvage=salvage)
    survey = recording.survey()
    nothing = not survey.totals.events  # killed before its first events were on disk: nothing can differ
    other_events = recording.header.format < SAME_EVENTS
    _warn(recording, nothing=nothing, other_events=other_events)
    until_us = 0 if nothing else until_us
    leave = None if leave is None else msgspec.structs.replace(leave, never=path)
    cut_off = not survey.totals.complete and until_us is None
    if cut_off and other_events:  # the new flight has no such last event: it ends at that event's instant
        until_us = survey.totals.virtual_us
    end_us = _end_of(recording, until_us)
    plan = plan_of(recording, settings, end_us, leave)
    exact = not settings and not other_events
    stop_at_seq = survey.totals.events if cut_off and exact else None
    replay = _replay(survey.commands, by_turn=exact, stop_at_seq=stop_at_seq)
    comparison = Comparison(upgraded_lines(recording.event_lines(), recording.header.format))
    cut_us = survey.totals.virtual_us if end_us > survey.totals.virtual_us else None
    meter = meter_up_to(end_us, cut_us, step_us) if settings and not nothing else None
    flight = fly(plan, record=record, replay=replay, progress=progress, on_lines=comparison, meter=meter)
    comparison.finish(
        recorded_until_us=-1 if nothing else survey.totals.virtual_us,
        flown_until_us=flight.virtual_us if flight.diverged is None else math.inf,
    )
    return RerunResult(
        flight=flight,
        exact=exact,
        other_events=other_events,
        matches=comparison.divergence is None and flight.diverged is None,
        compared_events=comparison.compared,
        first_divergence=comparison.divergence,
        diff=None if meter is None else _what_if(path, salvage, flown_course(plan, flight, meter, record), step_us),
        warnings=recording.warnings,
    )


def _warn(recording: Recording, *, nothing: bool, other_events: bool) -> None:
    if nothing:
        recording.warn(f"{recording.path} holds no whole event: there is nothing to compare with")
    if other_events:
        version = f"format {recording.header.format}, now {FORMAT}"
        recording.warn(
            f"{recording.path} was recorded by a version whose flights have other events ({version}): its scenario"
            " and commands are simulated again, and events are expected to differ"
        )


def _what_if(path: Path, salvage: bool, flown: Course, step_us: int | None) -> FlightDiff:
    original = course_of(CourseOrder(path, flown.until_us, salvage, step_us))
    return compare_with(original, Side(label="what-if", spoken="the what-if", course=flown), salvage=salvage)


def _end_of(recording: Recording, until_us: int | None) -> int:
    """The end of the new flight: as asked, as recorded, or for a flight without one, where it was stopped."""
    if until_us is None:
        until_us = recording.header.settings.until_us
    return recording.survey().totals.virtual_us if until_us is None else until_us


def _replay(commands: list[JournaledCommand], *, by_turn: bool, stop_at_seq: int | None) -> Replay:
    given = operators_commands(commands)
    if by_turn:
        return Replay(by_turn=tuple(given), stop_at_seq=stop_at_seq)
    return Replay(by_time=tuple((at_us, command) for _, at_us, command in given))
