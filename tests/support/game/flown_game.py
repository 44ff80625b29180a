"""A game played without a terminal: the flight stops at every look, and the player's diagnoses are commands in it."""

from pathlib import Path
from typing import NamedTuple

import trio

from cluster.commands import Command, Mark
from cluster.events import Event
from cluster.simulation import Simulation
from cluster.view import ClusterView, fold
from recordings.flights.runner import journal_command, make_plan
from recordings.game.concealment import Concealment
from recordings.game.drawing import GameScenario, draw_game
from recordings.game.referee import DIAGNOSE, Referee
from recordings.journal.writer import Recorder, new_header
from tests.support.game.screens import screens
from tests.support.game.scripted_player import LOOK_S, ScriptedPlayer

SECOND_US = 1_000_000
FIRST_LOOK_S = 16.0


class FlownGame(NamedTuple):
    """A game and what the referee says of it; `sha256` is the journal's."""

    game: GameScenario
    referee: Referee
    player: ScriptedPlayer
    end_us: int
    sha256: str

    @property
    def found(self) -> int:
        return sum(fault.found_us is not None for fault in self.referee.faults)

    @property
    def solved(self) -> bool:
        return self.found == len(self.game.faults)


class _GameTable:
    """The flight, the view that a player may see, and the referee."""

    def __init__(self, game: GameScenario, record: Path | None) -> None:
        self.game = game
        plan = make_plan(game.scenario, seed=game.seed)
        self.simulation = Simulation(plan.spec, game.seed)
        self.view = ClusterView()
        self.referee = Referee(len(game.faults))
        self.recorder = None
        if record is not None:
            self.recorder = Recorder(record, new_header(plan.scenario, plan.text, plan.settings))
            self.simulation.sinks.append(self.recorder)
        self.simulation.sinks.append(Concealment(plan.spec, self._show))
        self.simulation.on_command = self._note

    def _show(self, event: Event) -> None:
        fold(self.view, event)

    def _note(self, command: Command, source: str, turn: int, at_us: int, after_seq: int) -> None:
        if self.recorder is not None:
            journal_command(self.recorder, (command, source, turn, at_us, after_seq))
        self.referee.take(command, source, at_us)

    async def play(self, player: ScriptedPlayer) -> None:
        timeline, length_us = self.simulation.timeline, self.game.level.length_us
        async with self.simulation.running():
            now_s = FIRST_LOOK_S
            while self.referee.over_us is None and now_s * SECOND_US <= length_us:
                await timeline.fly(round(now_s * SECOND_US))
                drawn = screens(self.view, timeline.now_us, self.game.scenario.spec)
                for text in player.look(now_s, drawn):
                    timeline.submit(Mark(f"{DIAGNOSE}{text}"))
                now_s += LOOK_S
            await timeline.fly(timeline.now_us + 1)


def flown_game(level: int, seed: int, record: Path | None = None, player: ScriptedPlayer | None = None) -> FlownGame:
    """Play the game of a level and a seed to its end; `player`: in place of the scripted one."""
    game, player = draw_game(level, seed), player or ScriptedPlayer()
    table = _GameTable(game, record)
    trio.run(table.play, player, clock=table.simulation.timeline)
    timeline, sha256 = table.simulation.timeline, ""
    if table.recorder is not None:
        table.recorder.close(turns=timeline.turn, virtual_us=timeline.now_us, complete=False)
        sha256 = table.recorder.sha256
    return FlownGame(game, table.referee, player, timeline.now_us, sha256)
