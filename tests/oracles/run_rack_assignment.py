"""assignor_racks.json: one assignment of members and replicas in racks, compared as a set for each member (KIP-881)."""

from __future__ import annotations

from typing import Any

from cluster.assignors import ASSIGNORS, RackAwareAssignor, Subscription, TopicPartition


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    """`partition_racks`: topic → for each partition the racks of its replicas, "" for a replica without one."""
    del document
    racks = {
        TopicPartition(topic, number): tuple(sorted(filter(None, dict.fromkeys(replicas))))
        for topic, partitions in vector["partition_racks"].items()
        for number, replicas in enumerate(partitions)
    }
    subscriptions = {
        member: Subscription(
            tuple(told["topics"]),
            tuple(TopicPartition.parse(name) for name in told.get("owned", ())),
            told.get("generation", -1),
            rack_id=told.get("rack", ""),
        )
        for member, told in vector["members"].items()
    }
    assignor = ASSIGNORS[vector["assignor"]]
    assert isinstance(assignor, RackAwareAssignor)
    counts = {topic: len(partitions) for topic, partitions in vector["partition_racks"].items()}
    given = assignor.assign_by_rack(counts, racks, subscriptions)
    expected = vector["expect"]["assignment"]
    assert {member: sorted(str(partition) for partition in held) for member, held in given.items()} == {
        member: sorted(expected[member]) for member in vector["members"]
    }
