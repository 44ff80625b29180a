"""The causes of rebalances in sentences: the rule of each cause, and its effect on a group."""

from cluster.protocol.rebalance_causes import BarrierExtension, RebalanceCause
from cluster.view.rebalances import RebalanceView
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from cluster.view.votes import AssignorVote
from console.presenters.consumer_groups import causes as consumer_causes
from console.presenters.formatting import count, duration, partition_seconds, setting

COOPERATIVE = "cooperative-sticky"
"""Kafka's only assignor under which members keep what does not move (KIP-429)."""

CAUSES: dict[str, str] = {
    RebalanceCause.MEMBER_JOINED: (
        "{who} sends JoinGroup and is new in the group. Every other member has to rejoin before the leader assigns "
        "partitions again."
    ),
    RebalanceCause.MEMBER_LEFT: (
        "{who} closes its consumer, which commits and sends LeaveGroup. The coordinator removes the member at once, "
        "without waiting for its session to expire."
    ),
    RebalanceCause.SESSION_EXPIRED: (
        "{static}No heartbeat of {who} reaches the coordinator for session.timeout.ms{session}, so its session "
        "expires.{before}"
    ),
    RebalanceCause.POLL_INTERVAL_EXCEEDED: (
        "{who} does not call poll() for max.poll.interval.ms{interval}. Its heartbeat thread kept the session alive "
        "and now sends LeaveGroup. Other members read its partitions while {who} still processes its records. The "
        "coordinator refuses its next commit."
    ),
    RebalanceCause.SUBSCRIPTION_CHANGED: (
        "{who} sends JoinGroup with another subscription than before{topics}. The leader has to assign the partitions "
        "of added and dropped topics again."
    ),
    RebalanceCause.METADATA_CHANGED: (
        "{who} leads the group and finds another number of partitions when it refreshes its metadata. It rejoins to "
        "assign all of them. Only the leader checks: a new partition is unowned until then."
    ),
    RebalanceCause.LEADER_REJOINED: (
        "{who}, the group's leader, sends JoinGroup again. A leader may have changes of any kind, so the coordinator "
        "rebalances. Another member that rejoins without a change only gets its generation again."
    ),
    RebalanceCause.STATIC_MEMBER_REPLACED: (
        "a process joins with {who}'s group.instance.id. It takes over the place of the old member id, which the "
        "coordinator fences (FENCED_INSTANCE_ID). A Stable group continues without a rebalance, unless the newcomer "
        "changes what the members voted for. A group in CompletingRebalance has to start again."
    ),
    RebalanceCause.SYNC_TIMED_OUT: (
        "{who} joins but sends no SyncGroup before the rebalance times out (the longest max.poll.interval.ms of its "
        "members). The coordinator removes the member, and the others have to rejoin."
    ),
    RebalanceCause.COORDINATOR_MOVED: (
        "the group's coordinator{broker} moves while members join. Only the old coordinator's memory holds their "
        "JoinGroups. Members find the new coordinator (NOT_COORDINATOR, FindCoordinator) and rejoin. A Stable group "
        "needs no rebalance for it."
    ),
    RebalanceCause.PARTITIONS_REVOKED: (
        "the second round of a cooperative rebalance. In the first, {who} has to revoke partitions that other members "
        "are to get. It revokes them and rejoins. The leader now assigns only the revoked partitions."
    ),
}
"""The trigger of a rebalance and the rule of Kafka that makes it one.

A text may hold the fields of `_facts`: `{who}`, `{session}`, `{interval}`, `{topics}`, …
"""
FIRST_JOIN = (
    "{who} is the first to join an empty group. The coordinator keeps the barrier open for "
    "group.initial.rebalance.delay.ms, so that other members can join the same rebalance."
)


def explanation(view: ClusterView, one: RebalanceView) -> str:
    """The explanation of a rebalance's cause; an unknown cause is shown unchanged."""
    classic = one.reconciliation is None
    text = (CAUSES if classic else consumer_causes.CAUSES).get(one.cause)
    if text is None:
        return one.cause
    if one.cause == RebalanceCause.MEMBER_JOINED and one.initial:
        text = FIRST_JOIN if classic else consumer_causes.FIRST_JOIN
    return text.format_map(_facts(one, view.members.get(one.trigger)))


def _facts(one: RebalanceView, member: MemberView | None) -> dict[str, str]:
    """The fields of an explanation; unknown and unimportant ones are empty."""
    facts = dict.fromkeys(("session", "interval", "topics", "static", "broker", "before"), "")
    facts["who"] = one.trigger or "a member"
    if member is not None:
        facts["session"] = f" ({setting(member.session_timeout_ms)})"
        facts["interval"] = f" ({setting(member.max_poll_interval_ms)})"
        if member.topics:
            facts["topics"] = f" ({', '.join(member.topics)})"
        if member.instance_id:
            leaves = "sends no LeaveGroup" if one.reconciliation is None else "keeps its place while it is away"
            facts["static"] = f"Static member: it {leaves} and does not return within its session. "
    if one.coordinator != NEVER:
        facts["broker"] = f", now broker-{one.coordinator},"
    if one.unowned_before_us:
        facts["before"] = (
            f" Its partitions were unowned for {partition_seconds(one.unowned_before_us)} partition-seconds until then."
        )
    return facts


def is_cooperative(assignors: tuple[str, ...]) -> bool:
    """Whether members keep partitions that do not move: only if all their assignors are cooperative."""
    return bool(assignors) and all(name == COOPERATIVE for name in assignors)


def listed(members: list[str], most: int = 6) -> str:
    """`g-2, g-3`, and `g-2, g-3 and 7 more` of many."""
    shown = ", ".join(members[:most])
    return shown if len(members) <= most else f"{shown} and {len(members) - most} more"


def cooperation(view: ClusterView, group: GroupView) -> str:
    """How the group's running members rejoin, each by its own list of assignors: `eager`, `cooperative` or `mixed`."""
    running = [one.assignors for one in view.members.values() if one.group == group.group and one.alive]
    kinds = {is_cooperative(assignors) for assignors in running or [group.assignors]}
    return "mixed" if len(kinds) > 1 else "cooperative" if kinds == {True} else "eager"


def blocked_words(vote: AssignorVote) -> str:
    """Which assignors cannot be elected, and which members are the reason; "" without one."""
    return "; ".join(f"{name} is blocked by {listed(members, 3)}" for name, members in vote.blocked.items())


EXTENSION_REASONS: dict[str, str] = {
    BarrierExtension.NEW_MEMBERS: "new members were still arriving",
    BarrierExtension.NO_REJOIN: "no member had rejoined",
}


def extension_words(times: int, why: str) -> str:
    """How often the coordinator extended the barrier, and why."""
    return f"extended {times_words(times)}{f': {EXTENSION_REASONS.get(why, why)}' if why else ''}"


def times_words(times: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def number_words(one: RebalanceView) -> str:
    """`generation 3`, or `group epoch 3` of the new protocol."""
    return f"{'generation' if one.reconciliation is None else 'group epoch'} {one.generation}"


def epoch_or_generation(group: GroupView) -> str:
    """As `number_words`, of a group now."""
    return f"{'generation' if group.consumer is None else 'group epoch'} {group.generation}"


def generation_words(one: RebalanceView) -> str:
    """The generation, the elected assignor, the leader and the coordinator."""
    if one.reconciliation is not None:
        return consumer_causes.epoch_words(one)
    if not one.members:
        return f"generation {one.generation}: no member is left; the group is Empty and its offsets are kept"
    parts = [f"generation {one.before} → {one.generation}"]
    if one.assignor:
        parts.append(f"assignor {one.assignor}")
    if one.leader:
        parts.append(f"leader {one.leader} computed the assignment")
    if one.coordinator != NEVER:
        parts.append(f"coordinator broker-{one.coordinator}")
    return ", ".join(parts)


def ownership_words(group: GroupView, one: RebalanceView) -> str:
    """The partitions that paused: all under eager rebalancing, only moved ones under cooperative rebalancing."""
    halted, kept = one.unowned, one.kept
    reconciled = one.reconciliation is not None
    cooperative = reconciled or is_cooperative(group.assignors) or (one.assignor == COOPERATIVE and kept > 0)
    only_moves = f" ({'' if reconciled else 'cooperative: '}a member revokes only what moves)"
    if not halted and not kept:
        return "nothing was owned before"
    if not halted:
        why = only_moves if cooperative else ""
        return f"no pause: all {kept} stayed owned{why}"
    stood = f"{halted} partition{'s' if halted > 1 else ''} paused"
    if not kept:
        if reconciled:
            return f"all {stood}{only_moves}" if halted > 1 else stood + only_moves
        why = "" if cooperative else " (eager: a member revokes everything before it rejoins)"
        return f"stop-the-world: all {stood}{why}" if halted > 1 else f"stop-the-world: {stood}{why}"
    if cooperative:
        return f"{stood}, {kept} stayed owned{only_moves}"
    return f"{stood}; {kept} stayed with a member that did not take part"


def wait_words(one: RebalanceView) -> str:
    """The last awaited member of a barrier; "" for none, and for an initial barrier, which waits for its delay only."""
    if one.initial or not one.waited_for or not one.waited_us:
        return ""
    how = "" if joined_last(one) else f" ({departure(one)})"
    return f"{duration(one.waited_us)} for {one.waited_for}{how}"


def departure(one: RebalanceView) -> str:
    """How an awaited member that did not join ended the wait."""
    why = one.removed.get(one.waited_for)
    return "did not join" if why is None else "left" if why == RebalanceCause.MEMBER_LEFT else "removed"


def joined_last(one: RebalanceView) -> bool:
    """Whether the awaited member ended the wait by its JoinGroup, not by its departure."""
    return one.arrivals.get(one.waited_for) == one.completed_us


def summary(one: RebalanceView) -> str:
    """A completed rebalance in a sentence: cause, duration, awaited member, cost."""
    who = f" ({one.trigger})" if one.trigger else ""
    wait = f", waited {wait_words(one)}" if wait_words(one) else ""
    if one.reconciliation is not None:
        slowest = consumer_causes.revocation_words(one)
        wait = f", revocation by {slowest}" if slowest else ""
    elif one.initial:
        wait = ", closed by group.initial.rebalance.delay.ms"
    still = f"{one.unowned} paused, {one.kept} kept" if one.unowned or one.kept else "nothing was owned before"
    reread = f", {count(one.reread)} re-read" if one.reread else ""
    return f"{one.cause}{who}: {duration(one.took_us)}{wait}; {one.moved} moved, {still}{reread}"
