"""The causes of rebalances, shared by the coordinator, the view, the console and the reports.

The values stand in recordings, scenarios and reports (`RebalanceStarted.cause`, `MemberRemoved.reason`): they stay.
"""

from enum import StrEnum
from typing import Final


class RebalanceCause(StrEnum):
    """The cause of a rebalance. The cause that removes a member is also the reason of the removal."""

    MEMBER_JOINED = "member joined"
    MEMBER_LEFT = "member left"
    SESSION_EXPIRED = "session expired"
    POLL_INTERVAL_EXCEEDED = "poll interval exceeded"
    SUBSCRIPTION_CHANGED = "subscription changed"
    METADATA_CHANGED = "metadata changed"
    LEADER_REJOINED = "leader rejoined"
    STATIC_MEMBER_REPLACED = "static member replaced"
    SYNC_TIMED_OUT = "sync timed out"
    COORDINATOR_MOVED = "coordinator moved"
    PARTITIONS_REVOKED = "partitions revoked"


GROUP_FULL: Final = "group full"
"""A reason only of removals: the member rejoined a group that already had `group.max.size` other members."""


class BarrierExtension(StrEnum):
    """Why the coordinator extends a join barrier (`JoinBarrierExtended.reason`)."""

    NEW_MEMBERS = "newcomers"
    NO_REJOIN = "nobody rejoined"
