"""A seed becomes a random scenario: a small cluster, a load, and faults, of which each class is on or off.

Theory of operation (swarm testing, Groce et al. 2012: leaving features out finds more than everything at once). A seed
draws which features and which classes of faults it has. Faults happen in the *safety phase*, in which only invariants
are asked. It ends with everything mended, restarted and scaled back; producers stop some seconds later; at the end the
cluster must have *converged*: expectations of the scenario say so, so that the file alone shows a failure. Every class
draws from a stream of its own: leaving one out changes no other.
"""

from collections.abc import Sequence
from random import Random

import msgspec

from cluster.commands import AddPartitions, Crash, parse, text_of
from cluster.config import Value
from cluster.config_keys import DEFAULT_ASSIGNORS
from cluster.fault_classes import FAULTS, victims
from cluster.randomness import random_stream
from cluster.spec import (
    ApplicationSpec,
    ArrivalsSpec,
    BrokerSpec,
    CommitPolicy,
    ExpectationSpec,
    GroupSpec,
    KeysKind,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
    TransactionsSpec,
)

SECOND_US = 1_000_000
TROUBLE_BEGINS_US = 5 * SECOND_US
HEALING_US = 34 * SECOND_US  # what a cluster may take from its last fault until it is whole and read to the end
PRODUCERS_STOP_US = (16 * SECOND_US, 10 * SECOND_US)  # before the end; twice, because a fault's end may start one again
STARTED_MS = (200, 8_000, 16_000)  # again, and again: a clean stop that the trouble held up ends late
SHORTEST_US = TROUBLE_BEGINS_US + HEALING_US + 6 * SECOND_US

FEATURES = (
    "transactions", "read_committed", "static", "assignors", "acks", "not_idempotent", "keys", "slow_processing",
    "small_batches", "two_groups", "far_apart", "commit_policy", "unclean", "short_session", "version_1",
)  # fmt: skip


class Swarm(msgspec.Struct, frozen=True):
    """What a seed drew: its scenario, its features and its classes of faults. `healed_us`: where the trouble ends."""

    spec: ScenarioSpec
    features: tuple[str, ...]
    faults: tuple[str, ...]
    healed_us: int


def draw(seed: int, virtual_us: int, features: Sequence[str] = ()) -> Swarm:
    """The scenario of a seed; `features` are on whatever was drawn. It lasts at least `SHORTEST_US`."""
    assert virtual_us >= SHORTEST_US
    luck = random_stream(seed, "swarm/features")
    chosen = tuple(name for name in FEATURES if (luck.random() < 0.4) | (name in features))
    spec = _cluster(seed, virtual_us, chosen)
    luck = random_stream(seed, "swarm/faults")
    faults = tuple(name for name in FAULTS if luck.random() < 0.3)
    healed_us = virtual_us - HEALING_US
    steps = sorted(_trouble(seed, spec, faults, healed_us) + _healing(spec, healed_us), key=lambda step: step.at_us)
    spec = msgspec.structs.replace(spec, steps=tuple(steps))
    expectations = tuple(
        ExpectationSpec(that=that, at_us=virtual_us) for that in _whole(spec, lossless=_lossless(spec, chosen, faults))
    )
    return Swarm(msgspec.structs.replace(spec, expectations=expectations), chosen, faults, healed_us)


# --- the cluster ------------------------------------------------------------------------------------------------------


def _cluster(seed: int, virtual_us: int, features: tuple[str, ...]) -> ScenarioSpec:
    luck = random_stream(seed, "swarm/cluster")
    brokers = luck.choice((1, 2, 3, 3, 3, 3, 4, 5))
    topics = tuple(_topic(luck, number, brokers, features) for number in range(luck.randint(1, 2)))
    count = luck.randint(1, 2)
    producers = tuple(_producer(luck, number, topics, features) for number in range(count))
    groups = tuple(_group(luck, number, topics, features) for number in range(2 if "two_groups" in features else 1))
    config: dict[str, Value] = {
        "offsets.topic.num.partitions": luck.choice((1, 3)),
        "transaction.state.log.num.partitions": luck.choice((1, 2)),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
        "group.initial.rebalance.delay.ms": luck.choice((0, 500, 3_000)),
        "replica.lag.time.max.ms": luck.choice((3_000, 8_000)),
    }
    if "version_1" in features:
        config["transaction.version"] = 1
    return ScenarioSpec(
        title=f"swarm {seed}",
        seed=seed,
        until_us=virtual_us,
        brokers=tuple(BrokerSpec(number + 1) for number in range(brokers)),
        config=config,
        network=NetworkSpec(
            latency_us=luck.choice((5_000, 15_000)) if "far_apart" in features else 1_000,
            jitter=luck.choice((0.0, 0.2, 0.9)),
        ),
        topics=topics,
        producers=producers,
        groups=groups,
    )


def _topic(luck: Random, number: int, brokers: int, features: tuple[str, ...]) -> TopicSpec:
    replication = luck.randint(min(2, brokers), min(3, brokers))
    config: dict[str, Value] = {"min.insync.replicas": luck.randint(1, replication)}
    if "unclean" in features and luck.random() < 0.5:
        config["unclean.leader.election.enable"] = True
    return TopicSpec(f"t{number}", partitions=luck.randint(1, 4), replication=replication, config=config)


def _producer(luck: Random, number: int, topics: tuple[TopicSpec, ...], features: tuple[str, ...]) -> ProducerSpec:
    names = tuple(topic.name for topic in luck.sample(topics, luck.randint(1, len(topics))))
    request_ms = luck.choice((1_000, 2_500))
    config: dict[str, Value] = {
        "linger.ms": luck.choice((0, 5, 50)),
        "max.in.flight.requests.per.connection": luck.choice((1, 5, 5)),
        "request.timeout.ms": request_ms,
        "delivery.timeout.ms": request_ms + luck.choice((100, 4_000, 9_000)),
        "metadata.max.age.ms": 5_000,
    }
    if "small_batches" in features:
        config["batch.size"] = luck.choice((300, 1_500))
    transactional = "transactions" in features and (number == 0 or luck.random() < 0.5)
    if transactional:
        config["transaction.timeout.ms"] = luck.choice((3_000, 6_000))
    elif "acks" in features:
        config["acks"] = luck.choice(("0", "1", "1"))
        config["enable.idempotence"] = False
    elif "not_idempotent" in features:
        config["enable.idempotence"] = False
    abort = luck.choice((0.0, 0.2))
    kinds: tuple[KeysKind, ...] = ("uniform", "zipf", "hot")
    kind = luck.choice(kinds)
    return ProducerSpec(
        f"p{number}",
        names,
        count=luck.randint(1, 2),
        rate_per_second=luck.choice((2.0, 5.0, 15.0)),
        arrivals=ArrivalsSpec(luck.choice(("steady", "poisson"))),
        keys=KeysSpec(kind, distinct=luck.choice((3, 50))) if "keys" in features else KeysSpec(),
        size_bytes=luck.choice((100, 400)),
        config=config,
        transactions=TransactionsSpec(f"x{number}-{{n}}", luck.choice((3, 10)), abort) if transactional else None,
    )


def _group(luck: Random, number: int, topics: tuple[TopicSpec, ...], features: tuple[str, ...]) -> GroupSpec:
    names = tuple(topic.name for topic in luck.sample(topics, luck.randint(1, len(topics))))
    policies: tuple[CommitPolicy, ...] = ("after-each-poll", "async", "before-processing")
    policy, assignors = luck.choice(policies), luck.choice(ASSIGNOR_LISTS)
    config: dict[str, Value] = {
        "session.timeout.ms": 6_000 if "short_session" in features else 10_000,
        "heartbeat.interval.ms": luck.choice((500, 1_500)),
        "max.poll.interval.ms": luck.choice((4_000, 8_000)),
        "max.poll.records": luck.choice((5, 500)),
        "auto.commit.interval.ms": luck.choice((500, 2_000)),
        "request.timeout.ms": 3_000,
        "metadata.max.age.ms": 5_000,
        "auto.offset.reset": "earliest",
    }
    if "read_committed" in features:
        config["isolation.level"] = "read_committed"
    return GroupSpec(
        f"g{number}",
        topics=names,
        members=luck.randint(1, 4),
        stagger_us=luck.choice((0, 700_000)),
        static="static" in features,
        config=config,
        application=ApplicationSpec(
            per_record_us=luck.choice((100, 3_000)) if "slow_processing" in features else 0,
            commit=policy if "commit_policy" in features else "auto",
        ),
        assignors=assignors if "assignors" in features else DEFAULT_ASSIGNORS,
    )


ASSIGNOR_LISTS: tuple[tuple[str, ...], ...] = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky",),
)


# --- faults -----------------------------------------------------------------------------------------------------------


def _trouble(seed: int, spec: ScenarioSpec, faults: tuple[str, ...], healed_us: int) -> list[StepSpec]:
    steps = []
    for name in faults:
        luck = random_stream(seed, f"swarm/fault/{name}")
        text, lasts = FAULTS[name]
        there = victims(luck, spec.names())
        for _ in range(luck.randint(1, 3)):
            at_us = luck.randrange(TROUBLE_BEGINS_US, healed_us - 4 * SECOND_US, 1_000)
            for_ms = luck.choice((300, 2_000, 7_000, 10_000))
            ends = lasts and luck.random() < 0.7 and at_us + for_ms * 1_000 < healed_us
            steps.append(_step(at_us, text(there) + (f" for {for_ms}ms" if ends else "")))
    return steps


def _healing(spec: ScenarioSpec, healed_us: int) -> list[StepSpec]:
    """Everything is mended, thawed, scaled back and started; then the producers stop."""
    members = [member for group in spec.groups for member in group.instances()]
    producers = [name for producer in spec.producers for name in producer.instances()]
    brokers = [broker.name for broker in spec.brokers]
    texts = [(0, "heal")]
    texts += [(100, f"resume {name}") for name in (*brokers, *members, *producers)]
    for after_ms in STARTED_MS:
        texts += [(after_ms, f"start {name}") for name in brokers]
        texts += [(after_ms + 100, f"start {name}") for name in (*members, *producers)]
    texts += [(3_000, f"scale {group.name} to {group.members}") for group in spec.groups]
    steps = [_step(healed_us + after_ms * 1_000, text) for after_ms, text in texts]
    return steps + [
        _step(spec.until_us - before_us, f"stop {name}") for before_us in PRODUCERS_STOP_US for name in producers
    ]


def _step(at_us: int, text: str) -> StepSpec:
    command = parse(text)
    return StepSpec(at_us, command, text_of(command))


# --- what must be at the end ------------------------------------------------------------------------------------------


def _lossless(spec: ScenarioSpec, features: tuple[str, ...], faults: tuple[str, ...]) -> bool:
    """Whether nothing that was drawn may legally cost an acknowledged record, or lets a group pass one."""
    legal = ("acks", "unclean", "crash", "unclean election", "delete records", "full disk")
    if any(name in (*features, *faults) for name in legal):
        return False
    return all(group.application.commit != "before-processing" for group in spec.groups)


def _whole(spec: ScenarioSpec, *, lossless: bool) -> list[str]:
    """V1 (liveness after heal): brokers up, replicas in sync, groups Stable and read to the end, nothing left open."""
    # A marker at the end of a log is passed and not committed. A crash may take commits and transactions' states that
    # were stored. A static leader that was away when partitions were added does not learn of them (KIP-814).
    commits_all = all(producer.transactions is None for producer in spec.producers)
    crashes = any(isinstance(step.command, Crash) for step in spec.steps)
    commits_all = commits_all and not crashes
    commits_all = commits_all and not any(isinstance(step.command, AddPartitions) for step in spec.steps)
    said = [f'brokers["{broker.id}"].up' for broker in spec.brokers]
    topics = [f'topics["{each.name}"]' for each in spec.topics]
    said += [f"{topic}.leaderless == 0 && {topic}.under_replicated == 0" for topic in topics]
    for group in spec.groups:
        said.append(f'groups["{group.name}"].state == "Stable" && groups["{group.name}"].members == {group.members}')
        said += [f'members["{name}"].lag == 0 && members["{name}"].alive' for name in group.instances()]
        if commits_all:
            said.append(f'groups["{group.name}"].lag == 0')
    for producer in spec.producers:
        said += [f'producers["{name}"].buffered_bytes == 0' for name in producer.instances()]
        if producer.transactions is not None and not crashes:
            for number in range(1, producer.count + 1):
                where = f'transactions["{producer.transactions.id_of(number)}"].state'
                said.append(f'{where} in ["Empty", "CompleteCommit", "CompleteAbort"]')
    return [*said, "delivery.lost == 0"] if lossless else said
