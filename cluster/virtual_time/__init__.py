"""Virtual time: the timeline that runs scheduled actions and wakes waiting actors."""

from cluster.virtual_time.errors import DeadlockError, LivelockError, RerunDivergedError, TurnCutShort
from cluster.virtual_time.pacing import Pace
from cluster.virtual_time.timeline import Timeline
from cluster.virtual_time.waiting import TIMED_OUT, Continuation, TimedOut, Timer, Waiter

__all__ = [
    "TIMED_OUT",
    "Continuation",
    "DeadlockError",
    "LivelockError",
    "Pace",
    "RerunDivergedError",
    "TimedOut",
    "Timeline",
    "Timer",
    "TurnCutShort",
    "Waiter",
]
