"""The course of a recorded flight up to an instant: its bill and the lines of its event log, by one pass."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cluster.view.state import LogEntry
from recordings.bounded_files import RecordingError
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.comparison.samples import CourseDetail, SampledMeter
from recordings.flights.processes import ProcessEnded, can_fly_another, flown_in, flown_meanwhile
from recordings.journal.format import JournaledCommand, Settings
from recordings.journal.misfits import MISFITS, taken
from recordings.journal.reader import MOST_COMMANDS, Recording

ALONE_BELOW_BYTES = 1_000_000
"""Recordings smaller than this are read in this process: another one takes longer to start."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison needs of one flight.

    `virtual_us` is the flight's length, `until_us` the end of this course; `events` are those up to it.
    `journal_sha256` is the hash of the whole journal, "" without a footer or where damage ends the
    reading. `commands` are those of the whole recording. `detail` is there if it was asked for.
    """

    recording: str
    scenario: str
    settings: Settings
    virtual_us: int
    until_us: int
    events: int
    journal_sha256: str
    bill: Bill
    log: list[LogEntry]
    commands: list[JournaledCommand] = []
    warnings: list[str] = []
    detail: CourseDetail | None = None


class CourseOrder(msgspec.Struct, frozen=True):
    """A recording to read, up to an instant (None: to its end). `step_us`: with a detail that has such a step."""

    path: Path
    until_us: int | None = None
    salvage: bool = False
    step_us: int | None = None

    def meter(self) -> BillMeter:
        """The meter that reads it."""
        return BillMeter(keep_log=True) if self.step_us is None else SampledMeter(self.step_us, self.until_us)


def course_of(order: CourseOrder) -> Course:
    """Read a recording's course. Raises RecordingError: no recording, or damaged (unless `salvage`)."""
    recording = Recording(order.path, salvage=order.salvage)
    meter, until_us, count = order.meter(), order.until_us, 0
    commands: list[JournaledCommand] = []
    for entry in recording.entries():
        if isinstance(entry, JournaledCommand):
            commands.append(entry)
            if len(commands) > MOST_COMMANDS:
                raise RecordingError(f"{order.path} holds more than {MOST_COMMANDS:,} commands")
        elif until_us is None or entry.at_us <= until_us:
            if not taken(recording, entry, meter):
                break
            count += 1
    cut_short = order.salvage and recording.warnings  # the footer counts what is not there
    footer = None if cut_short else recording.footer
    virtual_us = meter.view.at_us if footer is None else footer.virtual_us
    try:
        bill = meter.bill(virtual_us if until_us is None else min(until_us, virtual_us))
    except MISFITS as error:
        raise RecordingError(f"{order.path} is damaged: its events contradict each other") from error
    header = recording.header
    return Course(
        recording=str(order.path),
        scenario=header.scenario,
        settings=header.settings,
        virtual_us=virtual_us,
        until_us=bill.at_us,
        events=count,
        journal_sha256=footer.journal_sha256 if footer is not None else "",
        bill=bill,
        log=meter.log,
        commands=commands,
        warnings=recording.warnings,
        detail=meter.detail(bill) if isinstance(meter, SampledMeter) else None,
    )


class CourseUnderWay(msgspec.Struct, frozen=True):
    """A recording's commands and length (µs), known at once, and its course, which `course` waits for.

    `course` raises RecordingError, as `course_of` does.
    """

    commands: list[JournaledCommand]
    virtual_us: int
    course: Callable[[], Course]


@contextmanager
def course_meanwhile(recording: Recording, order: CourseOrder) -> Iterator[CourseUnderWay]:
    """Read the course of a large recording in another process, while this one goes on. Raises RecordingError.

    Where there is no second core, and where damage decides how many commands count, it is read before this returns.
    """
    if order.salvage or _size(order.path) < ALONE_BELOW_BYTES or not can_fly_another():
        course = course_of(order)
        yield CourseUnderWay(course.commands, course.virtual_us, lambda: course)
        return
    with flown_meanwhile(_course_or_reason, order) as result:
        survey = recording.survey()
        yield CourseUnderWay(survey.commands, survey.totals.virtual_us, lambda: _course_in(order, result()))


def courses_of(paths: Sequence[Path], *, salvage: bool = False) -> list[Course]:
    """The courses of recordings up to the end of the shortest one. Raises RecordingError."""
    ends = [footer.virtual_us for path in paths if (footer := Recording(path, salvage=salvage).footer) is not None]
    courses = _read([CourseOrder(path, min(ends, default=None), salvage) for path in paths])
    until_us = min(course.until_us for course in courses)
    if any(course.until_us > until_us for course in courses):  # one without a footer is the shortest
        courses = _read([CourseOrder(path, until_us, salvage) for path in paths])
    return courses


def _read(orders: list[CourseOrder]) -> list[Course]:
    """The courses of these recordings, each read in a process of its own if they are large."""
    if sum(_size(order.path) for order in orders) < ALONE_BELOW_BYTES:
        return [course_of(order) for order in orders]
    found: dict[int, Course] = {}
    with flown_in(min(len(orders), max(2, os.cpu_count() or 2)), _course_or_reason, orders) as results:
        for number, order, course in results:
            found[number] = _course_in(order, course)
    if len(found) < len(orders):
        raise KeyboardInterrupt
    return [found[number] for number in sorted(found)]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.glob("segment-*")) if path.is_dir() else 0


def _course_in(order: CourseOrder, result: Course | str | ProcessEnded) -> Course:
    """The course that another process has read. Raises RecordingError with the reason why there is none."""
    if isinstance(result, ProcessEnded):
        raise RecordingError(f"{order.path} could not be read: {result.reason}")
    if isinstance(result, str):
        raise RecordingError(result)
    return result


def _course_or_reason(order: CourseOrder) -> Course | str:
    """The course, or why there is none: an error with its own arguments does not pass between processes."""
    try:
        return course_of(order)
    except RecordingError as error:
        return str(error)
