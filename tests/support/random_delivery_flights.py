"""Random flights in which records meet every fate: unclean elections, crashes, deletions, new partitions, seeks."""

from random import Random

import msgspec

from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    GroupSpec,
    KeysSpec,
    PoisonSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
)
from tests.support.random_flights import FAULTS_BEGIN_S, FAULTS_END_S, careless, random_spec

MOST_RECORDS = 150  # of a partition that its first records are deleted of


def fateful(seed: int) -> ScenarioSpec:
    """A random flight with what makes offsets and records part: every third with careless producers."""
    random = Random(f"fates/{seed}")
    spec = random_spec(seed)
    if seed % 3 == 0:
        spec = careless(spec, seed)
        producers = zip(random_spec(seed).producers, spec.producers, strict=True)  # transactions need idempotence
        kept = tuple(safe if safe.transactions is not None else lax for safe, lax in producers)
        spec = msgspec.structs.replace(spec, producers=kept)
    topics = [topic for topic in spec.topics if topic.name != "out"]
    config = {"min.insync.replicas": 1, "unclean.leader.election.enable": random.random() < 0.5}
    spec = msgspec.structs.replace(
        spec,
        topics=tuple(
            msgspec.structs.replace(topic, config={**topic.config, **config}) if random.random() < 0.6 else topic
            for topic in spec.topics
        ),
    )
    members = [name for group in spec.groups if group.name != "reader" for name in group.instances()]

    def partition() -> str:
        topic = random.choice(topics)
        return f"{topic.name}-{random.randrange(topic.partitions)}"

    kinds = (
        lambda: f"elect unclean {partition()}",
        lambda: f"elect unclean {partition()}",
        lambda: f"crash {random.choice(spec.brokers).name} for {random.choice((1, 6, 15))}s",
        lambda: f"delete records {partition()} before {random.randint(1, MOST_RECORDS)}",
        lambda: f"subscribe {random.choice(members)} to {random.choice(topics).name}",
        lambda: f"add partitions {(topic := random.choice(topics)).name} to {topic.partitions + random.randint(1, 3)}",
        lambda: f"seek {random.choice(spec.groups).name} {partition()} to {random.randint(0, MOST_RECORDS)}",
    )
    extra = []
    for _ in range(random.randint(3, 9)):
        at_us = random.randint(FAULTS_BEGIN_S * 1000, FAULTS_END_S * 1000) * 1000
        command = parse(random.choice(kinds)())
        extra.append(StepSpec(at_us, command, text_of(command)))
    steps = sorted((*spec.steps, *extra), key=lambda step: step.at_us)
    return msgspec.structs.replace(spec, steps=tuple(steps))


AHEAD = {
    "refused": ((6.0, "seek refused orders-0 to 75"),),
    "moved": ((6.0, "seek moved orders-0 to 75"), (7.5, "seek moved orders-0 to 5")),
    "reached": ((6.0, "seek reached orders-0 to 38"),),
    "back": ((6.0, "seek back orders-0 to 38"), (15.0, "seek back orders-0 to 5")),
    "never": ((6.0, "seek never orders-0 to 9000"), (7.5, "kill never-1")),
}
"""By group: where seeks send it before it has read anything. The log ends at about 36 then, and at 41 when it reads."""


def ahead() -> ScenarioSpec:
    """Groups whose first positions, given by a seek, lie beyond the end of the log: its leader does not answer them.

    Their applications skip records of one key, which commits then pass.
    """
    config: dict[str, Value] = {
        "auto.offset.reset": "earliest", "request.timeout.ms": 2_000, "metadata.max.age.ms": 1_000,
    }  # fmt: skip
    application = ApplicationSpec(poison=PoisonSpec("2", crashes=False))
    cuts = [(2.5, f"cut {name}-1 broker-1") for name in AHEAD]
    given = [*cuts, (8.0, "heal"), (30.0, "stop p-1"), *(one for seeks in AHEAD.values() for one in seeks)]
    parsed = [(int(at_s * 1_000_000), parse(text)) for at_s, text in sorted(given)]
    return ScenarioSpec(
        title="ahead",
        until_us=40_000_000,
        brokers=(BrokerSpec(1), BrokerSpec(2)),
        config={"group.initial.rebalance.delay.ms": 3_000, "offsets.topic.num.partitions": 1},
        topics=(TopicSpec("orders", replication=1),),
        producers=(ProducerSpec("p", ("orders",), rate_per_second=5.0, keys=KeysSpec("uniform", distinct=3)),),
        groups=tuple(GroupSpec(name, ("orders",), config=config, application=application) for name in AHEAD),
        steps=tuple(StepSpec(at_us, command, text_of(command)) for at_us, command in parsed),
    )
