"""Where a flight stands in time: one small immutable value that crosses the thread border whole."""

import math
from collections.abc import Sequence
from typing import NamedTuple

SPEEDS = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, math.inf)
"""What `<` and `>` go through; the last is as fast as possible."""
PLAYBACK_SPEEDS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0, 1_000.0)
"""The same for recordings."""

BUILDING, LIVE, PAUSED, ENDED, FAILED = "building", "live", "paused", "ended", "failed"


class Clock(NamedTuple):
    """Virtual time and what moves it. `actual_speed`: what was reached lately, 0 when nothing moves.

    `recorded`: it is a recording's time, in which one can go back.
    """

    now_us: int = 0
    speed: float = 1.0
    actual_speed: float = 0.0
    phase: str = BUILDING
    until_us: int | None = None
    recorded: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing can happen any more."""
        return self.phase in {ENDED, FAILED}


def slower(speed: float, speeds: Sequence[float] = SPEEDS) -> float:
    """The next lower of some speeds."""
    return max((step for step in speeds if step < speed), default=speeds[0])


def faster(speed: float, speeds: Sequence[float] = SPEEDS) -> float:
    """The next higher of some speeds."""
    return min((step for step in speeds if step > speed), default=speeds[-1])
