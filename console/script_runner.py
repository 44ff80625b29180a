"""Runs playback scripts: on a screen for viewers, or headless for screenshots and checks.

Headless, time moves only by `at`, `until`, `step` and keys, so that a script makes the same screenshots everywhere. On
a screen the text of a step stays for its reading time; a recording that a step resumed plays up to the next step.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.pilot import Pilot

from cluster.commands import CommandError
from cluster.config import format_duration
from cluster.view import document
from console.app import FlightdeckApp
from console.command_line import Go, Speed, Step, Time, Until, Why, read
from console.flight import READ_ONLY
from console.operating.key_question import KeyQuestion
from console.operating.tool_question import ToolQuestion
from console.player import NO_MATCH, Player
from console.presenters.formatting import clock
from console.screens.catalogue import PLACES
from console.time_input import Instant
from console.widgets.canvas import Canvas
from recordings.scenarios.loader import ScenarioError, ScenarioErrors
from recordings.scenarios.predicates import Predicate, PredicateError

if TYPE_CHECKING:
    from recordings.journal.script import Script, ScriptStep

PRESS = "press "
POLL_SECONDS = 0.05
CHARACTERS_A_SECOND, LEAST_SECONDS = 18, 1.5


class ScriptRunner:
    """Runs one script on one recording. `failures` lists the steps whose expectations did not hold.

    Raises ScenarioErrors for steps that are impossible with this recording. Screenshots go into `directory`.
    """

    def __init__(self, script: "Script", file: str, player: Player, directory: Path, *, watched: bool) -> None:
        self.script, self.file, self.player, self.directory = script, file, player, directory
        self.watched = watched
        self.failures: list[str] = []
        self.pictures: list[Path] = []
        self.done = 0  # steps
        errors = [error for step in script.steps for error in self._errors_of(step)]
        if errors:
            raise ScenarioErrors(errors)

    async def run(self, pilot: Pilot[Any]) -> None:
        """Run every step in order; headless, the console exits afterwards."""
        app = pilot.app
        assert isinstance(app, FlightdeckApp)
        for number, step in enumerate(self.script.steps, 1):
            if not app.is_running:
                return
            await self._do(app, pilot, number, step)
            self.done = number
        if self.watched:
            app.caption = ""
            app.notify("the script has ended; the keys work now")
        else:
            app.exit()

    async def _do(self, app: FlightdeckApp, pilot: Pilot[Any], number: int, step: "ScriptStep") -> None:
        if step.at_us is not None:
            await self._seek(app, step.at_us)
        self.player.search_missed = False
        if step.do is not None:
            await self._execute(app, pilot, step.do)
        app.caption = step.say or ""
        await self._settle(app, pilot)
        self._check(app, number, step)
        if step.shot is not None:
            await self._take_screenshot(app, pilot, step.shot)
        if self.watched and step.say is not None:
            await self._wait(app, max(LEAST_SECONDS, len(step.say) / CHARACTERS_A_SECOND))

    async def _seek(self, app: FlightdeckApp, at_us: int) -> None:
        player = self.player
        # time moves with frames, which wake no waiter
        while self.watched and player.playback.playing and player.now_us < at_us and app.is_running:  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)
        player.seek(at_us)

    async def _execute(self, app: FlightdeckApp, pilot: Pilot[Any], text: str) -> None:
        app.draw()  # first move to the step's instant: `+10s` counts from it
        if text.startswith(PRESS):
            await pilot.press(*text.removeprefix(PRESS).split())
        else:
            app.execute_line(text)

    async def _settle(self, app: FlightdeckApp, pilot: Pilot[Any]) -> None:
        """Wait until every seek and search is done and painted."""
        while app.is_running:
            app.draw()
            await asyncio.sleep(0)
            if not self.player.busy:
                break
        for _ in range(3):
            if app.is_running:
                await pilot.pause()
                app.paint()

    async def _take_screenshot(self, app: FlightdeckApp, pilot: Pilot[Any], name: str) -> None:
        app.notices.clear()
        await pilot.pause()
        path = self.directory / name
        path.write_text(app.export_screenshot(title=self.script.title), encoding="utf-8")
        self.pictures.append(path)

    async def _wait(self, app: FlightdeckApp, seconds: float) -> None:
        for _ in range(round(seconds / POLL_SECONDS)):
            if app.is_running:
                await asyncio.sleep(POLL_SECONDS)

    # --- checks -----------------------------------------------------------------------------------------------------

    def _check(self, app: FlightdeckApp, number: int, step: "ScriptStep") -> None:
        where = f"{self.file}:{step.line}: step {number} at {clock(app.flight.now_us, 3)}"
        if self.player.search_missed:
            self._fail(app, f"{where}: {step.do}: {NO_MATCH}")
        if step.expect is not None:
            predicate = Predicate(step.expect)
            answer = predicate.ask(document(app.flight.view, app.flight.now_us, predicate.needs))
            if not answer.holds:
                self._fail(app, f"{where}: {step.expect} does not hold: {answer.found}")
        if step.shows is not None and _one_line(step.shows) not in _one_line(shown_text(app)):
            self._fail(app, f"{where}: the screen does not show {step.shows!r}")

    def _fail(self, app: FlightdeckApp, message: str) -> None:
        self.failures.append(message)
        app.notify(message, severity="error")

    def _errors_of(self, step: "ScriptStep") -> Sequence[ScenarioError]:
        def error(reason: str, suggestion: str | None = None) -> list[ScenarioError]:
            return [ScenarioError(self.file, step.line, reason, suggestion)]

        end_us = self.player.playback.end_us
        if step.at_us is not None and step.at_us > end_us:
            return error(f"at {format_duration(step.at_us)} is after the end of the recording, {clock(end_us, 3)}")
        if step.do is None or step.do.startswith(PRESS):
            return []
        try:
            command = read(step.do, self.player.names, PLACES)
            if isinstance(command, Until):
                Predicate(command.expression)
        except CommandError as invalid:
            return error(f"do = {step.do!r}: {invalid.message}", invalid.suggestion)
        except PredicateError as invalid:
            return error(f"do = {step.do!r}: {invalid.reason}", invalid.suggestion)
        shown = isinstance(command, Instant | Go | Speed | Time | Step | Until | Why | KeyQuestion | ToolQuestion)
        return [] if shown else error(f"do = {step.do!r}: {READ_ONLY}")


def shown_text(app: FlightdeckApp) -> str:
    """The text on the active screen."""
    canvases = [canvas for screen in app.screen_stack for canvas in screen.query(Canvas) if canvas.region]
    return "\n".join(canvas.plain_text() for canvas in canvases if canvas.screen.is_active)


def _one_line(text: str) -> str:
    return " ".join(text.split())
