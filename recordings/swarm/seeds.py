"""Seeds flown one by one, in this process or in several: how each flight ended, and which branches it took.

The finding of a seed depends on the seed alone, and findings come in the order of the seeds, for any number of
processes.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from cluster.reach import counting
from cluster.simulation import garbage_collection
from cluster.spec import ScenarioSpec
from recordings.flights import interruption
from recordings.flights.processes import ProcessEnded, flown_in
from recordings.flights.runner import FlightError, FlightResult, Plan, fly
from recordings.journal.comparison import Comparison
from recordings.journal.format import Settings
from recordings.swarm.generator import draw

SECOND_US = 1_000_000
TWICE_EVERY = 10  # one in so many seeds is flown again
CONVERGED, DETERMINED, BUG = "V1", "D1", "B1"
NAMES = {
    CONVERGED: "ConvergesAfterHeal",
    DETERMINED: "SameSeedSameFlight",
    BUG: "TheSimulationRunsOn",
}


class Outcome(msgspec.Struct, frozen=True):
    """How one flight ended; `invariant` is "" when all held."""

    events: int = 0
    invariant: str = ""
    name: str = ""
    found: str = ""
    at_s: float = 0.0
    interrupted: bool = False


class Order(msgspec.Struct, frozen=True):
    """A seed to fly, for how long, and the features that are on whatever it draws."""

    seed: int
    virtual_us: int
    features: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """The finding of a seed: whether it was flown twice, how its flights ended, what they reached and cost."""

    seed: int
    outcome: Outcome
    twice: bool
    reach: dict[str, int]
    busy_s: float


def fly_seed(order: Order) -> Seen:
    """Fly a seed, and some a second time."""
    began = time.process_time()
    spec = draw(order.seed, order.virtual_us, order.features).spec
    lines: list[bytes] | None = [] if order.seed % TWICE_EVERY == 0 else None
    twice = False
    with counting() as found:
        outcome = fly_once(spec, lines.append if lines is not None else None)
    if lines is not None and not outcome.invariant and not outcome.interrupted:
        outcome = _again(spec, outcome, lines)
        twice = not outcome.interrupted  # an interrupted flight is not a different one
    reach = {name: hits for name, hits in found.items() if hits}
    return Seen(order.seed, outcome, twice, reach, time.process_time() - began)


@contextmanager
def flown(orders: Iterable[Order], jobs: int) -> Iterator[Iterator[Seen]]:
    """Fly the seeds and yield their findings in order. Ctrl-C reaches this process, which ends the others."""
    if jobs == 1:
        with garbage_collection.few_collections():
            yield map(fly_seed, orders)
        return
    with flown_in(jobs, fly_seed, orders) as results:
        yield _in_order(results)


def _in_order(results: Iterator[tuple[int, Order, Seen | ProcessEnded]]) -> Iterator[Seen]:
    """The findings in the order of the seeds; the last one says if the user has asked to end."""
    early: dict[int, Seen] = {}
    due = 0
    for number, order, found in results:
        if isinstance(found, ProcessEnded):
            early[number] = Seen(order.seed, _of_bug(found.reason), twice=False, reach={}, busy_s=0.0)
        else:
            early[number] = found
        while due in early:
            yield early.pop(due)
            due += 1
    if interruption.was_asked():
        yield Seen(-1, Outcome(interrupted=True), twice=False, reach={}, busy_s=0.0)


def _of_bug(found: str, at_us: int = 0) -> Outcome:
    return Outcome(invariant=BUG, name=NAMES[BUG], found=found, at_s=at_us / SECOND_US)


def _again(spec: ScenarioSpec, first: Outcome, lines: list[bytes]) -> Outcome:
    """Fly a seed twice: both flights must have the same events, else the finding names the first difference."""
    comparison = Comparison(iter(lines))
    second = fly_once(spec, comparison)
    if second.interrupted:
        return second
    comparison.finish(recorded_until_us=spec.until_us, flown_until_us=spec.until_us)
    differs = comparison.divergence
    if differs is None:
        return first
    sides = [_text(one) for one in (differs.recorded, differs.rerun)]
    found = f"event {differs.seq} at {differs.at_s:f} s differs; first flight: {sides[0]}; second flight: {sides[1]}"
    return msgspec.structs.replace(first, invariant=DETERMINED, name=NAMES[DETERMINED], found=found, at_s=differs.at_s)


def _text(event: dict[str, Any] | None) -> str:
    return "nothing" if event is None else msgspec.json.encode(event).decode()


def fly_once(spec: ScenarioSpec, on_lines: Callable[[bytes], None] | None = None) -> Outcome:
    """Fly it once; `on_lines` gets the journal's lines, many at a time."""
    plan = Plan(scenario=spec.title, text="", spec=spec, settings=Settings(seed=spec.seed, until_us=spec.until_us))
    try:
        result = fly(plan, on_lines=on_lines)
    except FlightError as error:
        return _of_bug(f"{type(error.cause).__name__}: {error.cause}", error.at_us)
    return _judged(result)


def _judged(result: FlightResult) -> Outcome:
    for violation in result.invariants["violations"]:
        return Outcome(result.events, violation["invariant"], violation["name"], violation["found"], violation["at_s"])
    wrong = [f"{each.get('that')}: {each.get('found')}" for each in result.expectations if each["ok"] is False]
    if wrong and not result.interrupted:
        found = "; ".join(wrong)
        return Outcome(result.events, CONVERGED, NAMES[CONVERGED], found, result.virtual_s)
    return Outcome(result.events, interrupted=result.interrupted)
