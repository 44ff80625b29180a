"""`flightdeck bench`: how fast this machine flies the reference loads."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD, NOT_HELD, UsageError
from console.cli.options import Until, duration_of, whole_number
from console.cli.streams import json_of, print_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from console.bench.report import BenchReport, MeasuredLoad

MOST_ROUNDS = 1_000


_HEADS = (
    *("build", "load", "flown", "× real time", "spread", "× normalised", "turns/s"),
    *("µs an event", "µs normalised", "peak MB", "start and exit"),
)


def bench(
    *scenarios: Annotated[str, Parameter(help="Scenarios or files; default: reference-s, reference-m, reference-l.")],
    until: Until = None,
    rounds: Annotated[int, Parameter(help="The number of flights of each.", converter=whole_number)] = 5,
    record: Annotated[bool, Parameter(help="Record each flight, in a temporary directory.")] = True,
    markdown: Annotated[bool, Parameter(help="Print the table of README.md.", negative="")] = False,
    json: Json = False,
) -> int:
    """Measure the speed of this machine: reference loads in new processes, beside a calibration."""
    until_us = duration_of("--until", until)
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"--rounds: from 1 to {MOST_ROUNDS}")
    if markdown and json:
        raise UsageError("--markdown and --json exclude each other: give one of them")
    from cluster.config import format_duration
    from console.bench.measurement import FlightFailed
    from console.bench.report import LOADS, measure
    from console.cli.output import StageProgress
    from recordings.flights.runner import make_plan
    from recordings.scenarios.loader import load

    plans = {name: make_plan(load(name), until_us=until_us) for name in scenarios or LOADS}
    loads = {name: format_duration(plan.settings.until_us or 0) for name, plan in plans.items()}
    if not all(plan.settings.until_us for plan in plans.values()):
        raise UsageError("--until: there is nothing to measure in 0s")
    progress = StageProgress(sys.stderr)
    try:
        measured = measure(loads, rounds, record=record, progress=progress)
    except FlightFailed as error:
        raise UsageError(str(error)) from None
    finally:
        progress.clear()
    if json:
        print_text(json_of(measured))
    else:
        print_text("\n".join(_markdown(measured) if markdown else _table(measured)))
    return HELD if measured.repeatable else NOT_HELD


def _table(report: "BenchReport") -> "Iterable[str]":
    """The figures in aligned columns, below the machine, above the cost of an event in each load."""
    rows = [_HEADS, *(_row(report, load) for load in report.loads)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield _machine(report)
    yield ""
    for row in rows:
        yield "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
    yield ""
    first, *others = report.loads
    for load in others:
        cost = load.us_per_event / first.us_per_event if first.us_per_event else 0.0
        yield f"an event of {load.scenario} costs {cost:.2f} × one of {first.scenario}"
    yield from (
        f"✖ {load.scenario}: its rounds were not the same flight" for load in report.loads if not load.repeatable
    )
    if report.interrupted:
        yield "interrupted: these flights were finished before"


def _markdown(report: "BenchReport") -> "Iterable[str]":
    """The table of README.md, and the machine below it."""
    rows = [_HEADS, ("---", "---", *("--:" for _ in _HEADS[2:])), *(_row(report, load) for load in report.loads)]
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
    yield _machine(report)


def _machine(report: "BenchReport") -> str:
    """The release, the machine and its calibration, in one line."""
    calibration = report.calibration
    return (
        f"Flightdeck {report.version}, {report.build}; {report.python}, {report.system}, {report.processor},"
        f" {report.cores} cores; calibration {calibration.median:,.0f} steps/s (spread {calibration.share:.0%});"
        f" {report.rounds} round{'s' if report.rounds > 1 else ''}{'' if report.recorded else ', not recorded'}."
    )


def _row(report: "BenchReport", load: "MeasuredLoad") -> "Sequence[str]":
    return (
        report.build,
        load.scenario,
        load.until,
        f"{load.times_real.median:,.1f}",
        f"{load.times_real.share:.0%}",
        f"{load.normalised_times_real:,.1f}",
        f"{load.turns_per_s:,}",
        f"{load.us_per_event:.1f}",
        f"{load.normalised_us_per_event:.1f}",
        f"{load.peak_rss_mb:,.0f}",
        f"{load.start_and_exit_s:.2f} s",
    )
