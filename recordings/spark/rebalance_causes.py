"""The causes of rebalances in words."""

from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.spark.report_model import Rebalance

CAUSES: dict[str, str] = {
    RebalanceCause.MEMBER_JOINED: "{} joined",
    RebalanceCause.MEMBER_LEFT: "{} left",
    RebalanceCause.SESSION_EXPIRED: "the session of {} expired",
    RebalanceCause.POLL_INTERVAL_EXCEEDED: "{} did not call poll() in time",
    RebalanceCause.SUBSCRIPTION_CHANGED: "{} changed its subscription",
    RebalanceCause.METADATA_CHANGED: "{} saw that its topics had changed",
    RebalanceCause.LEADER_REJOINED: "the leader, {}, rejoined",
    RebalanceCause.STATIC_MEMBER_REPLACED: "{} came back under its group.instance.id",
    RebalanceCause.SYNC_TIMED_OUT: "{} did not send SyncGroup in time",
    RebalanceCause.COORDINATOR_MOVED: "the coordinator moved",
    RebalanceCause.PARTITIONS_REVOKED: "{} revoked partitions for their next owner",
}


def cause_in_words(rebalance: Rebalance) -> str:
    """Why a rebalance began: `the session of billing-2 expired`."""
    words = CAUSES.get(rebalance.cause)
    if words is None or ("{}" in words and not rebalance.trigger):
        return rebalance.cause
    return words.format(rebalance.trigger)
