"""Consumers of the new protocol (KIP-848) that are broken on purpose."""

from __future__ import annotations

import pytest

from cluster.clients.async_consumer.async_membership import AsyncMembership
from cluster.clients.async_consumer.heartbeat_request_manager import HeartbeatRequestManager
from cluster.clients.async_consumer.membership_manager import MembershipManager, PendingReconciliation
from cluster.protocol.consumer_group_messages import ConsumerGroupHeartbeatRequest

Patch = pytest.MonkeyPatch


def keeps_what_is_not_in_its_target(patch: Patch) -> None:
    """A member acknowledges its target, and reads on what it has to give up for it."""
    begin = MembershipManager.begin_reconciliation

    def greedy(manager: MembershipManager) -> PendingReconciliation:
        manager._reconciling = begin(manager)._replace(revoked=())
        return manager._reconciling

    patch.setattr(MembershipManager, "begin_reconciliation", greedy)


def gives_up_what_it_keeps(patch: Patch) -> None:
    """A reconciliation revokes everything, as an eager rebalance does."""
    begin = MembershipManager.begin_reconciliation

    def eager(manager: MembershipManager) -> PendingReconciliation:
        taken = begin(manager)
        manager._reconciling = taken._replace(revoked=manager._consumer.owned, added=taken.target.partitions)
        return manager._reconciling

    patch.setattr(MembershipManager, "begin_reconciliation", eager)


def reads_on_when_it_is_fenced(patch: Patch) -> None:
    """A fenced member joins again, and loses none of its partitions."""
    patch.setattr(AsyncMembership, "release_as_lost", lambda membership: membership.manager.released())


def never_acknowledges(patch: Patch) -> None:
    """No heartbeat lists what a member owns, except the one that joins."""
    build = HeartbeatRequestManager._build

    def silent(manager: HeartbeatRequestManager) -> ConsumerGroupHeartbeatRequest:
        request = build(manager)
        request.owned = request.owned if request.member_epoch == 0 else None
        return request

    patch.setattr(HeartbeatRequestManager, "_build", silent)
