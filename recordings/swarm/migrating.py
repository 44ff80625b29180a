"""Groups of a swarm flight that move from one group protocol to the other under load, and most of them back.

Theory of operation. An operator deploys the other `group.protocol` by a rolling restart, amid all faults of the seed.
`group.consumer.migration.policy` is drawn, too. If it is bidirectional, a deploy that a fault has cut short stays so to
the end: the mixed group must converge. Otherwise a member may be refused for as long as the group has members of the
other protocol, and the healing restarts all of them (`faults.is_restarted`).
"""

from random import Random
from typing import Final

import msgspec

from cluster.commands import RollingRestart, Set, targets_of
from cluster.config import Value
from cluster.spec import GroupSpec, ScenarioSpec, StepSpec
from recordings.swarm.consumer_protocol import ASSIGNORS, quick_sessions
from recordings.swarm.faults import FAULTS_BEGIN_US, POLICY, SECOND_US, migrating, step

POLICIES: Final = ("bidirectional", "bidirectional", "bidirectional", "upgrade", "downgrade", "disabled")
AND_BACK: Final = 0.7  # share of groups that return to their first protocol
A_CANARY: Final = 0.4  # share of groups in which only one member is restarted for the other protocol


def migrating_groups(spec: ScenarioSpec, stream: Random) -> ScenarioSpec:
    """Rolling restarts give the members of each group the other protocol, and later their first one again."""
    keys: dict[str, Value] = {POLICY: stream.choice(POLICIES)}
    sessions = quick_sessions(stream)
    steps = [each for group in spec.groups for each in _migration(group, stream)]
    canaries = {group.name for group in spec.groups if stream.random() < A_CANARY}
    steps = [_of_one(each, canaries) for each in steps]
    migrate = {each.command.scope for each in steps if isinstance(each.command, Set)}
    kept = [each for each in spec.steps if not _asks_for_an_assignor(each, migrate)]
    return msgspec.structs.replace(spec, config=sessions | spec.config | keys, steps=(*kept, *steps))


def _asks_for_an_assignor(planned: StepSpec, groups: set[str]) -> bool:
    """Whether it sets a key that these groups may not have at that instant: they are classic for a while."""
    command = planned.command
    return isinstance(command, Set) and command.key == "group.remote.assignor" and command.scope in groups


def _of_one(planned: StepSpec, groups: set[str]) -> StepSpec:
    """The step; for these groups the restart of one member instead of a rolling one: their deploy ends half-way."""
    command = planned.command
    if isinstance(command, RollingRestart) and command.group in groups:
        return step(planned.at_us, f"restart {command.group}-1")
    return planned


def _migration(group: GroupSpec, stream: Random) -> list[StepSpec]:
    """The steps that migrate a group; all is drawn for a group that cannot migrate, too."""
    first_us = stream.randrange(FAULTS_BEGIN_US, FAULTS_BEGIN_US + 3 * SECOND_US, 1_000)
    back, waits_us = stream.random() < AND_BACK, stream.randrange(5 * SECOND_US, 8 * SECOND_US, 1_000)
    every_ms, down_ms = stream.choice((500, 1_000, 2_000)), stream.choice((0, 300, 1_500))
    session_ms, beat_ms = stream.choice((6_000, 10_000)), stream.choice((500, 1_500))
    asks, assignor = stream.random() < 0.3, stream.choice(ASSIGNORS)
    # A pattern of the broker's is of the new protocol alone; with one instance id for all, no restart ends.
    if group.assign or group.topic_regex or "group.instance.id" in group.config:
        return []
    name, steps = group.name, []
    deploys = {
        "classic": (f"session.timeout.ms {session_ms}", f"heartbeat.interval.ms {beat_ms}"),
        "consumer": (f"group.remote.assignor {assignor}",) if asks else (),
    }
    there = ("classic", "consumer") if group.speaks_new_protocol else ("consumer", "classic")
    for at_us, protocol in zip((first_us, first_us + waits_us), there if back else there[:1], strict=False):
        texts = [f"set {name} {key}" for key in (f"group.protocol {protocol}", *deploys[protocol])]
        steps += [step(at_us, text) for text in (*texts, f"rolling restart {name} every {every_ms}ms down {down_ms}ms")]
    return steps


# --- what a migration may leave ---------------------------------------------------------------------------------------


def unless_left_behind(spec: ScenarioSpec, group: GroupSpec, claim: str) -> str:
    """The claim, or that a former process of a member has left such a member behind, where faults allow that.

    A coordinator arms the timers of a classic member in a consumer group once the records of its JoinGroup are
    committed. If their append times out, it arms none, and the records stay: a process that ends before it has joined
    again leaves a member without a session, which holds its share until the coordinator loads the group anew
    (`GroupMetadataManager.classicGroupJoinToConsumerGroup`, `onLoaded`; `CoordinatorRuntime`'s OperationTimeout).
    Only a group that migrates has classic members beside the new protocol. Only a fault of a broker delays an append.
    """
    brokers = {broker.name for broker in spec.brokers}
    delayed = any(brokers & {*targets_of(step.command)} for step in spec.steps)
    if not (delayed and group.name in migrating(spec)):
        return claim
    where = f'groups["{group.name}"]'
    left = " || ".join(_outnumbers(where, name) for name in group.instances())
    return f'({claim}) || ({where}.protocol == "consumer" && ({left}))'


def _outnumbers(where: str, name: str) -> str:
    """Whether more classic members have the name than its running process, which speaks either protocol."""
    own = f'(members["{name}"].state == "STABLE" ? 0 : 1)'
    return f'{where}.classic_members.filter(each, each == "{name}").size() > {own}'
