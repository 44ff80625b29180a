"""Two flights to look at beside each other: a flight and its fork, a recording and its what-if, two recordings."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from cluster.commands import parse
from cluster.config import spoken_duration
from recordings.bounded_files import RecordingError
from recordings.comparison.course import Course, CourseOrder, course_of
from recordings.comparison.diff import FlightDiff, diff_of
from recordings.comparison.samples import step_for
from recordings.flights.fork import ForkPoint, ShownBeside, fork
from recordings.flights.rerun import rerun
from recordings.flights.runner import Replay, Setting, fly, make_plan
from recordings.journal.format import Settings
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario

Share = Callable[[float], object]


class FlownSoFar(msgspec.Struct, frozen=True):
    """A live flight: its scenario's text, its settings, and the operator's commands so far (turn, µs, text)."""

    scenario: str
    text: str
    settings: Settings
    commands: tuple[tuple[int, int, str], ...] = ()


class FlightsBeside(msgspec.Struct, frozen=True, kw_only=True):
    """Two flights compared, each with its detail; `notes`: what the second one's settings wait for, and warnings."""

    diff: FlightDiff
    notes: list[str]


def fork_beside(
    recording: Path,
    point: ForkPoint,
    until_us: int | None,
    record: Path,
    progress: Share,
    *,
    label: str = "recorded",
) -> FlightsBeside:
    """Fork a recording, which is called `label`. Raises as `fork` does, and RecordingError for a refused command."""
    end_us = until_us or _end_of(recording)
    found = fork(
        recording,
        point,
        until_us=end_us,
        record=record,
        progress=lambda now_us: progress(now_us / end_us),
        shown=ShownBeside(step_for(end_us), label),
    )
    if found.refused:
        raise RecordingError(f"refused, and without effect: {found.refused[0].text}: {found.refused[0].reason}")
    if found.diff is None:
        raise RecordingError(found.warnings[-1])
    waiting = [
        f"{one.scope} {one.key}={one.value} counts {one.effect} of {', '.join(one.processes) or one.scope}"
        for one in found.settings
        if one.effect != "now"
    ]
    return FlightsBeside(diff=found.diff, notes=[*waiting, *found.warnings])


def live_fork_beside(
    flown: FlownSoFar, point: ForkPoint, until_us: int | None, directory: Path, progress: Share
) -> FlightsBeside:
    """Fly a live flight again, on to its end with the commands so far, into `directory`; then fork that."""
    original = directory / "original.flight"
    end_us = fly_again(flown, until_us, original, lambda share: progress(share / 2))
    made = directory / "fork.flight"
    return fork_beside(original, point, end_us, made, lambda share: progress(0.5 + share / 2), label="live")


def fly_again(flown: FlownSoFar, until_us: int | None, record: Path, progress: Share) -> int:
    """Fly a live flight again with its commands so far, into `record`; returns the instant at which it ends."""
    scenario = parse_scenario(flown.text, flown.scenario, recorded=True)
    own = flown.settings
    plan = make_plan(scenario, seed=own.seed, until_us=until_us or own.until_us, settings=own.set)
    end_us = plan.settings.until_us or 1
    replay = Replay(by_turn=tuple((turn, at_us, parse(text)) for turn, at_us, text in flown.commands))
    fly(plan, record=record, replay=replay, progress=lambda now_us: progress(now_us / end_us))
    return end_us


def what_if_beside(recording: Path, settings: Sequence[Setting], record: Path, progress: Share) -> FlightsBeside:
    """Fly a recording again with other settings from its beginning. Raises as `rerun` does."""
    end_us = _end_of(recording)
    found = rerun(
        recording,
        settings=settings,
        record=record,
        progress=lambda now_us: progress(now_us / end_us),
        step_us=step_for(end_us),
    )
    if found.diff is None:
        raise RecordingError(f"{recording} holds no whole event: there is nothing to compare with")
    return FlightsBeside(diff=found.diff, notes=found.warnings)


def recordings_beside(a: Path, b: Path, progress: Share) -> FlightsBeside:
    """Read two recordings up to the end of the shorter one. Raises as `diff` does."""
    until_us = min(_end_of(a), _end_of(b))
    courses: list[Course] = []
    for path in (a, b):
        courses.append(course_of(CourseOrder(path, until_us, step_us=step_for(until_us))))
        progress(len(courses) / 2)
    return FlightsBeside(diff=diff_of(a, b, courses), notes=[note for course in courses for note in course.warnings])


def _end_of(path: Path) -> int:
    """The end of a recorded flight, as its scenario or its footer says; of one that was cut off, its last event."""
    recording = Recording(path)
    length_us = recording.survey().totals.virtual_us
    if not length_us:
        raise RecordingError(f"{path} holds no whole event: there is nothing to compare with")
    return length_us


def not_before(at_us: int, end_us: int) -> str:
    """Why a flight that ends at `end_us` has no fork at an instant; "" if it has."""
    if at_us < end_us:
        return ""
    end = spoken_duration(end_us // 1_000 * 1_000)
    return f"the flight ends at {end}: fork at an earlier instant, as `fork at TIME do COMMAND`"
