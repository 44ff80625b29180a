"""The sticky assignor: balance first, then move as little as possible.

Theory of operation. Members say what they hold and since which generation. First the claims are settled: for each
partition the highest generation wins, and two claims of one generation void each other, for one of them must be wrong.
Then one of two paths:

* *constrained*, when all subscriptions are equal: with P partitions and C members everybody gets P // C, and P % C
  members one more. Members keep what they hold up to that quota; what they shed and what nobody held is dealt in turn.
  Linear in partitions and members, apart from sorting.
* *general*, otherwise: see `cluster.assignors.sticky_balance`.

Where Kafka follows the order of a hash map (which of several members at their maximum keeps it) this follows the order
of member ids, so that the answer depends on nothing but the input.
Source: `org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor`, without racks (KIP-54, KIP-341).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from cluster.assignors.interface import PartitionsPerTopic, RebalanceProtocol, Subscription
from cluster.assignors.sticky_balance import GeneralBalance
from cluster.protocol.names import TopicPartition
from cluster.reach import reached

_by_number_then_topic = itemgetter(1, 0)


class StickyAssignor:
    """Kafka's `sticky`: every member stops for the rebalance, and gets back what it held wherever balance allows."""

    name = "sticky"
    protocols: tuple[RebalanceProtocol, ...] = ("EAGER",)
    remembers = True  # its last assignment, in its user data: an eager member owns nothing any more when it joins

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Give the partitions to the members; the contract is `Assignor.assign`."""
        return assign_sticky(partitions_per_topic, subscriptions).assignment


class StickyAssignment(NamedTuple):
    """An assignment, and the partitions in it whose old owner must revoke them first.

    `transferring` is a partition's new owner; None says that the path does not keep track, and that comparing what
    members held with what they get tells.
    """

    assignment: dict[str, list[TopicPartition]]
    transferring: dict[TopicPartition, str] | None


class Claims(NamedTuple):
    """What the members held, settled: `held` by member id in order, `voided` the partitions of contradicting claims."""

    held: dict[str, list[TopicPartition]]
    voided: dict[TopicPartition, None]


def assign_sticky(
    partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
) -> StickyAssignment:
    """Settle the claims, then assign by the path that the subscriptions allow.

    Topics that nobody subscribes to are ignored, as are claims on partitions that do not exist.
    """
    members = sorted(subscriptions)
    if not members:
        return StickyAssignment({}, {})
    wanted = dict.fromkeys(topic for member in members for topic in subscriptions[member].topics)
    counts = {topic: partitions_per_topic[topic] for topic in sorted(wanted) if topic in partitions_per_topic}
    claims = settle_claims(counts, subscriptions, members)
    if _subscriptions_equal([subscriptions[member] for member in members], wanted):
        assignment, transferring = _assign_constrained(counts, claims)
    else:
        reached("sticky: topics differ")
        assignment, transferring = GeneralBalance(counts, subscriptions, claims.held).assign(), None
    for held in assignment.values():
        held.sort()
    return StickyAssignment(assignment, transferring)


def settle_claims(counts: Mapping[str, int], subscriptions: Mapping[str, Subscription], members: list[str]) -> Claims:
    """Decide for each existing partition whose claim on it stands; `counts` is topic to number of partitions.

    Generation −1 is the oldest of all. An older claim stands as long as nobody contradicts it (KIP-341).
    """
    held = {
        member: [claim for claim in subscriptions[member].owned_partitions if claim[1] < counts.get(claim[0], 0)]
        for member in members
    }
    owners: dict[TopicPartition, str] = {}
    for member in members:
        owners.update(dict.fromkeys(held[member], member))
    if len(owners) == sum(map(len, held.values())):
        return Claims(held, {})

    return _settle_contradictions(held, subscriptions)


def _settle_contradictions(
    held: Mapping[str, list[TopicPartition]], subscriptions: Mapping[str, Subscription]
) -> Claims:
    owners: dict[TopicPartition, str] = {}
    voided: dict[TopicPartition, None] = {}
    for member, claims in held.items():
        generation = subscriptions[member].generation_id
        for claim in claims:
            other = owners.setdefault(claim, member)
            if other == member:
                continue
            other_generation = subscriptions[other].generation_id
            if generation > other_generation:
                owners[claim] = member
                voided.pop(claim, None)
            elif generation == other_generation:
                voided[claim] = None
    settled: dict[str, list[TopicPartition]] = {member: [] for member in held}
    for claim, member in owners.items():
        if claim not in voided:
            settled[member].append(claim)
    return Claims(settled, voided)


def _subscriptions_equal(subscriptions: list[Subscription], wanted: Mapping[str, None]) -> bool:
    """Whether everybody subscribes to all of `wanted`, which is what anybody subscribes to."""
    first = subscriptions[0].topics
    return all(
        subscription.topics == first or len(dict.fromkeys(subscription.topics)) == len(wanted)
        for subscription in subscriptions
    ) and len(dict.fromkeys(first)) == len(wanted)


def _assign_constrained(
    counts: Mapping[str, int], claims: Claims
) -> tuple[dict[str, list[TopicPartition]], dict[TopicPartition, str]]:
    """Quotas for all, topics in the order of `counts`; takes over the lists in `claims`."""
    held = claims.held
    quota, fuller = divmod(sum(counts.values()), len(held))
    shed, at_quota = _keep_within_quota(held, quota, fuller)
    kept = dict.fromkeys(chain.from_iterable(held.values()))
    free = [
        TopicPartition(topic, number)
        for topic, count in counts.items()
        for number in range(count)
        if (topic, number) not in kept
    ]
    takers = _takers(held, quota, at_quota)
    transferring: dict[TopicPartition, str] = {}
    for partition, member in zip(free, takers, strict=False):
        held[member].append(partition)
        if shed.get(partition, member) != member or partition in claims.voided:
            transferring[partition] = member
    return held, transferring


def _keep_within_quota(
    held: dict[str, list[TopicPartition]], quota: int, fuller: int
) -> tuple[dict[TopicPartition, str], list[str]]:
    """Cut every member's list to `quota`, or to one more for the first `fuller` members that hold so much.

    Lists are cut in the order of partition numbers, so that the surplus is shed evenly over topics. Answers what was
    shed and by whom, and the members at their quota, which may yet become fuller when any of the `fuller` are left.
    """
    shed: dict[TopicPartition, str] = {}
    at_quota: list[str] = []
    for member, claims in held.items():
        if len(claims) < quota:
            continue
        keep = quota
        if fuller and len(claims) > quota:
            keep += 1
            fuller -= 1
        else:
            at_quota.append(member)
        if len(claims) > keep:
            claims.sort(key=_by_number_then_topic)
            shed.update(dict.fromkeys(claims[keep:], member))
            del claims[keep:]
    return shed, at_quota


def _takers(held: Mapping[str, list[TopicPartition]], quota: int, at_quota: list[str]) -> list[str]:
    """Who takes the free partitions, one by one: members below the quota in turn, then those at it.

    Who reaches the quota on the way queues up behind those that were there before.
    """
    missing = {member: quota - len(claims) for member, claims in held.items() if len(claims) < quota}
    turns = range(max(missing.values(), default=0))
    below = [member for turn in turns for member, lacks in missing.items() if lacks > turn]
    return [*below, *at_quota, *sorted(missing, key=missing.__getitem__)]
