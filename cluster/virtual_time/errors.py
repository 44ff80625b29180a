"""The errors that end a flight in the Timeline, and what ends a turn."""


class DeadlockError(RuntimeError):
    """Nothing is scheduled and the flight has no end; the message names each parked actor and its wait."""


class LivelockError(RuntimeError):
    """More than 100,000 turns at one instant: an action schedules itself without a delay."""


class TurnCutShort(BaseException):
    """The process whose turn it is has been killed in the middle of it; only the process's own code is unwound."""


class RerunDivergedError(RuntimeError):
    """An exact rerun did not reach the turn and instant of a recorded command as the recorded flight did."""
