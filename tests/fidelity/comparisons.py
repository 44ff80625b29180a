"""Every trace beside its flight, each computed once a process."""

import functools
import os

from tests.fidelity.comparing import Comparison, Difference, compare
from tests.fidelity.normalisation import Fact
from tests.fidelity.simulated import flown
from tests.fidelity.traces import Trace, read_trace, trace_files


@functools.cache
def traces() -> dict[str, Trace]:
    """Every trace by its name."""
    return {trace.name: trace for trace in map(read_trace, trace_files())}


@functools.cache
def simulated_facts(name: str) -> tuple[Fact, ...]:
    """What Flightdeck tells of a trace's scenario, as far as that recording kept it."""
    trace = traces()[name]
    return tuple(fact for fact in _flown(str(trace.scenario_file)) if fact.logger not in trace.head.left_out)


def judged(name: str) -> list[Difference]:
    """The differences that need a reason: those that the passes of a recording have among themselves are races."""
    races = traces()[name].head.races
    return [each for each in comparison(name).differences if each.text not in races]


@functools.cache
def comparison(name: str) -> Comparison:
    """A trace beside its flight."""
    return compare(traces()[name].facts, simulated_facts(name))


@functools.cache
def _flown(scenario: str | os.PathLike[str]) -> tuple[Fact, ...]:
    return tuple(flown(scenario))
