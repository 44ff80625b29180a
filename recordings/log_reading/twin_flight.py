"""A reading as a scenario: written, flown, and compared with what the logs say."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from cluster.events import Event
from recordings.bounded_files import RecordingError
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.log_reading.difference import GroupDifference, compared_rows
from recordings.log_reading.summary import ReadRebalanceRow, tables_of
from recordings.log_reading.twin import TwinMaker
from recordings.scenarios.loader import load


class TwinFlown(msgspec.Struct, frozen=True):
    """A scenario made of logs: what was guessed, what it lacks, how its flight compares, group by group."""

    scenario: str
    inferred: list[str]
    left_out: list[str]
    groups: list[GroupDifference]


def write_twin(reading: Path, scenario: Path, *, progress: Callable[[int], object] | None = None) -> TwinFlown:
    """Write the twin of a reading and fly it. Raises RecordingError: no group in it, or the file cannot be written."""
    maker, events = TwinMaker(), list(Recording(reading, logs=True).events())
    for event in events:
        maker.take(event)
    twin = maker.made(reading.name)
    if not twin.groups:
        raise RecordingError(f"{reading}: no line says who is a member of a group; a twin needs that")
    try:
        with scenario.open("x", encoding="utf-8") as file:
            file.write(twin.text)
    except FileExistsError:
        raise RecordingError(f"{scenario} already exists; choose another name, or remove it first") from None
    except OSError as error:
        raise RecordingError(f"cannot write {scenario}: {error.strerror or error}") from error
    flown: list[Event] = []
    fly(make_plan(load(scenario)), log=flown.append, progress=progress)
    logged, again = _by_group(events), _by_group(flown)
    groups = [compared_rows(name, logged.get(name, []), again.get(own, [])) for name, own in twin.groups.items()]
    return TwinFlown(str(scenario), twin.inferred, twin.left_out, groups)


def _by_group(events: list[Event]) -> dict[str, list[ReadRebalanceRow]]:
    rows: dict[str, list[ReadRebalanceRow]] = {}
    for row in tables_of(events)[1]:
        rows.setdefault(row.group, []).append(row)
    return rows
