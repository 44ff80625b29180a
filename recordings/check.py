"""`flightdeck check`: many random clusters under random faults, each judged by every invariant and by how it ends.

A seed is a scenario (`recordings.swarm`). It failed when an invariant did not hold, when the healed cluster was not
whole at the end (V1), when a second flight of it was another one (D1), or when the simulation itself broke (B1). A
failure is made small, step by step (ddmin, Zeller 2002), as long as it stays the same failure, and is handed out as a
scenario file, which alone shows it again.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from cluster.spec import ScenarioSpec, StepSpec
from recordings.comparison import Comparison
from recordings.flight import FlightError, FlightResult, Plan, fly
from recordings.format import Settings
from recordings.scenario_writer import write_scenario
from recordings.swarm import Swarm, draw

SECOND_US = 1_000_000
TWICE_EVERY = 10  # of so many seeds one is flown again
SHRINKING_FLIGHTS = 80  # at most, for one failure
MOST_FAILURES = 3  # then there is enough to look at
CONVERGED, DETERMINED, BUG = "V1", "D1", "B1"
NAMES = {
    CONVERGED: "ConvergesAfterHeal",
    DETERMINED: "SameSeedSameFlight",
    BUG: "TheSimulationRunsOn",
}


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong with a seed: the invariant, what was seen, when; `scenario`: the smallest file that shows it.

    `command` flies that file (saved under `file`), `steps` and `steps_drawn` count the faults left and drawn.
    """

    seed: int
    invariant: str
    name: str
    found: str
    at_s: float
    features: tuple[str, ...]
    faults: tuple[str, ...]
    steps_drawn: int
    steps: int
    file: str
    scenario: str
    command: str


class Checked(msgspec.Struct, kw_only=True):
    """What `check --json` prints: how much was flown and compared, and each failure.

    `seeds_per_hour`: of one core's time, whatever else the machine does.
    """

    seeds: int = 0
    first_seed: int = 1
    virtual_s: float = 0.0
    wall_s: float = 0.0
    seeds_per_hour: int = 0
    events: int = 0
    flown_twice: int = 0
    interrupted: bool = False
    failures: list[Failure] = []

    @property
    def held(self) -> bool:
        """Whether nothing went wrong."""
        return not self.failures


class _Outcome(msgspec.Struct, frozen=True):
    """How one flight ended; `invariant` is "" when all held."""

    events: int = 0
    invariant: str = ""
    name: str = ""
    found: str = ""
    at_s: float = 0.0
    interrupted: bool = False


def check(
    seeds: int,
    virtual_us: int,
    *,
    first_seed: int = 1,
    features: Sequence[str] = (),
    progress: Callable[[int, int, str], object] | None = None,
    most_failures: int = MOST_FAILURES,
    shrinking_flights: int = SHRINKING_FLIGHTS,
) -> Checked:
    """Fly the seeds from `first_seed` on for `virtual_us` each, until `most_failures` failed (or Ctrl-C).

    `features` are on in every seed; a failure is made small in at most `shrinking_flights`. `progress` is told how many
    seeds are done, how many failed, and what goes on.
    """
    checked = Checked(first_seed=first_seed, virtual_s=virtual_us / SECOND_US)
    began, busy_since = time.perf_counter(), time.process_time()
    for seed in range(first_seed, first_seed + seeds):
        if progress is not None:
            progress(checked.seeds, len(checked.failures), f"seed {seed}")
        swarm = draw(seed, virtual_us, features)
        lines: list[bytes] | None = [] if seed % TWICE_EVERY == 0 else None
        outcome = _fly(swarm.spec, lines.append if lines is not None else None)
        if outcome.interrupted:
            checked.interrupted = True
            break
        checked.events += outcome.events
        if not outcome.invariant and lines is not None:
            outcome = _again(swarm.spec, outcome, lines)
            if outcome.interrupted:  # what was cut short is no other flight
                checked.interrupted = True
                break
            checked.flown_twice += 1
        checked.seeds += 1
        if outcome.invariant:
            if progress is not None:
                progress(checked.seeds, len(checked.failures) + 1, f"seed {seed} failed: making it small")
            checked.failures.append(_explain(seed, swarm, outcome, shrinking_flights))
            if len(checked.failures) >= most_failures:
                break
    checked.wall_s = round(time.perf_counter() - began, 3)
    busy_s = time.process_time() - busy_since
    checked.seeds_per_hour = round(checked.seeds * 3_600 / busy_s) if busy_s else 0
    return checked


def _again(spec: ScenarioSpec, first: _Outcome, lines: list[bytes]) -> _Outcome:
    """A seed is a flight: the second one has the same events, or the first that differs is named."""
    comparison = Comparison(iter(lines))
    second = _fly(spec, comparison)
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


def _fly(spec: ScenarioSpec, on_lines: Callable[[bytes], None] | None = None) -> _Outcome:
    """Fly it; `on_lines` gets the journal's lines, many at a time."""
    plan = Plan(scenario=spec.title, text="", spec=spec, settings=Settings(seed=spec.seed, until_us=spec.until_us))
    try:
        result = fly(plan, on_lines=on_lines)
    except FlightError as error:
        where = type(error.cause).__name__
        return _Outcome(invariant=BUG, name=NAMES[BUG], found=f"{where}: {error.cause}", at_s=error.at_us / SECOND_US)
    return _judged(result)


def _judged(result: FlightResult) -> _Outcome:
    for violation in result.invariants["violations"]:
        return _Outcome(result.events, violation["invariant"], violation["name"], violation["found"], violation["at_s"])
    wrong = [f"{each.get('that')}: {each.get('found')}" for each in result.expectations if each["ok"] is False]
    if wrong and not result.interrupted:
        found = "; ".join(wrong)
        return _Outcome(result.events, CONVERGED, NAMES[CONVERGED], found, result.virtual_s)
    return _Outcome(result.events, interrupted=result.interrupted)


# --- making a failure small -------------------------------------------------------------------------------------------


def _explain(seed: int, swarm: Swarm, outcome: _Outcome, flights: int) -> Failure:
    drawn = [step for step in swarm.spec.steps if step.at_us < swarm.healed_us]
    small, last = swarm.spec, outcome
    if outcome.invariant != DETERMINED:
        small, smaller = shrink(swarm, outcome.invariant, flights)
        last = smaller if smaller.invariant else outcome
    left = sum(1 for step in small.steps if step.at_us < swarm.healed_us)
    title = f"swarm {seed}: {last.invariant} {last.name}"
    lesson = (
        f"{last.found}\nfound by: flightdeck check --from {seed} --seeds 1 --virtual {swarm.spec.until_us // 1_000}ms"
    )
    small = msgspec.structs.replace(small, title=title, lesson=lesson)
    file = f"check-{seed}.toml"
    return Failure(
        seed=seed,
        invariant=last.invariant,
        name=last.name,
        found=last.found,
        at_s=last.at_s,
        features=swarm.features,
        faults=swarm.faults,
        steps_drawn=len(drawn),
        steps=left,
        file=file,
        scenario=write_scenario(small),
        command=f"flightdeck run {file}",
    )


def shrink(swarm: Swarm, invariant: str, most_flights: int = SHRINKING_FLIGHTS) -> tuple[ScenarioSpec, _Outcome]:
    """The smallest scenario that ddmin finds to break the same invariant, and how its flight ended."""
    spec, last, flights = swarm.spec, _Outcome(), 0

    def still(trial: ScenarioSpec) -> bool:
        nonlocal last, flights
        flights += 1
        outcome = _fly(trial)
        if outcome.invariant == invariant:
            last = outcome
            return True
        return False

    def with_steps(kept: list[StepSpec]) -> ScenarioSpec:
        healing = [step for step in spec.steps if step.at_us >= swarm.healed_us]
        return msgspec.structs.replace(spec, steps=(*kept, *healing))

    steps = [step for step in spec.steps if step.at_us < swarm.healed_us]
    parts = 1
    while steps and flights < most_flights:
        size = max(1, len(steps) // parts)
        for begin in range(0, len(steps), size):
            fewer = steps[:begin] + steps[begin + size :]
            if still(with_steps(fewer)):
                steps, parts = fewer, max(parts - 1, 1)
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(steps))
    spec = with_steps(steps)
    for fewer_things in _without_one(spec):
        if flights < most_flights and still(fewer_things):
            spec = fewer_things
            break
    if invariant != CONVERGED and last.invariant:  # nothing after it matters
        end_us = min(int(last.at_s + 1) * SECOND_US, spec.until_us)
        kept = tuple(step for step in spec.steps if step.at_us <= end_us)
        ended = msgspec.structs.replace(spec, until_us=end_us, steps=kept, expectations=())
        spec = ended if still(ended) else spec
    return spec, last


def _without_one(spec: ScenarioSpec) -> list[ScenarioSpec]:
    """The scenario without one of its groups or producers, and without what speaks of it."""
    found = []
    for group in spec.groups if len(spec.groups) > 1 else ():
        names = (group.name, *(f"{group.name}-{number}" for number in range(1, 6)))
        others = tuple(each for each in spec.groups if each is not group)
        found.append(_silent(msgspec.structs.replace(spec, groups=others), names))
    for producer in spec.producers if len(spec.producers) > 1 else ():
        left = tuple(each for each in spec.producers if each is not producer)
        ids = [] if producer.transactions is None else [producer.transactions.id_of(n) for n in (1, 2)]
        names = (producer.name, *producer.instances(), *ids)
        found.append(_silent(msgspec.structs.replace(spec, producers=left), names))
    return found


def _silent(spec: ScenarioSpec, names: tuple[str, ...]) -> ScenarioSpec:
    steps = tuple(step for step in spec.steps if not any(word in names for word in step.text.split()))
    quoted = [f'"{name}"' for name in names]
    said = tuple(each for each in spec.expectations if not any(name in (each.that or "") for name in quoted))
    return msgspec.structs.replace(spec, steps=steps, expectations=said)
