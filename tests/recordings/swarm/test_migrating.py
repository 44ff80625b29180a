"""What the swarm draws for groups that change their protocol under load, and what it claims of them."""

import msgspec
import pytest

from cluster.commands import Restart, RollingRestart, Set
from cluster.spec import GroupSpec
from recordings.scenarios.loader import parse_scenario
from recordings.scenarios.writer import write_scenario
from recordings.swarm.convergence import converged
from recordings.swarm.faults import POLICY, is_restarted, migrating
from recordings.swarm.generator import Swarm, draw
from recordings.swarm.migrating import POLICIES
from recordings.swarm.pace import reads_too_slowly, writes_too_slowly
from recordings.swarm.parts import commands_of
from recordings.swarm.seeds import fly_once

MINUTE_US = 60_000_000
MIGRATING = "migrating_groups"
BOTH = ("consumer_protocol", MIGRATING)
DRAWN: list[Swarm] = [draw(seed, MINUTE_US, (MIGRATING,)) for seed in range(50)]


def test_groups_migrate_either_way_and_back_under_every_policy() -> None:
    assert {str(each.spec.config[POLICY]) for each in DRAWN} == {*POLICIES}
    ways = set()
    for swarm in (*DRAWN, *(draw(seed, MINUTE_US, BOTH) for seed in range(20))):
        for group in swarm.spec.groups:
            deploys = [each.value for each in commands_of(swarm.spec, Set) if _is_deploy(each, group)]
            first = "consumer" if group.speaks_new_protocol else "classic"
            assert all(one != two for one, two in zip([first, *deploys], deploys, strict=False))
            ways.add((first, *deploys))
    there, back = ("classic", "consumer"), ("consumer", "classic")
    assert ways >= {there, back, (*there, "classic"), (*back, "consumer")}


def _is_deploy(command: Set, group: GroupSpec) -> bool:
    return command.scope == group.name and command.key == "group.protocol"


def test_a_group_that_migrates_is_restarted_in_part_or_whole_and_the_auditor_stays_as_it_is() -> None:
    for swarm in DRAWN:
        restarted = {each.group for each in commands_of(swarm.spec, RollingRestart)}
        restarted |= {each.target.removesuffix("-1") for each in commands_of(swarm.spec, Restart)}
        assert restarted >= {*migrating(swarm.spec)}
        assert not {*migrating(swarm.spec)} & {"audit", "hand"}
    for swarm in DRAWN[:10]:
        assert parse_scenario(write_scenario(swarm.spec), "check.toml").spec.groups == swarm.spec.groups


def test_it_changes_no_draw_of_other_features() -> None:
    for seed, swarm in enumerate(DRAWN[:30]):
        other = draw(seed, MINUTE_US)
        if MIGRATING in other.features or swarm.core is not None or other.core is not None:
            continue
        assert swarm.spec.topics == other.spec.topics
        assert swarm.spec.producers == other.spec.producers
        assert swarm.spec.groups == other.spec.groups
        assert swarm.faults == other.faults


def test_only_a_bidirectional_policy_leaves_members_of_both_protocols_to_the_end() -> None:
    checked = 0
    for swarm in DRAWN:
        mixes = swarm.spec.config[POLICY] == "bidirectional"
        for group in swarm.spec.groups:
            if group.name in migrating(swarm.spec) and not group.static:
                assert is_restarted(swarm.spec, group) is not mixes
                checked += 1
    assert checked > 20


def test_classic_members_of_a_group_that_stays_a_consumer_group_are_not_held_to_its_convergence() -> None:
    swarm = draw(47, MINUTE_US, BOTH)
    assert swarm.spec.config[POLICY] == "upgrade"
    last = migrating(swarm.spec)
    said = "\n".join(converged(swarm.spec))
    assert {f'groups["{name}"].state' in said for name, protocol in last.items() if protocol == "classic"} == {False}
    allowed = msgspec.structs.replace(swarm.spec, config=swarm.spec.config | {POLICY: "bidirectional"})
    assert all(f'groups["{name}"].state' in "\n".join(converged(allowed)) for name in last)


@pytest.mark.parametrize(
    ("seed", "features"),
    [
        (12005, (MIGRATING,)),  # a new coordinator gives a classic member the broker's session
        (2030, (MIGRATING,)),  # upgraded when a member's leave has just broken off the assignment
        (2040, (MIGRATING,)),  # the coordinator hears a process that has a successor of the other protocol
        (2089, (MIGRATING,)),  # an election took the records of the upgrade
        (2102, BOTH),  # a classic member leaves a consumer group because its poll interval has passed
        (37, BOTH),  # a member's session ends after its group got other timeouts
        (1799, BOTH[:1]),  # records of an aborted transaction are compacted before they are read again
    ],
)
def test_a_seed_that_has_failed_holds(seed: int, features: tuple[str, ...]) -> None:
    assert fly_once(draw(seed, MINUTE_US, features).spec).found == ""


def test_a_writer_whose_poll_outlasts_its_interval_is_not_claimed_to_settle() -> None:
    """Seed 1942: 500 records a poll, one in each batch, brokers 15 ms apart."""
    spec = draw(1942, MINUTE_US, BOTH[:1]).spec
    writer = spec.groups[0]
    assert writes_too_slowly(spec, writer)
    near = msgspec.structs.replace(spec, network=msgspec.structs.replace(spec.network, latency_us=1_000))
    assert not writes_too_slowly(near, writer)


def test_a_group_that_commits_every_two_records_is_not_claimed_to_read_all() -> None:
    """Seed 1250: a static member that was refused until its session was over, and racks 20 ms apart."""
    spec = draw(1250, MINUTE_US, BOTH[:1]).spec
    reader = spec.groups[0]
    assert reads_too_slowly(spec, reader)
    near = msgspec.structs.replace(spec, network=msgspec.structs.replace(spec.network, between_racks_us=None))
    assert not reads_too_slowly(near, reader)
    assert not reads_too_slowly(spec, msgspec.structs.replace(reader, static=False))
