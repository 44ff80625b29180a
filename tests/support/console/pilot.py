"""Driving the console in a test: run an app at a size, press keys, look."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from console.app import FlightdeckApp
from console.player import Player
from console.screens.flight_screen import FlightScreen
from console.widgets.canvas import Canvas
from tests.support.console.stopped_clock import StillFlight

SEEK_PAUSES = 100  # of 10 ms that a seek may take; a search of the whole recording goes on

Script = Callable[["Seat"], Awaitable[None]]


class Seat:
    """Someone at the console: presses keys and reads what is there."""

    def __init__(self, app: FlightdeckApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def asked(self) -> list[str]:
        """What the source was asked for, without its start."""
        source = self.app.flight.source
        assert isinstance(source, StillFlight)
        return [text for text in source.asked if text not in {"start", "stop"}]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        names = {" ": "space", ":": "colon", "/": "slash", "-": "minus", "'": "apostrophe", ".": "full_stop"}
        await self.pilot.press(*(names.get(letter, letter) for letter in text))
        await self.settle()

    async def click(self, words: str, *, within: str = "", times: int = 1) -> None:
        """Click on the first cell of words that the screen on top shows, in a panel or bar if one is named."""
        for canvas in self.app.screen.query(Canvas):
            if not canvas.region or (within and canvas.id != within):
                continue
            for y, row in enumerate(canvas.plain_text().splitlines()):
                if words in row:
                    await self.pilot.click(canvas, offset=(row.index(words), y), times=times)
                    await self.settle()
                    return
        raise AssertionError(f"nothing shows {words!r}")

    async def settle(self) -> None:
        """Until everything that was asked for is painted; a player does it with its next frames."""
        for _ in range(3):
            await self.pilot.pause()
        source = self.app.flight.source
        for _ in range(SEEK_PAUSES):
            if not isinstance(source, Player) or not source.busy:
                break
            await self.pilot.pause(0.01)
        self.app.paint()
        await self.pilot.pause()

    async def wait_for(self, holds: Callable[[], bool]) -> None:
        """Until something holds that the app does in its own time: a resize, the end of its source."""
        for _ in range(6000):
            if holds():
                return
            await self.pilot.pause(0.01)
        raise AssertionError("what was awaited did not come in a minute")

    def text(self) -> str:
        """All that the place shows, top to bottom."""
        screen = self.app.flight_screen()
        assert isinstance(screen, FlightScreen)
        bars = screen.bars
        panels = [panel.plain_text() for panel in screen.board.panels.values()]
        return "\n".join(
            (bars["header"].plain_text(), bars["crumbs"].plain_text(), *panels, bars["footer"].plain_text())
        )

    def notices(self) -> list[str]:
        """What was said in passing."""
        return list(self.app.notices.said)


def sit(script: Script, *, app: FlightdeckApp | None = None, size: tuple[int, int] = (120, 40)) -> FlightdeckApp:
    """Run the app in a terminal of a size and let `script` use it; returns it after it has ended."""
    console = app if app is not None else FlightdeckApp(source=StillFlight())

    async def run() -> None:
        async with console.run_test(size=size) as pilot:
            seat = Seat(console, pilot)
            await seat.settle()
            await script(seat)

    asyncio.run(run())
    return console
