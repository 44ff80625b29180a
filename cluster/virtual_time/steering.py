"""What an operator does to time: speed, pause, step, and running on until something is so.

All of it is permission: the Timeline asks before it takes turns from its heap how far it may go, in time and in turns.
Flat out and unwatched (`steered` is false) it does not even ask. A pause permits no turn, a step one turn, `step_until`
any number at any speed; the predicate of `step_until` and `run_until` is asked when everybody is blocked again after
each turn, and its truth is a pause. Nothing here is part of the flight: how it was steered leaves no trace in what
happens, and a rerun is not steered.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from cluster.virtual_time.agenda import Agenda
from cluster.virtual_time.pacing import Pace


class Steering(Agenda, ABC):
    """The controls of a Timeline. To be used on trio's thread, from outside through `token.run_sync_soon`."""

    __slots__ = ("_limit", "_pace", "_permitted_turn", "_predicate", "_predicate_turn", "_steered")

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._limit = 0  # turns are taken below this one before trio looks at the outside world
        self._pace = pace
        self._permitted_turn: float = 0  # while paused, turns are taken below this one
        self._predicate: Callable[[], bool] | None = None
        self._predicate_turn = 0
        self._steered = pace.limited

    @property
    @abstractmethod
    def position_us(self) -> int:
        """Where the wall clock stands in virtual time: not before the last turn, and not past the next one."""

    @property
    def speed(self) -> float:
        """The chosen speed, in virtual seconds per wall second; infinity is as fast as possible."""
        return self._pace.speed

    @property
    def paused(self) -> bool:
        """Whether time stands still until `resume` (a step may be under way)."""
        return self._pace.paused

    @property
    def actual_speed(self) -> float:
        """The speed reached over the last half second or more of wall time; 0 while paused."""
        return self._pace.actual_speed(self.position_us)

    def set_speed(self, speed: float) -> None:
        """From here on, `speed` virtual seconds per wall second; raises ValueError unless it is above zero."""
        self._pace.set_speed(speed, self.position_us)
        self._steer(self._permitted_turn, self._predicate)

    def pause(self) -> None:
        """Stop time, and whatever `step`, `step_until` or `run_until` was under way. Commands are still executed."""
        self._pace.set_paused(True, self.position_us)
        self._steer(0, None)

    def resume(self) -> None:
        """Let time pass again at the chosen speed, from where it was stopped."""
        self._pace.set_paused(False, self.position_us)
        self._steer(0, None)

    def step(self) -> None:
        """Take the next turn without waiting for its time, and stand still after it. Two calls are two turns."""
        if not self._pace.paused or self._predicate is not None:
            self.pause()
        self._steer(max(self._permitted_turn, self.turn) + 1, None)

    def step_until(self, predicate: Callable[[], bool]) -> None:
        """Take turns as fast as possible until `predicate()` is true after one of them, and stand still there."""
        self.pause()
        self._steer(math.inf, predicate)

    def run_until(self, predicate: Callable[[], bool]) -> None:
        """Take turns at the chosen speed until `predicate()` is true after one of them, and stand still there."""
        self.resume()
        self._steer(0, predicate)

    def _steer(self, permitted_turn: float, predicate: Callable[[], bool] | None) -> None:
        if predicate is not self._predicate:
            self._predicate, self._predicate_turn = predicate, self.turn
        self._permitted_turn = permitted_turn
        self._steered = self._pace.limited or predicate is not None
        self._limit = 0  # if it is an action that steers, the next one asks for permission

    def _watch(self) -> None:
        """Pause if what is waited for has come to be."""
        if self._predicate is not None and self.turn > self._predicate_turn and self._predicate():
            self.pause()

    def _permission(self, next_us: float) -> tuple[float, float]:
        """Up to which instant, and below which turn, the heap may go on when its next turn is due at `next_us`."""
        horizon_us: float = math.inf
        last_turn: float = math.inf if self._predicate is None else self.turn + 1
        if self._pace.paused:
            last_turn = min(last_turn, self._permitted_turn)
        elif self._pace.limited:
            horizon_us = self._pace.reached_us(next_us)
        return horizon_us, last_turn

    def _seconds_until(self, at_us: float) -> float:
        """Wall seconds to wait for `at_us`; 0 when it need not be waited for."""
        return self._pace.seconds_until(int(at_us)) if self._pace.limited and not self._pace.paused else 0.0
