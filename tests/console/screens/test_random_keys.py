"""Random keys at random sizes: nothing breaks, whatever is pressed."""

import random

import pytest

from console.actions import ACTIONS
from console.app import FlightdeckApp
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import StillFlight

LEAVES = {"q", "ctrl+c", "ctrl+q"}
KEYS = [key for action in ACTIONS for key in action.keys.split(",") if key not in LEAVES]
KEYS += ["up", "down", "j", "k", "g", "G", "pageup", "pagedown", "enter", "enter", "escape", "tab", "e", *"kilbng1 "]
SIZES = [(60, 16), (80, 24), (120, 40), (200, 60), (40, 10), (81, 25)]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_nothing_breaks_whatever_is_pressed(seed: int) -> None:
    dice = random.Random(seed)

    async def script(seat: Seat) -> None:
        for step in range(120):
            if step % 15 == 0:
                await seat.pilot.resize_terminal(*dice.choice(SIZES))
            key = dice.choice(KEYS)
            await seat.pilot.press("space" if key == " " else key)
            seat.app.draw()
            assert seat.app.is_running
        await seat.settle()

    app = sit(script, app=FlightdeckApp(source=StillFlight(dice.choice([0.0, 2.9, 20.0, 90.0]))))
    assert (app.return_code or 0) == 0
