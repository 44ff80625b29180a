"""Commands in the palette: each with its arguments; chosen, it is begun on the line, or given if it needs nothing."""

from collections.abc import Callable

from cluster.commands import COMMANDS, is_built
from console.screens.palette import ConsoleProvider, Entry
from tests.support.console.pilot import Seat, sit


def entries(seat: Seat) -> dict[str, Callable[[], object]]:
    provider = ConsoleProvider(seat.app.screen)
    found: list[Entry] = list(provider._commands())
    return {entry.name: entry.do for entry in found}


def test_every_built_command_is_there_and_is_begun_on_the_line() -> None:
    async def script(seat: Seat) -> None:
        offered = entries(seat)
        assert set(offered) == {form.usage for form in COMMANDS if is_built(form.command)}
        offered["scale GROUP to N [for DURATION]"]()
        await seat.settle()
        line = seat.app.input_line()
        assert line is not None
        assert line.is_open
        assert line.input.value == "scale "
        await seat.press("escape")
        offered["fail over controller"]()
        await seat.settle()
        assert seat.asked == ["fail over controller"]

    sit(script)
