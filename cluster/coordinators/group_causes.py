"""Why a group rebalances, in the words that a scenario, a screen and a report use.

A client says why it joins or leaves (KIP-800: `reason`); when that is one of these words it is believed. Otherwise the
coordinator derives the word from what changed.
"""

from collections.abc import Mapping

from cluster.protocol.messages import MemberMetadata

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

CAUSES = (
    MEMBER_JOINED,
    MEMBER_LEFT,
    SESSION_EXPIRED,
    POLL_INTERVAL_EXCEEDED,
    SUBSCRIPTION_CHANGED,
    METADATA_CHANGED,
    LEADER_REJOINED,
    STATIC_MEMBER_REPLACED,
    SYNC_TIMED_OUT,
    COORDINATOR_MOVED,
    PARTITIONS_REVOKED,
)

GROUP_FULL = "group full"
"""Not a cause of rebalances, only of a removal: the member came back to a group of `group.max.size` others."""


def believed(reason: str, otherwise: str) -> str:
    """The client's own word when it is one of `CAUSES`, else the derived one."""
    return reason if reason in CAUSES else otherwise


def cause_of_rejoin(
    before: Mapping[str, MemberMetadata], now: Mapping[str, MemberMetadata], *, leader: bool, reason: str
) -> str:
    """Why a known member's JoinGroup starts a rebalance, from its subscriptions before and now.

    Fewer owned partitions under the same topics are the next round of a cooperative rebalance (KIP-429).
    """
    old = next(iter(before.values()), None)
    new = next(iter(now.values()), None)
    if list(before) != list(now) or old is None or new is None or sorted(old.topics) != sorted(new.topics):
        derived = SUBSCRIPTION_CHANGED
    elif leader:
        derived = LEADER_REJOINED
    elif old.owned_partitions != new.owned_partitions:
        derived = PARTITIONS_REVOKED
    else:
        derived = SUBSCRIPTION_CHANGED
    return believed(reason, derived)
