"""The course of a recorded flight up to an instant: its bill and the lines of its log of events, by one pass."""

from pathlib import Path

import msgspec

from cluster.view.state import LogEntry
from recordings.bounded_files import RecordingError
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.journal.format import JournaledCommand, Settings
from recordings.journal.reader import MISFITS, MOST_COMMANDS, Recording


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison needs of one flight.

    `virtual_us` is the flight's length, `until_us` the end of this course; `events` are those up to it.
    `journal_sha256` is the hash of the whole journal, "" without a footer. `commands` are those of the whole recording.
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


class CourseOrder(msgspec.Struct, frozen=True):
    """A recording to read, up to an instant (None: to its end)."""

    path: Path
    until_us: int | None = None
    salvage: bool = False


def course_of(order: CourseOrder) -> Course:
    """Read a recording's course. Raises RecordingError: no recording, or damaged (unless `salvage`)."""
    recording = Recording(order.path, salvage=order.salvage)
    meter, until_us, count = BillMeter(keep_log=True), order.until_us, 0
    commands: list[JournaledCommand] = []
    for entry in recording.entries():
        if isinstance(entry, JournaledCommand):
            commands.append(entry)
            if len(commands) > MOST_COMMANDS:
                raise RecordingError(f"{order.path} holds more than {MOST_COMMANDS:,} commands")
        elif until_us is None or entry.at_us <= until_us:
            try:
                meter(entry)
            except MISFITS as error:
                damage = recording.misfit(entry)
                if not order.salvage:
                    raise damage from error
                recording.warn(f"{damage.place}: {damage.reason}; read up to event {entry.seq - 1}")
                break
            count += 1
    footer = recording.footer
    virtual_us = meter.view.at_us if footer is None else footer.virtual_us
    try:
        bill = meter.bill(virtual_us if until_us is None else min(until_us, virtual_us))
    except MISFITS as error:
        raise RecordingError(f"{order.path} is damaged: its events do not fit together") from error
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
    )


def course_or_reason(order: CourseOrder) -> Course | str:
    """The course, or why there is none: an error with its own arguments does not pass between processes."""
    try:
        return course_of(order)
    except RecordingError as error:
        return str(error)
