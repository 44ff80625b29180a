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

    `recorded`: the clock is a recording's, which can move back.
    """

    now_us: int = 0
    speed: float = 1.0
    actual_speed: float = 0.0
    phase: str = BUILDING
    until_us: int | None = None
    recorded: bool = False

    @property
    def over(self) -> bool:
        """Whether the flight has ended or failed."""
        return self.phase in {ENDED, FAILED}


def slower(speed: float, speeds: Sequence[float] = SPEEDS) -> float:
    """The next lower speed."""
    return max((step for step in speeds if step < speed), default=speeds[0])


def faster(speed: float, speeds: Sequence[float] = SPEEDS) -> float:
    """The next higher speed."""
    return min((step for step in speeds if step > speed), default=speeds[-1])
