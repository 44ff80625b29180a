"""What commands do to a flight's time and to its cluster, for whoever reads them: the screens and the plain lines."""

from typing import cast

from cluster.commands import Command, text_of
from console import command_line as command_text
from console.flight import Flight


def carry_out(flight: Flight, command: object) -> str:
    """Carry out a command that needs no screen; why that cannot be, or nothing."""
    source = flight.source
    if isinstance(command, command_text.Record):
        return source.record(command.path)
    trouble = flight.cannot_steer()
    if trouble:
        return trouble
    match command:
        case command_text.Speed(factor):
            return source.set_speed(factor)
        case command_text.Time(paused):
            return source.pause(paused)
        case command_text.Step(kind):
            return source.step(kind)
        case command_text.Until(expression):
            return source.run_until(expression)
        case _:
            return _submit(flight, cast(Command, command))


def _submit(flight: Flight, command: Command) -> str:
    trouble = flight.source.submit(command)
    if not trouble:
        flight.traces.given(text_of(command))
    return trouble
