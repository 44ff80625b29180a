"""A seed becomes a random scenario: a small cluster, a load, and faults, each class of which is on or off.

Theory of operation (swarm testing, Groce et al. 2012: leaving features out finds more than enabling all at once). A
seed draws its features and its classes of faults. Faults happen in the *safety phase*, in which only invariants are
checked. It ends with everything healed, restarted and scaled back; producers stop some seconds later. At the end the
cluster must have *converged*: the scenario's expectations state this, so that the file alone reproduces a failure. In
one seed of four only a core is healed (`core`) and judged (`core_liveness`). Every class draws from its own random
stream: leaving one out changes no other. `faults` has the faults, `convergence` the claims on the end.
"""

from collections.abc import Sequence
from random import Random

import msgspec

from cluster.commands import RANDOM_FAULTS, Crash
from cluster.config import DEFAULT_ASSIGNORS, Value
from cluster.random_streams import random_stream
from cluster.spec import (
    START_JITTER_US,
    ApplicationSpec,
    ArrivalsSpec,
    BrokerSpec,
    CommitPolicy,
    ExpectationSpec,
    GroupSpec,
    KeysKind,
    KeysSpec,
    NetworkSpec,
    PoisonSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
    TransactionsSpec,
)
from recordings.swarm.convergence import converged, timely
from recordings.swarm.core import (
    CORE,
    Core,
    draw_core,
    healing_of_core,
    heals_a_core,
    sparing_one,
    with_fresh_producers,
    with_its_replicas,
    writing_less,
)
from recordings.swarm.core_liveness import CoreJudgement, judged
from recordings.swarm.faults import FAULTS_BEGIN_US, fault_steps, healing
from recordings.swarm.parts import commands_of
from recordings.swarm.rare_features import RARE

SECOND_US = 1_000_000
LONGEST_STARTUP_US = 3 * SECOND_US
HEALING_US = 35 * SECOND_US + LONGEST_STARTUP_US  # from a cluster's last fault until it is whole and read to the end
HEALED_FOR_US = 21 * SECOND_US  # by then the last broker has returned (`faults.STARTED_MS`), and producers still write
SHORTEST_US = FAULTS_BEGIN_US + HEALING_US + 6 * SECOND_US

FEATURES = (
    "transactions", "read_committed", "static", "assignors", "acks", "not_idempotent", "keys", "slow_processing",
    "small_batches", "two_groups", "far_apart", "commit_policy", "unclean", "short_session", "version_1",
    "exactly_once", "writes", "sink", "poison",
)  # fmt: skip
RARELY = 0.15  # features that lead to seldom used rules


class Swarm(msgspec.Struct, frozen=True):
    """What a seed drew: its scenario, its features and its classes of faults. `healed_us`: when the faults end.

    `core` and `judgement`, where only a core is healed: the core, and the claims on it.
    """

    spec: ScenarioSpec
    features: tuple[str, ...]
    faults: tuple[str, ...]
    healed_us: int
    core: Core | None = None
    judgement: CoreJudgement | None = None


def draw(seed: int, virtual_us: int, features: Sequence[str] = ()) -> Swarm:
    """The scenario of a seed; these features and classes of faults are on, whatever was drawn.

    It lasts at least `SHORTEST_US`.
    """
    assert virtual_us >= SHORTEST_US
    stream = random_stream(seed, "swarm/features")
    chosen = tuple(name for name in FEATURES if (stream.random() < 0.4) | (name in features))
    rare = tuple(name for name in RARE if (stream.random() < RARELY) | (name in features))
    spec = _cluster(seed, virtual_us, chosen)
    for name in rare:
        spec = RARE[name](spec, random_stream(seed, f"swarm/rare/{name}"))
    chosen = (*chosen, *rare)
    stream = random_stream(seed, "swarm/faults")
    faults = tuple(name for name in RANDOM_FAULTS if (stream.random() < 0.3) | (name in features))
    healed_us = virtual_us - HEALING_US
    spec = msgspec.structs.replace(spec, steps=(*spec.steps, *fault_steps(seed, spec, faults, healed_us)))
    spec = _audited(spec, random_stream(seed, "swarm/audit"))
    stream = random_stream(seed, "swarm/core")
    if heals_a_core(spec, stream, asked=CORE in features):
        faults = tuple(name for name in faults if name != "reassign")
        return _of_core(Swarm(with_its_replicas(spec), (*chosen, CORE), faults, healed_us), stream)
    ends = tuple(ExpectationSpec(that=that, at_us=healed_us + HEALED_FOR_US) for that in timely(spec))
    ends += tuple(ExpectationSpec(that=that, at_us=virtual_us) for that in converged(spec))
    return Swarm(_with(spec, healing(spec, healed_us), ends), chosen, faults, healed_us)


def _of_core(drawn: Swarm, stream: Random) -> Swarm:
    """The same scenario, with a core healed and the rest broken to the end."""
    spec = with_fresh_producers(writing_less(sparing_one(drawn.spec, stream), stream), drawn.healed_us)
    core = draw_core(spec, stream)
    judgement = judged(spec, core)
    ends = tuple(ExpectationSpec(that=that, at_us=spec.until_us) for that in judgement.expressions())
    healed = healing_of_core(spec, core, drawn.healed_us, stream)
    return msgspec.structs.replace(drawn, spec=_with(spec, healed, ends), core=core, judgement=judgement)


def _with(spec: ScenarioSpec, healed: list[StepSpec], ends: tuple[ExpectationSpec, ...]) -> ScenarioSpec:
    steps = sorted((*spec.steps, *healed), key=lambda step: step.at_us)
    return msgspec.structs.replace(spec, steps=tuple(steps), expectations=ends)


# --- the cluster ------------------------------------------------------------------------------------------------------


def _cluster(seed: int, virtual_us: int, features: tuple[str, ...]) -> ScenarioSpec:
    stream = random_stream(seed, "swarm/cluster")
    brokers = stream.choice((1, 2, 3, 3, 3, 3, 4, 5))
    topics = tuple(_topic(stream, number, brokers, features) for number in range(stream.randint(1, 2)))
    count = stream.randint(1, 2)
    producers = tuple(_producer(stream, number, topics, features) for number in range(count))
    groups = tuple(_group(stream, number, topics, features) for number in range(2 if "two_groups" in features else 1))
    stream = random_stream(seed, "swarm/applications")
    groups = tuple(_with_application(stream, group, features, first=group is groups[0]) for group in groups)
    config: dict[str, Value] = {
        "offsets.topic.num.partitions": stream.choice((1, 3)),
        "transaction.state.log.num.partitions": stream.choice((1, 2)),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
        "group.initial.rebalance.delay.ms": stream.choice((0, 500, 3_000)),
        "replica.lag.time.max.ms": stream.choice((3_000, 8_000)),
    }
    if "version_1" in features:
        config["transaction.version"] = 1
    lifetimes = random_stream(seed, "swarm/lifetimes")
    return ScenarioSpec(
        title=f"swarm {seed}",
        seed=seed,
        until_us=virtual_us,
        start_jitter_us=lifetimes.choice((0, START_JITTER_US)),
        startup_us=lifetimes.choice((0, 500_000, LONGEST_STARTUP_US)),
        brokers=tuple(BrokerSpec(number + 1) for number in range(brokers)),
        config=config,
        network=NetworkSpec(
            latency_us=stream.choice((5_000, 15_000)) if "far_apart" in features else 1_000,
            jitter=stream.choice((0.0, 0.2, 0.9)),
        ),
        topics=topics,
        producers=producers,
        groups=groups,
    )


def _topic(stream: Random, number: int, brokers: int, features: tuple[str, ...]) -> TopicSpec:
    replication = stream.randint(min(2, brokers), min(3, brokers))
    config: dict[str, Value] = {"min.insync.replicas": stream.randint(1, replication)}
    if "unclean" in features and stream.random() < 0.5:
        config["unclean.leader.election.enable"] = True
    return TopicSpec(f"t{number}", partitions=stream.randint(1, 4), replication=replication, config=config)


def _producer(stream: Random, number: int, topics: tuple[TopicSpec, ...], features: tuple[str, ...]) -> ProducerSpec:
    names = tuple(topic.name for topic in stream.sample(topics, stream.randint(1, len(topics))))
    request_ms = stream.choice((1_000, 2_500))
    config: dict[str, Value] = {
        "linger.ms": stream.choice((0, 5, 50)),
        "max.in.flight.requests.per.connection": stream.choice((1, 5, 5)),
        "request.timeout.ms": request_ms,
        "delivery.timeout.ms": request_ms + stream.choice((100, 4_000, 9_000)),
        "metadata.max.age.ms": 5_000,
    }
    if "small_batches" in features:
        config["batch.size"] = stream.choice((300, 1_500))
    transactional = "transactions" in features and (number == 0 or stream.random() < 0.5)
    if transactional:
        config["transaction.timeout.ms"] = stream.choice((3_000, 6_000))
    elif "acks" in features:
        config["acks"] = stream.choice(("0", "1", "1"))
        config["enable.idempotence"] = False
    elif "not_idempotent" in features:
        config["enable.idempotence"] = False
    abort = stream.choice((0.0, 0.2))
    kinds: tuple[KeysKind, ...] = ("uniform", "zipf", "hot")
    kind = stream.choice(kinds)
    return ProducerSpec(
        f"p{number}",
        names,
        count=stream.randint(1, 2),
        rate_per_second=stream.choice((2.0, 5.0, 15.0)),
        arrivals=ArrivalsSpec(stream.choice(("steady", "poisson"))),
        keys=KeysSpec(kind, distinct=stream.choice((3, 50))) if "keys" in features else KeysSpec(),
        size_bytes=stream.choice((100, 400)),
        config=config,
        transactions=TransactionsSpec(f"x{number}-{{n}}", stream.choice((3, 10)), abort) if transactional else None,
    )


def _group(stream: Random, number: int, topics: tuple[TopicSpec, ...], features: tuple[str, ...]) -> GroupSpec:
    names = tuple(topic.name for topic in stream.sample(topics, stream.randint(1, len(topics))))
    policies: tuple[CommitPolicy, ...] = ("after-each-poll", "async", "before-processing")
    policy, assignors = stream.choice(policies), stream.choice(ASSIGNOR_LISTS)
    config: dict[str, Value] = {
        "session.timeout.ms": 6_000 if "short_session" in features else 10_000,
        "heartbeat.interval.ms": stream.choice((500, 1_500)),
        "max.poll.interval.ms": stream.choice((4_000, 8_000)),
        "max.poll.records": stream.choice((5, 500)),
        "auto.commit.interval.ms": stream.choice((500, 2_000)),
        "request.timeout.ms": 3_000,
        "metadata.max.age.ms": 5_000,
        "auto.offset.reset": "earliest",
    }
    if "read_committed" in features:
        config["isolation.level"] = "read_committed"
    return GroupSpec(
        f"g{number}",
        topics=names,
        members=stream.randint(1, 4),
        stagger_us=stream.choice((0, 700_000)),
        static="static" in features,
        config=config,
        application=ApplicationSpec(
            per_record_us=stream.choice((100, 3_000)) if "slow_processing" in features else 0,
            commit=policy if "commit_policy" in features else "auto",
        ),
        assignors=assignors if "assignors" in features else DEFAULT_ASSIGNORS,
    )


def _with_application(stream: Random, group: GroupSpec, features: tuple[str, ...], *, first: bool) -> GroupSpec:
    """The application's output: with a transaction or without, to topics or elsewhere; or a record that it fails on."""
    application, config = group.application, dict(group.config)
    once = first and "exactly_once" in features
    if "sink" in features:
        application = msgspec.structs.replace(application, sink="store")
    if "poison" in features and "keys" in features:
        # a member that dies again and again always leaves a transaction open
        crashes = stream.random() < 0.4 and not once
        poison = PoisonSpec(str(stream.choice((0, 1, 2))), crashes=crashes)
        application = msgspec.structs.replace(application, poison=poison)
    if once or application.poison is not None or stream.random() < 0.3:
        application = msgspec.structs.replace(application, restart_after_us=stream.choice((500_000, 3_000_000)))
    if once:
        application = msgspec.structs.replace(
            application, commit="transaction", writes=OUT if stream.random() < 0.8 else None
        )
        config["max.poll.records"] = stream.choice((200, 500))
    elif first and "writes" in features:
        application = msgspec.structs.replace(application, writes=OUT)
        config["max.poll.records"] = 500  # each poll waits for its writes: with five records it never catches up
    return msgspec.structs.replace(group, application=application, config=config)


def _audited(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """The scenario with the output topic of the first group, if it writes, and a reader that no fault hits.

    The reader's session outlasts the faults: an isolated member whose session expires reads its last records again.
    After a crash, where no claim counts duplicates, an earlier instance may return and must expire before the end.
    """
    written = dict.fromkeys(topic for group in spec.groups for topic in group.application.topics_written)
    if not written:
        return spec
    brokers = len(spec.brokers)
    out = TopicSpec(OUT, stream.randint(1, 3), min(3, brokers), {"min.insync.replicas": min(2, brokers)})
    others = tuple(msgspec.structs.replace(out, name=topic) for topic in written if topic != OUT)
    session_ms = SHORT_SESSION_MS if commands_of(spec, Crash) else min(max(45_000, spec.until_us // 1_000), 1_800_000)
    audit = msgspec.structs.replace(AUDIT, config={**AUDIT.config, "session.timeout.ms": session_ms})
    return msgspec.structs.replace(spec, topics=(*spec.topics, out, *others), groups=(*spec.groups, audit))


OUT = "out"
SHORT_SESSION_MS = 10_000
AUDIT = GroupSpec(
    "audit",
    topics=(OUT,),
    assignors=DEFAULT_ASSIGNORS,
    config={
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 1_000,
        "isolation.level": "read_committed",
        "metadata.max.age.ms": 5_000,
        "request.timeout.ms": 3_000,  # of a request that a crashed host took with it: Kafka's 30 s outlast the healing
    },
)
"""The reader of the first group's output: undisturbed, so that a record that it reads twice was written twice."""


ASSIGNOR_LISTS: tuple[tuple[str, ...], ...] = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky",),
)
