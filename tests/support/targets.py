"""What holds for every target assignment (KIP-848), written apart from the assignors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from cluster.coordinators.assignors import ConsumerGroupSpec
from cluster.protocol.names import TopicPartition, topic_of

Target = Mapping[str, Sequence[str]]


def in_order(partitions: Sequence[str]) -> list[str]:
    """By topic and number."""
    return [str(one) for one in sorted(TopicPartition.parse(name) for name in partitions)]


def kept(group: ConsumerGroupSpec, target: Target, member: str) -> int:
    """How many partitions of its target so far a member keeps."""
    return len(set(group.members[member].assigned) & set(target[member]))


def still_subscribed(group: ConsumerGroupSpec, member: str) -> int:
    """How many partitions of its target so far a member could keep."""
    spec = group.members[member]
    return sum(topic_of(name) in spec.topics and topic_of(name) in group.partitions_per_topic for name in spec.assigned)


def assert_valid(group: ConsumerGroupSpec, target: Target) -> None:
    """Every member is there, and every partition once, with a member that subscribes to its topic."""
    assert list(target) == sorted(group.members), "every member, in order"
    subscribed = {topic for spec in group.members.values() for topic in spec.topics}
    counts = {topic: count for topic, count in group.partitions_per_topic.items() if topic in subscribed}
    every = [f"{topic}-{number}" for topic, count in counts.items() for number in range(count)]
    assert in_order([name for held in target.values() for name in held]) == in_order(every), "each partition once"
    for member, held in target.items():
        assert list(held) == in_order(held), "by topic and number"
        assert {topic_of(name) for name in held} <= set(group.members[member].topics), f"{member} subscribes"


def assert_balanced(group: ConsumerGroupSpec, target: Target) -> None:
    """No member has two more than one that could have taken one of them."""
    for fuller, emptier in permutations(target, 2):
        if len(target[fuller]) > len(target[emptier]) + 1:
            shared = {topic_of(name) for name in target[fuller]} & set(group.members[emptier].topics)
            assert not shared, f"{fuller} has too much of {shared}, to which {emptier} subscribes"


def assert_moves_least(group: ConsumerGroupSpec, target: Target) -> None:
    """With equal subscriptions: as many partitions stay as a balanced target allows, and no member loses and gains."""
    sizes = [len(held) for held in target.values()]
    share, one_more = divmod(sum(sizes), len(sizes))
    owned = {member: still_subscribed(group, member) for member in target}
    most = sum(min(count, share) for count in owned.values())
    most += min(one_more, sum(count > share for count in owned.values()))
    assert sum(kept(group, target, member) for member in target) == most, "partitions that stay"
    for member, held in target.items():
        assert kept(group, target, member) in (owned[member], len(held)), f"{member} loses and gains"
