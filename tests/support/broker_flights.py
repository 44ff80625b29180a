"""Flights for facts about brokers: a small cluster, what was told, and at every second the view against the truth."""

from typing import Any

import trio

from cluster import events as e
from cluster.config import Value
from cluster.simulation import Simulation
from cluster.spec import (
    ApplicationSpec,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
)
from cluster.view import document
from tests.support.completed_flight import Flown
from tests.support.expected_document import Truth, differences
from tests.support.independent_recorder import watching
from tests.support.scenario_builders import THREE_BROKERS, steps_at

MS, SECOND_US = 1_000, 1_000_000


def cluster(
    *steps: tuple[float, str],
    until_s: float,
    partitions: int = 1,
    replication: int = 3,
    topic: dict[str, Value] | None = None,
    brokers: dict[str, Value] | None = None,
    producer: dict[str, Value] | None = None,
    consumer: dict[str, Value] | None = None,
    rate: float = 20.0,
    keyed: bool = False,
    reads: bool = True,
) -> ScenarioSpec:
    """Three brokers, a topic `orders` (broker-1 leads orders-0), a producer p-1, a reader g-1."""
    groups = (
        GroupSpec(
            "g",
            ("orders",),
            config={
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 1_000,
                "auto.commit.interval.ms": 1_000,
                **(consumer or {}),
            },
            application=ApplicationSpec(),
        ),
    )
    return ScenarioSpec(
        title="a fact about brokers",
        until_us=int(until_s * SECOND_US),
        brokers=THREE_BROKERS,
        config={
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            **(brokers or {}),
        },
        network=NetworkSpec(latency_us=MS, jitter=0.0),
        topics=(TopicSpec("orders", partitions=partitions, replication=replication, config=topic or {}),),
        producers=(
            ProducerSpec(
                "p",
                ("orders",),
                rate_per_second=rate,
                keys=KeysSpec("uniform", distinct=50) if keyed else KeysSpec(),
                config={"linger.ms": 0, "request.timeout.ms": 2_000, "delivery.timeout.ms": 60_000, **(producer or {})},
            ),
        ),
        groups=groups if reads else (),
        steps=steps_at(*steps),
    )


def flown(scenario: ScenarioSpec, *, seed: int = 1, truthful: bool = True) -> Flown:
    """Fly it; with `truthful`, the view must equal the truth at every whole second."""
    emitted: list[e.Event] = []
    wrong: list[str] = []
    with watching() as recorder:
        simulation = Simulation(scenario, seed, sinks=[emitted.append])

        async def main() -> None:
            async with simulation.running():
                truth = Truth(simulation, recorder)
                for now_us in range(0, scenario.until_us + 1, SECOND_US):
                    await simulation.timeline.fly(now_us)
                    if truthful and not wrong:
                        seen = document(simulation.view, simulation.timeline.now_us)
                        wrong.extend(f"{now_us // SECOND_US} s: {one}" for one in differences(seen, truth.document()))
                await simulation.timeline.fly(scenario.until_us)

        trio.run(main, clock=simulation.timeline)
    assert not wrong, "\n".join(wrong)
    return Flown(simulation, emitted)


def refusals(flight: Flown) -> list[str]:
    """Why commands were refused."""
    return [refused.reason for refused in flight.all(e.CommandRefused)]


def partition(flight: Flown, name: str = "orders-0") -> dict[str, Any]:
    """A partition as the view has it at the end."""
    found: dict[str, Any] = flight.document["partitions"][name]
    return found


def log_of(flight: Flown, broker: int, name: str = "orders-0") -> list[tuple[str, int, int]]:
    """The identities in a broker's log, in order: (producer, first serial, count)."""
    batches = flight.simulation.brokers[broker].replicas[name].log.batches
    return [(batch.producer, batch.first_serial, batch.count) for batch in batches]


STOPPING = "PendingControlledShutdown"


def stop_lasts_us(flight: Flown, broker: int) -> int:
    """From the signal to the end of the process."""
    (asked,) = flight.all(e.BrokerStateChanged, broker=broker, state=STOPPING)
    (ended,) = flight.all(e.BrokerStopped, broker=broker, how="stop")
    return ended.at_us - asked.at_us
