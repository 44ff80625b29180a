"""A game as the screens see it: what the player has said so far, and after its end the score and the truth."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster.commands import Mark
from recordings.game.referee import DIAGNOSE, GIVE_UP, Referee

if TYPE_CHECKING:
    from cluster.commands import Command
    from console.game.symptoms import Symptom
    from recordings.game.drawing import GameScenario
    from recordings.game.score import PlayedGame


class Game:
    """One game from its briefing to its debrief. `played` is None until its recording has been read."""

    def __init__(self, scenario: "GameScenario", submit: "Callable[[Command], str]") -> None:
        self.scenario, self._submit = scenario, submit
        self.referee = Referee(len(scenario.faults))
        self.played: PlayedGame | None = None
        self.symptoms: list[Symptom] = []

    @property
    def over(self) -> bool:
        """Whether every hidden fault was found or the player gave up; the flight's own end is not known here."""
        return self.referee.over_us is not None

    def diagnose(self, text: str) -> str:
        """Submit a diagnosis; returns the reason of a refusal."""
        return self._say(f"{DIAGNOSE}{text}")

    def give_up(self) -> str:
        """End the game without a diagnosis; returns the reason of a refusal."""
        return self._say(GIVE_UP)

    def _say(self, text: str) -> str:
        if self.over or self.played is not None:
            return "the game is over: go game shows the debrief"
        return self._submit(Mark(text))
