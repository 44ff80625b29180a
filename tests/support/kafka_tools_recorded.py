"""What Kafka's own tools printed on a real cluster, and the events of a flight that is looked at with ours."""

import json
from math import inf

import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from recordings.kafka_tools.leader_logs import LeaderLogs
from recordings.kafka_tools.look import LookedAtFlight, configs_of
from recordings.kafka_tools.printed import Printed
from recordings.scenarios.loader import parse_scenario
from tests.support.repository import ROOT

SECOND_US = 1_000_000
LOOKS: dict[str, dict[str, str]] = json.loads((ROOT / "tests/fidelity/tools/4.3.1.json").read_text())["looks"]
"""Name → `command`, `printed` (`tests/fidelity/recorder/tool_sessions.py`)."""


BILLING = """
title = "a runbook"
until = "20s"
[cluster]
brokers = 3
[[topic]]
name = "orders"
partitions = 3
[[producer]]
name = "shop"
topics = ["orders"]
rate = "20/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 2
"""
"""A scenario like the cluster of most looks: a topic `orders`, and a group `billing` of two members."""


def like_the_recorded(until_s: int, tables: str) -> ScenarioSpec:
    """A scenario of three brokers, as every recorded session had them, with these tables."""
    head = f'title = "as it was recorded"\nuntil = "{until_s}s"\n[cluster]\nbrokers = 3\n'
    return parse_scenario(head + tables, "like-the-recorded").spec


def flown(spec: ScenarioSpec) -> list[e.Event]:
    """The events of a whole flight."""
    emitted: list[e.Event] = []
    simulation = Simulation(spec, spec.seed, sinks=[emitted.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(spec.until_us)

    trio.run(main, clock=simulation.timeline)
    return emitted


def view_at(spec: ScenarioSpec, at_s: float = inf) -> ClusterView:
    """What the events of a flight make known until an instant, in seconds."""
    view = ClusterView()
    for event in flown(spec):
        if event.at_us <= at_s * SECOND_US:
            fold(view, event)
    return view


def looked_at(spec: ScenarioSpec, view: ClusterView) -> LookedAtFlight:
    """A flight as its looks see it, without the logs of its leaders."""
    return LookedAtFlight(view, view.at_us, configs_of(spec, view), LeaderLogs(set()).logs.__getitem__)


def same(name: str, made: Printed) -> None:
    """What was made is what was printed: stdout, then stderr, without empty lines before and behind."""
    printed = (made.out + made.err).strip("\n") + "\n"
    assert printed.replace("\n\n\n", "\n\n") == LOOKS[name]["printed"].replace("\n\n\n", "\n\n")
