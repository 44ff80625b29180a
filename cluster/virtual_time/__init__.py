"""Virtual time: the timeline that runs scheduled actions and wakes waiting actors."""

from cluster.virtual_time.pacing import Pace
from cluster.virtual_time.timeline import (
    TIMED_OUT,
    Diverged,
    NothingLeft,
    TimedOut,
    Timeline,
    Timer,
    TimeStandsStill,
    Waiter,
)

__all__ = ["TIMED_OUT", "Diverged", "NothingLeft", "Pace", "TimeStandsStill", "TimedOut", "Timeline", "Timer", "Waiter"]
