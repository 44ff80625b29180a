"""`flightdeck check`: many random clusters under random faults, each judged by every invariant and by its end state.

A seed gives a scenario (`recordings.swarm.generator`). The seed fails if an invariant is violated, if the healed
cluster has not converged at the end (V1), if a second flight of it differs (D1), or if the simulation itself raises
(B1). A failure is shrunk step by step (ddmin, Zeller 2002) while it stays the same failure, and is returned as a
scenario file that reproduces it alone.
"""

import time
from collections.abc import Callable, Sequence

import msgspec

from cluster.commands import targets_of
from cluster.reach import NOT_ASKED, PROBES
from cluster.spec import ScenarioSpec, StepSpec
from recordings.scenarios.validation import check_scenario
from recordings.scenarios.writer import write_scenario
from recordings.swarm.generator import Swarm, draw
from recordings.swarm.seeds import CONVERGED, DETERMINED, Order, Outcome, Seen, flown, fly_once

SECOND_US = 1_000_000
SHRINKING_FLIGHTS = 80  # at most, for one failure
MOST_FAILURES = 3  # failures, then the run ends
A_FLEET = 10_000  # seeds or more: a probe that was never reached is a failure


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The failure of a seed: the invariant, the finding, its time; `scenario`: the smallest file that reproduces it.

    `command` flies that file (saved under `file`); `steps` and `steps_drawn` count the faults left and drawn.
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
    """The object that `check --json` prints: how much was flown and compared, and each failure.

    `seeds_per_hour` is per core (`busy_s`), and leaves out shrinking. `reach`: how often each branch in
    `cluster/reach.py` was taken; `unreached`: the required ones that never were.
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
    busy_s: float = 0.0
    reach: dict[str, int] = {}
    unreached: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether no seed failed; a large run must also have taken every required branch of `cluster/reach.py`."""
        return not self.failures and not (self.unreached and self.seeds >= A_FLEET)


def check(
    seeds: int,
    virtual_us: int,
    *,
    first_seed: int = 1,
    features: Sequence[str] = (),
    progress: Callable[[int, int, str], object] | None = None,
    most_failures: int = MOST_FAILURES,
    shrinking_flights: int = SHRINKING_FLIGHTS,
    jobs: int = 1,
) -> Checked:
    """Fly the seeds from `first_seed` on for `virtual_us` each, until `most_failures` failed (or Ctrl-C).

    `features` are on in every seed; shrinking one failure takes at most `shrinking_flights`. `progress` gets the number
    of seeds done, the number failed, and the current activity. `jobs` processes fly; the findings do not depend on
    their number.
    """
    checked = Checked(first_seed=first_seed, virtual_s=virtual_us / SECOND_US, reach=dict.fromkeys(PROBES, 0))
    began = time.perf_counter()
    orders = (Order(seed, virtual_us, tuple(features)) for seed in range(first_seed, first_seed + seeds))
    with flown(orders, jobs) as flights:
        for seen in flights:
            if seen.outcome.interrupted:
                checked.interrupted = True
                break
            _count(checked, seen)
            if progress is not None:
                progress(checked.seeds, len(checked.failures), f"seed {seen.seed}")
            if seen.outcome.invariant:
                if progress is not None:
                    progress(checked.seeds, len(checked.failures) + 1, f"seed {seen.seed} failed: shrinking it")
                swarm = draw(seen.seed, virtual_us, features)
                checked.failures.append(_explain(seen.seed, swarm, seen.outcome, shrinking_flights))
                if len(checked.failures) >= most_failures:
                    break
    checked.wall_s = round(time.perf_counter() - began, 3)
    checked.seeds_per_hour = round(checked.seeds * 3_600 / checked.busy_s) if checked.busy_s else 0
    checked.busy_s = round(checked.busy_s, 3)
    checked.unreached = tuple(name for name, hits in checked.reach.items() if not hits and name not in NOT_ASKED)
    return checked


def _count(checked: Checked, seen: Seen) -> None:
    checked.seeds += 1
    checked.events += seen.outcome.events
    checked.flown_twice += seen.twice
    checked.busy_s += seen.busy_s
    for name, hits in seen.reach.items():
        checked.reach[name] += hits


# --- shrinking a failure ----------------------------------------------------------------------------------------------


def _explain(seed: int, swarm: Swarm, outcome: Outcome, flights: int) -> Failure:
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


def shrink(swarm: Swarm, invariant: str, most_flights: int = SHRINKING_FLIGHTS) -> tuple[ScenarioSpec, Outcome]:
    """The smallest scenario that ddmin finds to break the same invariant, and how its flight ended.

    Its file loads: a `set` may need an earlier one, as keys of a group protocol do.
    """
    spec, last, flights = swarm.spec, Outcome(), 0

    def still(trial: ScenarioSpec) -> bool:
        nonlocal last, flights
        if any(not problem.is_note for problem in check_scenario(trial)):
            return False
        flights += 1
        outcome = fly_once(trial)
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
    if invariant != CONVERGED and last.invariant:  # later events do not matter
        end_us = min(int(last.at_s + 1) * SECOND_US, spec.until_us)
        kept = tuple(step for step in spec.steps if step.at_us <= end_us)
        ended = msgspec.structs.replace(spec, until_us=end_us, steps=kept, expectations=())
        spec = ended if still(ended) else spec
    return spec, last


def _without_one(spec: ScenarioSpec) -> list[ScenarioSpec]:
    """The scenario without one of its groups or producers, and without the steps and expectations that name it."""
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
    """The scenario without the steps and expectations that name one of these."""
    steps = tuple(step for step in spec.steps if not any(target in names for target in targets_of(step.command)))
    quoted = [f'"{name}"' for name in names]
    said = tuple(each for each in spec.expectations if not any(name in (each.that or "") for name in quoted))
    return msgspec.structs.replace(spec, steps=steps, expectations=said)
