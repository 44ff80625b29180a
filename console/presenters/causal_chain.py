"""What led to a rebalance: what was done to the members that triggered it and that it waited for, and in what order."""

from bisect import bisect_left, bisect_right

from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.state import ClusterView, GroupView, LogEntry, RebalanceView
from console.presenters.event_log import concerns
from console.presenters.formatting import SECOND_US, clock

RECENT_US = 10 * SECOND_US  # a start that is longer ago explains nothing
ROLLING_RESTART_US = 60 * SECOND_US  # so far back members that closed one after another belong together
CLOSED = " closed cleanly"
NAMED = 4


def causal_chain(view: ClusterView, group: GroupView, one: RebalanceView) -> list[LogEntry]:
    """What is known of this rebalance, and what happened before to its trigger, to the member it waited for, to those
    that were removed.

    When the coordinator moved, also what happened to brokers.
    """
    concerned = {group.group, *(member.member for member in view.members.values() if member.group == group.group)}
    causal = {one.trigger} if one.initial else {one.trigger, one.waited_for, *one.removed}
    if one.cause == RebalanceCause.COORDINATOR_MOVED:
        causal |= {f"broker-{broker}" for broker in view.brokers}
        concerned |= causal
    return [
        noted
        for noted in _around(view, one)
        if concerns(noted, concerned if noted.at_us >= one.started_us else causal)
        and (noted.at_us >= one.started_us - RECENT_US or not noted.text.endswith(" started"))
    ]


def rolling_restart(view: ClusterView, group: GroupView, one: RebalanceView) -> str:
    """Members of the group that closed one after another up to this rebalance, as a rolling restart does; "" if none.

    Known from what the members did: the operator's command is no event.
    """
    members = {member.member for member in view.members.values() if member.group == group.group}
    closed = [
        noted
        for noted in _around(view, one)
        if noted.subject in members
        and noted.text.endswith(CLOSED)
        and one.started_us - ROLLING_RESTART_US <= noted.at_us <= one.started_us
    ]
    names = list(dict.fromkeys(noted.subject for noted in closed))
    if len(names) < 2 or len({noted.at_us for noted in closed}) < len(closed):
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    since, until = clock(closed[0].at_us, 3), clock(closed[-1].at_us, 3)
    return f"rolling restart: {', '.join(names[:NAMED])}{more} closed one after another, {since} to {until}"


def _around(view: ClusterView, one: RebalanceView) -> list[LogEntry]:
    """Moments from two sessions before it began until it was over."""
    session_us = max((member.session_timeout_ms for member in view.members.values()), default=0) * 1_000
    first = bisect_left(view.log_entries, one.started_us - max(2 * session_us, ROLLING_RESTART_US), key=_instant)
    last = bisect_right(view.log_entries, one.started_us + one.took_us, key=_instant)
    return view.log_entries[first:last]


def _instant(noted: LogEntry) -> int:
    return noted.at_us
