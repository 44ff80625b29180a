"""The causes of rebalances in words."""

from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.spark.report_model import Rebalance

CAUSES: dict[str, str] = {
    RebalanceCause.MEMBER_JOINED: "{} joins",
    RebalanceCause.MEMBER_LEFT: "{} leaves",
    RebalanceCause.SESSION_EXPIRED: "the session of {} expires",
    RebalanceCause.POLL_INTERVAL_EXCEEDED: "{} does not call poll() in time",
    RebalanceCause.SUBSCRIPTION_CHANGED: "{} changes its subscription",
    RebalanceCause.METADATA_CHANGED: "{} sees that its topics have changed",
    RebalanceCause.LEADER_REJOINED: "the leader, {}, rejoins",
    RebalanceCause.STATIC_MEMBER_REPLACED: "{} comes back under its group.instance.id",
    RebalanceCause.SYNC_TIMED_OUT: "{} does not send SyncGroup in time",
    RebalanceCause.COORDINATOR_MOVED: "the coordinator moves",
    RebalanceCause.PARTITIONS_REVOKED: "{} revokes partitions for their next owner",
}


def cause_in_words(rebalance: Rebalance) -> str:
    """Why a rebalance began: `the session of billing-2 expires`."""
    words = CAUSES.get(rebalance.cause)
    if words is None or ("{}" in words and not rebalance.trigger):
        return rebalance.cause
    return words.format(rebalance.trigger)
