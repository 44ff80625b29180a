"""The faults of a random flight and their healing. A seed draws some of the classes of `RANDOM_FAULTS`.

Every class draws from its own random stream. A fault without a drawn end lasts until the healing.
"""

from collections.abc import Iterable, Iterator

from cluster.commands import (
    RANDOM_FAULTS,
    FailDependency,
    FaultTargets,
    PausePartitions,
    RollingRestartBrokers,
    Rollout,
    Set,
    SlowDependency,
    SlowDisk,
    SlowMember,
    Subscribe,
    parse,
    text_of,
)
from cluster.random_streams import random_stream
from cluster.spec import GroupSpec, ScenarioSpec, StepSpec

SECOND_US = 1_000_000
FAULTS_BEGIN_US = 5 * SECOND_US
# Before the end; twice, because the end of a fault may start a producer again.
PRODUCERS_STOP_US = (16 * SECOND_US, 10 * SECOND_US)
RESTARTED_MS = 12_000
STARTED_MS = (200, 8_000, 16_000)  # repeated: a clean stop that a fault delayed ends late
# A static member of the new protocol that was killed is refused (UNRELEASED_INSTANCE_ID) until its session has expired,
# which begins anew on each coordinator, and the last broker returns at 16 s.
STARTED_LAST_MS = 28_000
POLICY = "group.consumer.migration.policy"
QUICKENED_MS = (100, *(each + 200 for each in STARTED_MS))  # `slow` is refused for a member that does not run


def fault_steps(seed: int, spec: ScenarioSpec, faults: tuple[str, ...], healed_us: int) -> list[StepSpec]:
    """One to three steps for each of these classes; a fault with an end ends before the healing."""
    steps = []
    for name in faults:
        stream = random_stream(seed, f"swarm/fault/{name}")
        fault, targets = RANDOM_FAULTS[name], FaultTargets.of(stream, spec.names())
        for _ in range(stream.randint(1, 3)):
            at_us = stream.randrange(FAULTS_BEGIN_US, healed_us - 4 * SECOND_US, 1_000)
            for_ms = stream.choice((300, 2_000, 7_000, 10_000))
            ends = fault.lasts and stream.random() < 0.7 and at_us + for_ms * 1_000 < healed_us
            steps.append(step(at_us, targets.draw(fault) + (f" for {for_ms}ms" if ends else "")))
    return [each for each in steps if not (_renames_a_writer(spec, each) or _replaces_a_pattern(spec, each))]


def _replaces_a_pattern(spec: ScenarioSpec, planned: StepSpec) -> bool:
    """Whether a member that subscribes to a pattern would subscribe to topics: no command gives it its pattern back."""
    command = planned.command
    return isinstance(command, Subscribe) and any(
        each.topic_regex and command.member in each.instances() for each in spec.groups
    )


def _renames_a_writer(spec: ScenarioSpec, planned: StepSpec) -> bool:
    """Whether a Deployment would give new names to members that write: the claims name their producers."""
    command = planned.command
    if not (isinstance(command, Rollout) and command.workload == "deployment"):
        return False
    group = next(each for each in spec.groups if each.name == command.group)
    return group.application.has_producer


def renamed(spec: ScenarioSpec) -> set[str]:
    """The groups whose members a Deployment has replaced by others with new names."""
    commands = (planned.command for planned in spec.steps)
    return {each.group for each in commands if isinstance(each, Rollout) and each.workload == "deployment"}


def ended_rollouts(spec: ScenarioSpec) -> list[tuple[int, str]]:
    """The commands that end rollouts: they would go on to stop processes after the healing."""
    commands = [planned.command for planned in spec.steps]
    rolled = dict.fromkeys(each.group for each in commands if isinstance(each, Rollout))
    if any(isinstance(each, RollingRestartBrokers) for each in commands):
        rolled["brokers"] = None
    return [(0, f"end rollout of {name}") for name in rolled]


def ended_faults(spec: ScenarioSpec, brokers: Iterable[str], members: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The commands that end lasting faults which neither `heal` nor `resume` ends, where such a fault was drawn."""
    commands = {type(planned.command) for planned in spec.steps}
    if SlowDisk in commands:
        yield from ((100, f"slow disk of {name} to 0ms") for name in brokers)
    if PausePartitions in commands:
        yield from ((100, f"resume partitions of {name}") for name in members)
    if SlowDependency in commands:
        yield from ((100, f"slow dependency of {group.name} to 0ms") for group in spec.groups)
    if FailDependency in commands:
        yield from ((100, f"restore dependency of {group.name}") for group in spec.groups)


def healing(spec: ScenarioSpec, healed_us: int) -> list[StepSpec]:
    """The healing: faults are cleared, processes resumed and started, groups scaled and subscribed as declared.

    Then the producers stop. `spec` has the steps of the faults. A static member may have been fenced for good (its
    coordinator moved before its new id was written): the operator restarts static members, which a Stable group does
    not notice. An application's producer may be stuck for delivery.timeout.ms (`stuck_writers`): the operator kills and
    starts it again.
    """
    new_names = renamed(spec)
    members = [member for group in spec.groups if group.name not in new_names for member in group.instances()]
    producers = [name for producer in spec.producers for name in producer.instances()]
    brokers = [broker.name for broker in spec.brokers]
    commands = {type(planned.command) for planned in spec.steps}
    texts = [(0, "heal"), *ended_rollouts(spec)]
    texts += [(100, f"resume {name}") for name in (*brokers, *members, *producers)]
    texts += ended_faults(spec, brokers, members)
    for after_ms in STARTED_MS:
        texts += [(after_ms, f"start {name}") for name in brokers]
        texts += [(after_ms + 100, f"start {name}") for name in (*members, *producers)]
    for group in spec.groups:
        usual = group.application.per_record_us
        texts.append((3_000, f"scale {group.name} to {group.members}"))
        if group.name in new_names:
            texts += [(100, f"resume {name}") for name in group.instances()]  # frozen while it closes
            texts += [(after_ms + 100, f"scale {group.name} to {group.members}") for after_ms in STARTED_MS]
            if is_restarted(spec, group):
                texts.append((RESTARTED_MS, f"rolling restart {group.name} every 1ms"))
            if is_refused_early(spec, group):
                texts.append((STARTED_LAST_MS, f"scale {group.name} to {group.members}"))
            continue
        if stuck_writers(group):
            for after_ms, way in ((RESTARTED_MS, "kill"), (RESTARTED_MS + 100, "start")):
                texts += [(after_ms, f"{way} {name}") for name in group.instances()]
        elif is_restarted(spec, group):
            texts += [(RESTARTED_MS, f"restart {name}") for name in group.instances()]
        if is_refused_early(spec, group):
            texts += [(STARTED_LAST_MS, f"start {name}") for name in group.instances()]
        if SlowMember in commands:
            times_ms = quickened_ms(spec, group)
            texts += [(each, f"slow {name} to {usual}us") for each in times_ms for name in group.instances()]
        if Subscribe in commands and not group.topic_regex:
            back = {name: f"to {','.join(sorted(group.topics_of(name)))}" for name in group.instances()}
            texts += [(3_100, f"subscribe {name} {back[name]}") for name in group.instances()]
    steps = [step(healed_us + after_ms * 1_000, text) for after_ms, text in texts]
    return steps + [
        step(spec.until_us - before_us, f"stop {name}") for before_us in PRODUCERS_STOP_US for name in producers
    ]


def migrating(spec: ScenarioSpec) -> dict[str, str]:
    """The groups whose members get another `group.protocol`, and the last one that they get."""
    commands = (planned.command for planned in sorted(spec.steps, key=lambda planned: planned.at_us))
    return {each.scope: each.value for each in commands if isinstance(each, Set) and each.key == "group.protocol"}


def _is_parted(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether it migrates, and may not have members of both protocols for ever."""
    return group.name in migrating(spec) and spec.config[POLICY] != "bidirectional"


def is_restarted(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the operator restarts the members of the healed group: one may be fenced, or refused, for good."""
    return group.static or _is_parted(spec, group)


def is_refused_early(spec: ScenarioSpec, group: GroupSpec) -> bool:
    """Whether the coordinator refuses a member that returns before a session has expired: its own, or another's."""
    speaks_new = group.speaks_new_protocol or group.name in migrating(spec)
    return (group.static and speaks_new) or _is_parted(spec, group)


def quickened_ms(spec: ScenarioSpec, group: GroupSpec) -> tuple[int, ...]:
    """When its members work as fast as before: after each of their starts."""
    return (*QUICKENED_MS, STARTED_LAST_MS + 200) if is_refused_early(spec, group) else QUICKENED_MS


def stuck_writers(group: GroupSpec) -> bool:
    """Whether brokers may refuse one batch of its applications' producers for longer than the healing lasts.

    A new idempotent producer's first batch meets NOT_ENOUGH_REPLICAS, and those in flight behind it do not: a broker
    that knows no sequence accepts any (`ProducerAppendInfo.checkSequence`). The first is out of order from then on, and
    `TransactionManager.canRetry` retries it until delivery.timeout.ms, two minutes (seed 6648).
    """
    return bool(group.application.topics_written) and group.application.commit != "transaction"


def step(at_us: int, text: str) -> StepSpec:
    """A command at an instant."""
    command = parse(text)
    return StepSpec(at_us, command, text_of(command))
