"""The lag of a group that stops for a while and catches up, as a series of samples."""

from collections.abc import Callable

from recordings.importing.draft import LagSample

STOPPED_S, RESUMED_S, ARRIVING, PROCESSED, LEVEL = 60.0, 118.0, 100.0, 250.0, 50.0
END_S, STEP_S = 300, 5


def lag_at(second: float) -> float:
    """Level, up by what arrives, down by what is processed beyond it."""
    if second < STOPPED_S:
        return LEVEL
    if second < RESUMED_S:
        return LEVEL + ARRIVING * (second - STOPPED_S)
    top = ARRIVING * (RESUMED_S - STOPPED_S)
    return LEVEL + max(0.0, top - (PROCESSED - ARRIVING) * (second - RESUMED_S))


def samples(lag: Callable[[float], float], until_s: int = END_S) -> list[LagSample]:
    return [LagSample(float(at), max(0.0, lag(at))) for at in range(0, until_s, STEP_S)]
