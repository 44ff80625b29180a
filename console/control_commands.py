"""Execute commands on a flight's time and cluster, for the screens and for `--plain`."""

from typing import cast

from cluster.commands import Command, text_of
from console.command_line import Fly, Play, Record, Speed, Step, Theme, Time, Until, Why
from console.flight import Flight
from console.forking.fork_line import Fork, ForkCancel, Undo
from console.game.game_line import Diagnose, GiveUp
from console.operating.key_question import KeyQuestion
from console.operating.tool_question import ToolOrder

NO_GAME = "no game here: `flightdeck game` starts one"


def execute(flight: Flight, command: object) -> str:
    """Execute a command that needs no screen; returns the reason of a refusal, or an empty text."""
    source = flight.source
    if isinstance(command, Record):
        return source.record(command.path)
    if isinstance(command, Fork | ForkCancel | Undo):
        return "forks are flown by the console's screens; `flightdeck fork` is for a recording"
    if isinstance(command, Theme):
        return "a theme colours the console's screens; there are none here"
    if isinstance(command, Why):
        return "`why` is answered on the console's screens; each second's line says here what is waited for"
    if isinstance(command, KeyQuestion):
        return "`key` is answered on the console's screens, and by `flightdeck key`"
    if isinstance(command, Fly | Play):
        return "only the console's screens go from one flight to another"
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
    commands = command.commands if isinstance(command, ToolOrder) else (cast(Command, command),)
    return next((refusal for refusal in (_submit(flight, command) for command in commands) if refusal), "")


def _submit(flight: Flight, command: Command) -> str:
    refusal = flight.source.submit(command)
    if not refusal:
        flight.refused_commands.given(text_of(command))
    return refusal
