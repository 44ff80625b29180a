"""What Kafka's own tools printed on a real cluster, and the events of a flight that is looked at with ours."""

import json

import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from recordings.kafka_tools.printed import Printed
from tests.support.repository import ROOT

LOOKS: dict[str, dict[str, str]] = json.loads((ROOT / "tests/fidelity/tools/4.3.1.json").read_text())["looks"]
"""Name → `command`, `printed` (`tests/fidelity/recorder/tool_sessions.py`)."""


def flown(spec: ScenarioSpec) -> list[e.Event]:
    """The events of a whole flight."""
    emitted: list[e.Event] = []
    simulation = Simulation(spec, spec.seed, sinks=[emitted.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(spec.until_us)

    trio.run(main, clock=simulation.timeline)
    return emitted


def same(name: str, made: Printed) -> None:
    """What was made is what was printed: stdout, then stderr, without empty lines before and behind."""
    printed = (made.out + made.err).strip("\n") + "\n"
    assert printed.replace("\n\n\n", "\n\n") == LOOKS[name]["printed"].replace("\n\n\n", "\n\n")
