"""The errors that end a flight in the Timeline."""


class DeadlockError(RuntimeError):
    """Nothing is scheduled and the flight has no end; the message names each parked actor and its wait."""


class LivelockError(RuntimeError):
    """More than 100,000 turns at one instant: an action schedules itself without a delay."""


class RerunDivergedError(RuntimeError):
    """An exact rerun did not reach the turn and instant of a recorded command as the recorded flight did."""
