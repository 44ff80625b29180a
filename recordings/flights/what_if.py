"""What reruns and forks have in common: the plan and commands of a recording, and the comparison with its flight."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from cluster.commands import Command, CommandError, parse
from recordings.bounded_files import RecordingError
from recordings.comparison.course import Course, CourseOrder, course_of
from recordings.comparison.diff import FlightDiff, Side, compare
from recordings.comparison.meter import BillMeter
from recordings.comparison.samples import SampledMeter
from recordings.flights.runner import FlightResult, Plan, Setting, make_plan
from recordings.journal.format import JournaledCommand
from recordings.journal.reader import Recording
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import parse_scenario


def plan_of(recording: Recording, settings: Sequence[Setting], until_us: int, leave: Leave | None) -> Plan:
    """The plan of a recorded flight, with further settings and another end.

    Raises ScenarioErrors or SettingError, also for code that cannot run.
    """
    header = recording.header
    recorded = header.settings
    scenario = parse_scenario(header.scenario_text, header.scenario, recorded=True)
    return make_plan(scenario, seed=recorded.seed, until_us=until_us, settings=[*recorded.set, *settings], leave=leave)


def operators_commands(commands: Sequence[JournaledCommand]) -> list[tuple[int, int, Command]]:
    """The operator's commands, with turn and µs; scenario and seed reproduce all others. Raises RecordingError."""
    return [(line.turn, line.at_us, _parsed(line)) for line in commands if line.source == "operator"]


def _parsed(line: JournaledCommand) -> Command:
    try:
        return parse(line.command)
    except CommandError as error:
        raise RecordingError(f"the command after event {line.after_seq} is damaged: {error}") from error


def flown_course(plan: Plan, flight: FlightResult, meter: BillMeter, record: Path | None) -> Course:
    """The course of a flight that has just been flown, up to the end of its meter."""
    end_us = flight.virtual_us if meter.until_us is None else min(flight.virtual_us, meter.until_us)
    bill = meter.bill(end_us)
    return Course(
        recording="" if record is None else str(record),
        scenario=plan.scenario,
        settings=plan.settings,
        virtual_us=flight.virtual_us,
        until_us=end_us,
        events=flight.events,
        journal_sha256=flight.journal_sha256,
        bill=bill,
        log=meter.log,
        detail=meter.detail(bill) if isinstance(meter, SampledMeter) else None,
    )


def compare_with(original: Course, flown: Side, *, salvage: bool, label: str = "recorded") -> FlightDiff:
    """Compare a recorded flight with one that has just been flown; read the recording again if this one ends before.

    `label`: what the recorded flight is called.
    """
    until_us = flown.course.until_us
    if original.until_us > until_us:
        step_us = None if original.detail is None else original.detail.step_us
        original = course_of(CourseOrder(Path(original.recording), until_us, salvage, step_us))
    recorded = Side(label=label, spoken=f"the {label} flight", course=msgspec.structs.replace(original, warnings=[]))
    return compare(recorded, flown)
