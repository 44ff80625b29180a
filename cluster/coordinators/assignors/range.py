"""The coordinator's range assignor: each topic by itself, contiguous ranges, the first members get the remainder."""

from __future__ import annotations

from cluster.coordinators.assignors.interface import (
    ConsumerGroupSpec,
    ServerAssignor,
    TargetAssignment,
    subscribed_counts,
)


class ServerRangeAssignor(ServerAssignor):
    """Kafka's `range` of the coordinator: by number to the topic's subscribers, static members first by instance id.

    Unlike the client's `range` it knows no racks. In topics with equal counts and subscribers a member gets the same
    partition numbers. The target so far does not matter: a member's range follows from its place, and a member that
    joins or leaves can move every range behind it.

    Source: `org.apache.kafka.coordinator.group.assignor.RangeAssignor`.
    """

    name = "range"

    def assign(self, group: ConsumerGroupSpec) -> TargetAssignment:
        """Assign ranges; the contract is `ServerAssignor.assign`."""
        members = group.members

        def position(member: str) -> tuple[bool, str]:
            instance = members[member].instance_id
            return (True, member) if instance is None else (False, instance)

        subscribers: dict[str, list[str]] = {}
        for member in sorted(members, key=position):
            for topic in dict.fromkeys(members[member].topics):
                subscribers.setdefault(topic, []).append(member)
        ranges: dict[str, list[str]] = {member: [] for member in sorted(members)}
        for topic, count in subscribed_counts(group).items():
            readers = subscribers[topic]
            share, one_more = divmod(count, len(readers))
            names = [f"{topic}-{number}" for number in range(count)]
            start = 0
            for member in readers if share else readers[:one_more]:
                end = start + share + (one_more > 0)
                ranges[member] += names[start:end]
                start = end
                one_more -= one_more > 0
        return {member: tuple(partitions) for member, partitions in ranges.items()}
