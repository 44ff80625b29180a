"""What the console's own frames make dies with its last use, and does not wait for the garbage collector."""

import asyncio
import gc

import pytest

from console import bridge, terminal_output
from console.app import FlightdeckApp

FRAMES = 75
MOST = 50 * FRAMES


@pytest.fixture(autouse=True)
def _never_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "YOUNG", 1_000_000)


def left_behind() -> int:
    """How many objects only the garbage collector can free after some frames of a live flight."""
    app = FlightdeckApp("reference-s", speed=20.0)
    found = 0

    async def run() -> None:
        nonlocal found
        async with app.run_test(size=(120, 40)) as pilot:
            while not app.flight.names().groups:
                await pilot.pause(0.05)
            app.go("g1")
            for _ in range(FRAMES):
                await pilot.pause(0.01)
                app.draw()
            found = gc.collect()

    before = gc.get_threshold()
    asyncio.run(run())
    assert gc.get_threshold() == before
    return found


@pytest.mark.slow
def test_frames_leave_little_behind() -> None:
    assert left_behind() < MOST


@pytest.mark.slow
def test_lines_that_hold_themselves_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_output, "_divide", terminal_output._divide_and_keep)
    assert left_behind() > MOST
