"""Playback scripts carried out: on a screen for people, or without one, for pictures and checks.

Without a screen time stands still between steps: it moves only by `at`, `until`, `step` and keys, so that a script
gives the same pictures everywhere. On a screen what is said is left there for as long as it takes to read; a recording
that a step has set going plays on up to the next step's instant.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.pilot import Pilot

from cluster.commands import CommandError
from cluster.config import format_duration
from cluster.view import document
from console import command_line as command_text
from console.app import FlightdeckApp
from console.flight import READ_ONLY
from console.player import Player
from console.presenters.formatting import clock
from console.time_input import At
from console.widgets.canvas import Canvas
from recordings.scenarios.loader import ScenarioError, ScenarioErrors
from recordings.scenarios.predicates import Predicate, PredicateError

if TYPE_CHECKING:
    from recordings.journal.script import Script, ScriptStep

PRESS = "press "
LOOK_SECONDS = 0.05
CHARACTERS_A_SECOND, LEAST_SECONDS = 18, 1.5


class Tour:
    """One script on one recording. `failures` names the steps that found something else than they expected.

    Raises ScenarioErrors for steps that cannot be done with this recording. Pictures go into `directory`.
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
        """Every step, in order; without a screen, the console is left afterwards."""
        app = pilot.app
        assert isinstance(app, FlightdeckApp)
        for number, step in enumerate(self.script.steps, 1):
            if not app.is_running:
                return
            await self._do(app, pilot, number, step)
            self.done = number
        if self.watched:
            app.caption = ""
            app.notify("the script has ended; the recording is yours")
        else:
            app.exit()

    async def _do(self, app: FlightdeckApp, pilot: Pilot[Any], number: int, step: "ScriptStep") -> None:
        if step.at_us is not None:
            await self._be_at(app, step.at_us)
        if step.do is not None:
            await self._execute(app, pilot, step.do)
        app.caption = step.say or ""
        await self._settle(app, pilot)
        self._judge(app, number, step)
        if step.shot is not None:
            await self._shoot(app, pilot, step.shot)
        if self.watched and step.say is not None:
            await self._wait(app, max(LEAST_SECONDS, len(step.say) / CHARACTERS_A_SECOND))

    async def _be_at(self, app: FlightdeckApp, at_us: int) -> None:
        player = self.player
        # frames move time, and announce nothing
        while self.watched and player.playback.playing and player.now_us < at_us and app.is_running:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
        player.seek(at_us)

    async def _execute(self, app: FlightdeckApp, pilot: Pilot[Any], text: str) -> None:
        app.draw()  # the step's instant first: `+10s` counts from there
        if text.startswith(PRESS):
            await pilot.press(*text.removeprefix(PRESS).split())
        else:
            app.give(text)

    async def _settle(self, app: FlightdeckApp, pilot: Pilot[Any]) -> None:
        """Until everything that was wished for is done and painted."""
        while app.is_running:
            app.draw()
            await asyncio.sleep(0)
            if not self.player.busy:
                break
        for _ in range(3):
            if app.is_running:
                await pilot.pause()
                app.paint()

    async def _shoot(self, app: FlightdeckApp, pilot: Pilot[Any], name: str) -> None:
        app.clear_notifications()
        await pilot.pause()
        path = self.directory / name
        path.write_text(app.export_screenshot(title=self.script.title), encoding="utf-8")
        self.pictures.append(path)

    async def _wait(self, app: FlightdeckApp, seconds: float) -> None:
        for _ in range(round(seconds / LOOK_SECONDS)):
            if app.is_running:
                await asyncio.sleep(LOOK_SECONDS)

    # --- judging ----------------------------------------------------------------------------------------------------

    def _judge(self, app: FlightdeckApp, number: int, step: "ScriptStep") -> None:
        where = f"{self.file}:{step.line}: step {number} at {clock(app.flight.now_us, 3)}"
        if step.expect is not None:
            predicate = Predicate(step.expect)
            answer = predicate.ask(document(app.flight.view, app.flight.now_us, predicate.needs))
            if not answer.holds:
                self._fail(app, f"{where}: {step.expect} does not hold: {answer.found}")
        if step.shows is not None and _words(step.shows) not in _words(shown_text(app)):
            self._fail(app, f"{where}: the screen does not show {step.shows!r}")

    def _fail(self, app: FlightdeckApp, words: str) -> None:
        self.failures.append(words)
        app.notify(words, severity="error")

    def _errors_of(self, step: "ScriptStep") -> Sequence[ScenarioError]:
        def error(reason: str, suggestion: str | None = None) -> list[ScenarioError]:
            return [ScenarioError(self.file, step.line, reason, suggestion)]

        end_us = self.player.playback.end_us
        if step.at_us is not None and step.at_us > end_us:
            return error(f"at {format_duration(step.at_us)} is behind the end of the recording, {clock(end_us, 3)}")
        if step.do is None or step.do.startswith(PRESS):
            return []
        try:
            command = command_text.read(step.do, self.player.names)
            if isinstance(command, command_text.Until):
                Predicate(command.expression)
        except CommandError as complaint:
            return error(f"do = {step.do!r}: {complaint.message}", complaint.suggestion)
        except PredicateError as complaint:
            return error(f"do = {step.do!r}: {complaint.reason}", complaint.suggestion)
        if isinstance(command, At | command_text.Go | command_text.Speed | command_text.Time | command_text.Step):
            return []
        return [] if isinstance(command, command_text.Until) else error(f"do = {step.do!r}: {READ_ONLY}")


def shown_text(app: FlightdeckApp) -> str:
    """Everything that is on the screen now, as text."""
    canvases = [canvas for screen in app.screen_stack for canvas in screen.query(Canvas) if canvas.region]
    return "\n".join(canvas.plain_text() for canvas in canvases if canvas.screen.is_active)


def _words(text: str) -> str:
    return " ".join(text.split())
