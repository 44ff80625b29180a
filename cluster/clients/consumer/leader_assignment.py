"""A member's subscription for its group's leader, and the leader's assignment of partitions to all members.

A custom assignor may break its contract. Then assign() has failed, and poll() throws its exception as in Kafka:
SyncGroup is not sent, and the leader's application ends.
Source: `ConsumerCoordinator.metadata`, `onLeaderElected`, `validateCooperativeAssignment`.
"""

from collections.abc import Mapping, Sequence

from cluster.assignors import ASSIGNORS, Assignor, RackAwareAssignor, Subscription, TopicPartition
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.protocol.messages import JoinGroupResponse, MemberMetadata

Assignment = Mapping[str, Sequence[TopicPartition]]


class AssignorError(Exception):
    """An assignor raised, or its assignment breaks the contract; the message describes how."""


def metadata_of(consumer: ConsumerHost, assignor: Assignor, remembered: MemberMetadata) -> MemberMetadata:
    """The subscription that one of the member's assignors sends.

    `remembered`: the last assignment. An eager sticky assignor sends it in its user data, because an eager member owns
    nothing when it joins. Source: `ConsumerProtocolSubscription` v3, `StickyAssignor.subscriptionUserData`.
    """
    rack = consumer.config.client_rack
    if getattr(assignor, "remembers", False):
        return MemberMetadata(
            consumer.topics, remembered.owned_partitions, remembered.generation, consumer.generation, rack
        )
    return MemberMetadata(consumer.topics, consumer.owned, consumer.generation, rack=rack)


def assign_partitions(consumer: ConsumerHost, joined: JoinGroupResponse) -> dict[str, tuple[str, ...]]:
    """Assign the group's partitions with the assignor that the coordinator chose. Raises AssignorError."""
    assignor = next(one for one in consumer.assignors if one.name == joined.protocol)
    topics = sorted({topic: None for member in joined.members for topic in member.metadata.topics})
    counts = {topic: len(consumer.topic_partitions[topic]) for topic in topics if topic in consumer.topic_partitions}
    subscriptions = {
        member.member_id: Subscription(
            member.metadata.topics,
            tuple(TopicPartition.parse(name) for name in member.metadata.owned_partitions),
            member.metadata.generation,
            member.instance_id,
            member.metadata.rack,
        )
        for member in joined.members
    }
    if isinstance(assignor, RackAwareAssignor) and any(each.rack_id for each in subscriptions.values()):
        assignment: Assignment = assignor.assign_by_rack(counts, _partition_racks(consumer, topics), subscriptions)
    elif ASSIGNORS.get(assignor.name) is assignor:
        assignment = assignor.assign(counts, subscriptions)
    else:
        assignment = _assign_with_custom(assignor, counts, subscriptions, cooperative=consumer.cooperative)
    return {
        member_id: tuple(str(partition) for partition in partitions) for member_id, partitions in assignment.items()
    }


def _partition_racks(consumer: ConsumerHost, topics: list[str]) -> dict[TopicPartition, tuple[str, ...]]:
    names = [name for topic in topics for name in consumer.topic_partitions.get(topic, ())]
    return {TopicPartition.parse(name): tuple(filter(None, consumer.racks_of(name))) for name in names}


def _assign_with_custom(
    assignor: Assignor, counts: dict[str, int], subscriptions: dict[str, Subscription], *, cooperative: bool
) -> Assignment:
    try:
        assignment = assignor.assign(dict(counts), dict(subscriptions))
    except Exception as error:
        raise AssignorError(f"assignor {assignor.name} raised {type(error).__name__}: {error}") from error
    violation = _contract_violation(assignment, counts, subscriptions)
    if violation is None and cooperative:
        violation = _cooperative_violation(assignment, subscriptions)
    if violation is not None:
        raise AssignorError(f"assignor {assignor.name} broke its contract: {violation}")
    return {
        member: [TopicPartition(*partition) for partition in assignment.get(member, ())] for member in subscriptions
    }


def _contract_violation(
    assignment: object, counts: dict[str, int], subscriptions: dict[str, Subscription]
) -> str | None:
    """Describe how an assignment breaks the assignor's contract; None if it does not."""
    if not isinstance(assignment, Mapping):
        return f"it answered {type(assignment).__name__}, not a mapping of member ids to partitions"
    owner: dict[TopicPartition, str] = {}
    for member, partitions in assignment.items():
        if member not in subscriptions:
            return f"{member!r} is not a member of the group"
        if not isinstance(partitions, list | tuple):
            return f"{member} gets {type(partitions).__name__}, not a list of partitions"
        for one in partitions:
            if not (isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and type(one[1]) is int):
                return f"{member} gets {one!r}, which is not a TopicPartition"
            partition = TopicPartition(*one)
            if partition in owner:
                return f"{partition} was given to {owner[partition]} and to {member}"
            if partition.topic not in subscriptions[member].topics:
                return f"{partition} was given to {member}, which does not subscribe to {partition.topic}"
            if not 0 <= partition.partition < counts.get(partition.topic, 0):
                return f"{partition}, given to {member}, does not exist"
            owner[partition] = member
    wanted = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    missing = next((partition for partition in wanted if partition not in owner), None)
    return f"{missing} was not assigned" if missing is not None else None


def _cooperative_violation(assignment: Assignment, subscriptions: dict[str, Subscription]) -> str | None:
    """Describe a partition that is assigned while another member still owns it (COOPERATIVE); None without one."""
    for member, partitions in assignment.items():
        for other, subscription in subscriptions.items():
            if other == member:
                continue
            given = next((one for one in partitions if one in subscription.owned_partitions), None)
            if given is not None and given not in assignment.get(other, ()):
                return f"{TopicPartition(*given)} was given to {member} while {other} still owns it (COOPERATIVE)"
    return None
