"""Why groups rebalance, in words: each cause with its rule, what it did to this group, and the setting that helps."""

from collections.abc import Callable

from cluster.view.state import NEVER, ClusterView, GroupView, MemberView, RebalanceView
from console.presenters.numbers import count, duration, setting

COOPERATIVE = "cooperative-sticky"
"""Kafka's only assignor under which members keep what does not move (KIP-429)."""

GLOSSES: dict[str, str] = {
    "member joined": "a consumer joined: partitions are shared out anew",
    "member left": "a consumer closed and said so (LeaveGroup)",
    "session expired": "no heartbeat came for session.timeout.ms: the coordinator gave the member up",
    "poll interval exceeded": "poll() was not called for max.poll.interval.ms: the member left by itself",
    "subscription changed": "a member subscribes to other topics than before",
    "metadata changed": "the leader saw other partitions than before and asked for a new assignment",
    "leader rejoined": "the leader joined again, which forces a new assignment",
    "static member replaced": "another process came with the same group.instance.id",
    "sync timed out": "a member did not send SyncGroup in time",
    "coordinator moved": "the coordinator's broker changed while members were joining",
    "partitions revoked": "the second round of a cooperative rebalance: what was given back is shared out",
}
REMEDIES: dict[str, str] = {
    "member joined": "Start consumers together: group.initial.rebalance.delay.ms gathers them into one rebalance. "
    "With cooperative-sticky, members keep what does not move.",
    "member left": "A restart with group.instance.id (static membership) leaves no group: nothing is rebalanced if "
    "the member is back within session.timeout.ms.",
    "session expired": "A shorter session.timeout.ms finds a dead member sooner; a longer one rides out pauses. "
    "A clean close() needs neither.",
    "poll interval exceeded": "Fewer records for each poll() (max.poll.records), a longer max.poll.interval.ms, or "
    "processing on another thread.",
    "subscription changed": "Change subscriptions of all members in one deploy, or give each topic its own group.",
    "metadata changed": "Add partitions when a rebalance hurts least: every reader of the topic goes through one.",
    "leader rejoined": "The leader's restart costs a rebalance; group.instance.id spares it.",
    "static member replaced": "One group.instance.id for each process: twins fence each other.",
    "sync timed out": "Look for what held the member up between JoinGroup and SyncGroup: a pause or the network.",
    "coordinator moved": "Nothing on the client's side: members find the new coordinator and join again.",
    "partitions revoked": "This round is the price of cooperative rebalancing; what did not move was read on.",
}

Story = Callable[[ClusterView, GroupView, RebalanceView, str], str]


def story(view: ClusterView, group: GroupView, one: RebalanceView) -> str:
    """What set this rebalance off and which of Kafka's rules made it one."""
    tell = STORIES.get(one.cause)
    who = one.trigger or "a member"
    return tell(view, group, one, who) if tell is not None else GLOSSES.get(one.cause, one.cause)


def _member(view: ClusterView, name: str) -> MemberView | None:
    return view.members.get(name)


def _limit(view: ClusterView, name: str, key: str) -> str:
    """A member's own setting in brackets: ` (45 s)`; nothing for a name that no member has."""
    member = _member(view, name)
    return f" ({setting(getattr(member, key))})" if member is not None else ""


def _joined(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group
    if one.initial:
        return (
            f"{who} was the first to join an empty group. The coordinator kept the barrier open for "
            "group.initial.rebalance.delay.ms, so that others could join the same rebalance."
        )
    return (
        f"{who} sent JoinGroup: a member that the group did not have. Every other member has to come to the barrier "
        "again before anything is shared out."
    )


def _left(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group, one
    return (
        f"{who} closed its consumer, which commits and sends LeaveGroup: the coordinator took it out at once, "
        "without waiting for its session to end."
    )


def _expired(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del group
    member = _member(view, who)
    static = member is not None and member.instance_id
    told = "It is a static member: whatever ended it, nobody was told, and it was not back in time. " if static else ""
    before = f" Until then nobody had read its partitions: {duration(one.unowned_before_us)}, summed over them."
    return (
        f"{told}No heartbeat of {who} reached the coordinator for session.timeout.ms"
        f"{_limit(view, who, 'session_timeout_ms')}, so it was given up.{before if one.unowned_before_us else ''}"
    )


def _too_slow(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del group, one
    return (
        f"{who} did not call poll() for max.poll.interval.ms{_limit(view, who, 'max_poll_interval_ms')}. Its heartbeat "
        "thread, which had kept its session alive, left the group for it (LeaveGroup): others read its partitions "
        "while it still works on its records, and its next commit is refused."
    )


def _subscribed(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del group, one
    member = _member(view, who)
    topics = f" ({', '.join(member.topics)})" if member is not None and member.topics else ""
    return (
        f"{who} sent JoinGroup with another subscription than before{topics}: what it wants now, and what it "
        "wants no more, has to be shared out anew."
    )


def _metadata(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group, one
    return (
        f"{who} leads the group. When it refreshed its metadata it saw other partitions than those it had shared out, "
        "and joined again to share out all of them. Only the leader looks: nobody reads a new partition before that."
    )


def _leader(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group, one
    return (
        f"{who}, the group's leader, sent JoinGroup again. A leader may have news of any kind, so the coordinator "
        "rebalances; another member that came with nothing new would only be told its generation again."
    )


def _replaced(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group, one
    return (
        f"a process came with {who}'s group.instance.id. It takes over the place of the old member id, which is fenced "
        "(FENCED_INSTANCE_ID). A Stable group goes on without a rebalance then, unless the newcomer changes what the "
        "members voted for; a group that is about to share out has to begin again."
    )


def _unsynced(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del group, one
    return (
        f"{who} joined but did not send SyncGroup before the rebalance timed out "
        f"(max.poll.interval.ms{_limit(view, who, 'max_poll_interval_ms')}): the coordinator dropped it, and asks "
        "everybody else again."
    )


def _moved(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group, who
    where = f", now broker-{one.coordinator}," if one.coordinator != NEVER else ""
    return (
        f"the group's coordinator{where} moved while members were joining. What they had sent was in the old one's "
        "memory only: they find the new one (NOT_COORDINATOR, FindCoordinator) and join again. A Stable group would "
        "not have noticed."
    )


def _revoked(view: ClusterView, group: GroupView, one: RebalanceView, who: str) -> str:
    del view, group, one
    return (
        f"the second round of a cooperative rebalance. In the first, {who} was told to give up what others are to "
        "have; it did, and joined again. Only what was given back is handed out now."
    )


STORIES: dict[str, Story] = {
    "member joined": _joined,
    "member left": _left,
    "session expired": _expired,
    "poll interval exceeded": _too_slow,
    "subscription changed": _subscribed,
    "metadata changed": _metadata,
    "leader rejoined": _leader,
    "static member replaced": _replaced,
    "sync timed out": _unsynced,
    "coordinator moved": _moved,
    "partitions revoked": _revoked,
}


def is_cooperative(assignors: tuple[str, ...]) -> bool:
    """Whether members keep what does not move: only if every assignor they offer works so (else all are eager)."""
    return bool(assignors) and all(name == COOPERATIVE for name in assignors)


def extended(times: int, why: str) -> str:
    """How often a barrier stayed open longer than at first, and why."""
    often = "once" if times == 1 else f"{times} times"
    return f"the barrier was kept open longer {often}{f': {why}' if why else ''}"


def vote(one: RebalanceView) -> str:
    """Generation, the assignor that was voted for, the leader, the coordinator."""
    if not one.members:
        return f"generation {one.generation}: nobody is left; the group is Empty and its offsets are kept"
    parts = [f"generation {one.before} → {one.generation}"]
    if one.assignor:
        parts.append(f"the members voted for {one.assignor}")
    if one.leader:
        parts.append(f"{one.leader} led and shared out")
    if one.coordinator != NEVER:
        parts.append(f"broker-{one.coordinator} coordinated")
    return ", ".join(parts)


def stood_still(group: GroupView, one: RebalanceView) -> str:
    """Which partitions nobody read meanwhile: all under eager rebalancing, only what moved under cooperative."""
    halted, kept = one.halted, one.kept
    cooperative = is_cooperative(group.assignors) or (one.assignor == COOPERATIVE and kept > 0)
    if not halted and not kept:
        return "nobody owned anything before, so nothing stood still"
    if not halted:
        why = " (cooperative: a member gives back only what moves)" if cooperative else ""
        return f"nothing stood still: all {kept} partitions were read on{why}"
    stood = "1 partition stood still" if halted == 1 else f"{halted} partitions stood still"
    if not kept:
        why = "" if cooperative else " (eager: a member gives up everything before it joins)"
        return f"everything stopped: {stood}{why}"
    if cooperative:
        return f"{stood}, {kept} were read on (cooperative: a member gives back only what moves)"
    return f"{stood}; {kept} stayed with a member that did not take part and does not know it yet"


def in_a_sentence(one: RebalanceView) -> str:
    """A rebalance that is over, short: what, how long, who was waited for, what it cost."""
    who = f" ({one.trigger})" if one.trigger else ""
    waited = f", waited {duration(one.waited_us)} for {one.waited_for}" if one.waited_for and one.waited_us else ""
    still = f"{one.halted} stood still, {one.kept} kept" if one.halted or one.kept else "nothing was owned before"
    reread = f", {count(one.reread)} re-read" if one.reread else ""
    took = duration(one.took_us)
    return f"{one.cause}{who}: {took}{waited}; {one.moved} moved, {still}{reread}"
