"""Flights with a compacted topic: small segments, few keys, an early and a late reader, and five kinds of trouble."""

from collections.abc import Sequence

import msgspec

from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
    TransactionsSpec,
)
from tests.support.scenario_builders import MS, SECOND_US, THREE_BROKERS, steps_at

SMALL: dict[str, Value] = {
    "cleanup.policy": ("compact",),
    "internal.segment.bytes": 2_000,
    "min.cleanable.dirty.ratio": 0.1,
}
KEYS = KeysSpec("uniform", distinct=20)
NAMES = ("prices-0", "prices-1")


def compacted(
    *steps: tuple[float, str],
    until_s: float = 120,
    config: dict[str, Value] | None = None,
    producers: Sequence[ProducerSpec] | None = None,
    late_s: float = 60,
) -> ScenarioSpec:
    """Two partitions on three brokers; `early` reads from the first minute on, `late` begins when much is compacted."""
    read: dict[str, Value] = {"auto.offset.reset": "earliest"}
    return ScenarioSpec(
        title="a compacted topic",
        until_us=int(until_s * SECOND_US),
        brokers=THREE_BROKERS,
        config={"offsets.topic.num.partitions": 1, "log.cleaner.backoff.ms": 5_000},
        network=NetworkSpec(latency_us=MS, jitter=0.0),
        topics=(TopicSpec("prices", partitions=2, replication=3, config={**SMALL, **(config or {})}),),
        producers=tuple(
            producers or (ProducerSpec("feed", ("prices",), rate_per_second=20.0, keys=KEYS, size_bytes=100),)
        ),
        groups=(
            GroupSpec("early", ("prices",), members=2, config=read, application=ApplicationSpec()),
            GroupSpec("late", ("prices",), start_us=int(late_s * SECOND_US), config=read),
        ),
        steps=steps_at(*steps),
    )


def in_transactions(*steps: tuple[float, str]) -> ScenarioSpec:
    """Written in transactions, a third of them aborted, and read by readers of committed data."""
    writer = ProducerSpec(
        "pay",
        ("prices",),
        rate_per_second=20.0,
        keys=KEYS,
        size_bytes=100,
        transactions=TransactionsSpec("pay-{n}", records=20, abort=0.3),
    )
    scenario = compacted(*steps, producers=[writer], config={"delete.retention.ms": 10_000})
    committed: dict[str, Value] = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    groups = tuple(msgspec.structs.replace(group, config=committed) for group in scenario.groups)
    return msgspec.structs.replace(scenario, groups=groups)


def from_followers(*steps: tuple[float, str]) -> ScenarioSpec:
    """Both groups read from broker 3, whose cleaner is quick, while those of the leaders wait."""
    scenario = compacted(*steps)
    slow: dict[str, Value] = {"log.cleaner.backoff.ms": 600_000}
    brokers = tuple(BrokerSpec(number, f"r{number}", slow if number < 3 else {}) for number in (1, 2, 3))
    near: dict[str, Value] = {"client.rack": "r3"}
    groups = tuple(msgspec.structs.replace(one, config={**one.config, **near}) for one in scenario.groups)
    config: dict[str, Value] = {**scenario.config, "replica.selector.class": "RackAwareReplicaSelector"}
    return msgspec.structs.replace(scenario, brokers=brokers, config=config, groups=groups)


FAULTS: tuple[tuple[tuple[float, str], ...], ...] = (
    ((40.0, "kill broker-1"), (55.0, "start broker-1")),
    ((40.0, "crash broker-1 for 20s"), (75.0, "crash broker-2 for 10s")),
    ((40.0, "pause broker-2"), (70.0, "resume broker-2"), (80.0, "kill broker-1")),
    ((35.0, "seek early prices-0 to 10"), (50.0, "seek early prices-1 to 300"), (65.0, "kill early-1")),
    ((50.0, "delete records prices-0 before 150"), (60.0, "add partitions prices to 3")),
)


def all_compacted(spec: ScenarioSpec, seed: int) -> ScenarioSpec:
    """The same flight with every topic compacted, all records keyed, and a fifth of them tombstones."""
    policy = ("compact",) if seed % 3 else ("compact", "delete")
    config: dict[str, Value] = {
        "cleanup.policy": policy,
        "internal.segment.bytes": 1_500,
        "min.cleanable.dirty.ratio": 0.05,
        "delete.retention.ms": 3_000,
    }
    keys = KeysSpec("uniform", distinct=12)
    return msgspec.structs.replace(
        spec,
        config={**spec.config, "log.cleaner.backoff.ms": 1_000},
        topics=tuple(msgspec.structs.replace(topic, config={**topic.config, **config}) for topic in spec.topics),
        producers=tuple(
            msgspec.structs.replace(producer, keys=keys, size_bytes=60, tombstones=0.2) for producer in spec.producers
        ),
    )
