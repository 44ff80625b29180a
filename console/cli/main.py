"""The `flightdeck` command: what it takes, what it prints, and how it ends.

Exit codes: 0 when everything held, 1 when an expectation, an invariant or a comparison did not (or the simulation
failed by a bug of ours), 2 for bad input or usage: one clear message on stderr, never a traceback (unless
FLIGHTDECK_DEBUG is set). SIGINT, SIGTERM and SIGHUP end a flight, and what is played of a recording, in good order, and
the code is that of what was flown or shown; what they end before that has no result to tell, and the code is 2.
Everything heavy is imported by the command that needs it.
"""

# ruff: noqa: PLC0415 - see above

if __name__ == "__main__":
    from console.cli import early_signals as early

    early.listen()  # what follows takes a moment, in which a signal may come

import os
import sys
from collections.abc import Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
from cyclopts import App, Parameter

from console.cli.arguments import Invariants, Json, Record, Salvage, Strict
from console.cli.errors import BAD_INPUT, HELD, NOT_HELD, UsageError, complain, explain, tell_what_broke, warn
from console.cli.impact import impact
from console.cli.looking import doctor, scenarios, show
from console.cli.options import (
    AllowCode,
    AllowCodeFrom,
    Seed,
    Sets,
    Until,
    duration_of,
    leave_of,
    settings_of,
    speed_of,
    whole_number,
)
from console.cli.planned import LATER, announce
from console.cli.streams import (
    OutputError,
    draws_nothing,
    let_go,
    open_what_is_closed,
    say,
    write,
    write_help,
    write_line,
    write_nothing_more,
)
from recordings.flights import interruption
from recordings.version import VERSION

app = App(
    name="flightdeck",
    help="A flight simulator for people who run Apache Kafka.",
    version=VERSION,
    version_flags=["--version"],
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)


@app.default
def console(  # noqa: PLR0913 - options
    *,
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")] = "first-flight",
    seed: Seed = None,
    until: Until = None,
    settings: Sets = None,
    record: Record = None,
    web: Annotated[bool, Parameter(help="In a browser on this machine.", negative="")] = False,
    plain: Annotated[bool, Parameter(help="Lines instead of screens.", negative="")] = False,
    invariants: Invariants = True,
    allow_code: AllowCode = False,
) -> int:
    """Without a command: open the console on a live flight."""
    if web:
        raise UsageError("--web comes with a later release; `flightdeck` opens the console")
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the console needs a terminal; `flightdeck run SCENARIO` flies without one, `flightdeck --plain` in lines"
        )
    until_us, changes, leave = duration_of("--until", until), settings_of(settings), leave_of(allow_code)
    from console.bridge import Bridge

    source = Bridge(
        scenario, seed=seed, until_us=until_us, settings=changes, record=record, invariants=invariants, leave=leave
    )
    if leave is not None:
        source.load()  # says what it runs before the first screen
    if plain or draws_nothing():
        from console.cli.plain import fly_in_lines

        if not plain:
            say(f"TERM={os.environ.get('TERM', '')}: this terminal draws no screens, so the flight is told in lines")
        return fly_in_lines(source, say, sys.stdin.fileno())
    from console.app import FlightdeckApp

    flightdeck = FlightdeckApp(source=source, invariants=invariants)
    flightdeck.run()
    return flightdeck.return_code or HELD


@app.command
def run(  # noqa: PLR0913 - options
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")],
    /,
    *,
    seed: Seed = None,
    until: Until = None,
    speed: Annotated[
        str | None,
        Parameter(help="Virtual seconds a second, e.g. 20; default: as fast as possible.", allow_leading_hyphen=True),
    ] = None,
    settings: Sets = None,
    record: Record = None,
    log: Annotated[bool, Parameter(help="Print the flight in the words of Kafka's own logs.", negative="")] = False,
    forever: Annotated[bool, Parameter(help="Fly until Ctrl-C.", negative="")] = False,
    invariants: Invariants = True,
    strict: Strict = False,
    allow_code: AllowCode = False,
    json: Json = False,
) -> int:
    """Fly a scenario without a console."""
    if forever and until is not None:
        raise UsageError("--forever has no end, and --until is one: give one of them")
    until_us, pace, changes = duration_of("--until", until), speed_of(speed), settings_of(settings)
    from console.cli import output
    from recordings.flights.runner import fly, make_plan
    from recordings.kafka_log.renderer import KafkaLog
    from recordings.scenarios.loader import load

    plan = make_plan(
        load(scenario),
        seed=seed,
        until_us=until_us,
        settings=changes,
        forever=forever,
        invariants=invariants,
        leave=leave_of(allow_code),
    )
    progress = None if log else output.progress_on(sys.stderr, plan.settings.until_us)
    kafka_log = KafkaLog(partial(write_line, to=sys.stderr if json else sys.stdout)) if log else None
    try:
        result = fly(plan, speed=pace, record=record, log=kafka_log, progress=progress)
    finally:
        if progress is not None:
            progress.clear()
    tell_what_broke(plan, result, record)
    say(_json(result.report()) if json else output.of_flight(result, record, strict=strict))
    return HELD if result.held and not (strict and result.accidental) else NOT_HELD


@app.command
def play(
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    script: Annotated[Path | None, Parameter(help="A playback script (TOML) that goes through it.")] = None,
    headless: Annotated[
        bool, Parameter(help="Without a screen: verify it, carry out the script.", negative="")
    ] = False,
    salvage: Salvage = False,
) -> int:
    """Open the console on a recording: forwards, backwards, at any speed."""
    from console.cli import play as playing
    from console.player import Player

    voice = playing.Voice(say, warn, complain)
    if headless:
        return playing.play_headless(recording, script, voice, salvage=salvage)
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or draws_nothing():
        Player(recording, salvage=salvage)  # what is wrong with the recording comes first
        what = "a terminal that can draw (TERM)" if draws_nothing() else "a terminal"
        raise UsageError(f"the console needs {what}; with --headless a recording is played without one")
    return playing.play(recording, script, voice, salvage=salvage)


@app.command
def rerun(
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    until: Until = None,
    settings: Sets = None,
    record: Record = None,
    salvage: Salvage = False,
    strict: Strict = False,
    allow_code: AllowCodeFrom = None,
    json: Json = False,
) -> int:
    """Fly a recording again: the same commands in a new simulation, compared event by event. With --set: what if."""
    until_us, changes, leave = duration_of("--until", until), settings_of(settings), leave_of(allow_code)
    from console.cli import output
    from recordings.flights.rerun import rerun as rerun_recording

    progress = output.progress_on(sys.stderr, until_us)
    try:
        result = rerun_recording(
            recording,
            settings=changes,
            until_us=until_us,
            record=record,
            salvage=salvage,
            progress=progress,
            leave=leave,
        )
    finally:
        if progress is not None:
            progress.clear()
    warn(result.warnings)
    say(_json(result.report()) if json else output.of_rerun(result, record, strict=strict))
    return HELD if result.held and not (strict and result.flight.accidental) else NOT_HELD


@app.command
def summary(
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Print a recording's main tables, without Spark."""
    from console.cli import output
    from recordings.tables.summary import summarize

    found = summarize(recording, salvage=salvage)
    warn(found.warnings)
    say(_json(found) if json else output.of_recording(found))
    return HELD


@app.command
def export(
    recordings: Annotated[list[Path], Parameter(help="The recordings' directories.", negative="")],
    /,
    *,
    to: Annotated[str, Parameter(help="A directory, or a URI (file, s3, hdfs); the tables are below it.")],
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Write recordings as typed Parquet tables, one for each kind of event."""
    if not to.strip():
        raise UsageError("--to names nothing: give a directory or a URI")
    from console.cli import output
    from recordings.tables.export import export as export_recordings

    exported = export_recordings(recordings, to, salvage=salvage)
    for each in exported:
        warn(each.warnings)
    say(_json(exported) if json else output.of_export(exported, to))
    return HELD


@app.command
def report(
    recordings: Annotated[
        list[str], Parameter(help="Recordings' directories, or where flights were exported to.", negative="")
    ],
    /,
    *,
    out: Annotated[Path, Parameter(help="The directory for report.json and report.html.")],
    master: Annotated[str | None, Parameter(help="A Spark master or Spark Connect URL; default: this machine.")] = None,
    follow: Annotated[bool, Parameter(help="Report on a flight while it is recorded.", negative="")] = False,
    salvage: Salvage = False,
    json: Json = False,
) -> int:
    """Analyse recordings with Spark: report.json, and a report.html that needs no network."""
    if follow:
        raise UsageError("--follow comes with a later release; report on the recording when it is finished")
    try:
        from console.cli import output
        from recordings.spark.java import find_java

        find_java()  # before anything slow is imported
        from recordings.spark.report import report as report_on

        progress = output.StageProgress(sys.stderr)
        try:
            made = report_on(recordings, out, master=master, salvage=salvage, progress=progress)
        finally:
            progress.clear()
    except KeyboardInterrupt:  # from then on the report itself listens
        raise UsageError(f"the report was interrupted; nothing was written to {out}") from None
    warn(made.warnings)
    say(_json(made.report) if json else output.of_report(made))
    return HELD


@app.command(name="check")
def check(
    *,
    seeds: Annotated[int, Parameter(help="How many random clusters to fly.", converter=whole_number)] = 200,
    first: Annotated[int, Parameter(name="--from", help="The first seed.", converter=whole_number)] = 1,
    virtual: Annotated[
        str, Parameter(help="Virtual time of each flight; its last 38 s are for healing.", allow_leading_hyphen=True)
    ] = "60s",
    jobs: Annotated[int, Parameter(help="How many processes fly.", converter=whole_number)] = 1,
    json: Json = False,
) -> int:
    """Fly random clusters under random faults: every invariant must hold, and each must become whole again."""
    from console.cli import check as checking
    from console.cli import output

    checked = checking.check(seeds, first, virtual, output.StageProgress(sys.stderr), jobs)
    say(_json(checked) if json else output.of_check(checked))
    return HELD if checked.held else NOT_HELD


HELP = frozenset({"--help", "-h", "--version"})

BUILT = ("run", "play", "rerun", "summary", "export", "scenarios", "show", "report", "check", "impact", "doctor")
COMMANDS = (*BUILT, *LATER)


for _command in (impact, doctor, scenarios, show):
    app.command(_command)
app.command(impact, name="blast", show=False)  # as it was called before
announce(app)


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✔ gets a ?
    try:
        interruption.listen()
        code = _run(tokens)
    except KeyboardInterrupt:  # while another message was being printed
        code = BAD_INPUT
    interruption.end_with(code)
    let_go()
    if tokens is not None:  # called by a program, which goes on
        interruption.hand_back()
        sys.exit(code)
    interruption.leave(code)


def _run(tokens: Sequence[str] | None) -> int:
    """The exit code, after whatever had to be said."""
    try:
        words = sys.argv[1:] if tokens is None else tokens
        code = _answer(words)
        write("")
        return code if isinstance(code, int) else HELD
    except BrokenPipeError:  # whoever read our output has seen enough
        write_nothing_more()
        return HELD
    except KeyboardInterrupt:
        complain("interrupted before anything was flown")
        return BAD_INPUT
    except Exception as error:
        if isinstance(error, OutputError):
            write_nothing_more()
        if os.environ.get("FLIGHTDECK_DEBUG"):
            raise
        return explain(error, COMMANDS)


def _answer(words: Sequence[str]) -> object:
    """Carry out a command line. Help goes the way of all that is printed, so that trouble there is told alike."""
    if HELP.isdisjoint(words):
        return app(words, exit_on_error=False, print_error=False)
    from rich.console import Console

    text = StringIO()
    paper = Console(file=text, force_terminal=sys.stdout.isatty())
    code = app(words, console=paper, exit_on_error=False, print_error=False)
    write_help(text.getvalue())
    return code


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
