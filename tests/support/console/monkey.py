"""A monkey at the console: random keys, clicks, wheel, drags, pastes and sizes, from a seed, at one place.

    python -m tests.support.console.monkey --seconds 120              # every place and source for two minutes each
    python -m tests.support.console.monkey --place raster --source live --seed 7 --actions 200

What must hold after each action: the console runs and no exception was raised; a screen of panels that is large enough
has the focus in a panel, unless its line is open. What must hold across each of these: the terminal shrinks below the
minimum and grows again, an overlay or the line opens and closes, the flight goes on. The same screen has the focus in
the same widget, and the selection is the same object, if that is still listed; the newest row of a log or conversation
gives way to a newer one. At the end `q` ends the console with 0.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import textual.app
import textual.pilot
from textual import events
from textual.widget import Widget

from console.actions import ACTIONS
from console.app import FlightdeckApp
from console.presenters.conversations.listing import ConversationListing
from console.screens.flight_screen import MIN_HEIGHT, MIN_WIDTH, FlightScreen
from console.screens.overlays import Overlay
from console.widgets.panel import Panel
from tests.support.console import recorded_flight
from tests.support.console.pilot import Seat
from tests.support.console.places import PLACES, STATES, Place, look, source_in
from tests.support.console.stillness import wait_until_still

LEAVES = {"q", "ctrl+c", "ctrl+q"}
KEYS = [key for action in ACTIONS for key in action.keys.split(",") if key not in LEAVES]
KEYS += ["up", "down", "j", "k", "g", "G", "pageup", "pagedown", "enter", "enter", "escape", "escape", "tab", "e"]
KEYS += ["left", "right", "home", "end", "backspace", "space", *"kilbng1"]
SIZES = ((60, 16), (80, 24), (80, 24), (120, 40), (120, 40), (200, 60), (81, 25))
TOO_SMALL = ((40, 10), (1, 1), (59, 40), (120, 15))
PASTED = ("kill billing-1\n", "go billing", "日本語", "\x1b[31m", "a" * 200)
AWAY = 30  # actions after which the monkey is put back to its place


class PassingWall(recorded_flight.Wall):
    """Wall time that goes on by 0.2 s with each look, so that a recording plays by itself."""

    def __call__(self) -> float:
        self.now += 0.2
        return self.now


class Source(NamedTuple):
    """A flight to sit at: its console, and the objects of its places."""

    console: Callable[[], FlightdeckApp]
    objects: Mapping[str, str]


RECORDED = {"group": "billing", "member": "billing-1", "topic": "orders", "partition": "orders-1"}
SOURCES = {
    **{
        name: Source(lambda name=name: FlightdeckApp(source=source_in(name)), state.objects)  # type: ignore[misc]
        for name, state in STATES.items()
    },
    "live": Source(lambda: FlightdeckApp("first-flight", speed=20.0, invariants=False), STATES["normal"].objects),
    "recorded": Source(
        lambda: recorded_flight.app(PassingWall(), playing=True),
        {**RECORDED, "broker": "broker-2", "producer": "checkout-1"},
    ),
}


class Kept(NamedTuple):
    """What is to be kept: the screen, its focus, the selected row; `follows`: it is the newest of a log."""

    screen: object
    focused: Widget | None
    selected: str = ""
    follows: bool = False


class Monkey:
    """One seed's actions on a console. `told` are the last actions, for the report of a fault."""

    def __init__(self, seat: Seat, dice: random.Random) -> None:
        self.seat, self.app, self.dice = seat, seat.app, dice
        self.size = (120, 40)
        self.told: deque[str] = deque(maxlen=20)

    async def act(self) -> None:
        """One action, and what must hold after it."""
        act = self.dice.choices(
            (self.key, self.click, self.wheel, self.drag, self.paste, self.resize, self.shrink_and_grow,
             self.open_and_close, self.go_on),
            (60, 12, 6, 3, 2, 4, 3, 4, 6),
        )[0]  # fmt: skip
        await act()
        self.app.draw()
        await self.seat.pilot.pause()
        self.holds()

    def holds(self) -> None:
        """The console runs, and the focus is somewhere."""
        assert self.app.is_running, "the console has ended"
        assert self.app._exception is None, repr(self.app._exception)
        screen = self.app.screen
        if isinstance(screen, FlightScreen) and self.large() and not self.line_is_open():
            panels = [panel for panel in screen.board.panels.values() if panel.display]
            assert not panels or isinstance(screen.focused, Panel), f"{screen.focused} has the focus, and no panel"

    def large(self) -> bool:
        """Whether the screen has room for its panels."""
        return self.size[0] >= MIN_WIDTH and self.size[1] >= MIN_HEIGHT

    def line_is_open(self) -> bool:
        """Whether a command or a filter is being typed."""
        line = self.app.input_line()
        return line is not None and line.is_open

    # --- actions ----------------------------------------------------------------------------------------------------

    async def key(self) -> None:
        """Press a key."""
        key = self.dice.choice(KEYS)
        self.told.append(f"key {key}")
        await self.seat.pilot.press(key)

    def _cell(self) -> tuple[int, int]:
        size = self.app.screen.size
        return self.dice.randrange(max(1, size.width)), self.dice.randrange(max(1, size.height))

    async def click(self) -> None:
        """Click somewhere, sometimes twice."""
        at, times = self._cell(), self.dice.choice((1, 1, 2))
        self.told.append(f"click {at} ×{times}")
        await self.seat.pilot.click(offset=at, times=times)

    async def wheel(self) -> None:
        """Turn the wheel over a cell."""
        at, turn = self._cell(), self.dice.choice((events.MouseScrollDown, events.MouseScrollUp))
        self.told.append(f"{turn.__name__} {at}")
        for _ in range(self.dice.randint(1, 4)):
            await self.seat.pilot._post_mouse_events([turn], offset=at)

    async def drag(self) -> None:
        """Hold the button, move, release."""
        begin, end = self._cell(), self._cell()
        self.told.append(f"drag {begin} {end}")
        await self.seat.pilot.mouse_down(offset=begin)
        await self.seat.pilot.hover(offset=end)
        await self.seat.pilot.mouse_up(offset=end)

    async def paste(self) -> None:
        """Paste a text."""
        text = self.dice.choice(PASTED)
        self.told.append(f"paste {text!r}")
        self.app.post_message(events.Paste(text))
        await self.seat.pilot.pause()

    async def resize(self) -> None:
        """Another size, not too small."""
        await self._resize(self.dice.choice(SIZES))

    async def _resize(self, size: tuple[int, int]) -> None:
        self.told.append(f"size {size}")
        self.size = size
        await self.seat.pilot.resize_terminal(*size)
        try:
            await self.seat.wait_for(lambda: self._is_resized(size))  # Textual tells its screens by a timer
        except AssertionError as error:
            screens = [(f"{one}", one.outer_size, one.stack_updates) for one in self.app.screen_stack]
            raise AssertionError(f"not {size}, the application's {self.app.size}: {screens}") from error
        await self.seat.settle()

    def _is_resized(self, size: tuple[int, int]) -> bool:
        screen = self.app.flight_screen()
        small = size[0] < MIN_WIDTH or size[1] < MIN_HEIGHT
        return self.app.screen.outer_size == size and (screen is None or screen.has_class("-too-small") == small)

    # --- what is kept -----------------------------------------------------------------------------------------------

    def _kept(self) -> Kept:
        focused = self.app.screen.focused
        if not isinstance(focused, Panel):
            return Kept(self.app.screen, focused)
        follows = focused.selected != "" and focused.selected == self._newest(focused)
        return Kept(self.app.screen, focused, focused.selected, follows)

    @staticmethod
    def _newest(panel: Panel) -> str:
        """The row that is followed while it is selected: a log's first, a conversation's last; empty for none."""
        rows, listing = panel._selectable(), panel._listing
        if rows and listing is not None and listing.newest_first:
            return rows[0]
        return rows[-1] if rows and isinstance(listing, ConversationListing) else ""

    def _is_kept(self, before: Kept, what: str) -> None:
        screen, focused, selected, follows = before
        now = self._kept()
        assert now[0] is screen, f"{what}: {now[0]} is shown, not {screen}"
        assert now[1] is focused, f"{what}: {now[1]} has the focus, not {focused}"
        if isinstance(focused, Panel) and selected in focused._selectable():
            selected = self._newest(focused) if follows else selected
            assert now[2] == selected, f"{what}: {now[2]!r} is selected, not {selected!r}"

    async def shrink_and_grow(self) -> None:
        """The terminal is too small for a while."""
        screen = self.app.screen
        if not isinstance(screen, FlightScreen | Overlay):
            return
        before, size, small = self._kept(), self.size, self.dice.choice(TOO_SMALL)
        await self._resize(small)
        if self.dice.random() < 0.3:
            await self.go_on()
        await self._resize(size)
        if self.app.screen is screen:  # live, a flight may end meanwhile with its report
            self._is_kept(before, f"after {small}")

    async def open_and_close(self) -> None:
        """Open the line, the help or an answer, and close it."""
        if not isinstance(self.app.screen, FlightScreen) or self.line_is_open():
            return
        before, key = self._kept(), self.dice.choice(("colon", "question_mark", "w", "f"))
        self.told.append(f"open and close {key}")
        await self.seat.press(key)
        if self.app.screen is before[0] and not self.line_is_open():
            return  # refused, and `escape` would go back
        await self.seat.press("escape")
        self._is_kept(before, f"after {key} and escape")

    async def go_on(self) -> None:
        """The flight goes on, and the rows with it."""
        before = self._kept()
        self.told.append("go on")
        for _ in range(self.dice.randint(1, 5)):
            self.app.draw()
            await self.seat.pilot.pause()
        if self.app.screen is before[0]:
            self._is_kept(before, "after the flight went on")


async def play(
    source: Source, place: Place, seed: int, actions: int, directory: Path, until: float = float("inf")
) -> int:
    """Sit at a place for so many actions, or until an instant of the CPU clock; how many there were.

    Raises AssertionError with the last actions.
    """
    dice, app, done = random.Random(seed), source.console(), 0
    app.directory = directory
    async with app.run_test(size=(120, 40)) as pilot:
        seat = Seat(app, pilot)
        await seat.settle()
        monkey = Monkey(seat, dice)
        try:
            while done < actions and time.process_time() < until:
                if done % AWAY == 0:
                    monkey.told.append(f"go to {place.name}")
                    await look(seat, source.objects, place)
                done += 1
                await monkey.act()
            await monkey._resize((120, 40))
            while len(app.screen_stack) > 1:
                app.pop_screen()
            await seat.press("escape", "q", "q")
        except Exception as error:
            raise AssertionError(f"{place.name}, seed {seed}, action {done}: {error!r}: {list(monkey.told)}") from error
    assert (app.return_code or 0) == 0, f"{place.name}, seed {seed}: ended with {app.return_code}"
    return done


def main() -> int:
    """Every chosen place and source, seed after seed, until its time is over; 1 if a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.console.monkey")
    parser.add_argument("--seconds", type=float, default=120.0, help="of CPU for each place, over all its sources")
    parser.add_argument("--place", choices=[place.name for place in PLACES])
    parser.add_argument("--source", choices=list(SOURCES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--actions", type=int, default=200, help="with one seed")
    asked = parser.parse_args()
    patch_pilot()
    sources = [asked.source] if asked.source else ["rebalancing", "recorded", "live"]
    faults = 0
    for place in PLACES if asked.place is None else [one for one in PLACES if one.name == asked.place]:
        for name in sources:
            until, seed, done = time.process_time() + asked.seconds / len(sources), asked.seed, 0
            while time.process_time() < until:
                with tempfile.TemporaryDirectory() as directory:
                    try:
                        done += asyncio.run(play(SOURCES[name], place, seed, asked.actions, Path(directory), until))
                    except Exception as error:  # noqa: BLE001 - Textual raises at the end what ended the console
                        faults += 1
                        print(f"FAULT {name}, seed {seed}: {error!r}", flush=True)  # noqa: T201
                seed += 1
            print(f"{place.name}, {name}: {done} actions, seeds {asked.seed}–{seed - 1}", flush=True)  # noqa: T201
    return 1 if faults else 0


def patch_pilot() -> None:
    """What the fixture of tests/console does: wait for the loop, not for the clock."""
    for module in (textual.app, textual.pilot):
        module.__dict__["wait_for_idle"] = wait_until_still


if __name__ == "__main__":
    sys.exit(main())
