"""Healing of a core: a majority of the brokers and some of the clients are healed, the rest stays broken to the end.

Theory of operation (the second phase of TigerBeetle's VOPR): a cluster must make progress as soon as enough of it is
healthy, not only when all of it is. From the healing on, every broker outside the core is down, paused or isolated, and
every member outside is dead, paused or cut off from the core. Kafka must consider them gone, and the core must work
alone. `core_liveness` has the claims on that core.

Each topic gets one more producer, silent until the core is healed: records acknowledged to it were acknowledged by the
core.
"""

from collections.abc import Iterator
from itertools import combinations
from random import Random

import msgspec

from cluster.commands import (
    Cut,
    Hold,
    Isolate,
    Reassign,
    Scale,
    SlowLink,
    SlowMember,
    Subscribe,
)
from cluster.spec import GroupSpec, KeysSpec, ProducerSpec, ScenarioSpec, StepSpec, TopicSpec
from recordings.swarm.faults import (
    PRODUCERS_STOP_US,
    RESTARTED_MS,
    STARTED_LAST_MS,
    STARTED_MS,
    ended_faults,
    ended_rollouts,
    is_refused_early,
    is_restarted,
    quickened_ms,
    renamed,
    step,
)
from recordings.swarm.placement import Placement
from recordings.swarm.rare_features import UNTOUCHED

CORE = "core"
FEWEST_BROKERS = 3  # fewer brokers have no majority without all of them
OF_THOSE = 1 / 3  # three quarters of all seeds have so many brokers: one seed in four heals a core
SPARES_ONE = 0.7  # share of seeds whose topics may miss a replica: else `min.insync.replicas` often requires all
ONLY_READS = 0.7
FRESH_FROM_MS = 15_000  # a controller outside the core is replaced within 5.2 s, and 9 s later the rest is fenced
FRESH_STOP_US = PRODUCERS_STOP_US[
    -1:
]  # the last one: a broker may return 20 s after the healing (a clean stop, then a start)
FRESH, FRESH_RATE = "fresh-", 5.0


class Core(msgspec.Struct, frozen=True):
    """The healed part, by name; `members` and `producers`: instances. Everything else stays broken."""

    brokers: tuple[int, ...]
    members: tuple[str, ...]
    producers: tuple[str, ...]

    def members_of(self, group: GroupSpec) -> list[str]:
        """The group's members that are in the core."""
        return [name for name in group.instances() if name in self.members]


def heals_a_core(spec: ScenarioSpec, stream: Random, *, asked: bool) -> bool:
    """Whether only a core is healed, if members keep their names; `asked`: in every scenario that can have one."""
    drawn = stream.random() < OF_THOSE
    if renamed(spec) or any(group.assign or group.autoscaler is not None for group in spec.groups):
        return False  # no member of the core takes over the partitions of another, or has no name that lasts
    return len(spec.brokers) >= FEWEST_BROKERS and (drawn or asked)


def with_its_replicas(spec: ScenarioSpec) -> ScenarioSpec:
    """The scenario without reassignments: `Placement` has the replicas that topics begin with."""
    return msgspec.structs.replace(
        spec, steps=tuple(each for each in spec.steps if not isinstance(each.command, Reassign))
    )


def draw_core(spec: ScenarioSpec, stream: Random) -> Core:
    """The core: among all of this size, one in which most partitions can make progress."""
    ids = [broker.id for broker in spec.brokers]
    cores = list(combinations(sorted(ids), stream.randint(len(ids) // 2 + 1, len(ids) - 1)))
    stream.shuffle(cores)
    brokers = max(cores, key=lambda core: Placement(spec, core).whole())
    members = [name for group in spec.groups for name in group.instances()[: stream.randint(1, group.members)]]
    instances = [name for producer in spec.producers if not is_fresh(producer) for name in producer.instances()]
    producers = [name for place, name in enumerate(instances) if place == 0 or stream.random() < 0.7]
    return Core(brokers, tuple(members), tuple(producers))


def sparing_one(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """In most seeds, the scenario with topics that tolerate a missing replica."""
    if stream.random() >= SPARES_ONE:
        return spec

    def sparing(topic: TopicSpec) -> TopicSpec:
        least = min(int(str(topic.config.get("min.insync.replicas", 1))), max(topic.replication - 1, 1))
        return msgspec.structs.replace(topic, config=topic.config | {"min.insync.replicas": least})

    return msgspec.structs.replace(spec, topics=tuple(sparing(topic) for topic in spec.topics))


def writing_less(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """In most seeds, the scenario with applications that only read: a writer waits too long for a broken broker."""
    if stream.random() >= ONLY_READS:
        return spec

    def reading(group: GroupSpec) -> GroupSpec:
        commit = "auto" if group.application.commit == "transaction" else group.application.commit
        application = msgspec.structs.replace(
            group.application, writes=None, outputs=(), dead_letter=None, producer={}, commit=commit
        )
        return msgspec.structs.replace(group, application=application)

    return msgspec.structs.replace(spec, groups=tuple(reading(group) for group in spec.groups))


def with_fresh_producers(spec: ScenarioSpec, healed_us: int) -> ScenarioSpec:
    """The scenario with a producer for each topic that writes nothing before the core is healed."""
    fresh = tuple(
        ProducerSpec(
            FRESH + topic.name,
            (topic.name,),
            rate_per_second=FRESH_RATE,
            keys=KeysSpec("uniform") if "cleanup.policy" in topic.config else KeysSpec(),  # a compacted one wants keys
            size_bytes=100,
            start_us=healed_us + FRESH_FROM_MS * 1_000,
            config={"request.timeout.ms": 1_000, "delivery.timeout.ms": 5_000, "batch.size": 300},
        )
        for topic in spec.topics
        if topic.name not in UNTOUCHED
    )
    return msgspec.structs.replace(spec, producers=(*spec.producers, *fresh))


def is_fresh(producer: ProducerSpec) -> bool:
    """Whether the producer begins when the core is healed."""
    return producer.name.startswith(FRESH)


def healing_of_core(spec: ScenarioSpec, core: Core, healed_us: int, stream: Random) -> list[StepSpec]:
    """The steps that heal and start the core and break the rest for good; then the core's producers stop."""
    texts = [*_broken(spec, core, stream), *_clearing(spec, core), *_started(spec, core)]
    steps = [step(healed_us + after_ms * 1_000, text) for after_ms, text in texts]
    fresh = [name for each in spec.producers if is_fresh(each) for name in each.instances()]
    for names, before in ((core.producers, PRODUCERS_STOP_US), (fresh, FRESH_STOP_US)):
        steps += [step(spec.until_us - before_us, f"stop {name}") for before_us in before for name in names]
    return steps


def _broken(spec: ScenarioSpec, core: Core, stream: Random) -> Iterator[tuple[int, str]]:
    """Break each process outside the core that still runs; one that is restarting breaks after its restart."""
    inside = [f"broker-{number}" for number in core.brokers]
    for broker in spec.brokers:
        if broker.id not in core.brokers:
            yield from _struck(broker.name, stream.choice(("kill", "pause", "isolate")))
    for group in spec.groups:
        ways = ("kill", "pause", "cut") if group.application.restart_after_us is None else ("pause", "cut")
        for name in group.instances():
            if name not in core.members:
                way = stream.choice(ways)
                yield from _struck(name, way) if way != "cut" else ((0, f"cut {name} {broker}") for broker in inside)
    for producer in spec.producers:
        for name in producer.instances():
            if name not in core.producers and not is_fresh(producer):
                yield from _struck(name, stream.choice(("kill", "pause")))


def _struck(name: str, way: str) -> Iterator[tuple[int, str]]:
    for after_ms in (0,) if way == "isolate" else (0, *STARTED_MS[1:]):
        yield after_ms, f"{way} {name}"


def _clearing(spec: ScenarioSpec, core: Core) -> Iterator[tuple[int, str]]:
    """Clear the links within the core, and the other faults that are still active there."""
    commands = {type(each.command) for each in spec.steps}
    brokers = [f"broker-{number}" for number in core.brokers]
    clients = [*core.members, *core.producers]
    if Isolate in commands:  # the fault is started once more, to end by itself: `heal` would heal all links
        yield from ((0, f"isolate {name} for 1ms") for name in brokers)
    if commands & {Cut, Hold, SlowLink}:
        for place, name in enumerate(brokers):
            yield from ((0, f"heal {name} {other}") for other in (*brokers[place + 1 :], *clients))
    yield from ended_rollouts(spec)
    yield from ((100, f"resume {name}") for name in (*brokers, *clients))
    yield from ended_faults(spec, brokers, core.members)
    for group in spec.groups:
        inside = core.members_of(group)
        if SlowMember in commands:
            usual = group.application.per_record_us
            yield from ((each, f"slow {name} to {usual}us") for each in quickened_ms(spec, group) for name in inside)
        if Subscribe in commands and not group.topic_regex:
            yield from ((3_100, f"subscribe {name} to {','.join(sorted(group.topics_of(name)))}") for name in inside)


def _started(spec: ScenarioSpec, core: Core) -> Iterator[tuple[int, str]]:
    """Start the core's processes as the full healing does, down to restarting static members."""
    brokers = [f"broker-{number}" for number in core.brokers]
    for after_ms in STARTED_MS:
        yield from ((after_ms, f"start {name}") for name in brokers)
        yield from ((after_ms + 100, f"start {name}") for name in (*core.members, *core.producers))
    scaled = {each.command.group for each in spec.steps if isinstance(each.command, Scale)}
    for group in spec.groups:
        inside = core.members_of(group)
        if group.name in scaled:
            yield 3_000, f"scale {group.name} to {len(inside)}"
        if is_restarted(spec, group):
            yield from ((RESTARTED_MS, f"restart {name}") for name in inside)
        if is_refused_early(spec, group):
            yield from ((STARTED_LAST_MS, f"start {name}") for name in inside)
