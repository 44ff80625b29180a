"""The `flightdeck` command: its arguments, output and exit codes.

Exit codes: 0 if everything held; 1 if an expectation, an invariant or a comparison did not, or if the simulation failed
by a bug; 2 for bad input or usage. Errors are one message on stderr, without a traceback unless FLIGHTDECK_DEBUG is
set. SIGINT, SIGTERM and SIGHUP end a flight or a playback in good order, with the exit code of the part that was flown
or shown. A signal before that part ends the command with exit code 2. Heavy imports are made by the command that needs
them.
"""

# ruff: noqa: PLC0415 - see above
import sys
from collections.abc import Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from console.cli.alerting.alerts import alerts
from console.cli.arguments import Invariants, Json, Record, Salvage, Strict
from console.cli.bench import bench
from console.cli.check import check
from console.cli.describe import describe
from console.cli.errors import HELD, NOT_HELD, UsageError, note, print_error, report_violation, warn
from console.cli.gaming.game import game
from console.cli.imports.import_files import import_files
from console.cli.imports.new import new
from console.cli.info import doctor, scenarios, show
from console.cli.key import key
from console.cli.linting.lint import lint
from console.cli.opening import FIRST_SCENARIO, check_terminal, fly_here
from console.cli.options import (
    AllowCode,
    AllowCodeFrom,
    Metrics,
    Seed,
    Sets,
    Theme,
    Until,
    duration_of,
    leave_of,
    playback_speed_of,
    settings_of,
    speed_of,
    theme_of,
)
from console.cli.pictures.raster import raster
from console.cli.planning.impact import impact
from console.cli.planning.plan import plan
from console.cli.proving.prove import prove
from console.cli.read import read
from console.cli.recorded import diff, export, fork, summary
from console.cli.scraping.metrics import check_port, flight_served, play_served
from console.cli.spark.compare import compare
from console.cli.spark.report import report
from console.cli.spark.standalone import standalone
from console.cli.spark.sweep import sweep
from console.cli.streams import (
    has_screen,
    is_dumb_terminal,
    json_of,
    print_text,
    write_help,
    write_line,
)
from console.web.command import Port, Web, port_of, serve, words_of
from recordings.version import VERSION, describe_build

if TYPE_CHECKING:
    from recordings.kafka_log.renderer import KafkaLog

app = App(
    name="flightdeck",
    help="A flight simulator for people who run Apache Kafka.",
    version=lambda: f"{VERSION}, {describe_build()}",
    version_flags=["--version"],
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
    result_action="return_value",
)


STANDARD_INPUT = "/dev/stdin"
TAKE_STANDARD_INPUT = {"read", "import"}
"""The commands whose files may be what another command prints, written `-`."""


@app.default
def console(  # noqa: PLR0913 - options
    *,
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")] = FIRST_SCENARIO,
    seed: Seed = None,
    until: Until = None,
    settings: Sets = None,
    record: Record = None,
    web: Web = False,
    port: Port = None,
    plain: Annotated[bool, Parameter(help="Lines instead of screens.", negative="")] = False,
    metrics: Metrics = None,
    theme: Theme = None,
    invariants: Invariants = True,
    allow_code: AllowCode = False,
) -> int:
    """Without a command: open the console on a live flight."""
    served = port_of(port, web=web, plain=plain)
    check_port(metrics, web=web)
    if not plain and not web:
        check_terminal()
    until_us, changes, leave = duration_of("--until", until), settings_of(settings), leave_of(allow_code)
    colours = theme_of(theme)
    from console.bridge import Bridge

    source = Bridge(
        scenario,
        seed=seed,
        until_us=until_us,
        settings=changes,
        record=None if web else record,
        invariants=invariants,
        leave=leave,
    )
    if leave is not None or web:
        source.load()  # prints the files of custom code before the first screen
    if web:
        words = words_of(
            scenario=scenario,
            seed=seed,
            until=until,
            set=settings,
            record=record,
            theme=theme,
            no_invariants=not invariants,
            allow_code=allow_code,
        )
        return serve(words, served, source, print_text)
    return fly_here(source, colours, plain=plain, invariants=invariants, metrics=metrics)


@app.command
def run(  # noqa: PLR0913 - options
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")],
    /,
    *,
    seed: Seed = None,
    until: Until = None,
    speed: Annotated[
        str | None,
        Parameter(help="Virtual seconds per second, e.g. 20; default: as fast as possible.", allow_leading_hyphen=True),
    ] = None,
    settings: Sets = None,
    record: Record = None,
    log: Annotated[bool, Parameter(help="Print the flight as the log lines of Kafka itself.", negative="")] = False,
    metrics: Metrics = None,
    forever: Annotated[bool, Parameter(help="Fly until Ctrl-C.", negative="")] = False,
    invariants: Invariants = True,
    strict: Strict = False,
    allow_code: AllowCode = False,
    json: Json = False,
) -> int:
    """Fly a scenario without a console."""
    if forever and until is not None:
        raise UsageError("--forever and --until exclude each other: give one of them")
    until_us, pace, changes = duration_of("--until", until), speed_of(speed), settings_of(settings)
    from console.cli import comparison, output
    from recordings.flights.runner import fly, make_plan
    from recordings.scenarios.loader import load

    loaded = load(scenario)
    notes = note(loaded.notes)
    plan = make_plan(
        loaded,
        seed=seed,
        until_us=until_us,
        settings=changes,
        forever=forever,
        invariants=invariants,
        leave=leave_of(allow_code),
    )
    progress = None if log else output.progress_on(sys.stderr, plan.settings.until_us)
    meter = None if json else comparison.meter_for(plan.spec)
    try:
        with flight_served(metrics, _kafka_log(json=json) if log else None) as sink:
            result = fly(plan, speed=pace, record=record, log=sink, progress=progress, meter=meter)
    finally:
        if progress is not None:
            progress.clear()
    report_violation(plan, result, record)
    print_text(json_of(result.report() | notes) if json else comparison.of_run(result, record, meter, strict=strict))
    return HELD if result.held and not (strict and result.accidental) else NOT_HELD


def _kafka_log(*, json: bool) -> "KafkaLog":
    """The sink that prints events as Kafka's log lines."""
    from recordings.kafka_log.renderer import KafkaLog

    return KafkaLog(partial(write_line, to=sys.stderr if json else sys.stdout))


@app.command
def play(  # noqa: PLR0913 - options
    recording: Annotated[Path, Parameter(help="The recording's directory.")],
    /,
    *,
    script: Annotated[Path | None, Parameter(help="A playback script (TOML) to run on it.")] = None,
    headless: Annotated[
        bool, Parameter(help="Without a screen: verify the recording, run the script.", negative="")
    ] = False,
    salvage: Salvage = False,
    speed: Annotated[str | None, Parameter(help="0.01 to 1000, or -4: backwards from the end.")] = None,
    beside: Annotated[Path | None, Parameter(help="Another recording, compared with it on one axis.")] = None,
    theme: Theme = None,
    metrics: Metrics = None,
    web: Web = False,
    port: Port = None,
) -> int:
    """Open the console on a recording: forwards, backwards, at any speed."""
    pace, colours = playback_speed_of(speed), theme_of(theme)
    from console.cli.play import Reporter, play_headless, play_on_screen
    from console.player import Player

    served = port_of(port, web=web, plain=headless)
    check_port(metrics)
    if metrics is not None and (web or script is not None):
        raise UsageError("--metrics serves one playback at its own pace: leave out --web or --script")
    if web:
        player = Player(recording, salvage=salvage)  # an unreadable recording is reported first
        options = words_of(script=script, salvage=salvage, speed=speed, beside=beside, theme=theme)
        return serve(["play", str(recording), *options], served, player, print_text)
    reporter = Reporter(print_text, warn, print_error)
    if headless and beside is not None:
        raise UsageError("--beside is for the screen; `flightdeck diff` compares without one")
    if headless and metrics is not None:
        print_text(play_served(recording, metrics, salvage=salvage, speed=pace))
        return HELD
    if headless:
        return play_headless(recording, script, reporter, salvage=salvage)
    if not has_screen() or is_dumb_terminal():
        Player(recording, salvage=salvage)  # an unreadable recording is reported first
        needed = "a terminal that can show screens (TERM)" if is_dumb_terminal() else "a terminal"
        raise UsageError(f"the console needs {needed}; --headless plays a recording without one")
    return play_on_screen(
        recording, script, reporter, salvage=salvage, speed=pace, beside=beside, theme=colours, metrics=metrics
    )


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
    from console.cli import comparison, output
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
    print_text(json_of(result.report()) if json else comparison.of_rerun(result, record, strict=strict))
    return HELD if result.held and not (strict and result.flight.accidental) else NOT_HELD


HELP = frozenset({"--help", "-h", "--version"})

COMMANDS = (
    *("run", "play", "rerun", "summary", "export", "scenarios", "show", "report", "check", "impact"),
    *("diff", "fork", "key", "lint", "plan", "prove", "raster", "bench", "game", "doctor", "alerts", "compare"),
    *("sweep", "standalone", "describe", "read", "import", "new"),
)

for _command in (
    alerts,
    summary,
    export,
    check,
    compare,
    describe,
    diff,
    fork,
    impact,
    key,
    lint,
    new,
    plan,
    prove,
    raster,
    read,
    report,
    bench,
    game,
    doctor,
    scenarios,
    show,
    sweep,
    standalone,
):
    app.command(_command)
app.command(import_files, name="import")
app.command(impact, name="blast", show=False)  # the name of earlier releases


def execute(words: Sequence[str]) -> object:
    """Execute a command line; of the commands that take it, `-` is the standard input, a file as any other.

    Help is printed through `write_help`, so that its output errors are handled alike.
    """
    if words and words[0] in TAKE_STANDARD_INPUT:
        words = [STANDARD_INPUT if word == "-" else word for word in words]
    if HELP.isdisjoint(words):
        return app(words, exit_on_error=False, print_error=False)
    from rich.console import Console

    text = StringIO()
    help_console = Console(file=text, force_terminal=sys.stdout.isatty())
    code = app(words, console=help_console, exit_on_error=False, print_error=False)
    write_help(text.getvalue())
    return code
