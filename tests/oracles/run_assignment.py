"""assignor_range.json, assignor_roundrobin.json: one assignment, compared as a set for each member."""

from __future__ import annotations

from typing import Any

from cluster.assignors import ASSIGNORS, Subscription


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    subscriptions = {
        member: Subscription(tuple(told["topics"]), group_instance_id=told.get("group_instance_id"))
        for member, told in vector["members"].items()
    }
    given = ASSIGNORS[vector["assignor"]].assign(vector["partitions_per_topic"], subscriptions)
    expected = vector["expect"]["assignment"]
    assert {member: sorted(str(partition) for partition in held) for member, held in given.items()} == {
        member: sorted(expected.get(member, [])) for member in vector["members"]
    }
