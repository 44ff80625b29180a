"""How fast virtual time may pass: a line from the wall clock's seconds to the Timeline's microseconds.

The line goes through one base point (wall seconds, virtual microseconds) and its slope is the speed. Everything the
operator does to time moves the base: a new speed bends the line where the flight stands, a pause freezes the flight
there, a step jumps. When the simulation cannot keep up, the base slips: it is moved to where the flight really is, so
lost time stays lost and is never caught up in a burst. `actual_speed` is the speed that was reached.

The Timeline owns the only Pace of a flight and gives it the wall clock; this module reads none of its own.
"""

import math
from collections.abc import Callable
from typing import Final

MICROSECONDS: Final = 1_000_000
SLIP_SECONDS: Final = 0.25  # further behind than this and the base moves
MEASURED_SECONDS: Final = 0.5  # the shortest stretch of wall time from which an actual speed is computed


class Pace:
    """Where virtual time may stand, for a speed (virtual seconds per wall second; `math.inf`: as fast as possible)."""

    __slots__ = ("_actual", "_measured_us", "_measured_wall", "_virtual_base", "_wall", "_wall_base", "paused", "speed")

    def __init__(self, wall: Callable[[], float], speed: float) -> None:
        self._wall = wall
        self.speed = _checked(speed)
        self.paused = False
        self._virtual_base = 0
        self._wall_base = wall()
        self._measured_us, self._measured_wall, self._actual = 0, self._wall_base, 0.0

    @property
    def limited(self) -> bool:
        """Whether anything holds virtual time back: a finite speed or a pause."""
        return self.paused or self.speed != math.inf

    def rebase(self, at_us: int) -> None:
        """Let the line go on from `at_us`, now."""
        self._virtual_base, self._wall_base = at_us, self._wall()

    def set_speed(self, speed: float, at_us: int) -> None:
        """Go on from `at_us` at another speed; raises ValueError unless it is above zero."""
        self.speed = _checked(speed)
        self.rebase(at_us)
        self._measure_from(at_us)

    def set_paused(self, paused: bool, at_us: int) -> None:
        """Freeze the line at `at_us`, or let it go on from there."""
        self.paused = paused
        self.rebase(at_us)
        self._measure_from(at_us)

    def position_us(self, now_us: int) -> int:
        """Where the line stands at this moment; without a limit there is no line and it is `now_us`."""
        if self.speed == math.inf or self.paused:
            return max(self._virtual_base, now_us)
        return max(now_us, self._line_us())

    def reached_us(self, next_us: float) -> int:
        """Up to where turns may be taken when the next one is due at `next_us`; slips when that is long overdue."""
        position_us = self._line_us()
        if position_us - next_us > SLIP_SECONDS * MICROSECONDS * self.speed:
            position_us = int(next_us)
            self.rebase(position_us)
        return position_us

    def seconds_until(self, at_us: int) -> float:
        """Wall seconds until the line reaches `at_us`, at least 0."""
        return max(0, at_us - self._line_us()) / MICROSECONDS / self.speed

    def actual_speed(self, position_us: int) -> float:
        """Virtual seconds per wall second over the last half second or more; 0 while paused."""
        if self.paused:
            return 0.0
        wall = self._wall()
        elapsed = wall - self._measured_wall
        if elapsed >= MEASURED_SECONDS or (self._actual == 0.0 and elapsed > 0.0):
            self._actual = (position_us - self._measured_us) / MICROSECONDS / elapsed
        if elapsed >= MEASURED_SECONDS:
            self._measured_us, self._measured_wall = position_us, wall
        return self._actual

    def _line_us(self) -> int:
        return self._virtual_base + round((self._wall() - self._wall_base) * self.speed * MICROSECONDS)

    def _measure_from(self, at_us: int) -> None:
        self._measured_us, self._measured_wall, self._actual = at_us, self._wall(), 0.0


def _checked(speed: float) -> float:
    if not speed > 0:
        raise ValueError(f"a speed is above zero (to stop time, pause it), not {speed}")
    return speed
