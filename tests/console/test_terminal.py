"""What is written to the terminal: the same cells as Textual would draw, in fewer bytes."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import timer
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.strip import Strip

from console.app import FlightdeckApp
from console.terminal_output import TightUpdate
from tests.support.console import synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight
from tests.support.console.terminal_emulator import Terminal

SIZE = (120, 40)
CONSOLE = Console(width=SIZE[0], height=SIZE[1], force_terminal=True, color_system="truecolor")


class Growing(StillFlight):
    """A still flight that goes on by half a second each time it is asked."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self._coming = [event for event in synthetic.all_events() if event.at_us > synthetic.us(seconds)]

    def request_clock(self) -> None:
        now_us = self.clock.now_us + 500_000
        self.clock = self.clock._replace(now_us=now_us)
        while self._coming and self._coming[0].at_us <= now_us:
            self._waiting.append(self._coming.pop(0))


@pytest.mark.slow
def test_tight_updates_draw_the_same_cells_in_a_fraction_of_the_bytes() -> None:
    plain, tight = Terminal(*SIZE), Terminal(*SIZE)
    written = {"plain": 0, "tight": 0, "updates": 0}
    app = FlightdeckApp(source=Growing(10.0))
    display = app._display

    def watch(screen: object, renderable: object) -> None:
        if isinstance(renderable, ChopsUpdate):
            textuals, ours = renderable.render_segments(CONSOLE), TightUpdate(renderable).render_segments(CONSOLE)
            plain.write(textuals)
            tight.write(ours)
            written["plain"] += len(textuals.encode())
            written["tight"] += len(ours.encode())
            written["updates"] += 1
        elif isinstance(renderable, LayoutUpdate):
            whole = renderable.render_segments(CONSOLE)
            plain.write(whole)
            tight.write(whole)
        display(screen, renderable)  # type: ignore[arg-type]

    app._display = watch  # type: ignore[method-assign]

    async def script(seat: Seat) -> None:
        for keys in ((), ("down", "enter"), (), ("escape", "f"), (), ("escape", "colon", "k", "i"), ("escape",)):
            await seat.press(*keys)
            for _ in range(12):
                app.draw()
                await seat.pilot.pause(0.02)

    sit(script, app=app, size=SIZE)
    assert written["updates"] > 20
    assert plain.text() == tight.text()
    assert plain.cells == tight.cells
    assert written["tight"] < written["plain"] / 4


def _update(*segments: Segment, first: int, last: int) -> str:
    strip = Strip(list(segments))
    update = ChopsUpdate([{0: strip}], [(0, first, last)], [[strip.cell_length]])
    return TightUpdate(update).render_segments(CONSOLE)


RED = Style(color="#ff0000", bgcolor="#000000")
BLUE = Style(color="#0000ff", bgcolor="#000000")


def test_only_the_span_is_written_from_its_own_first_cell() -> None:
    assert "\x1b[1;3H" in _update(Segment("abcdef", RED), first=2, last=4)
    assert _update(Segment("abcdef", RED), first=2, last=4).count("cd") == 1


def test_blanks_take_the_ink_that_is_there() -> None:
    assert _update(Segment("a", RED), Segment("  ", BLUE), Segment("b", RED), first=0, last=4).count("\x1b[") == 3


def test_underlined_blanks_are_drawn_as_such() -> None:
    lined = Style(color="#ff0000", bgcolor="#000000", underline=True)
    said = _update(Segment("a", RED), Segment("  ", lined), Segment("b", RED), first=0, last=4)
    assert "\x1b[0;4;" in said


def test_attributes_that_end_are_reset() -> None:
    bold = Style(color="#ff0000", bgcolor="#000000", bold=True)
    said = _update(Segment("a", bold), Segment("b", RED), first=0, last=2)
    assert "a\x1b[0;38" in said


def test_text_without_a_style_has_the_terminals_colours() -> None:
    assert "a\x1b[0mb" in _update(Segment("a", RED), Segment("b", None), first=0, last=2)


def test_the_screens_hear_of_a_new_size_whatever_holds_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual skips a timer that it comes to late, though it fires only once: a live flight never took the size."""
    clock: Any = vars(timer)["_time"]
    read: Callable[[], float] = clock.get_time
    once: list[float] = []

    def held_up() -> float:
        """Each time that a timer which fires once looks at the clock, a second has gone by."""
        caller = sys._getframe(1).f_locals.get("self")
        if not (isinstance(caller, timer.Timer) and caller._repeat == 0):
            return read()
        once.append(read() + len(once))
        return once[-1]

    async def script(seat: Seat) -> None:
        await seat.pilot.pause(0.2)
        monkeypatch.setattr(clock, "get_time", held_up)
        await seat.pilot.resize_terminal(90, 30)
        await seat.wait_for(lambda: seat.app.screen.outer_size == (90, 30))
        assert len(once) > 1

    sit(script, size=SIZE)
