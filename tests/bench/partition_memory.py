"""How much memory a partition with three replicas takes: the difference of two clusters, divided by their partitions.

    python -m tests.bench.partition_memory              # resident, and what Python has allocated (tracemalloc)
    python -m tests.bench.partition_memory --brokers 100 --from 2000 --to 20000

Each cluster is built in a process of its own, with invariants, and is ten virtual seconds old.
"""

import argparse
import gc
import subprocess
import sys
import tracemalloc

import trio

from cluster.invariants import Invariants
from cluster.simulation import Simulation
from recordings.scenarios.loader import parse_scenario
from tests.bench.memory import resident_mb

CLUSTER = """
title = "t"
[cluster]
brokers = {brokers}
[[topic]]
name = "orders"
partitions = {partitions}
replication = 3
"""


def measure(partitions: int, brokers: int, *, traced: bool) -> None:
    """Build a cluster and print its bytes: those that Python has allocated, if `traced`, else resident memory."""
    spec = parse_scenario(CLUSTER.format(brokers=brokers, partitions=partitions), "t").spec
    if traced:
        tracemalloc.start()
    simulation = Simulation(spec, 1)
    simulation.sinks.append(Invariants(spec, simulation.view, simulation.log_of))

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(10_000_000)
            gc.collect()
            size = tracemalloc.get_traced_memory()[0] if traced else round(resident_mb() * 1e6)
            sys.stdout.write(f"{size}\n")

    trio.run(main, clock=simulation.timeline)


def measured(partitions: int, options: argparse.Namespace, *words: str) -> int:
    """The bytes of a cluster that was built in a process of its own."""
    program = [sys.executable, "-m", "tests.bench.partition_memory", "--brokers", str(options.brokers)]
    done = subprocess.run([*program, "--measure", str(partitions), *words], check=True, capture_output=True, text=True)
    return int(done.stdout)


def main() -> None:
    """Measure two clusters in each way, and print the quotients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=6)
    parser.add_argument("--from", type=int, default=1_000, dest="fewer")
    parser.add_argument("--to", type=int, default=9_000, dest="more")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--traced", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure, options.brokers, traced=options.traced)
        return
    for name, words in (("resident", ()), ("allocated", ("--traced",))):
        grown = measured(options.more, options, *words) - measured(options.fewer, options, *words)
        sys.stdout.write(f"{name:<9} {grown / (options.more - options.fewer):7,.0f} bytes a partition\n")


if __name__ == "__main__":
    main()
