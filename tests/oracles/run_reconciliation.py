"""kip848_reconciliation.json: one heartbeat of one member; what others own is "none" or "all" of what it lacks."""

from __future__ import annotations

from typing import Any

from cluster.coordinators.consumer_group.member import ConsumerGroupMember
from cluster.coordinators.consumer_group.reconciliation import next_step
from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.protocol.names import topic_of


class Everything(dict[str, str]):
    """Each partition that is not held yet has another owner."""

    def __contains__(self, name: object) -> bool:
        return True


OWNED: dict[str, dict[str, str]] = {"none": {}, "all": Everything()}


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    given, expect = vector["member"], vector["expect"]
    member = ConsumerGroupMember(
        "m",
        epoch=given["epoch"],
        previous_epoch=given["previous_epoch"],
        state=MemberAssignmentState(given["state"]),
        assigned=dict.fromkeys(_names(given["assigned"]), 0),
        pending_revocation=dict.fromkeys(_names(given["pending_revocation"]), 0),
    )
    target, reported = _names(vector["target"]), vector["reported_owned"]
    subscribed = vector.get("subscribed", {topic_of(name): None for name in (*target, *member.assigned)})
    after = next_step(
        member,
        vector["target_epoch"],
        target,
        subscribed,
        OWNED[vector["other_owner"]],
        reported,
        subscription_changed=vector.get("subscription_changed", False),
    )
    found = {
        "state": after.state.value,
        "epoch": after.epoch,
        "previous_epoch": after.previous_epoch,
        "assigned": sorted(after.assigned),
        "pending_revocation": sorted(after.pending_revocation),
    }
    for field, value in expect.items():
        wanted = sorted(_names(value)) if isinstance(value, dict) else value
        assert found[field] == wanted, f"{field} is {found[field]}, not {wanted}"


def _names(partitions: dict[str, list[int]]) -> list[str]:
    return [f"{topic}-{number}" for topic, numbers in partitions.items() for number in numbers]
