"""Random flights in which records meet every fate: unclean elections, crashes, deletions, new partitions, seeks."""

from random import Random

import msgspec

from cluster.commands import parse, text_of
from cluster.spec import ScenarioSpec, StepSpec
from tests.flights import TROUBLE_BEGINS_S, TROUBLE_ENDS_S, careless, random_spec

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
        at_us = random.randint(TROUBLE_BEGINS_S * 1000, TROUBLE_ENDS_S * 1000) * 1000
        command = parse(random.choice(kinds)())
        extra.append(StepSpec(at_us, command, text_of(command)))
    steps = sorted((*spec.steps, *extra), key=lambda step: step.at_us)
    return msgspec.structs.replace(spec, steps=tuple(steps))
