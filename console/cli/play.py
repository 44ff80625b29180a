"""The console on a terminal: a live flight, or a recording (`flightdeck play`), also headless with a script."""

# ruff: noqa: PLC0415 - a live flight needs no reader before its first frame

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.app import FlightdeckApp
from console.flight import Source
from console.presenters.formatting import clock
from console.settings import SettingsFile, config_directory

if TYPE_CHECKING:
    from console.player import Player

HELD, NOT_HELD = 0, 1
PICTURE_SIZE = (120, 40)


class Reporter(NamedTuple):
    """The functions that print results, warnings and failures."""

    result: Callable[[str], object]
    warn: Callable[[Sequence[str]], object]
    failure: Callable[[str], object]


def play_headless(path: Path, script: Path | None, reporter: Reporter, *, salvage: bool) -> int:
    """Verify a recording, run a script on it if there is one, and report the result. Returns the exit code.

    Raises RecordingError and ScenarioErrors.
    """
    from console.player import Player
    from console.script_runner import ScriptRunner
    from recordings.journal.script import load_script

    player = Player(path, salvage=salvage, playing=False, wall=lambda: 0.0)
    player.verify()
    reporter.warn(player.warnings)
    if script is None:
        reporter.result(_verified(player))
        return HELD
    runner = ScriptRunner(load_script(script), str(script), player, script.parent, watched=False)
    app = FlightdeckApp(source=player)
    app.run(headless=True, size=PICTURE_SIZE, auto_pilot=runner.run)
    for picture in runner.pictures:
        reporter.result(f"{picture}")
    for failure in runner.failures:
        reporter.failure(failure)
    if not runner.failures:
        count = len(runner.script.steps)
        done = f"{count}" if runner.done == count else f"stopped after {runner.done} of {count}"
        reporter.result(f"{done} steps of {script}: all expectations held")
    return NOT_HELD if runner.failures else app.return_code or HELD


def fly_on_screen(source: Source, theme: str | None, *, invariants: bool, metrics: int | None = None) -> int:
    """Open the console on a live flight; returns the exit code.

    `theme`: a name of `THEME_NAMES`. `metrics`: the port to serve metrics on. Raises UsageError.
    """
    from console.cli.scraping.metrics import flights_served

    with flights_served(metrics) as watch:
        app = FlightdeckApp(source=source, invariants=invariants)
        app.flight_watch = watch
        app.remember_in(SettingsFile(config_directory()))
        app.theming.start(theme)
        app.run()
    return app.return_code or HELD


def play_on_screen(
    path: Path,
    script: Path | None,
    reporter: Reporter,
    *,
    salvage: bool,
    speed: float,
    beside: Path | None = None,
    theme: str | None = None,
    metrics: int | None = None,
) -> int:
    """Open the console on a recording, with a script if given; backwards (`speed` < 0) from its end.

    `beside`: another recording, which the console compares with it. `theme`: a name of `THEME_NAMES`. `metrics`: the
    port to serve metrics on.

    Returns the exit code.

    Raises RecordingError, ScenarioErrors and UsageError.
    """
    from console.cli.scraping.metrics import screen_served
    from console.player import Player
    from console.script_runner import ScriptRunner
    from recordings.journal.reader import Recording
    from recordings.journal.script import load_script

    player = Player(path, salvage=salvage, playing=script is None)
    player.playback.speed = speed
    if speed < 0:
        player.seek(player.playback.end_us)
    runner = None
    if script is not None:
        runner = ScriptRunner(load_script(script), str(script), player, script.parent, watched=True)
    app = FlightdeckApp(source=player)
    if script is None:  # a script presses the default keys
        app.remember_in(SettingsFile(config_directory()))
    app.directory = path.parent
    app.theming.start(theme)
    if beside is not None:
        Recording(beside, salvage=salvage)  # an unreadable one is reported first
        app.forking.compare(path, beside)
    with screen_served(metrics, player, app):
        app.run(auto_pilot=runner.run if runner is not None else None)
    reporter.warn(player.warnings)
    failures = runner.failures if runner is not None else []
    for failure in failures:
        reporter.failure(failure)
    return NOT_HELD if failures else app.return_code or HELD


def _verified(player: "Player") -> str:
    playback = player.playback
    length = clock(playback.end_us, 3)
    return f"{player.title}  {length} of virtual time  {playback.events:,} events: every event is readable"
