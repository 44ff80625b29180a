"""The assignors: Kafka's own and executed cases are in the oracles; here is what holds for every group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.assignors import ASSIGNORS, Subscription, TopicPartition
from cluster.assignors.sticky_balance import Movements

Counts = dict[str, int]
Group = tuple[Counts, dict[str, Subscription]]
Assignment = Mapping[str, list[TopicPartition]]

NAMES = sorted(ASSIGNORS)
STICKY = ["cooperative-sticky", "sticky"]


@st.composite
def groups(draw: st.DrawFn, *, equal: bool | None = None, claims: bool = True, lawful: bool = False) -> Group:
    """Any group: topics (one may not exist), members static or not, and what they claim to own.

    `lawful` claims do not contradict each other, as after a rebalance that everybody saw.
    """
    counts = draw(st.dictionaries(st.sampled_from(["a", "b", "c-d", "e"]), st.integers(0, 7), max_size=4))
    topics = st.lists(st.sampled_from([*counts, "missing"]), unique=True)
    same = draw(topics) if equal or (equal is None and draw(st.booleans())) else None
    members = draw(st.lists(st.sampled_from([f"m{n}" for n in range(12)]), min_size=1, max_size=7, unique=True))
    free = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count + 1)]
    subscriptions = {}
    for member in members:
        owned = draw(st.lists(st.sampled_from(free), unique=True)) if claims and free else []
        if lawful:
            free = [partition for partition in free if partition not in owned]
        subscriptions[member] = Subscription(
            tuple(draw(topics) if same is None else same),
            tuple(owned),
            draw(st.sampled_from([-1, 1, 2, 2, 3])) if owned and not lawful else (2 if owned else -1),
            draw(st.sampled_from([None, f"instance-{member}"])),
        )
    return counts, subscriptions


def wanted_partitions(counts: Counts, subscriptions: Mapping[str, Subscription]) -> list[TopicPartition]:
    topics = {topic for subscription in subscriptions.values() for topic in subscription.topics}
    return [TopicPartition(topic, number) for topic in sorted(topics) for number in range(counts.get(topic, 0))]


def assert_valid(counts: Counts, subscriptions: Mapping[str, Subscription], assignment: Assignment) -> None:
    assert list(assignment) == sorted(subscriptions), "every member, in order"
    given_out = sorted(partition for held in assignment.values() for partition in held)
    assert given_out == wanted_partitions(counts, subscriptions), "every wanted partition once"
    for member, held in assignment.items():
        assert {partition.topic for partition in held} <= set(subscriptions[member].topics)


def assert_balanced(subscriptions: Mapping[str, Subscription], assignment: Assignment) -> None:
    """No member has two more than one that could have taken one of them."""
    for fuller, emptier in permutations(assignment, 2):
        if len(assignment[fuller]) > len(assignment[emptier]) + 1:
            shared = {partition.topic for partition in assignment[fuller]} & set(subscriptions[emptier].topics)
            assert not shared, f"{fuller} has too much of {shared}, which {emptier} wants"


def next_round(
    subscriptions: Mapping[str, Subscription], assignment: Assignment, generation: int = 4
) -> dict[str, Subscription]:
    """What the members say in the next rebalance when all of them saw the last one."""
    return {
        member: Subscription(told.topics, tuple(assignment[member]), generation, told.group_instance_id)
        for member, told in subscriptions.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_assignor_answers_to_its_name_and_knows_its_protocols(name: str) -> None:
    assert ASSIGNORS[name].name == name
    assert ("COOPERATIVE" in ASSIGNORS[name].protocols) == (name == "cooperative-sticky")
    assert "EAGER" in ASSIGNORS[name].protocols


@pytest.mark.parametrize("name", NAMES)
def test_nobody_gets_nothing(name: str) -> None:
    assert ASSIGNORS[name].assign({"a": 3}, {}) == {}
    assert ASSIGNORS[name].assign({"a": 3}, {"m": Subscription(())}) == {"m": []}
    assert ASSIGNORS[name].assign({}, {"m": Subscription(("missing",))}) == {"m": []}


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky"])
@given(group=groups())
def test_every_assignment_is_valid(name: str, group: Group) -> None:
    assert_valid(*group, ASSIGNORS[name].assign(*group))


@pytest.mark.parametrize("name", NAMES)
@given(group=groups(), data=st.data())
def test_the_order_of_mappings_changes_nothing(name: str, group: Group, data: st.DataObject) -> None:
    counts, subscriptions = group
    expected = ASSIGNORS[name].assign(counts, subscriptions)
    again = ASSIGNORS[name].assign(
        {topic: counts[topic] for topic in data.draw(st.permutations(list(counts)))},
        {member: subscriptions[member] for member in data.draw(st.permutations(list(subscriptions)))},
    )
    assert list(again.items()) == list(expected.items())


@pytest.mark.parametrize("name", NAMES)
@given(group=groups())
def test_topics_that_nobody_wants_are_ignored(name: str, group: Group) -> None:
    counts, subscriptions = group
    with_more = ASSIGNORS[name].assign({**counts, "unwanted": 5}, subscriptions)
    assert with_more == ASSIGNORS[name].assign(counts, subscriptions)


@given(group=groups(claims=False))
def test_range_gives_neighbours_and_the_remainder_to_the_first(group: Group) -> None:
    counts, subscriptions = group
    assignment = ASSIGNORS["range"].assign(counts, subscriptions)
    for topic in counts:
        readers = [member for member, told in subscriptions.items() if topic in told.topics]
        readers.sort(key=lambda member: (subscriptions[member].group_instance_id is None, member))
        numbers = [[number for name, number in assignment[member] if name == topic] for member in readers]
        assert [number for held in numbers for number in held] == list(range(counts[topic] if readers else 0))
        assert all(0 <= len(earlier) - len(later) <= 1 for earlier, later in pairwise(numbers))


@given(group=groups(equal=True))
def test_round_robin_is_balanced_when_all_want_the_same(group: Group) -> None:
    sizes = [len(held) for held in ASSIGNORS["roundrobin"].assign(*group).values()]
    assert max(sizes) - min(sizes) <= 1


def test_a_static_member_keeps_its_place_under_a_new_member_id() -> None:
    def held_by(member: str, name: str) -> list[TopicPartition]:
        others = {"b": Subscription(("a",)), "c": Subscription(("a",))}
        return ASSIGNORS[name].assign({"a": 7}, {**others, member: Subscription(("a",), (), -1, "one")})[member]

    for name in ("range", "roundrobin"):
        assert held_by("a", name) == held_by("z", name)


@pytest.mark.slow
@given(group=groups())
def test_sticky_is_balanced_whatever_members_claim(group: Group) -> None:
    assert_balanced(group[1], ASSIGNORS["sticky"].assign(*group))


@given(group=groups())
def test_sticky_moves_nothing_when_nothing_changed(group: Group) -> None:
    counts, subscriptions = group
    assignment = ASSIGNORS["sticky"].assign(counts, subscriptions)
    for name in STICKY:
        assert ASSIGNORS[name].assign(counts, next_round(subscriptions, assignment)) == assignment


@given(group=groups(equal=True, lawful=True))
def test_with_equal_subscriptions_sticky_moves_no_more_than_balance_needs(group: Group) -> None:
    counts, subscriptions = group
    assignment = ASSIGNORS["sticky"].assign(counts, subscriptions)
    wanted = set(wanted_partitions(counts, subscriptions))
    held = {member: wanted.intersection(told.owned_partitions) for member, told in subscriptions.items()}
    quota, fuller = divmod(len(wanted), len(subscriptions))
    over_quota = sum(len(partitions) > quota for partitions in held.values())
    most_kept = sum(min(len(partitions), quota) for partitions in held.values()) + min(fuller, over_quota)
    assert sum(len(held[member].intersection(given_now)) for member, given_now in assignment.items()) >= most_kept


@given(group=groups())
def test_cooperative_sticky_gives_nothing_away_that_is_still_held(group: Group) -> None:
    counts, subscriptions = group
    assignment = ASSIGNORS["cooperative-sticky"].assign(counts, subscriptions)
    revoked = {
        partition
        for member, told in subscriptions.items()
        for partition in told.owned_partitions
        if partition not in assignment[member]
    }
    for member, held in assignment.items():
        assert revoked.isdisjoint(set(held).difference(subscriptions[member].owned_partitions))


@given(group=groups(lawful=True))
def test_cooperative_sticky_arrives_where_sticky_goes_at_once(group: Group) -> None:
    counts, subscriptions = group
    eager = ASSIGNORS["sticky"].assign(counts, subscriptions)
    first = ASSIGNORS["cooperative-sticky"].assign(counts, subscriptions)
    for member, held in first.items():
        assert set(held) <= set(eager[member]), "the first round holds back, and changes nothing else"
    rounds = 1
    assignment, told = first, next_round(subscriptions, first)
    while (settled := ASSIGNORS["cooperative-sticky"].assign(counts, told)) != assignment:
        rounds += 1
        assert rounds <= 4
        assignment, told = settled, next_round(told, settled, 4 + rounds)
    assert_valid(counts, subscriptions, assignment)
    assert_balanced(subscriptions, assignment)


def owners(assignment: Assignment) -> dict[str, str]:
    return {str(partition): member for member, held in assignment.items() for partition in held}


def claiming(generation: int, *partitions: str, topics: tuple[str, ...] = ("a",)) -> Subscription:
    return Subscription(topics, tuple(TopicPartition.parse(partition) for partition in partitions), generation)


def test_the_newest_claim_wins_and_equal_ones_void_each_other() -> None:
    newest = {"m1": claiming(1, "a-0", "a-1"), "m2": claiming(3, "a-1"), "m3": claiming(2, "a-1")}
    assert owners(ASSIGNORS["sticky"].assign({"a": 3}, newest)) == {"a-0": "m1", "a-1": "m2", "a-2": "m3"}

    voided = {"m1": claiming(2, "a-0", "a-2"), "m2": claiming(2, "a-2", "a-1"), "m3": claiming(-1)}
    assert owners(ASSIGNORS["sticky"].assign({"a": 3}, voided)) == {"a-0": "m1", "a-1": "m2", "a-2": "m3"}
    assert owners(ASSIGNORS["cooperative-sticky"].assign({"a": 3}, voided)) == {"a-0": "m1", "a-1": "m2"}


def test_a_newer_claim_outlives_the_older_ones_that_void_each_other() -> None:
    claims = {"m1": claiming(1, "a-0"), "m2": claiming(1, "a-0"), "m3": claiming(2, "a-0")}
    for order in permutations(claims):
        assignment = ASSIGNORS["cooperative-sticky"].assign({"a": 1}, {member: claims[member] for member in order})
        assert owners(assignment) == {"a-0": "m3"}


def test_a_join_costs_two_cooperative_rounds_and_a_leave_one() -> None:
    counts, topics = {"a": 6}, ("a",)
    alone = ASSIGNORS["cooperative-sticky"].assign(counts, {"m1": Subscription(topics)})
    joined = {**next_round({"m1": Subscription(topics)}, alone), "m2": Subscription(topics)}
    first = ASSIGNORS["cooperative-sticky"].assign(counts, joined)
    assert [len(held) for held in first.values()] == [3, 0]
    second = ASSIGNORS["cooperative-sticky"].assign(counts, next_round(joined, first))
    assert [len(held) for held in second.values()] == [3, 3]
    left = next_round(joined, second)
    del left["m1"]
    assert [len(held) for held in ASSIGNORS["cooperative-sticky"].assign(counts, left).values()] == [6]


def test_what_is_shed_comes_evenly_from_all_topics() -> None:
    counts = {"a": 6, "b": 6}
    before = {"m1": Subscription(("a", "b"))}
    alone = ASSIGNORS["sticky"].assign(counts, before)
    shared = ASSIGNORS["sticky"].assign(counts, {**next_round(before, alone), "m2": Subscription(("a", "b"))})
    assert Counter(partition.topic for partition in shared["m1"]) == {"a": 3, "b": 3}


def test_new_partitions_move_before_old_ones_unless_somebody_must_revoke_anyway() -> None:
    counts = {"a": 1, "b": 4}
    others = {"m1": Subscription(("a", "b")), "m2": Subscription(("a",))}
    held = ASSIGNORS["sticky"].assign(counts, {"m0": claiming(1, "b-0", topics=("b",)), **others})
    assert owners(held) == {"a-0": "m2", "b-0": "m0", "b-1": "m1", "b-2": "m1", "b-3": "m0"}

    revoking = {"m0": claiming(1, "b-0", "b-2", "a-0", topics=("b",)), **others}
    held = ASSIGNORS["sticky"].assign(counts, revoking)
    assert owners(held) == {"a-0": "m2", "b-0": "m1", "b-1": "m1", "b-2": "m0", "b-3": "m0"}


def test_what_must_move_goes_back_to_who_held_it_in_an_older_generation() -> None:
    members = {
        "m0": claiming(2, "b-0", topics=("a", "b")),
        "m1": Subscription(("b",)),
        "m2": claiming(1, "b-0", topics=("b",)),
    }
    assert owners(ASSIGNORS["sticky"].assign({"a": 2, "b": 1}, members)) == {"a-0": "m0", "a-1": "m0", "b-0": "m2"}


def test_partitions_of_a_topic_do_not_pass_each_other() -> None:
    members = {
        "m0": Subscription(("b",)),
        "m1": Subscription(("a", "b")),
        "m2": Subscription(("b",)),
        "m3": claiming(1, "b-0", "b-1", "b-2", "a-1", topics=("a", "b")),
    }
    held = ASSIGNORS["sticky"].assign({"a": 3, "b": 3}, members)
    assert owners(held) == {"a-0": "m1", "a-1": "m3", "a-2": "m1", "b-0": "m0", "b-1": "m2", "b-2": "m3"}


def test_a_stale_claim_of_another_does_not_take_a_partition_from_who_holds_it() -> None:
    members = {"m1": claiming(2, "a-0", topics=("a", "b")), "m2": claiming(1, "a-0", "a-1")}
    assert owners(ASSIGNORS["cooperative-sticky"].assign({"a": 2}, members)) == {"a-0": "m1", "a-1": "m2"}


def test_a_move_that_would_pass_an_earlier_one_takes_it_back_instead() -> None:
    movements = Movements()
    there, back = TopicPartition("a", 0), TopicPartition("a", 1)
    movements.record(there, "m1", "m2")
    assert movements.better_choice(back, "m2", "m1") == there
    assert movements.better_choice(TopicPartition("b", 1), "m2", "m1") == TopicPartition("b", 1)
    movements.record(there, "m2", "m3")
    assert movements.better_choice(back, "m3", "m1") == there
    assert movements.better_choice(there, "m3", "m2") == there
    movements.record(there, "m3", "m1")
    assert movements.better_choice(back, "m3", "m1") == back
