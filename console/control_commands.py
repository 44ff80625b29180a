"""Execute commands on a flight's time and cluster, for the screens and for `--plain`."""

from typing import cast

from cluster.commands import Command, text_of
from console.command_line import Fly, Play, Record, Speed, Step, Theme, Time, Until, Why
from console.flight import Flight
from console.forking.fork_line import Fork, ForkCancel, Undo
from console.game.game_line import Diagnose, GiveUp
from console.operating.key_question import KeyQuestion
from console.operating.tool_question import ToolOrder, due_commands

NO_GAME = "no game here: `flightdeck game` starts one"
_ON_SCREENS = {
    (Fork, ForkCancel, Undo): "forks are flown by the console's screens; `flightdeck fork` is for a recording",
    (Theme,): "a theme colours the console's screens; there are none here",
    (Why,): "`why` is answered on the console's screens; each second's line says here what is waited for",
    (KeyQuestion,): "`key` is answered on the console's screens, and by `flightdeck key`",
    (Fly, Play): "only the console's screens go from one flight to another",
}
"""Why a command has no effect without screens."""


def execute(flight: Flight, command: object) -> str:
    """Execute a command that needs no screen; returns the reason of a refusal, or an empty text."""
    source = flight.source
    if isinstance(command, Record):
        return source.record(command.path)
    for kinds, reason in _ON_SCREENS.items():
        if isinstance(command, kinds):
            return reason
    if isinstance(command, Diagnose | GiveUp):
        game = flight.source.game()
        if game is None:
            return NO_GAME
        return game.give_up() if isinstance(command, GiveUp) else game.diagnose(command.text)
    refusal = flight.why_not_controllable()
    if refusal:
        return refusal
    match command:
        case Speed(factor):
            return source.set_speed(factor)
        case Time(paused):
            return source.pause(paused)
        case Step(kind):
            return source.step(kind)
        case Until(expression):
            return source.run_until(expression)
        case _:
            return _submit_each(flight, command)


def _submit_each(flight: Flight, command: object) -> str:
    """Give a command, or those of a tool's line in their order, up to one that is refused."""
    commands = due_commands(flight.view, command) if isinstance(command, ToolOrder) else (cast(Command, command),)
    return next((refusal for refusal in (_submit(flight, command) for command in commands) if refusal), "")


def _submit(flight: Flight, command: Command) -> str:
    refusal = flight.source.submit(command)
    if not refusal:
        flight.refused_commands.given(text_of(command))
    return refusal
