"""A live flight that hides its fault, and the recording of it that is shown after the game.

The hiding is one filter (`recordings/game/concealment.py`) before the queue and before the past: no screen, key or
search gets an event that it leaves out. The simulation, its invariants and its recording have every event.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cluster.commands import Command
from cluster.events import Event
from cluster.view import ClusterView, fold
from console.bridge import Bridge
from console.flight import Source
from console.flight_clock import ENDED
from console.game.game import Game
from console.player import Player
from recordings.game.concealment import Concealment
from recordings.game.drawing import GameScenario

if TYPE_CHECKING:
    from recordings.flights.beside import FlownSoFar
    from recordings.flights.runner import Plan

NOT_IN_A_GAME = "not in a game; the debrief's recording can be forked"


class GameFlight(Bridge):
    """The flight of a game. It is always recorded: to `record`, or where it is removed with `discard`."""

    def __init__(self, scenario: GameScenario, record: Path | None = None, *, invariants: bool = True) -> None:
        self._asked = record is not None
        self._directory: TemporaryDirectory[str] | None = None
        if record is None:
            self._directory = TemporaryDirectory(prefix="flightdeck-game-")
            record = Path(self._directory.name) / "game.flight"
        self.path = record
        super().__init__(scenario.scenario, seed=scenario.seed, record=self.path, invariants=invariants)
        self._game = Game(scenario, self.submit)
        self._successor: Source | None = None

    @property
    def recording(self) -> str:
        """The path of the recording, if the user asked for one."""
        return super().recording if self._asked else ""

    def game(self) -> Game:
        """The game."""
        return self._game

    def origin(self) -> "FlownSoFar | None":
        """None: what was flown so far names the fault."""
        return None

    def undone(self) -> tuple[Bridge | None, str]:
        """Refuse: time lost is lost."""
        return None, f"undo: {NOT_IN_A_GAME}"

    def record(self, path: str) -> str:
        """Refuse: the game is recorded from its beginning."""
        del path
        return "a game is recorded with `flightdeck game --record PATH`"

    def successor(self) -> Source | None:
        """The recording, as soon as the game is over and its score is known."""
        if self._successor is None and self._game.played is not None and self.stopped:
            self._successor = GameRecording(self.path, self._game)
        return self._successor

    def discard(self) -> None:
        """Remove a recording that the user did not ask for."""
        if self._directory is not None:
            self._directory.cleanup()

    # --- on the simulation's thread ---------------------------------------------------------------------------------

    def _connect(self, plan: "Plan", sinks: list[Callable[[Event], object]], view: ClusterView) -> None:
        """Fill the queue and the past with what a player may see; `until` searches the same."""
        del view  # it has everything
        shown = self._searched_view = ClusterView()
        past = self.past

        def show(event: Event) -> None:
            fold(shown, event)
            self._enqueue(event)
            if past is not None:
                past(event)

        if past is not None:
            past.begin(plan, shown)
        sinks.append(Concealment(plan.spec, show))

    def _note_command(self, command: Command, source: str, turn: int, at_us: int, after_seq: int) -> None:
        super()._note_command(command, source, turn, at_us, after_seq)
        wrong = len(self._game.referee.wrong)
        answer = self._game.referee.take(command, source, at_us)
        if len(self._game.referee.wrong) > wrong:
            self.warning = "\n".join(filter(None, (self.warning, answer)))
        elif answer:
            follows = " · the debrief follows" if self._game.over else ""
            self.notice = "\n".join(filter(None, (self.notice, f"{answer}{follows}")))
        if self._game.over:
            self._cancel()  # the game ends with this turn

    def _run(self) -> None:
        super()._run()
        if self._game.over or self.clock.phase == ENDED:
            self._read_score()
            self._wake()

    def _read_score(self) -> None:
        from console.game.symptoms import symptoms_of  # noqa: PLC0415 - after the game
        from recordings.bounded_files import RecordingError  # noqa: PLC0415
        from recordings.game.score import played_game  # noqa: PLC0415

        try:
            played = played_game(self.path)
            self._game.symptoms = symptoms_of(self.path, played)
        except RecordingError as error:
            self.failure = f"the game's recording cannot be read: {error}"
            return
        self._game.played = played


class GameRecording(Player):
    """The recording of a game that is over, at its end."""

    def __init__(self, path: Path, game: Game) -> None:
        super().__init__(path, playing=False)
        self.warning = ""
        self._game = game
        self.seek(self.playback.end_us)

    def game(self) -> Game:
        """The game."""
        return self._game
