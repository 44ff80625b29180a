"""Small scenarios that many tests share, and their parts: steps at seconds, three brokers, a network without jitter."""

from __future__ import annotations

import msgspec

from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.spec import (
    ApplicationSpec,
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

MS, SECOND_US = 1_000, 1_000_000
THREE_BROKERS = tuple(BrokerSpec(number) for number in (1, 2, 3))


def steps_at(*steps: tuple[float, str]) -> tuple[StepSpec, ...]:
    """Commands at these seconds."""
    return tuple(StepSpec(int(at_s * SECOND_US), parse(text), text_of(parse(text))) for at_s, text in steps)


def spec(
    *steps: tuple[float, str],
    until_s: float,
    members: int = 1,
    stagger_us: int = 0,
    consumer: dict[str, Value] | None = None,
    min_insync: int = 1,
    rate: float = 10.0,
    initial_delay_ms: int = 3_000,
    commit: CommitPolicy = "never",  # a commit renews the session too
) -> ScenarioSpec:
    """Three brokers; broker-1 leads orders-0 and broker-2 coordinates the group g."""
    return ScenarioSpec(
        title="a timing fact",
        until_us=int(until_s * SECOND_US),
        brokers=THREE_BROKERS,
        config={"offsets.topic.num.partitions": 1, "group.initial.rebalance.delay.ms": initial_delay_ms},
        network=NetworkSpec(latency_us=MS, jitter=0.0),
        topics=(TopicSpec("orders", partitions=2, config={"min.insync.replicas": min_insync}),),
        producers=(ProducerSpec("p", ("orders",), rate_per_second=rate),),
        groups=(
            GroupSpec(
                "g",
                ("orders",),
                members=members,
                stagger_us=stagger_us,
                config={"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000, **(consumer or {})},
                application=ApplicationSpec(commit=commit),
            ),
        ),
        steps=steps_at(*steps),
    )


COOPERATIVE = ("cooperative-sticky",)


def group_of(
    *steps: tuple[float, str],
    until_s: float = 40,
    members: int = 2,
    partitions: int = 6,
    assignors: tuple[str, ...] = COOPERATIVE,
    topics: tuple[str, ...] = ("orders",),
    consumer: dict[str, Value] | None = None,
    **changes: object,
) -> ScenarioSpec:
    """A group on topics of six partitions each; broker-1 leads orders-0."""
    scenario = spec(*steps, until_s=until_s, members=members, rate=60.0, commit="auto")
    (group,) = scenario.groups
    config: dict[str, Value] = {**group.config, "auto.offset.reset": "earliest", **(consumer or {})}
    group = msgspec.structs.replace(group, topics=topics, assignors=assignors, config=config, **changes)
    (producer,) = scenario.producers
    keyed = msgspec.structs.replace(producer, keys=KeysSpec("uniform"))  # so that every partition gets some
    declared = tuple(TopicSpec(topic, partitions=partitions) for topic in ("orders", "payments"))
    return msgspec.structs.replace(scenario, groups=(group,), topics=declared, producers=(keyed,))


TRANSACTION_RECORDS = 20


def transactional(
    *steps: tuple[float, str],
    version: int = 2,
    abort: float = 0.0,
    until_s: int = 60,
    limit: int = 400,
    count: int = 1,
    on_abort: str = "drop",
) -> ScenarioSpec:
    """Producers with transactions of 20 records, 20 a second; a reader of committed data and one of everything."""
    earliest = {"auto.offset.reset": "earliest"}
    return ScenarioSpec(
        title="transactions",
        until_us=until_s * SECOND_US,
        brokers=THREE_BROKERS,
        config={"transaction.version": version, "transaction.state.log.num.partitions": 3},
        topics=(TopicSpec("orders", partitions=2, config={"min.insync.replicas": 2}),),
        producers=(
            ProducerSpec(
                "pay",
                ("orders",),
                count=count,
                rate_per_second=20.0,
                limit=limit,
                transactions=TransactionsSpec("pay-{n}", TRANSACTION_RECORDS, abort, on_abort),  # type: ignore[arg-type]
            ),
        ),
        groups=(
            GroupSpec("committed", ("orders",), config={"isolation.level": "read_committed", **earliest}),
            GroupSpec("everything", ("orders",), config=dict(earliest)),
        ),
        steps=steps_at(*steps),
    )


MOVED_RECORDS = 200


def moving(
    *steps: tuple[float, str],
    until_s: float = 60,
    version: int = 2,
    members: int = 1,
    writes: str | None = "invoices",
    per_record_us: int = 20 * MS,
    consumer: dict[str, Value] | None = None,
) -> ScenarioSpec:
    """200 records, 20 a second, into orders; g moves them to invoices in transactions, audit reads what committed."""
    earliest: dict[str, Value] = {"auto.offset.reset": "earliest"}
    made = spec(*steps, until_s=until_s, members=members, consumer={**earliest, **(consumer or {})}, initial_delay_ms=0)
    (group,) = made.groups
    application = ApplicationSpec(per_record_us=per_record_us, commit="transaction", writes=writes)
    audit = GroupSpec("audit", ("invoices",), config={"isolation.level": "read_committed", **earliest})
    return msgspec.structs.replace(
        made,
        config={**made.config, "transaction.version": version, "transaction.state.log.num.partitions": 3},
        topics=(*made.topics, TopicSpec("invoices", partitions=2)),
        producers=(
            ProducerSpec(
                "p", ("orders",), rate_per_second=20.0, limit=MOVED_RECORDS, keys=KeysSpec("uniform", distinct=10)
            ),
        ),
        groups=(msgspec.structs.replace(group, application=application), audit),
    )


def applied(
    application: ApplicationSpec,
    *steps: tuple[float, str],
    until_s: float = 30,
    members: int = 1,
    limit: int = 100,
    consumer: dict[str, Value] | None = None,
) -> ScenarioSpec:
    """One producer of 100 records, ten a second, with keys 0 … 9; a group that reads all of them."""
    config: dict[str, Value] = {"auto.offset.reset": "earliest", **(consumer or {})}
    made = spec(*steps, until_s=until_s, members=members, consumer=config, initial_delay_ms=0)
    (group,) = made.groups
    keys = KeysSpec("uniform", distinct=10)
    return msgspec.structs.replace(
        made,
        producers=(ProducerSpec("p", ("orders",), rate_per_second=10.0, limit=limit, keys=keys),),
        groups=(msgspec.structs.replace(group, application=application),),
    )


def writing(
    *steps: tuple[float, str],
    until_s: float = 40,
    commit: CommitPolicy = "after-each-poll",
    per_record_us: int = 5 * MS,
    keyed: bool = True,
    members: int = 1,
) -> ScenarioSpec:
    """200 records, 20 a second, into orders; g reads them and writes to invoices, which the group audit reads."""
    consumer = {"auto.offset.reset": "earliest"}
    made = spec(*steps, until_s=until_s, members=members, consumer=dict(consumer), initial_delay_ms=0)
    (group,) = made.groups
    application = ApplicationSpec(per_record_us=per_record_us, commit=commit, writes="invoices")
    keys = KeysSpec("uniform", distinct=10) if keyed else KeysSpec()
    audit = GroupSpec("audit", ("invoices",), config=dict(consumer))
    return msgspec.structs.replace(
        made,
        topics=(*made.topics, TopicSpec("invoices", partitions=2)),
        producers=(ProducerSpec("p", ("orders",), rate_per_second=20.0, limit=200, keys=keys),),
        groups=(msgspec.structs.replace(group, application=application), audit),
    )
