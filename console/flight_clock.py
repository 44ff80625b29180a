"""The virtual clock of a flight: one immutable value, passed whole from the simulation's thread to the console's."""

import math
from collections.abc import Sequence
from typing import NamedTuple

SPEEDS = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, math.inf)
"""The speeds that `<` and `>` step through; the last is as fast as possible."""
PLAYBACK_SPEEDS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1_000.0)
"""The same for recordings."""

BUILDING, LIVE, PAUSED, ENDED, FAILED = "building", "live", "paused", "ended", "failed"


class FlightClock(NamedTuple):
    """Virtual time and speed. `actual_speed` is the measured speed, 0 while time is paused.

    `recorded`: the clock is a recording's, which can move back: its speed is below zero then.
    `skips_quiet`: only what is near a rebalance or fault is played. `live_us`: the live instant behind the past that is
    shown.
    """

    now_us: int = 0
    speed: float = 1.0
    actual_speed: float = 0.0
    phase: str = BUILDING
    until_us: int | None = None
    recorded: bool = False
    skips_quiet: bool = False
    live_us: int | None = None

    @property
    def over(self) -> bool:
        """Whether the flight has ended or failed."""
        return self.phase in {ENDED, FAILED}


def next_speed(speed: float, by: int, speeds: Sequence[float] = SPEEDS) -> float:
    """The next lower (-1) or higher (1) speed in the direction of `speed`, or the other direction (0)."""
    if not by:
        return -speed
    amount = abs(speed)
    if by < 0:
        found = max((step for step in speeds if step < amount), default=speeds[0])
    else:
        found = min((step for step in speeds if step > amount), default=speeds[-1])
    return math.copysign(found, speed)
