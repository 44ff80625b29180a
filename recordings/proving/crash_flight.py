"""The flight of one crash point: the crash, the restart, the end of the load, and what the groups got in the end.

One process dies and starts again after `down_us`. Two seconds later every producer is closed. The flight ends with the
first whole second at which each group has read everything, or five minutes after the load. A flight that goes on from a
fork of another one, and one that flies the crash as a step of its scenario from 0 s on, do the same: what this module
schedules comes at its instant after the steps of the scenario, and before all else.
"""

import msgspec

from cluster.commands import Kill, Stop, text_of
from cluster.simulation import Simulation
from cluster.spec import ExpectationSpec, ScenarioSpec, StepSpec
from recordings.flights.interruptible_run import run_flight
from recordings.proving.crash_points import CrashOutcome, CrashPoint, caught_up, counts

SECOND_US = 1_000_000
LOAD_US = 2 * SECOND_US  # from the victim's restart to the end of the load
PATIENCE_US = 300 * SECOND_US  # from the end of the load; a group that has not caught up then never will


def load_ends_us(at_us: int, down_us: int) -> int:
    """When the producers are closed after a crash."""
    return at_us + down_us + LOAD_US


async def land(simulation: Simulation, point: CrashPoint, down_us: int, groups: list[str]) -> CrashOutcome:
    """Fly on from the instant of the crash to the end."""
    stopped: list[str] = []

    def stop(name: str) -> None:
        process = simulation.process(name)
        if process is not None and process.alive:
            stopped.append(name)
            simulation.give(Stop(name), "scenario")

    timeline = simulation.timeline
    end_us = load_ends_us(point.at_us, down_us)
    for spec in simulation.spec.producers:
        for name in spec.instances():
            timeline.call_first(end_us, stop, name)
    last_us = end_us + PATIENCE_US
    now_us = end_us
    done = False
    while not done and now_us < last_us:
        now_us = (now_us // SECOND_US + 1) * SECOND_US
        await timeline.fly(now_us)
        up = not point.victim or point.victim in stopped or _runs(simulation, point.victim)
        done = up and caught_up(simulation.view, now_us, groups)
    found = counts(simulation.view, now_us, groups)
    return CrashOutcome(end_us=now_us, caught_up=done, stopped=tuple(stopped), counts=found)


def _runs(simulation: Simulation, name: str) -> bool:
    process = simulation.process(name)
    return process is not None and process.alive and process.running


def crash_step(point: CrashPoint, down_us: int) -> StepSpec:
    """The crash as a step of a scenario."""
    kill = Kill(point.victim, down_us)
    return StepSpec(point.at_us, kill, text_of(kill), point.seq)


def fly_from_the_beginning(
    spec: ScenarioSpec, seed: int, point: CrashPoint, down_us: int, groups: list[str]
) -> CrashOutcome:
    """Fly one crash point from 0 s on."""
    crash = [crash_step(point, down_us)] if point.victim else []
    simulation = Simulation(msgspec.structs.replace(spec, steps=(*spec.steps, *crash)), seed)
    outcomes: list[CrashOutcome] = []

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(point.at_us)
            outcomes.append(await land(simulation, point, down_us, groups))

    run_flight(main, simulation.timeline)
    return outcomes[0]


def scenario_of(
    spec: ScenarioSpec, seed: int, point: CrashPoint, down_us: int, outcome: CrashOutcome, group: str
) -> ScenarioSpec:
    """The scenario that flies one crash point again, and expects of it what it brought the group."""
    stops = [Stop(name) for name in outcome.stopped]
    ends_us = load_ends_us(point.at_us, down_us)
    count = outcome.counts[group]
    ledger = f"delivery.by_group[{group!r}]"
    finished = f"{ledger}.delivered + {ledger}.delivered_unacknowledged == {count.finished}"
    return msgspec.structs.replace(
        spec,
        title=f"{spec.title}: {point.victim} is killed at {point.at_us / SECOND_US:f} s",
        seed=seed,
        until_us=outcome.end_us,
        steps=(
            *(step for step in spec.steps if step.at_us <= outcome.end_us),
            crash_step(point, down_us),
            *(StepSpec(ends_us, stop, text_of(stop)) for stop in stops),
        ),
        expectations=(
            ExpectationSpec(
                that=f"{ledger}.lost == {count.lost} && {ledger}.duplicated == {count.duplicated} && {finished}",
                at_us=outcome.end_us,
            ),
        ),
    )
