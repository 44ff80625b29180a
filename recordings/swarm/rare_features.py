"""Features of a swarm flight that reach seldom used rules: each changes the drawn scenario.

They draw from their own random stream, so that what was drawn before them stays the same.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from cluster.config import RACK_AWARE_SELECTORS, Value
from cluster.spec import (
    ApplicationSpec,
    AutoscalerSpec,
    CommitPolicy,
    FailSpec,
    GroupSpec,
    KeysSpec,
    MemberSpec,
    OutputSpec,
    ProcessingSpec,
    ProducerSpec,
    Readiness,
    RetriesSpec,
    ScenarioSpec,
    SlowKeysSpec,
    TopicSpec,
)
from recordings.swarm.consumer_protocol import consumer_protocol
from recordings.swarm.migrating import migrating_groups

UNTOUCHED = ("out", "audit")
"""The exactly-once flight's output and its reader: the claims of every seed rest on them."""

LINGER_MS = 500


def unequal_topics(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Members of a group subscribe to different topics; the first one to all of them."""
    names = [topic.name for topic in spec.topics if topic.name not in UNTOUCHED]

    def unequal(group: GroupSpec) -> GroupSpec:
        if group.name in UNTOUCHED or len(names) < 2 or group.members < 2:
            return group
        others = {name: (stream.choice(names),) for name in group.instances()[1:]}
        assignors = (stream.choice(("sticky", "cooperative-sticky", "range", "roundrobin")),)
        return msgspec.structs.replace(group, topics=tuple(names), subscriptions=others, assignors=assignors)

    return msgspec.structs.replace(spec, groups=tuple(unequal(group) for group in spec.groups))


def static_twins(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """All members of the last group have one `group.instance.id`: each that starts fences the one before."""
    del stream
    group = spec.groups[-1]
    application = group.application
    plain = application.commit == "auto" and not application.written and application.poison is None
    if not plain or group.name in UNTOUCHED:
        return spec
    twins = msgspec.structs.replace(group, static=False, config=group.config | {"group.instance.id": "twin"})
    return msgspec.structs.replace(spec, groups=(*spec.groups[:-1], twins))


def small_messages(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Topics accept small batches only, and producers make large ones, some of them compressed."""
    limit = stream.choice((1_000, 2_000))
    if any(producer.config.get("acks") == "0" for producer in spec.producers):
        return spec  # they count refused records as acknowledged

    def small(topic: TopicSpec) -> TopicSpec:
        if topic.name in UNTOUCHED:
            return topic
        return msgspec.structs.replace(topic, config=topic.config | {"max.message.bytes": limit})

    def large(producer: ProducerSpec) -> ProducerSpec:
        codec = stream.choice(("none", "gzip", "zstd", "lz4", "snappy"))
        config = dict(producer.config | {"batch.size": 16_384, "linger.ms": LINGER_MS, "compression.type": codec})
        config["delivery.timeout.ms"] = int(str(config["delivery.timeout.ms"])) + LINGER_MS
        return msgspec.structs.replace(producer, config=config)

    topics = tuple(small(topic) for topic in spec.topics)
    return msgspec.structs.replace(spec, topics=topics, producers=tuple(large(each) for each in spec.producers))


def full_groups(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """`group.max.size` is the size of the largest group: the coordinator refuses any further member."""
    del stream
    most = max((group.members for group in spec.groups), default=1)
    return msgspec.structs.replace(spec, config=spec.config | {"group.max.size": most})


def short_lived_ids(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Transactional ids expire when they are not used for a while."""
    config = {
        "transactional.id.expiration.ms": stream.choice((4_000, 7_000)),
        "transaction.remove.expired.transaction.cleanup.interval.ms": 1_000,
    }
    return msgspec.structs.replace(spec, config=spec.config | config)


def buggify(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Brokers often do what Kafka allows and seldom does (buggify)."""
    del stream
    return msgspec.structs.replace(spec, buggify=True)


def writers_of_their_own(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Applications that write configure the producer inside their members."""

    def configured(group: GroupSpec) -> GroupSpec:
        request_ms = stream.choice((1_000, 2_500))
        config: dict[str, Value] = {
            "linger.ms": stream.choice((0, 20, 200)),
            "batch.size": stream.choice((1_500, 16_384)),
            "max.in.flight.requests.per.connection": stream.choice((1, 5)),
            "request.timeout.ms": request_ms,
            "delivery.timeout.ms": request_ms + stream.choice((1_000, 9_000)),
            "partitioner.ignore.keys": stream.random() < 0.2,
        }
        timeout_ms, acks = stream.choice((6_000, 20_000)), stream.choice(("0", "1", "all", "all"))
        if group.application.commit == "transaction":
            config["transaction.timeout.ms"] = timeout_ms
        elif acks != "all":
            config["acks"] = acks
        if not group.application.has_producer:
            return group
        application = msgspec.structs.replace(group.application, producer=config)
        return msgspec.structs.replace(group, application=application)

    return msgspec.structs.replace(spec, groups=tuple(configured(group) for group in spec.groups))


def members_apart(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """The first or last member of a group has settings of its own: timeouts, a speed, one more assignor."""

    def apart(group: GroupSpec) -> GroupSpec:
        member = stream.choice((1, max(1, group.members)))
        config: dict[str, Value] = {
            "session.timeout.ms": stream.choice((6_000, 8_000)),
            "heartbeat.interval.ms": stream.choice((700, 1_900)),
        }
        records = stream.choice((2, 300))
        if not group.application.has_producer:  # a transaction for two records each would never catch up
            config["max.poll.records"] = records
        own = MemberSpec(
            f"{group.name}-{member}",
            config=config,
            per_record_us=stream.choice((0, 2_000)),
            startup_us=stream.choice((None, 400_000)),
        )
        if "roundrobin" not in group.assignors and stream.random() < 0.5:
            own = msgspec.structs.replace(own, assignors=(*group.assignors, "roundrobin"))
        return group if group.name in UNTOUCHED else msgspec.structs.replace(group, own=(own,))

    return msgspec.structs.replace(spec, groups=tuple(apart(group) for group in spec.groups))


def several_outputs(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """An application that writes gives several records for an input, and a share of its inputs to another topic."""

    def fanned_out(group: GroupSpec) -> GroupSpec:
        records, share = stream.choice((1, 2, 3)), stream.choice((0.2, 1.0))
        if group.application.writes is None:
            return group
        outputs = OutputSpec(group.application.writes, records=records), OutputSpec("side", share, 4 - records)
        producer = dict(group.application.producer)
        if producer:  # four records for an input never catch up with one in a batch, and one batch in flight
            producer |= {"batch.size": 16_384, "max.in.flight.requests.per.connection": 5}
        if "transaction.timeout.ms" in producer:
            producer["transaction.timeout.ms"] = 40_000
        application = msgspec.structs.replace(group.application, writes=None, outputs=outputs, producer=producer)
        return msgspec.structs.replace(group, application=application)

    return msgspec.structs.replace(spec, groups=tuple(fanned_out(group) for group in spec.groups))


def racks(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Brokers and members stand in racks, near to some replicas; leaders let consumers fetch from followers."""
    count = stream.choice((2, 3))
    brokers = tuple(
        msgspec.structs.replace(broker, rack=f"rack-{place % count}") for place, broker in enumerate(spec.brokers)
    )
    selector = {"replica.selector.class": RACK_AWARE_SELECTORS[0]}
    network = msgspec.structs.replace(spec.network, between_racks_us=stream.choice((2_000, 20_000)))

    def placed(group: GroupSpec) -> GroupSpec:
        known = {one.name: one for one in group.own}
        for name in group.instances():
            rack: dict[str, Value] = {"client.rack": f"rack-{stream.randrange(count)}"}
            one = known.get(name, MemberSpec(name))
            known[name] = msgspec.structs.replace(one, config=one.config | rack)
        return msgspec.structs.replace(group, own=tuple(known.values()))

    groups = tuple(placed(group) for group in spec.groups)
    return msgspec.structs.replace(spec, brokers=brokers, config=spec.config | selector, network=network, groups=groups)


def _changed(spec: ScenarioSpec, change: Callable[[ApplicationSpec], ApplicationSpec]) -> ScenarioSpec:
    """The scenario with the application of each group changed."""

    def changed(group: GroupSpec) -> GroupSpec:
        return msgspec.structs.replace(group, application=change(group.application))

    return msgspec.structs.replace(spec, groups=tuple(changed(group) for group in spec.groups))


def unequal_times(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Processing time has a distribution with a tail, and some keys are slow."""
    keyed = any(producer.keys.kind != "none" for producer in spec.producers)

    def unequal(application: ApplicationSpec) -> ApplicationSpec:
        processing = ProcessingSpec(stream.choice((50, 400)), stream.choice((400, 20_000)))
        slow = SlowKeysSpec(stream.choice((5_000, 15_000)), share=stream.choice((0.05, 0.4)))
        application = msgspec.structs.replace(application, per_record_us=0, jitter=0.0, processing=processing)
        return msgspec.structs.replace(application, slow_keys=slow) if keyed and stream.random() < 0.5 else application

    return _changed(spec, unequal)


def assigned_by_hand(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """One more group, whose consumers call assign(): they divide the first topic among them."""
    topic = spec.topics[0]
    names = [f"{topic.name}-{number}" for number in range(topic.partitions)]
    members = stream.randint(1, len(names))
    commit: CommitPolicy = stream.choice(("auto", "auto", "after-each-poll"))
    group = GroupSpec(
        HAND,
        members=members,
        assign={f"{HAND}-{number + 1}": tuple(names[number::members]) for number in range(members)},
        config={
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": stream.choice((500, 2_000)),
            "session.timeout.ms": 10_000,
            "max.poll.interval.ms": 4_000,
            "request.timeout.ms": 3_000,
            "metadata.max.age.ms": 5_000,
        },
        application=ApplicationSpec(commit=commit),
    )
    return msgspec.structs.replace(spec, groups=(*spec.groups, group))


HAND: Final = "hand"


def workers_behind_poll(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Applications that only read hand their records to worker threads."""

    def with_workers(group: GroupSpec) -> GroupSpec:
        threads, queue, per_record_us = stream.choice((1, 3)), stream.choice((5, 100)), stream.choice((0, 4_000))
        commit: CommitPolicy = stream.choice(("async", "after-each-poll"))
        application = group.application
        inside = application.has_producer or application.poison is not None
        inside = inside or application.processing is not None or application.slow_keys is not None
        if group.name in UNTOUCHED or inside or application.commit == "before-processing":
            return group
        application = msgspec.structs.replace(
            application, worker_threads=threads, queue=queue, per_record_us=per_record_us, commit=commit
        )
        return msgspec.structs.replace(group, application=application)

    return msgspec.structs.replace(spec, groups=tuple(with_workers(group) for group in spec.groups))


def slow_pods(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Processes of members start up slowly, and in some groups they are ready only when they have joined."""

    def slow(group: GroupSpec) -> GroupSpec:
        readiness: tuple[Readiness, ...] = ("started", "joined")
        startup_us, ready = stream.choice((300_000, 2_000_000)), stream.choice(readiness)
        return msgspec.structs.replace(group, startup_us=startup_us, ready=ready)

    return msgspec.structs.replace(spec, groups=tuple(slow(group) for group in spec.groups))


def autoscaled(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """The last group has an autoscaler that follows a small lag every few seconds."""
    group = spec.groups[-1]
    if group.name in UNTOUCHED or group.application.has_producer or group.assign:
        return spec
    scaler = AutoscalerSpec(
        lag_per_member=stream.choice((2, 20)),
        least=1,
        most=stream.choice((2, 5)),
        every_us=stream.choice((1_000_000, 4_000_000)),
        stabilization_us=stream.choice((0, 5_000_000)),
    )
    changed = msgspec.structs.replace(group, autoscaler=scaler)
    return msgspec.structs.replace(spec, groups=(*spec.groups[:-1], changed))


def dead_letters(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """A share of the inputs fails, is tried again after a backoff, and goes to a dead-letter topic."""

    def failing(group: GroupSpec) -> GroupSpec:
        fail = FailSpec(stream.choice((0.02, 0.1)), stream.choice((None, 1, 2)))
        retries = RetriesSpec(stream.choice((1, 2)), stream.choice((0, 20_000)), stream.choice((1.0, 2.0)))
        if group.name == HAND or group.application.worker_threads:
            return group
        application = msgspec.structs.replace(group.application, fail=fail, retries=retries, dead_letter="letters")
        return msgspec.structs.replace(group, application=application)

    return msgspec.structs.replace(spec, groups=tuple(failing(group) for group in spec.groups))


def listeners(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Applications commit in onPartitionsRevoked, some after a while; one member may differ."""

    def listening(group: GroupSpec) -> GroupSpec:
        takes_us, differs = stream.choice((0, 200_000, 1_500_000)), stream.random() < 0.3
        name = f"{group.name}-{stream.choice((1, max(1, group.members)))}"
        if group.assign or group.application.commit in ("never", "transaction"):
            return group
        application = msgspec.structs.replace(group.application, on_revoked="commit", revoke_takes_us=takes_us)
        own = {one.name: one for one in group.own}
        if differs:
            own[name] = msgspec.structs.replace(own.get(name, MemberSpec(name)), on_revoked="nothing")
        return msgspec.structs.replace(group, application=application, own=tuple(own.values()))

    return msgspec.structs.replace(spec, groups=tuple(listening(group) for group in spec.groups))


def compacted(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Topics are compacted, some deleted too: small segments, few keys, tombstones."""

    def cleaned(topic: TopicSpec) -> TopicSpec:
        policy = stream.choice((("compact",), ("compact", "delete")))
        config: dict[str, Value] = {
            "cleanup.policy": policy,
            "internal.segment.bytes": stream.choice((2_000, 20_000)),
            "min.cleanable.dirty.ratio": stream.choice((0.05, 0.5)),
            "delete.retention.ms": stream.choice((2_000, 60_000)),
            "min.compaction.lag.ms": stream.choice((0, 0, 8_000)),
        }
        return topic if topic.name in UNTOUCHED else msgspec.structs.replace(topic, config=topic.config | config)

    def keyed(producer: ProducerSpec) -> ProducerSpec:
        keys = KeysSpec("uniform", distinct=stream.choice((5, 50)))
        return msgspec.structs.replace(producer, keys=keys, tombstones=stream.choice((0.0, 0.1, 0.5)))

    return msgspec.structs.replace(
        spec,
        config=spec.config | {"log.cleaner.backoff.ms": stream.choice((1_000, 5_000))},
        topics=tuple(cleaned(topic) for topic in spec.topics),
        producers=tuple(keyed(producer) for producer in spec.producers),
    )


RARE: dict[str, Callable[[ScenarioSpec, Random], ScenarioSpec]] = {
    "unequal_topics": unequal_topics,
    "static_twins": static_twins,
    "small_messages": small_messages,
    "full_groups": full_groups,
    "short_lived_ids": short_lived_ids,
    "buggify": buggify,
    "writers_of_their_own": writers_of_their_own,
    "members_apart": members_apart,
    "several_outputs": several_outputs,
    "racks": racks,
    "unequal_times": unequal_times,
    "assigned_by_hand": assigned_by_hand,
    "workers_behind_poll": workers_behind_poll,
    "slow_pods": slow_pods,
    "autoscaled": autoscaled,
    "dead_letters": dead_letters,
    "listeners": listeners,
    "compacted": compacted,
    "consumer_protocol": consumer_protocol,
    "migrating_groups": migrating_groups,
}
