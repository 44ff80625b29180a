"""The poll loop is a task only where it waits: reading, processing and asynchronous commits run without it."""

from collections import Counter

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ApplicationSpec, KeysSpec, PoisonSpec, ProducerSpec, ScenarioSpec, TopicSpec
from tests.support.scenario_builders import spec


class TaskSteps(trio.abc.Instrument):
    """Counts the steps of each task by its name."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.taken[task.name] += 1


def reading(application: ApplicationSpec) -> ScenarioSpec:
    """200 records, twenty a second; one member reads them."""
    made = spec(until_s=15, members=1, consumer={"auto.offset.reset": "earliest"}, initial_delay_ms=0)
    (group,) = made.groups
    return msgspec.structs.replace(
        made,
        topics=(*made.topics, TopicSpec("invoices", partitions=1)),
        producers=(
            ProducerSpec("p", ("orders",), rate_per_second=20.0, limit=200, keys=KeysSpec("uniform", distinct=10)),
        ),
        groups=(msgspec.structs.replace(group, application=application),),
    )


def work_and_steps(application: ApplicationSpec) -> tuple[int, int]:
    """How many runs of records were processed, and how many steps the task of the poll loop took in the flight."""
    emitted: list[e.Event] = []
    scenario = reading(application)
    simulation = Simulation(scenario, 1, sinks=[emitted.append])
    steps = TaskSteps()

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(scenario.until_us)

    trio.run(main, clock=simulation.timeline, instruments=[steps])
    return sum(isinstance(event, e.RecordsProcessed) for event in emitted), steps.taken["g-1/poll"]


@pytest.mark.parametrize(
    "application",
    [
        ApplicationSpec(per_record_us=2_000),
        ApplicationSpec(per_record_us=0),
        ApplicationSpec(per_record_us=2_000, jitter=0.5),
        ApplicationSpec(per_record_us=1_500_000),
        ApplicationSpec(per_record_us=2_000, commit="async"),
        ApplicationSpec(per_record_us=2_000, commit="never"),
        ApplicationSpec(per_record_us=2_000, poison=PoisonSpec("7", crashes=False)),
        ApplicationSpec(per_record_us=2_000, writes="invoices"),
    ],
    ids=["auto", "no time", "jitter", "more than a chunk", "async", "never", "poison", "outputs"],
)
def test_the_poll_loop_reads_and_works_without_its_task(application: ApplicationSpec) -> None:
    runs, steps = work_and_steps(application)
    assert runs >= 8
    assert steps <= 40  # start, join, positions, metadata, end


def test_the_poll_loop_waits_for_synchronous_commits_in_its_task() -> None:
    runs, steps = work_and_steps(ApplicationSpec(commit="after-each-poll"))
    assert steps > runs > 50
