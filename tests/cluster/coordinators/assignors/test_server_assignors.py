"""The coordinator's assignors: what holds for every group; results of Kafka's own are in the oracles."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.assignors import ASSIGNORS, Subscription
from cluster.coordinators.assignors import (
    SERVER_ASSIGNORS,
    ConsumerGroupSpec,
    ConsumerMemberSpec,
    SubscriptionType,
    subscription_type,
)
from cluster.protocol.names import TopicPartition
from tests.support.targets import assert_balanced, assert_moves_least, assert_valid

NAMES = list(SERVER_ASSIGNORS)
TOPICS = ("a", "b", "c-d", "e", "missing")


@st.composite
def groups(draw: st.DrawFn, *, equal: bool | None = None) -> ConsumerGroupSpec:
    """Any group: members static or not, with any lawful target so far, and a topic that does not exist."""
    counts = draw(st.dictionaries(st.sampled_from(TOPICS[:-1]), st.integers(1, 40), max_size=4))
    subscriptions = st.lists(st.sampled_from(TOPICS), unique=True).map(tuple)
    same = draw(subscriptions) if equal or (equal is None and draw(st.booleans())) else None
    ids = draw(st.lists(st.sampled_from([f"m{n}" for n in range(12)]), min_size=1, max_size=7, unique=True))
    target: dict[str, list[str]] = {member: [] for member in ids}
    chance = Random(draw(st.integers(0, 999)))  # an owner for each partition, drawn singly, took most of the time
    for name in sorted(TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)):
        owner = chance.choice([*ids, None])
        if owner is not None:
            target[owner].append(str(name))
    members = {
        member: ConsumerMemberSpec(
            draw(subscriptions) if same is None else same,
            draw(st.sampled_from([None, f"instance-{member[::-1]}"])),
            tuple(target[member]),
        )
        for member in ids
    }
    kind: SubscriptionType = "HETEROGENEOUS"
    if len({tuple(sorted(member.topics)) for member in members.values()}) == 1 and draw(st.integers(0, 4)):
        kind = "HOMOGENEOUS"  # and now and then the other one: a mix of names and a regular expression
    return ConsumerGroupSpec(members, counts, kind)


def with_target(group: ConsumerGroupSpec, target: Mapping[str, tuple[str, ...]]) -> ConsumerGroupSpec:
    members = {member: spec._replace(assigned=target[member]) for member, spec in group.members.items()}
    return group._replace(members=members)


def test_uniform_is_the_first_and_so_the_default() -> None:
    assert NAMES == ["uniform", "range"]
    assert [assignor.name for assignor in SERVER_ASSIGNORS.values()] == NAMES


@pytest.mark.parametrize("kind", ["HOMOGENEOUS", "HETEROGENEOUS"])
@pytest.mark.parametrize("name", NAMES)
def test_a_group_without_members_or_topics(name: str, kind: SubscriptionType) -> None:
    assign = SERVER_ASSIGNORS[name].assign
    assert assign(ConsumerGroupSpec({}, {"a": 3}, kind)) == {}
    assert assign(ConsumerGroupSpec({"m": ConsumerMemberSpec(())}, {"a": 3}, kind)) == {"m": ()}
    departed = ConsumerMemberSpec(("missing",), None, ("a-0",))
    assert assign(ConsumerGroupSpec({"m": departed}, {"a": 3}, kind)) == {"m": ()}


@pytest.mark.parametrize("name", NAMES)
@given(group=groups())
def test_every_target_is_valid(name: str, group: ConsumerGroupSpec) -> None:
    assert_valid(group, SERVER_ASSIGNORS[name].assign(group))


@pytest.mark.parametrize("name", NAMES)
@given(group=groups(), data=st.data())
def test_the_order_of_mappings_changes_nothing(name: str, group: ConsumerGroupSpec, data: st.DataObject) -> None:
    again = ConsumerGroupSpec(
        {member: group.members[member] for member in data.draw(st.permutations(list(group.members)))},
        {
            topic: group.partitions_per_topic[topic]
            for topic in data.draw(st.permutations(list(group.partitions_per_topic)))
        },
        group.subscription_type,
    )
    assign = SERVER_ASSIGNORS[name].assign
    assert list(assign(again).items()) == list(assign(group).items())


@pytest.mark.parametrize("name", NAMES)
@given(group=groups())
def test_a_target_is_its_own_next_target(name: str, group: ConsumerGroupSpec) -> None:
    target = SERVER_ASSIGNORS[name].assign(group)
    assert SERVER_ASSIGNORS[name].assign(with_target(group, target)) == target


@given(group=groups(equal=True))
def test_uniform_moves_no_more_than_balance_needs(group: ConsumerGroupSpec) -> None:
    group = group._replace(subscription_type="HOMOGENEOUS")
    target = SERVER_ASSIGNORS["uniform"].assign(group)
    sizes = [len(held) for held in target.values()]
    assert max(sizes) - min(sizes) <= 1
    assert_moves_least(group, target)


def test_a_hundred_topics_and_forty_nine_members() -> None:
    """`UniformHomogeneousAssignmentBuilderTest.testValidityAndBalanceForLargeSampleSet`."""
    counts = {f"topic-{number}": 3 for number in range(1, 101)}
    members = {f"member{number}": ConsumerMemberSpec(tuple(counts)) for number in range(1, 50)}
    group = ConsumerGroupSpec(members, counts, "HOMOGENEOUS")
    target = SERVER_ASSIGNORS["uniform"].assign(group)
    assert_valid(group, target)
    assert {len(held) for held in target.values()} == {6, 7}


@given(group=groups(equal=False))
def test_uniform_is_balanced_for_different_subscriptions(group: ConsumerGroupSpec) -> None:
    assert_balanced(group, SERVER_ASSIGNORS["uniform"].assign(group))


@given(group=groups(equal=False), data=st.data())
def test_a_member_that_leaves_moves_its_own_partitions_only(group: ConsumerGroupSpec, data: st.DataObject) -> None:
    """With equal subscriptions; different ones can make others pass partitions on."""
    topics = data.draw(st.sampled_from([member.topics for member in group.members.values()]))
    members = {member: spec._replace(topics=topics) for member, spec in group.members.items()}
    group = group._replace(members=members, subscription_type="HOMOGENEOUS")
    settled = with_target(group, SERVER_ASSIGNORS["uniform"].assign(group))
    leaver = data.draw(st.sampled_from(sorted(settled.members)))
    rest = settled._replace(members={m: spec for m, spec in settled.members.items() if m != leaver})
    target = SERVER_ASSIGNORS["uniform"].assign(rest)
    for member, held in target.items():
        assert set(rest.members[member].assigned) <= set(held)


@given(group=groups())
def test_range_is_the_clients_range_without_racks(group: ConsumerGroupSpec) -> None:
    subscriptions = {
        member: Subscription(spec.topics, (), -1, spec.instance_id) for member, spec in group.members.items()
    }
    expected = ASSIGNORS["range"].assign(group.partitions_per_topic, subscriptions)
    target = SERVER_ASSIGNORS["range"].assign(group)
    assert target == {member: tuple(str(one) for one in held) for member, held in expected.items()}


def test_a_member_above_its_quota_keeps_what_javas_hash_set_returns_first() -> None:
    """Ten numbers have a table of 16 buckets, so 27 comes with 11, and 31 with 15: not simply the smallest stay."""
    held = tuple(f"a-{number}" for number in (11, 12, 13, 14, 15, 27, 28, 29, 30, 31))
    rest = tuple(f"a-{number}" for number in range(32) if f"a-{number}" not in held)
    members = {
        "m1": ConsumerMemberSpec(("a",), None, rest[:11]),
        "m2": ConsumerMemberSpec(("a",), None, rest[11:]),
        "m3": ConsumerMemberSpec(("a",), None, held),
        "m4": ConsumerMemberSpec(("a",)),
    }
    target = SERVER_ASSIGNORS["uniform"].assign(ConsumerGroupSpec(members, {"a": 32}, "HOMOGENEOUS"))
    assert target["m3"] == ("a-11", "a-12", "a-13", "a-14", "a-27", "a-28", "a-29", "a-30")


@pytest.mark.parametrize(
    ("subscriptions", "expected"),
    [
        ([], "HOMOGENEOUS"),
        ([((), "")], "HOMOGENEOUS"),
        ([(("a", "b"), ""), (("b", "a"), "")], "HOMOGENEOUS"),
        ([(("a", "b"), ""), (("a",), "")], "HETEROGENEOUS"),
        ([(("a",), ""), ((), "")], "HETEROGENEOUS"),
        ([((), "a.*"), ((), "a.*")], "HOMOGENEOUS"),
        ([((), "a.*"), ((), "a+")], "HETEROGENEOUS"),
        ([((), "a.*"), (("a",), "")], "HETEROGENEOUS"),
        ([(("a",), "a.*"), (("a",), "a.*")], "HETEROGENEOUS"),
    ],
)
def test_the_subscription_type(subscriptions: list[tuple[tuple[str, ...], str]], expected: str) -> None:
    assert subscription_type(subscriptions) == expected
