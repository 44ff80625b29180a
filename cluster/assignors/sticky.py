"""The sticky assignor: balance first, then move as little as possible.

Theory of operation. Members report the partitions that they own, and their generation. First the claims are settled:
for each partition the highest generation wins, and two claims of the same generation void each other, since one must be
wrong. Then one of two paths:

* *constrained*, for equal subscriptions: with P partitions and C members each member gets P // C, and P % C members one
  more. Members keep their partitions up to that quota; surplus and unowned partitions are assigned in turn. Linear in
  partitions and members, apart from sorting.
* *general*, otherwise: see `cluster.assignors.sticky_balance`.

Where Kafka follows the order of a hash map (which of several members at their maximum keeps it), this module follows
the order of member ids. So the result depends on the input alone.
Source: `org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor` (KIP-54, KIP-341); racks in `sticky_racks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from cluster.assignors.interface import PartitionRacks, PartitionsPerTopic, RebalanceProtocol, Subscription
from cluster.assignors.racks import NO_RACKS, NOWHERE, Racks
from cluster.assignors.sticky_balance import GeneralBalance
from cluster.assignors.sticky_racks import RackAwareQuotas
from cluster.protocol.names import TopicPartition
from cluster.reach import reached

_by_number_then_topic = itemgetter(1, 0)


class StickyAssignor:
    """Kafka's `sticky`: members revoke everything for the rebalance, and get it back as far as balance allows."""

    name = "sticky"
    protocols: tuple[RebalanceProtocol, ...] = ("EAGER",)
    remembers = True  # its last assignment, in its user data: an eager member owns none when it joins

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Assign the partitions; the contract is `Assignor.assign`."""
        return assign_sticky(partitions_per_topic, subscriptions).assignment

    def assign_by_rack(
        self,
        partitions_per_topic: PartitionsPerTopic,
        partition_racks: PartitionRacks,
        subscriptions: Mapping[str, Subscription],
    ) -> dict[str, list[TopicPartition]]:
        """Assign within racks where balance allows it."""
        return assign_sticky(partitions_per_topic, subscriptions, partition_racks).assignment


class StickyAssignment(NamedTuple):
    """An assignment, and its partitions that their old owners must revoke first.

    `transferring`: partition → its new owner; None if the path does not record it, and the caller has to compare.
    """

    assignment: dict[str, list[TopicPartition]]
    transferring: dict[TopicPartition, str] | None


class Claims(NamedTuple):
    """The settled claims: `held` by member id in order, `voided` the partitions of contradicting claims."""

    held: dict[str, list[TopicPartition]]
    voided: dict[TopicPartition, None]


def assign_sticky(
    partitions_per_topic: PartitionsPerTopic,
    subscriptions: Mapping[str, Subscription],
    partition_racks: PartitionRacks = NOWHERE,
) -> StickyAssignment:
    """Settle the claims, then assign by the path that the subscriptions allow.

    Topics without a subscriber are ignored, and so are claims on partitions that do not exist.
    """
    members = sorted(subscriptions)
    if not members:
        return StickyAssignment({}, {})
    wanted = dict.fromkeys([topic for member in members for topic in subscriptions[member].topics])
    counts = {topic: partitions_per_topic[topic] for topic in sorted(wanted) if topic in partitions_per_topic}
    claims = settle_claims(counts, subscriptions, members)
    every = [TopicPartition(topic, number) for topic in counts for number in range(counts[topic])]
    racks = Racks(subscriptions, partition_racks, every) if partition_racks else NO_RACKS
    if not _subscriptions_equal([subscriptions[member] for member in members], wanted):
        reached("sticky: topics differ")
        assignment, transferring = GeneralBalance(counts, subscriptions, claims.held, racks).assign(), None
    elif racks.matter:
        quotas = RackAwareQuotas(counts, claims.held, claims.voided, racks)
        quotas.assign()
        assignment, transferring = quotas.assignment, quotas.transferring
    else:
        assignment, transferring = _assign_constrained(counts, claims)
    for held in assignment.values():
        held.sort()
    return StickyAssignment(assignment, transferring)


def settle_claims(counts: Mapping[str, int], subscriptions: Mapping[str, Subscription], members: list[str]) -> Claims:
    """Decide the valid claim on each existing partition; `counts` maps topic → number of partitions.

    Generation −1 is the oldest. An older claim is valid unless another member contradicts it (KIP-341).
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
    """Whether every member subscribes to all of `wanted`, the union of all subscriptions."""
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
    """Cut every member's list to `quota`, or to one more for the first `fuller` members that hold so many.

    Lists are cut by partition number, so that the surplus comes evenly from all topics. Returns the removed partitions
    with their members, and the members at the quota, which may get one more if fewer than `fuller` have.
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
    """The member for each free partition: members below the quota in turn, then those at the quota.

    A member that reaches the quota here comes after those that were at it before.
    """
    missing = {member: quota - len(claims) for member, claims in held.items() if len(claims) < quota}
    turns = range(max(missing.values(), default=0))
    below = [member for turn in turns for member, lacks in missing.items() if lacks > turn]
    return [*below, *at_quota, *sorted(missing, key=missing.__getitem__)]
