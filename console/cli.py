"""The `flightdeck` command: what it takes, what it prints, and how it ends.

Exit codes: 0 when everything held, 1 when an expectation, an invariant or a comparison did not (or the simulation
failed by a bug of ours), 2 for bad input or usage: one clear message on stderr, never a traceback (unless
FLIGHTDECK_DEBUG is set). Ctrl-C ends a flight in good order, and the code is that of what was flown. Everything heavy
is imported by the command that needs it.
"""

# ruff: noqa: PLC0415 - see above

import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import msgspec
from cyclopts import App, Parameter

from console.arguments import Invariants, Json, Record, Salvage, Strict
from console.complaints import BAD_INPUT, HELD, NOT_HELD, UsageError, complain, explain, tell_what_broke, warn
from console.foretelling import blast
from console.options import Seed, Sets, Until, duration_of, settings_of, speed_of, whole_number
from console.printing import (
    OutputError,
    draws_nothing,
    let_go_of_stderr,
    open_what_is_closed,
    say,
    write,
    write_nothing_more,
)
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
def console(
    *,
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")] = "first-flight",
    seed: Seed = None,
    until: Until = None,
    settings: Sets = None,
    record: Record = None,
    web: Annotated[bool, Parameter(help="In a browser on this machine.", negative="")] = False,
    plain: Annotated[bool, Parameter(help="Lines instead of screens.", negative="")] = False,
    invariants: Invariants = True,
) -> int:
    """Without a command: open the console on a live flight."""
    if web:
        raise UsageError("--web comes with a later release; `flightdeck` opens the console")
    if not plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the console needs a terminal; `flightdeck run SCENARIO` flies without one, `flightdeck --plain` in lines"
        )
    until_us, changes = duration_of("--until", until), settings_of(settings)
    if plain or draws_nothing():
        from console.bridge import Bridge
        from console.plain import fly_in_lines

        if not plain:
            say(f"TERM={os.environ.get('TERM', '')}: this terminal draws no screens, so the flight is told in lines")
        source = Bridge(scenario, seed=seed, until_us=until_us, settings=changes, record=record, invariants=invariants)
        return fly_in_lines(source, say, sys.stdin.fileno())
    from console.app import FlightdeckApp

    flightdeck = FlightdeckApp(
        scenario, seed=seed, until_us=until_us, settings=changes, record=record, invariants=invariants
    )
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
    json: Json = False,
) -> int:
    """Fly a scenario without a console."""
    if forever and until is not None:
        raise UsageError("--forever has no end, and --until is one: give one of them")
    until_us, pace, changes = duration_of("--until", until), speed_of(speed), settings_of(settings)
    from console import output
    from recordings.flight import fly, make_plan
    from recordings.kafka_log import KafkaLog
    from recordings.scenario import load

    signal.signal(signal.SIGTERM, _terminated)
    plan = make_plan(
        load(scenario), seed=seed, until_us=until_us, settings=changes, forever=forever, invariants=invariants
    )
    log_to = partial(write, at_once=False, to=sys.stderr if json else sys.stdout)
    progress = None if log else output.progress_on(sys.stderr, plan.settings.until_us)
    kafka_log = KafkaLog(lambda line: log_to(line + "\n")) if log else None
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
    from console import play as playing
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
    json: Json = False,
) -> int:
    """Fly a recording again: the same commands in a new simulation, compared event by event. With --set: what if."""
    until_us, changes = duration_of("--until", until), settings_of(settings)
    from console import output
    from recordings.rerun import rerun as rerun_recording

    signal.signal(signal.SIGTERM, _terminated)
    progress = output.progress_on(sys.stderr, until_us)
    try:
        result = rerun_recording(
            recording, settings=changes, until_us=until_us, record=record, salvage=salvage, progress=progress
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
    from console import output
    from recordings.summary import summarize

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
    from console import output
    from recordings.export import export as export_recordings

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
    signal.signal(signal.SIGTERM, _terminated)
    try:
        from console import output
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


@app.command
def scenarios(*, json: Json = False) -> int:
    """List the library of scenarios."""
    from console import output
    from recordings.scenario import list_scenarios

    listed = list_scenarios()
    say(_json(listed) if json else output.of_library(listed))
    return HELD


@app.command
def show(scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")], /) -> int:
    """Print a scenario's text: what it declares, what happens in it, what must hold, and its lesson."""
    from recordings.scenario import load

    say(load(scenario).text.rstrip("\n"))
    return HELD


@app.command(name="check")
def check(
    *,
    seeds: Annotated[int, Parameter(help="How many random clusters to fly.", converter=whole_number)] = 200,
    first: Annotated[int, Parameter(name="--from", help="The first seed.", converter=whole_number)] = 1,
    virtual: Annotated[
        str, Parameter(help="Virtual time of each flight; its last 34 s are for healing.", allow_leading_hyphen=True)
    ] = "60s",
    json: Json = False,
) -> int:
    """Fly random clusters under random faults: every invariant must hold, and each must become whole again."""
    signal.signal(signal.SIGTERM, _terminated)
    from console import checking, output

    checked = checking.check(seeds, first, virtual, output.StageProgress(sys.stderr))
    say(_json(checked) if json else output.of_check(checked))
    return HELD if checked.held else NOT_HELD


@app.command(name="doctor")
def doctor(*, json: Json = False) -> int:
    """Say what this machine has, what is missing, and how to get it."""
    from recordings.doctor import diagnose, render

    diagnosis = diagnose()
    say(_json(diagnosis) if json else render(diagnosis))
    return HELD if diagnosis.healthy else NOT_HELD


LATER = {
    "diff": "Compare two recordings.",
    "compare": "Analyse two flights side by side with Spark.",
    "sweep": "Fly a grid of settings and seeds with Spark.",
}
"""Commands of the plan that this release does not have yet."""

HELP = frozenset({"--help", "-h", "--version"})

BUILT = ("run", "play", "rerun", "summary", "export", "scenarios", "show", "report", "check", "blast", "doctor")
COMMANDS = (*BUILT, *LATER)


def _announce(name: str, summary_text: str) -> None:
    def later(*_: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> int:
        raise UsageError(f"`flightdeck {name}` comes with a later release; this is {VERSION}")

    later.__doc__ = f"{summary_text} (Comes with a later release.)"
    app.command(later, name=name)


app.command(blast)
for _name, _summary in LATER.items():
    _announce(_name, _summary)


def main(tokens: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✔ gets a ?
    code = _run(tokens)
    let_go_of_stderr()
    sys.exit(code)


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
    write(text.getvalue())
    return code


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM ends a flight as Ctrl-C does: in good order."""
    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
