"""Fork a recording: fly it again exactly up to an instant, then give it other commands and settings.

Up to the instant the operator's commands are executed at their turns, so that the events are the recorded ones. At it
the new commands are executed, before anything else of that instant; a setting becomes the command `set`, and waits for
a process's next start where Kafka's client reads it only there. Turns have lost their meaning from then on: the
operator's later commands are given at their recorded instants. A fork without a change keeps all turns: it is the
recorded flight.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from cluster.commands import Command, parse, text_of
from cluster.commands import catalogue as c
from cluster.config import spoken_duration
from cluster.events import CommandRefused, Event, SettingChanged
from cluster.spec import ScenarioSpec, SettingError, deployed, scopes_of_setting, why_not
from recordings.bounded_files import RecordingError
from recordings.comparison.course import CourseOrder, CourseUnderWay, course_meanwhile
from recordings.comparison.diff import FlightDiff, Side
from recordings.comparison.samples import meter_up_to
from recordings.flights.runner import FlightResult, Replay, Setting, fly
from recordings.flights.what_if import compare_with, flown_course, operators_commands, plan_of
from recordings.journal.comparison import Comparison
from recordings.journal.format import FORMAT, SAME_EVENTS
from recordings.journal.reader import Recording
from recordings.scenarios.custom_code import Leave

Turns = Sequence[tuple[int, int, Command]]
"""Commands as recorded: turn, µs, command."""


class ForkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The fork's flight, its comparison with the recorded one, and what `--set` has changed (`settings`).

    `refused`: those of the fork's own commands that the cluster could not carry out; they have changed nothing.
    `diff` is None where the recording ends, or the flight was ended, before the fork: there is nothing to compare.
    """

    flight: FlightResult
    at_us: int
    diff: FlightDiff | None
    settings: list[SettingChanged]
    refused: list[CommandRefused]
    warnings: list[str]

    @property
    def held(self) -> bool:
        """Whether the fork was reached and its commands carried out, and expectations and invariants held."""
        return self.flight.held and self.flight.virtual_us >= self.at_us and not self.refused

    def report(self) -> dict[str, Any]:
        """The object that `fork --json` prints."""
        return self.flight.report() | {
            "forked_at_s": self.at_us / 1_000_000,
            "settings": [msgspec.to_builtins(change) for change in self.settings],
            "diff": self.diff.report() if self.diff is not None else None,
        }


def fork_replay(at_us: int, commands: Sequence[Command], recorded: Turns = ()) -> Replay:
    """The commands of a fork: recorded ones by their turns before `at_us`, the new ones at it, the rest by time."""
    if not commands:
        return Replay(by_turn=tuple(recorded))
    before = tuple(each for each in recorded if each[1] < at_us)
    later = [(given_us, command) for _, given_us, command in recorded if given_us >= at_us]
    here = [(at_us, command) for command in commands]
    at_once = [each for each in later if each[0] == at_us]
    return Replay(by_turn=before, by_time=(*at_once, *here, *later[len(at_once) :]))


def set_commands(spec: ScenarioSpec, settings: Sequence[Setting]) -> list[Command]:
    """Settings as commands of a running cluster. Raises SettingError for one that cannot be set in flight."""
    commands: list[Command] = []
    for scope, key, value in settings:
        for name, inner in scopes_of_setting(spec, scope, key):
            reason = why_not(spec, name, inner, value)
            if reason is not None:
                raise SettingError(f"{name}:{inner}={value}: {reason}")
            commands.append(c.Set(name, inner, value))
    return commands


def _running_spec(spec: ScenarioSpec, recorded: Turns, at_us: int) -> ScenarioSpec:
    """The spec of the recorded cluster at an instant: as the scenario's steps and the operator's commands leave it."""
    given = [(given_us, command) for _, given_us, command in recorded if given_us <= at_us]
    before = sorted([*spec.given_before(at_us), *given], key=lambda one: one[0])
    return deployed(spec, [command for _, command in before])


def _given(running: ScenarioSpec, point: "ForkPoint") -> list[Command]:
    """A fork's own commands: each may name what those before it have created. Raises CommandError or SettingError."""
    commands: list[Command] = []
    for text in point.commands:
        commands.append(parse(text, running.names()))
        running = deployed(running, commands[-1:])
    return [*commands, *set_commands(running, point.settings)]


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a fork leaves the recorded flight, and by what: commands as they are typed, and settings."""

    at_us: int
    commands: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()


class ShownBeside(msgspec.Struct, frozen=True):
    """How a fork is shown beside its original: the step of its samples, and what the original is called."""

    step_us: int
    label: str = "recorded"


def fork(
    path: Path,
    point: ForkPoint,
    *,
    until_us: int | None = None,
    record: Path | None = None,
    salvage: bool = False,
    progress: Callable[[int], object] | None = None,
    leave: Leave | None = None,
    shown: ShownBeside | None = None,
) -> ForkResult:
    """Fork the recording at `path`; `until_us` is by default the recorded flight's end.

    `shown`: the courses of both flights get a detail.

    Raises RecordingError (no recording, damaged, of other events), CommandError, SettingError, FlightError.
    """
    recording = Recording(path, salvage=salvage)
    if recording.header.format < SAME_EVENTS:
        raise RecordingError(
            f"{path} was recorded by a version whose flights have other events (format {recording.header.format}, now"
            f" {FORMAT}): it cannot be replayed exactly, so it cannot be forked"
        )
    end_us = until_us if until_us is not None else recording.header.settings.until_us
    with course_meanwhile(recording, CourseOrder(path, end_us, salvage, shown.step_us if shown else None)) as original:
        return _flown_beside(
            original,
            recording,
            point,
            end_us=end_us if end_us is not None else original.virtual_us,
            record=record,
            progress=progress,
            leave=None if leave is None else msgspec.structs.replace(leave, never=path),
            shown=shown,
        )


def _flown_beside(
    original: CourseUnderWay,
    recording: Recording,
    point: ForkPoint,
    *,
    end_us: int,
    record: Path | None,
    progress: Callable[[int], object] | None,
    leave: Leave | None,
    shown: ShownBeside | None,
) -> ForkResult:
    """Fly the fork and compare it with the recorded flight, whose course may still be read meanwhile."""
    at_us = point.at_us
    if at_us > end_us:
        raise SettingError(f"--at {spoken_duration(at_us)}: the fork ends before it, at {spoken_duration(end_us)}")
    plan = plan_of(recording, (), end_us, leave)
    recorded_commands = operators_commands(original.commands)
    given = _given(_running_spec(plan.spec, recorded_commands, at_us), point)
    replay = fork_replay(at_us, given, recorded_commands)
    cut = original.virtual_us if end_us > original.virtual_us else None
    changes = _Changes(at_us)
    meter = meter_up_to(end_us, cut, shown.step_us if shown else None)
    same = None if given else Comparison(recording.event_lines())
    flight = fly(plan, record=record, replay=replay, progress=progress, log=changes, meter=meter, on_lines=same)
    recorded = original.course()
    warnings = list(recorded.warnings)
    found = None
    if flight.virtual_us < at_us:
        reached = spoken_duration(flight.virtual_us // 1_000 * 1_000)
        warnings.append(f"the flight was ended at {reached}, before the fork: it has no course of its own")
    elif recorded.virtual_us > at_us:
        mine = flown_course(plan, flight, meter, record)
        flown = Side(label="fork", spoken="the fork", course=mine)
        label = shown.label if shown else "recorded"
        found = compare_with(recorded, flown, salvage=recording.salvage, label=label)
        if same is not None:
            same.finish(recorded_until_us=recorded.virtual_us, flown_until_us=flight.virtual_us)
            found = msgspec.structs.replace(found, equal=same.divergence is None and flight.diverged is None)
    else:
        end = spoken_duration(recorded.virtual_us // 1_000 * 1_000)
        warnings.append(f"{recording.path} ends at {end}, before the fork: there is no bill to compare with")
    texts = {text_of(command) for command in given}
    refused = [each for each in flight.refused if each.at_us == at_us and each.text in texts]
    return ForkResult(
        flight=flight, at_us=at_us, diff=found, settings=changes.found, refused=refused, warnings=warnings
    )


class _Changes:
    """A listener that keeps the settings that are changed at an instant."""

    def __init__(self, at_us: int) -> None:
        self._at_us = at_us
        self.found: list[SettingChanged] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, SettingChanged) and event.at_us == self._at_us:
            self.found.append(event)
