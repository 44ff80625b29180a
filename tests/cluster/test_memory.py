"""What a partition with three replicas weighs: its logs, its leader's books, the view, the invariants."""

import trio

from cluster.invariants import Invariants
from cluster.simulation import Simulation
from recordings.scenarios.loader import parse_scenario
from tests.support.retained_memory import weight

BYTES_A_PARTITION = 5_900


def bytes_of_a_cluster(partitions: int) -> int:
    """The weight of a cluster with these partitions, ten seconds after it was built."""
    text = (
        f'title = "t"\n[cluster]\nbrokers = 6\n[[topic]]\nname = "orders"\npartitions = {partitions}\nreplication = 3\n'
    )
    spec = parse_scenario(text, "t").spec
    simulation = Simulation(spec, 1)
    simulation.sinks.append(Invariants(spec, simulation.view))

    async def main() -> int:
        async with simulation.running():
            await simulation.timeline.fly(10_000_000)
            return weight(simulation).total()

    return trio.run(main, clock=simulation.timeline)


def test_a_partition_with_three_replicas_is_small() -> None:
    assert (bytes_of_a_cluster(220) - bytes_of_a_cluster(20)) / 200 < BYTES_A_PARTITION
