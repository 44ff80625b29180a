"""Commands on recordings: `summary`, `diff` (two by their costs), `fork`, `export`."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter

from console.cli.arguments import Json, Record, Salvage, Strict
from console.cli.errors import HELD, NOT_HELD, UsageError, warn
from console.cli.options import AllowCodeFrom, Sets, Until, duration_of, leave_of, settings_of
from console.cli.scraping.history import Openmetrics, Start, Step, export_metrics
from console.cli.streams import json_of, print_text

if TYPE_CHECKING:
    from recordings.tables.summary import Summary

RemediesOf = Annotated[
    list[str] | None,
    Parameter(
        name="--remedies",
        help="Fly the flight again with settings that could have changed a rebalance of these groups or generations;"
        " without a value, of one rebalance of each group.",
        consume_multiple=True,
        negative="",
    ),
]


def summary(
    recordings: Annotated[list[Path], Parameter(help="The recordings' directories.", negative="")],
    /,
    *,
    remedies: RemediesOf = None,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Print a recording's main tables, without Spark; several recordings are ranked by what they cost."""
    from console.cli import comparison, output
    from recordings.tables.summary import summarize

    if len(recordings) > 1:
        if remedies is not None:
            raise UsageError("--remedies: give one recording; several are ranked")
        return _ranked(recordings, salvage=salvage, json=json)
    from recordings.log_reading.summary import summary_of_logs

    if (read_summary := summary_of_logs(recordings[0], salvage=salvage)) is not None:
        from console.cli.outputs.reading import of_read_summary

        if remedies is not None:
            raise UsageError("--remedies flies a flight again; this recording was read from logs")
        warn(read_summary.warnings)
        print_text(json_of(read_summary) if json else of_read_summary(read_summary))
        return HELD
    found = summarize(recordings[0], salvage=salvage)
    warn(found.warnings)
    tables = [output.of_recording(found), *map(comparison.of_ranking, found.rankings)]
    if remedies is not None:
        return _with_remedies(found, tables, remedies, salvage=salvage, json=json)
    print_text(json_of(found) if json else "\n\n".join(tables))
    return HELD


def _with_remedies(found: "Summary", tables: list[str], wanted: list[str], *, salvage: bool, json: bool) -> int:
    """Print the tables, and the remedies below them."""
    from console.cli.comparison import of_remedies
    from console.cli.output import StageProgress
    from recordings.flights import interruption
    from recordings.remedies.search import find_remedies

    progress = StageProgress(sys.stderr)
    try:
        with interruption.seen_to():
            sought = find_remedies(Path(found.recording), wanted, salvage=salvage, progress=progress)
    finally:
        progress.clear()
    warn([warning for warning in sought.warnings if warning not in found.warnings])
    report = msgspec.to_builtins(found) | {"remedies": sought.found}
    text = json_of(report) if json else "\n\n".join([*tables, of_remedies(sought)])
    print_text(text)
    return NOT_HELD if sought.interrupted else HELD


def _ranked(paths: list[Path], *, salvage: bool, json: bool) -> int:
    """Rank recordings up to the end of the shortest one."""
    from console.cli.comparison import of_ranked_flights
    from recordings.comparison.course import courses_of
    from recordings.comparison.ranking import rank_flights
    from recordings.flights import interruption

    with interruption.seen_to():
        courses = courses_of(paths, salvage=salvage)
    names = names_of(paths)
    for course in courses:
        warn(course.warnings)
    ranking = rank_flights(dict(zip(names, courses, strict=True)))
    report = {"until_us": courses[0].until_us, "ranking": ranking, "bills": [course.bill for course in courses]}
    report["recordings"] = [str(path) for path in paths]
    print_text(json_of(report) if json else of_ranked_flights(ranking, courses))
    return HELD


def names_of(paths: list[Path]) -> list[str]:
    """The names of recordings in a table: of their directories, or as they were given if two have the same."""
    names = [path.resolve().name.removesuffix(".flight") for path in paths]
    if len(set(names)) == len(names):
        return names
    given = [str(path) for path in paths]
    return given if len(set(given)) == len(given) else [f"{number}: {name}" for number, name in enumerate(given, 1)]


def diff(
    a: Annotated[Path, Parameter(help="A recording's directory.")],
    b: Annotated[Path, Parameter(help="Another recording's directory.")],
    /,
    *,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Compare two recordings: what each costs, the first divergence that matters, and both bills."""
    from console.cli.comparison import of_diff
    from recordings.comparison.diff import diff as diff_recordings
    from recordings.flights import interruption
    from recordings.log_reading.difference import difference_of_logs

    if (of_logs := difference_of_logs(a, b, salvage=salvage)) is not None:
        from console.cli.outputs.reading import of_logs_difference

        warn(of_logs.warnings)
        print_text(json_of(of_logs) if json else of_logs_difference(of_logs))
        return HELD if of_logs.equal else NOT_HELD
    with interruption.seen_to():
        found = diff_recordings(a, b, salvage=salvage)
    warn([*found.a.course.warnings, *found.b.course.warnings])
    print_text(json_of(found.report()) if json else of_diff(found))
    return HELD if found.equal else NOT_HELD


def fork(  # noqa: PLR0913 - options
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    at: Annotated[str, Parameter(help="The instant of the fork in virtual time.", allow_leading_hyphen=True)],
    do: Annotated[
        list[str] | None,
        Parameter(help="A command at that instant, as it is typed: 'kill broker-2'; may be repeated.", negative=""),
    ] = None,
    settings: Sets = None,
    until: Until = None,
    record: Record = None,
    salvage: Salvage = False,
    strict: Strict = False,
    allow_code: AllowCodeFrom = None,
    json: Json = False,
) -> int:
    """Fly a recording again up to an instant, then with other commands and settings: what does it cost?"""
    at_us, until_us, changes = duration_of("--at", at) or 0, duration_of("--until", until), settings_of(settings)
    from cluster.commands import text_of
    from console.cli import output
    from console.cli.comparison import of_fork
    from recordings.flights.fork import ForkPoint
    from recordings.flights.fork import fork as fork_recording
    from recordings.kafka_tools.pasted import commands_of

    commands = tuple(text_of(command) for text in do or () for command in commands_of(text))
    point = ForkPoint(at_us=at_us, commands=commands, settings=tuple(changes))
    progress = output.progress_on(sys.stderr, until_us)
    try:
        result = fork_recording(
            recording, point, until_us=until_us, record=record, salvage=salvage, progress=progress,
            leave=leave_of(allow_code),
        )  # fmt: skip
    finally:
        if progress is not None:
            progress.clear()
    warn(result.warnings)
    print_text(json_of(result.report()) if json else of_fork(result, record, strict=strict))
    return HELD if result.held and not (strict and result.flight.accidental) else NOT_HELD


def export(
    recordings: Annotated[list[Path], Parameter(help="The recordings' directories.", negative="")],
    /,
    *,
    to: Annotated[
        str | None, Parameter(help="A directory, or a URI (file, s3, hdfs); the tables are below it.")
    ] = None,
    trace: Annotated[Path | None, Parameter(help="A file for the trace of one recording, in Chrome's format.")] = None,
    openmetrics: Openmetrics = None,
    step: Step = None,
    start: Start = None,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Write recordings as typed Parquet tables, or one as a trace for Perfetto or as metrics for Prometheus."""
    if [to, trace, openmetrics].count(None) != 2:
        raise UsageError("give --to DIR for tables, --trace FILE or --openmetrics FILE: one of them")
    if openmetrics is not None:
        return export_metrics(recordings, openmetrics, step, start, salvage=salvage, json=json)
    if step is not None or start is not None:
        raise UsageError("--step and --start are for --openmetrics")
    from console.cli import output

    if trace is not None:
        if len(recordings) != 1:
            raise UsageError("--trace takes one recording: a trace has one flight")
        from recordings.trace.export import export_trace

        traced = export_trace(recordings[0], trace, salvage=salvage)
        warn(traced.warnings)
        print_text(json_of(traced) if json else output.of_trace(traced))
        return HELD
    if to is None or not to.strip():
        raise UsageError("--to is empty: give a directory or a URI")
    from recordings.tables.export import export as export_recordings

    exported = export_recordings(recordings, to, salvage=salvage)
    for each in exported:
        warn(each.warnings)
    print_text(json_of(exported) if json else output.of_export(exported, to))
    return HELD
