"""What the swarm draws for groups of the new protocol: static members, patterns, assignors that change."""

import pytest

from cluster.commands import Set, Subscribe, text_of
from cluster.spec import GroupSpec, ScenarioSpec
from recordings.scenarios.loader import parse_scenario
from recordings.scenarios.writer import write_scenario
from recordings.swarm.consumer_protocol import EVERY_TOPIC, topics_read
from recordings.swarm.faults import STARTED_LAST_MS
from recordings.swarm.generator import Swarm, draw
from recordings.swarm.parts import commands_of
from recordings.swarm.seeds import fly_once

MINUTE_US = 60_000_000
NEW = ("consumer_protocol", "subscribe", "kill members")
DRAWN: list[Swarm] = [draw(seed, MINUTE_US, NEW) for seed in range(60)]


def groups_of(spec: ScenarioSpec) -> list[GroupSpec]:
    return [group for group in spec.groups if group.speaks_new_protocol]


def test_every_kind_of_group_is_drawn_and_its_scenario_is_one_that_a_user_could_write() -> None:
    groups = [group for each in DRAWN for group in groups_of(each.spec)]
    assert {group.static for group in groups} == {True, False}
    assert {group.topic_regex for group in groups} >= {"", "t0", EVERY_TOPIC}
    assert {group.config.get("group.remote.assignor") for group in groups} == {None, "uniform", "range"}
    assert any(own.config.get("group.remote.assignor") for group in groups for own in group.own)
    assert any(own.config.get("client.rack") for group in groups for own in group.own)
    assert any(commands_of(each.spec, Set) for each in DRAWN)
    for each in DRAWN[:20]:
        assert parse_scenario(write_scenario(each.spec), "check.toml").spec.groups == each.spec.groups


def test_it_changes_no_draw_of_other_features() -> None:
    for seed, swarm in enumerate(DRAWN[:30]):
        other = draw(seed, MINUTE_US, NEW[1:])
        if "consumer_protocol" in other.features or swarm.core is not None or other.core is not None:
            continue
        assert swarm.spec.topics == other.spec.topics
        assert swarm.spec.producers == other.spec.producers
        assert swarm.faults == other.faults
        assert [name for name in swarm.features if name != "consumer_protocol"] == [*other.features]


def test_no_command_takes_a_member_s_pattern_away() -> None:
    for swarm in DRAWN:
        by_pattern = [name for g in groups_of(swarm.spec) if g.topic_regex for name in g.instances()]
        assert not [each for each in commands_of(swarm.spec, Subscribe) if each.member in by_pattern]


def test_topics_that_a_pattern_matches_count_as_the_group_s() -> None:
    matched = {group.topic_regex: topics_read(each.spec, group) for each in DRAWN for group in groups_of(each.spec)}
    assert matched["t0"] == ("t0",)
    assert matched[EVERY_TOPIC] == ("t0", "t1")


def test_a_killed_static_member_starts_again_when_its_session_is_over() -> None:
    """UNRELEASED_INSTANCE_ID refuses it until then, and no orchestrator is there to start it."""
    checked = 0
    for swarm in DRAWN:
        last_us = swarm.healed_us + STARTED_LAST_MS * 1_000
        started = {text_of(step.command) for step in swarm.spec.steps if step.at_us == last_us}
        inside = None if swarm.core is None else swarm.core.members
        for group in groups_of(swarm.spec):
            expected = [name for name in group.instances() if inside is None or name in inside] if group.static else []
            if any(f"rollout deployment {group.name}" in text_of(step.command) for step in swarm.spec.steps):
                continue
            assert started >= {f"start {name}" for name in expected}
            checked += len(expected)
    assert checked > 10


@pytest.mark.parametrize("seed", [1467, 1627])
def test_a_marker_in_the_place_of_a_truncated_record_is_no_fault_of_the_cleaner(seed: int) -> None:
    """The new leader's first append is a marker, at the offset of a record that the old leader alone had."""
    assert fly_once(draw(seed, MINUTE_US, NEW[:1]).spec).invariant == ""


def test_pods_of_a_rollout_start_again_when_their_session_is_over() -> None:
    """No step can name them: the group is scaled. Their leave may have failed, and the coordinator refuses them."""
    swarm = draw(1818, MINUTE_US, NEW[:1])
    last_us = swarm.healed_us + STARTED_LAST_MS * 1_000
    assert "scale g0 to 2" in {text_of(step.command) for step in swarm.spec.steps if step.at_us == last_us}
    assert fly_once(swarm.spec).invariant == ""
