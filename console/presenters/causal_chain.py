"""The events that led to a rebalance, of its trigger and of its awaited members."""

from bisect import bisect_left, bisect_right

from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.rebalances import RebalanceView
from cluster.view.state import ClusterView, GroupView, LogEntry
from console.presenters.event_log import concerns
from console.presenters.formatting import SECOND_US, clock

RECENT_US = 10 * SECOND_US  # earlier starts are not shown
ROLLING_RESTART_US = 60 * SECOND_US  # members that close one after another within this time are one rolling restart
STARTS = {"member_started", "broker_started"}
NAMES_SHOWN = 4


def causal_chain(view: ClusterView, group: GroupView, one: RebalanceView) -> list[LogEntry]:
    """Log entries of a rebalance, and earlier ones of its trigger, its awaited member and its removed members.

    A move of the coordinator adds the entries of brokers.
    """
    concerned = {group.group, *(member.member for member in view.members.values() if member.group == group.group)}
    causal = {one.trigger} if one.initial else {one.trigger, one.waited_for, *one.removed}
    if one.cause == RebalanceCause.COORDINATOR_MOVED:
        causal |= {f"broker-{broker}" for broker in view.brokers}
        concerned |= causal
    return [
        entry
        for entry in _entries_around(view, one)
        if concerns(entry, concerned if entry.at_us >= one.started_us else causal)
        and (entry.at_us >= one.started_us - RECENT_US or entry.event not in STARTS)
    ]


def rolling_restart(view: ClusterView, group: GroupView, one: RebalanceView) -> str:
    """A sentence on members that closed one after another before a rebalance, as in a rolling restart; "" if none.

    The members' own events show it: the operator's command is no event.
    """
    members = {member.member for member in view.members.values() if member.group == group.group}
    closed = [
        entry
        for entry in _entries_around(view, one)
        if entry.subject in members
        and entry.event == "member_stopped"
        and entry.kind == "member"  # a clean stop; else it is a fault
        and one.started_us - ROLLING_RESTART_US <= entry.at_us <= one.started_us
    ]
    names = list(dict.fromkeys(entry.subject for entry in closed))
    if len(names) < 2 or len({entry.at_us for entry in closed}) < len(closed):
        return ""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    since, until = clock(closed[0].at_us, 3), clock(closed[-1].at_us, 3)
    return f"rolling restart: {', '.join(names[:NAMES_SHOWN])}{more} closed one after another, {since} to {until}"


def _entries_around(view: ClusterView, one: RebalanceView) -> list[LogEntry]:
    """Log entries from two sessions before the rebalance until its end."""
    session_us = max((member.session_timeout_ms for member in view.members.values()), default=0) * 1_000
    first = bisect_left(view.log_entries, one.started_us - max(2 * session_us, ROLLING_RESTART_US), key=_instant)
    last = bisect_right(view.log_entries, one.started_us + one.took_us, key=_instant)
    return view.log_entries[first:last]


def _instant(entry: LogEntry) -> int:
    return entry.at_us
