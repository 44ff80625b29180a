"""A flight from its beginning to its end: the events that it emitted, and the simulation as it ended."""

from typing import TypeVar

import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import (
    ScenarioSpec,
)
from cluster.view import document

Fact = TypeVar("Fact", bound=e.Event)


class Flown:
    """What was told in a flight, and the simulation as it ended."""

    def __init__(self, simulation: Simulation, emitted: list[e.Event]) -> None:
        self.simulation, self._emitted = simulation, emitted
        self.document = document(simulation.view, simulation.timeline.now_us)

    def all(self, kind: type[Fact], after_us: int = 0, **fields: object) -> list[Fact]:
        """Facts of one kind with these fields, from an instant on."""
        return [
            event
            for event in self._emitted
            if isinstance(event, kind)
            and event.at_us >= after_us
            and all(getattr(event, key) == value for key, value in fields.items())
        ]


def flown(scenario: ScenarioSpec) -> Flown:
    """Fly it."""
    emitted: list[e.Event] = []
    simulation = Simulation(scenario, 1, sinks=[emitted.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(scenario.until_us)

    trio.run(main, clock=simulation.timeline)
    return Flown(simulation, emitted)


def last_heartbeat_us(flight: Flown, member: str, before_us: int) -> int:
    """When the coordinator last heard a member before an instant."""
    return max(beat.at_us for beat in flight.all(e.HeartbeatAnswered, member=member) if beat.at_us < before_us)


def holders(flight: Flown) -> dict[str, list[tuple[int, int, str]]]:
    """Who held each partition from when to when (-1: still), from what clients told."""
    held: dict[str, list[tuple[int, int, str]]] = {}
    open_: dict[tuple[str, str], int] = {}
    for event in flight.all(e.Event):
        if isinstance(event, e.PartitionsAssigned):
            open_ |= {(name, event.member): event.at_us for name in event.partitions}
        elif isinstance(event, e.PartitionsRevoked):
            for name in event.partitions:
                since_us = open_.pop((name, event.member))
                held.setdefault(name, []).append((since_us, event.at_us, event.member))
    for (name, member), since_us in open_.items():
        held.setdefault(name, []).append((since_us, -1, member))
    return held
