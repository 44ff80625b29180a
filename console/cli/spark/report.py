"""`flightdeck report`: recordings analysed with Spark, as a page and as JSON."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Json, Master, Salvage
from console.cli.errors import HELD, UsageError, warn
from console.cli.streams import json_of, print_text
from console.visible import visible_line

if TYPE_CHECKING:
    from recordings.alerts.rules import RuleSet
    from recordings.spark.report import Reported


Places = Annotated[list[str], Parameter(help="Recordings, or directories of them or of exported tables.", negative="")]
Out = Annotated[Path, Parameter(help="The directory for report.json and report.html.")]
TablesAt = Annotated[
    str | None,
    Parameter(help="Export the recordings to this directory or URI first, where the cluster reads them, and keep it."),
]
Rules = Annotated[
    str | None,
    Parameter(help="Score alert rules on the recordings: a rule file (.toml), or `classic` for the classic rules."),
]
Against = Annotated[
    Path | None, Parameter(help="Compare the recordings seed by seed with this recording, or this directory of them.")
]
Follow = Annotated[bool, Parameter(help="Report on a flight while it is recorded.", negative="")]


def read_from_logs(recordings: list[str]) -> bool:
    """Whether any of these was read from logs. A directory of tables, or a URI, was not."""
    from recordings.journal.format import HEADER
    from recordings.journal.reader import Recording

    paths = [Path(one) for one in recordings if "://" not in one and (Path(one) / HEADER).exists()]
    return any(Recording(path, logs=True, salvage=True).header.read_from for path in paths)


def _of_logs(recordings: list[str], out: Path, *, alone: bool, salvage: bool, json: bool) -> int:
    """Report on one recording of logs, without Spark."""
    from recordings.log_reading.page import write_report
    from recordings.log_reading.summary import summary_of_logs

    if len(recordings) != 1 or not alone:
        raise UsageError("a recording that was read from logs is reported on alone, without --alerts and --against")
    found = summary_of_logs(Path(recordings[0]), salvage=salvage)
    assert found is not None  # as its header says
    written = write_report(found, out)
    warn(found.warnings)
    print_text(json_of(found) if json else "\n".join(str(path) for path in written))
    return HELD


def report(  # noqa: PLR0913 - options
    recordings: Places,
    /,
    *,
    out: Out,
    master: Master = None,
    tables: TablesAt = None,
    alerts: Rules = None,
    against: Against = None,
    follow: Follow = False,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Analyse recordings with Spark: report.json, and a report.html that needs no network."""
    others = alerts is not None or against is not None
    if follow and (len(recordings) != 1 or salvage or others):
        raise UsageError("--follow takes one recording, without --salvage, --alerts and --against")
    if read_from_logs(recordings):
        return _of_logs(recordings, out, alone=not others, salvage=salvage, json=json)
    rules = _rules(alerts)
    try:
        from console.cli import output
        from recordings.spark.runtime.java import find_java

        find_java()  # before the slow imports
        from recordings.spark.analyses.across_flights import Asked, sentences
        from recordings.spark.following import follow as follow_recording
        from recordings.spark.report import report as report_on

        if follow:
            make = partial(follow_recording, Path(recordings[0]), out, made=_say_so_far)
        else:
            make = partial(report_on, recordings, out, salvage=salvage, asked=Asked(rules=rules, against=against))
        progress = output.StageProgress(sys.stderr)
        try:
            made = make(master=master, tables=tables, progress=progress)
        finally:
            progress.clear()
    except KeyboardInterrupt:  # the report installs its own handlers later
        raise UsageError(f"the report was interrupted; nothing was written to {out}") from None
    warn(made.warnings)
    print_text(json_of(made.report) if json else output.of_report(made, sentences(made.report)))
    return HELD


def _rules(named: str | None) -> "RuleSet | None":
    """The rules of a file, or the classic ones. Raises UsageError (no file) or ScenarioErrors (what is in it)."""
    from recordings.alerts.rules import CLASSIC, load_rules

    if named is None:
        return None
    if named != "classic" and not Path(named).exists():
        raise UsageError(f"--alerts: there is no rule file {named}; `--alerts classic` takes the classic rules")
    return load_rules(CLASSIC if named == "classic" else Path(named))


def _say_so_far(made: "Reported") -> None:
    """One line for each report on a flight that goes on."""
    from recordings.spark.formatting import clock

    [flight] = made.report.flights
    if not flight.complete:
        print_text(visible_line(f"{clock(flight.virtual_us)}  {flight.verdict.headline}"))
