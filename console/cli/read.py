"""`flightdeck read`: logs of real processes become a recording."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD, UsageError
from console.cli.options import duration_of
from console.cli.streams import json_of, print_text

if TYPE_CHECKING:
    from cluster.events import Event
    from cluster.view import ClusterView
    from recordings.log_reading.twin_flight import TwinFlown

CLOCK = re.compile(r"(?P<log>.+)=(?P<sign>[+-]?)(?P<by>[^=]+)", re.DOTALL)


def read(
    logs: Annotated[list[Path], Parameter(help="Logs of brokers and clients.", negative="")],
    /,
    *,
    out: Annotated[Path, Parameter(help="The new recording's directory.")],
    pattern: Annotated[
        str | None,
        Parameter(help="The pattern of the lines, as log4j has it: '%d{ISO8601} %p [%t] %m (%c)%n'."),
    ] = None,
    clock: Annotated[
        list[str] | None,
        Parameter(
            help="What is added to the instants of a log, as LOG=+0.250s; may be repeated.",
            negative="",
        ),
    ] = None,
    follow: Annotated[bool, Parameter(help="Read on while the logs grow, until Ctrl-C.", negative="")] = False,
    as_scenario: Annotated[
        Path | None,
        Parameter(help="A new scenario file with the same members, joins, departures and faults; it is flown once."),
    ] = None,
    json: Json = False,
) -> int:
    """Read logs of brokers and clients: what they say of groups and producers becomes a recording."""
    from console.cli.outputs.reading import of_read_summary, of_twin
    from recordings.bounded_files import refuse_existing
    from recordings.flights import interruption
    from recordings.log_reading.make import read_logs
    from recordings.log_reading.summary import summary_of_logs

    clocks = _clocks(clock or [], logs)
    refuse_existing(as_scenario)
    if follow:
        said = None if json else _say
        with interruption.seen_to():
            reading = read_logs(
                logs, out, pattern=pattern, clocks=clocks, goes_on=lambda: not interruption.was_asked(), listener=said
            )
    else:
        reading = read_logs(logs, out, pattern=pattern, clocks=clocks)
    found = summary_of_logs(out, salvage=False)
    if as_scenario is None:
        print_text(json_of(reading) if json or found is None else of_read_summary(found))
        return HELD
    twin = _flown_twin(out, as_scenario)
    if json:
        print_text(json_of({"reading": reading, "twin": twin}))
    else:
        print_text((of_read_summary(found) + "\n\n" if found is not None else "") + of_twin(twin))
    return HELD


def _flown_twin(recording: Path, scenario: Path) -> "TwinFlown":
    """The twin, written and flown, with a line of progress."""
    from console.cli import output
    from recordings.log_reading.twin_flight import write_twin

    progress = output.progress_on(sys.stderr, None)
    try:
        return write_twin(recording, scenario, progress=progress)
    finally:
        if progress is not None:
            progress.clear()


def _say(view: "ClusterView", event: "Event") -> None:
    """Print what a line of the log told, as the console's events do."""
    from cluster.events import kind_of
    from console.presenters.formatting import clock
    from console.presenters.logged.groups import date_words

    entry = view.log_entries[-1] if view.log_entries else None
    if entry is not None and view.logs is not None and (entry.at_us, entry.event) == (event.at_us, kind_of(event)):
        print_text(f"{date_words(view.logs, event.at_us) or clock(event.at_us, 3)}  {entry.text}")


def _clocks(texts: list[str], logs: list[Path]) -> dict[Path, int]:
    """What is added to the instants of each log, in µs. Raises UsageError."""
    clocks: dict[Path, int] = {}
    for text in texts:
        found = CLOCK.fullmatch(text)
        chosen = [log for log in logs if found is not None and found["log"] in {str(log), log.name}]
        if found is None or len(chosen) != 1:
            known = ", ".join(map(str, logs))
            raise UsageError(f"--clock {text!r}: write LOG=+0.250s or LOG=-2s, where LOG is one of {known}")
        us = duration_of("--clock", found["by"]) or 0
        clocks[chosen[0]] = -us if found["sign"] == "-" else us
    return clocks
