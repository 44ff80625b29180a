"""The causes of rebalances in words."""

from recordings.spark.report_model import Rebalance

CAUSES = {
    "member joined": "{} joined",
    "member left": "{} left",
    "session expired": "the session of {} expired",
    "poll interval exceeded": "{} did not call poll() in time",
    "subscription changed": "{} changed its subscription",
    "metadata changed": "{} saw that its topics had changed",
    "leader rejoined": "the leader, {}, rejoined",
    "static member replaced": "{} came back under its group.instance.id",
    "sync timed out": "{} did not send SyncGroup in time",
    "coordinator moved": "the coordinator moved",
    "partitions revoked": "{} revoked partitions for their next owner",
}


def cause_in_words(rebalance: Rebalance) -> str:
    """Why a rebalance began: `the session of billing-2 expired`."""
    words = CAUSES.get(rebalance.cause)
    if words is None or ("{}" in words and not rebalance.trigger):
        return rebalance.cause
    return words.format(rebalance.trigger)
