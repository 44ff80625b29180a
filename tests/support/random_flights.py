"""Small random flights: a topology, a load and a list of faults from a seed, and the flight that checks them."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import msgspec
import trio

from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.simulation import Simulation
from cluster.spec import (
    ApplicationSpec,
    ArrivalsSpec,
    BrokerSpec,
    CommitPolicy,
    GroupSpec,
    KeysSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
    TransactionsSpec,
)
from cluster.view import document
from recordings.journal.writer import JournalHash
from tests.support.checks_group import GroupCheck, committed_beyond, held_by_two
from tests.support.checks_log import (
    LogCheck,
    RecordsCheck,
    doubly_owned,
    not_converged,
    watermark_errors,
)
from tests.support.expected_document import Truth, differences
from tests.support.independent_recorder import IndependentRecorder, watching
from tests.support.scheduler_instruments import OneActorAtATime

SECOND_US = 1_000_000
FAULTS_BEGIN_S, FAULTS_END_S, END_S = 12, 50, 140
PRODUCERS_STOP_S = (60, 110)  # again, because `stop … for` starts one that long after it closed, whenever that was
APIS = (
    "Produce",
    "Produce",
    "Fetch",
    "Metadata",
    "OffsetCommit",
    "FindCoordinator",
    "JoinGroup",
    "Heartbeat",
    "SyncGroup",
)
TXN_APIS = ("EndTxn", "InitProducerId", "AddPartitionsToTxn", "TxnOffsetCommit", "Produce")
WITH_TRANSACTIONS = 2_000  # seeds from here on
SETTLING_US, SETTLING_STEPS = 100_000, 10  # what is under way at the last instant may arrive


class Landed(msgspec.Struct):
    """A flight that is over: its hash, its events and turns, what did not hold (instant, words), its view."""

    sha256: str
    events: int
    turns: int
    wrong: list[tuple[float, str]]
    document: dict[str, Any] = {}

    def check(self) -> None:
        """Fail if anything did not hold."""
        assert not self.wrong, "\n".join(f"{at} s: {words}" for at, words in self.wrong)


def random_spec(seed: int) -> ScenarioSpec:
    """A small cluster with a load, with faults for 38 seconds, then healed and left alone for 90."""
    random = Random(f"flight/{seed}")
    brokers = random.choice((1, 2, 3, 3, 3, 4, 5))
    topics = tuple(_topic(random, number, brokers) for number in range(random.randint(1, 3)))
    producers = tuple(_producer(random, number, topics) for number in range(random.randint(1, 3)))
    groups = tuple(_group(random, number, topics) for number in range(random.randint(1, 2)))
    spec = ScenarioSpec(
        title=f"random flight {seed}",
        until_us=END_S * SECOND_US,
        brokers=tuple(BrokerSpec(number + 1) for number in range(brokers)),
        config={
            "offsets.topic.num.partitions": random.choice((1, 3, 5)),
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": random.choice((0, 500, 3000)),
            "replica.lag.time.max.ms": random.choice((5_000, 10_000, 30_000)),
        },
        network=NetworkSpec(latency_us=random.choice((300, 1_000, 5_000)), jitter=random.choice((0.0, 0.2, 0.9))),
        topics=topics,
        producers=producers,
        groups=groups,
    )
    if seed >= WITH_TRANSACTIONS:
        spec = _with_transactions(random, spec)
    return msgspec.structs.replace(spec, steps=tuple(_steps(random, spec)))


def careless(spec: ScenarioSpec, seed: int) -> ScenarioSpec:
    """The same flight with producers that may lose records, or write them twice: acks 0 and 1, no idempotence."""
    random = Random(f"careless/{seed}")
    producers = tuple(
        msgspec.structs.replace(
            producer,
            config={**producer.config, "acks": random.choice(("0", "1", "1", "all")), "enable.idempotence": False},
        )
        for producer in spec.producers
    )
    return msgspec.structs.replace(spec, producers=producers)


def reassigning(spec: ScenarioSpec, seed: int) -> ScenarioSpec:
    """The same flight with reassignments while the faults last, of internal topics too; some are cancelled."""
    random = Random(f"reassigning/{seed}")
    ids = [broker.id for broker in spec.brokers]
    names = [f"{topic.name}-{number}" for topic in spec.topics for number in range(topic.partitions)]
    names += [f"__consumer_offsets-{number}" for number in range(int(str(spec.config["offsets.topic.num.partitions"])))]
    steps = []
    for _ in range(random.randint(3, 12)):
        name, at_us = random.choice(names), random.randint(FAULTS_BEGIN_S * 1000, FAULTS_END_S * 1000) * 1000
        replicas = random.sample(ids, random.randint(1, min(3, len(ids))))
        steps.append(_step(at_us, f"reassign {name} to {','.join(map(str, replicas))}"))
        if random.random() < 0.4:
            steps.append(_step(at_us + random.choice((1, 4, 300, 5_000)) * 1000, f"cancel reassignment of {name}"))
    return msgspec.structs.replace(spec, steps=tuple(sorted((*spec.steps, *steps), key=lambda step: step.at_us)))


def may_lose(spec: ScenarioSpec) -> bool:
    """Whether some producer may legally lose what it thinks is safe, or write it twice."""
    return any(producer.config.get("enable.idempotence") is False for producer in spec.producers)


def _with_transactions(random: Random, spec: ScenarioSpec) -> ScenarioSpec:
    """Some producers work in transactions, some groups read what is committed, and one may do all of it at once."""
    producers = [
        msgspec.structs.replace(
            producer,
            config=producer.config | {"transaction.timeout.ms": random.choice((5_000, 15_000, 60_000))},
            transactions=TransactionsSpec(
                f"{producer.name}-{{n}}",
                random.choice((1, 5, 40)),
                random.choice((0.0, 0.3)),
                random.choice(("drop", "retry")),
            ),
        )
        if not number or random.random() < 0.5
        else producer
        for number, producer in enumerate(spec.producers)
    ]
    alike = len({producer.keys.kind == "none" for producer in producers}) == 1  # the recorder numbers whole batches
    groups = []
    for group in spec.groups:
        config, application = dict(group.config), group.application
        if random.random() < 0.7:
            config["isolation.level"] = "read_committed"
        if random.random() < 0.4:
            writes = random.choice((None, "out", "out")) if alike else None
            application = msgspec.structs.replace(application, commit="transaction", writes=writes)
        groups.append(msgspec.structs.replace(group, config=config, application=application))
    earliest: dict[str, Value] = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    return msgspec.structs.replace(
        spec,
        config=spec.config | {"transaction.version": random.choice((1, 2))},
        topics=(*spec.topics, _topic(random, len(spec.topics), len(spec.brokers), name="out")),
        producers=tuple(producers),
        groups=(*groups, GroupSpec("reader", ("out",), config=earliest)),
    )


def _topic(random: Random, number: int, brokers: int, name: str = "") -> TopicSpec:
    replication = random.randint(1, min(3, brokers))
    return TopicSpec(
        name or f"t{number}",
        partitions=random.randint(1, 5),
        replication=replication,
        config={"min.insync.replicas": random.randint(1, replication)},
    )


def _producer(random: Random, number: int, topics: tuple[TopicSpec, ...]) -> ProducerSpec:
    names = tuple(topic.name for topic in random.sample(topics, random.randint(1, len(topics))))
    config: dict[str, Value] = {
        "linger.ms": random.choice((0, 5, 100)),
        "batch.size": random.choice((500, 16_384)),
        "max.in.flight.requests.per.connection": random.choice((1, 5, 5)),
    }
    request_timeout_ms = random.choice((2_000, 30_000))
    config["request.timeout.ms"] = request_timeout_ms
    config["delivery.timeout.ms"] = request_timeout_ms + random.choice((100, 5_000, 90_000))
    if random.random() < 0.2:
        config["buffer.memory"] = 20_000
    return ProducerSpec(
        f"p{number}",
        names,
        count=random.randint(1, 2),
        rate_per_second=random.choice((2.0, 10.0, 40.0)),
        arrivals=ArrivalsSpec(random.choice(("steady", "poisson"))),
        keys=KeysSpec(random.choice(("none", "none", "uniform", "zipf", "hot")), distinct=random.choice((3, 100))),
        size_bytes=random.choice((100, 1_024)),
        start_us=random.choice((0, 0, 3_000_000)),
        config=config,
    )


def _group(random: Random, number: int, topics: tuple[TopicSpec, ...]) -> GroupSpec:
    names = tuple(topic.name for topic in random.sample(topics, random.randint(1, len(topics))))
    policies: tuple[CommitPolicy, ...] = ("auto", "auto", "after-each-poll", "async", "before-processing")
    session = random.choice((6_000, 10_000, 45_000))
    config: dict[str, Value] = {
        "session.timeout.ms": session,
        "heartbeat.interval.ms": random.choice((500, 2_000)),
        "max.poll.interval.ms": random.choice((5_000, 20_000, 300_000)),
        "max.poll.records": random.choice((5, 500)),
        "auto.commit.interval.ms": random.choice((1_000, 5_000)),
        "request.timeout.ms": random.choice((3_000, 30_000)),
        "auto.offset.reset": random.choice(("earliest", "earliest", "latest")),
    }
    return GroupSpec(
        f"g{number}",
        topics=names,
        members=random.randint(1, 4),
        stagger_us=random.choice((0, 0, 700_000)),
        start_us=random.choice((0, 2_000_000)),
        config=config,
        application=ApplicationSpec(
            per_record_us=random.choice((0, 100, 5_000)),
            jitter=random.choice((0.0, 0.5)),
            commit=random.choice(policies),
        ),
    )


def _steps(random: Random, spec: ScenarioSpec) -> list[StepSpec]:
    brokers = [broker.name for broker in spec.brokers]
    members = [name for group in spec.groups for name in group.instances()]
    producers = [name for producer in spec.producers for name in producer.instances()]
    everybody = [*brokers, *brokers, *members, *producers]

    def lasting(text: str) -> str:
        return f"{text} for {random.choice((300, 2_000, 9_500, 12_000, 25_000))}ms" if random.random() < 0.6 else text

    def ends() -> tuple[str, str]:
        first = random.choice(brokers)
        return first, random.choice([name for name in everybody if name != first] or members)

    kinds: list[Callable[[], str]] = [
        lambda: lasting(f"kill {random.choice(everybody)}"),
        lambda: lasting(f"kill {random.choice(brokers)}"),
        lambda: lasting(f"stop {random.choice(everybody)}"),
        lambda: f"start {random.choice(everybody)}",
        lambda: f"restart {random.choice(everybody)}",
        lambda: lasting(f"pause {random.choice(everybody)}"),
        lambda: f"resume {random.choice(everybody)}",
        lambda: lasting(f"stall {random.choice(members)}"),
        lambda: lasting(f"pause heartbeats of {random.choice(members)}"),
        lambda: lasting(f"slow {random.choice(members)} to {random.choice((20, 200))}ms"),
        lambda: f"scale {random.choice(spec.groups).name} to {random.randint(0, 5)}",
        lambda: lasting("cut {} {}".format(*ends())),
        lambda: lasting("cut {} -> {}".format(*ends())),
        lambda: lasting("cut {1} -> {0}".format(*ends())),
        lambda: "heal {} {}".format(*ends()),
        lambda: lasting("slow {} {} to {}".format(*ends(), random.choice(("50ms", "700ms")))),
        lambda: lasting("hold {} {}".format(*ends())),
        lambda: "release {} {}".format(*ends()),
        lambda: lasting(f"isolate {random.choice(brokers)}"),
        lambda: lasting(f"slow disk of {random.choice(brokers)} to {random.choice((2, 40))}ms"),
        lambda: f"fill disk of {random.choice(brokers)} for {random.choice((2, 20))}s",
        lambda: f"lose next {random.randint(1, 4)} responses of {random.choice(APIS)} from {random.choice(brokers)}",
    ]
    texts = [
        (random.randint(FAULTS_BEGIN_S * 1000, FAULTS_END_S * 1000), random.choice(kinds)())
        for _ in range(random.randint(2, 12))
    ]
    own = [name for producer in spec.producers if producer.transactions for name in producer.instances()]
    for name in own:
        at_ms = random.randint(FAULTS_BEGIN_S * 1000, FAULTS_END_S * 1000)
        if random.random() < 0.3:
            texts += [(at_ms, f"abandon transaction of {name}")]
        elif random.random() < 0.5:
            texts += [(at_ms, f"lose next 2 responses of {random.choice(TXN_APIS)} from {random.choice(brokers)}")]
    slow = [text.partition(" to ")[0] for _, text in texts if text.startswith("slow disk") and " for " not in text]
    texts += [(FAULTS_END_S * 1000 + 500, f"{disk} to 0ms") for disk in dict.fromkeys(slow)]
    texts += [(FAULTS_END_S * 1000 + 500, "heal")]
    for name in (*brokers, *members, *producers):
        texts += [(FAULTS_END_S * 1000 + 600, f"resume {name}"), (FAULTS_END_S * 1000 + 700, f"start {name}")]
    texts += [(FAULTS_END_S * 1000 + 600, f"resume {group.name}-{n}") for group in spec.groups for n in range(1, 6)]
    texts += [(at_s * 1000, f"stop {name}") for at_s in PRODUCERS_STOP_S for name in producers]
    return [_step(at_ms * 1000, text) for at_ms, text in sorted(texts, key=lambda step: step[0])]


def _step(at_us: int, text: str) -> StepSpec:
    command = parse(text)
    return StepSpec(at_us, command, text_of(command))


def fly(spec: ScenarioSpec, seed: int, *, judged: bool = True, patient: bool = False) -> Landed:
    """Fly to the spec's end; when `judged`, everything that must hold is asked at each whole second."""
    journal = JournalHash()
    wrong: list[tuple[float, str]] = []
    with watching() as recorder:
        groups = GroupCheck()
        simulation = Simulation(spec, seed, sinks=[journal, groups])
        groups.simulation = simulation
        instrument = OneActorAtATime(simulation.timeline)

        async def main() -> None:
            async with simulation.running():
                truth = Truth(simulation, recorder)
                logs = LogCheck(simulation)
                records = None if may_lose(spec) else RecordsCheck(simulation, recorder)
                for now_us in range(0, spec.until_us + 1, SECOND_US):
                    await simulation.timeline.fly(now_us)
                    if judged:
                        found = [*_judge(simulation, truth, logs, records), *groups.wrong]
                        groups.wrong.clear()
                        wrong.extend((now_us / SECOND_US, words) for words in found)
                    if wrong and not patient:
                        break
                journal.flush()
                if judged and (patient or not wrong):
                    at_us = simulation.timeline.now_us
                    whole = await never_whole(simulation, recorder)
                    wrong.extend((at_us / SECOND_US, words) for words in whole if records or not _legal_loss(words))

        trio.run(main, clock=simulation.timeline, instruments=[instrument])
    instrument.check()
    seen = document(simulation.view, simulation.timeline.now_us)
    return Landed(journal.sha256, journal.events, simulation.timeline.turn, wrong, seen)


def lies(spec: ScenarioSpec, seed: int = 1) -> list[str]:
    """Where the view document and the truth differ at a whole second of a flight, whatever else goes wrong in it."""

    def look(simulation: Simulation, truth: Truth, now_us: int) -> list[str]:
        return differences(document(simulation.view, now_us), truth.document())

    return at_each_second(spec, look, seed)


def at_each_second(
    spec: ScenarioSpec, look: Callable[[Simulation, Truth, int], Iterable[str]], seed: int = 1, *, stop: bool = False
) -> list[str]:
    """What `look` finds wrong at the whole seconds of a flight; with `stop` it ends where something is."""
    found: list[str] = []
    with watching() as recorder:
        simulation = Simulation(spec, seed)

        async def main() -> None:
            async with simulation.running():
                truth = Truth(simulation, recorder)
                for now_us in range(0, spec.until_us + 1, SECOND_US):
                    await simulation.timeline.fly(now_us)
                    found.extend(f"{now_us // SECOND_US} s: {words}" for words in look(simulation, truth, now_us))
                    if found and stop:
                        return

        trio.run(main, clock=simulation.timeline)
    return found


def _legal_loss(words: str) -> bool:
    """What careless producers may cost: records, and a reader whose position was reset has nothing to commit."""
    return "missed" in words or "has committed" in words


async def never_whole(simulation: Simulation, recorder: IndependentRecorder) -> list[str]:
    """What keeps the cluster from being whole, however often one looks within the next second."""
    found = not_converged(simulation, recorder)
    for _ in range(SETTLING_STEPS):
        if not found:
            break
        await simulation.timeline.fly(simulation.timeline.now_us + SETTLING_US)
        found = not_converged(simulation, recorder)
    return found


def _judge(simulation: Simulation, truth: Truth, logs: LogCheck, records: RecordsCheck | None) -> list[str]:
    return [
        *differences(document(simulation.view, simulation.timeline.now_us), truth.document()),
        *logs.disagreements(),
        *watermark_errors(simulation),
        *(records.vanished() if records is not None else ()),
        *(records.doubled() if records is not None else ()),
        *doubly_owned(simulation),
        *held_by_two(simulation),
        *committed_beyond(simulation, truth.recorder),
    ]
