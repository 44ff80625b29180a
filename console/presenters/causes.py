"""Why groups rebalance, in words: each cause with its rule, what it did to this group, and the setting that helps."""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, GroupView, MemberView, RebalanceView
from console.presenters.numbers import count, duration, setting

COOPERATIVE = "cooperative-sticky"
"""Kafka's only assignor under which members keep what does not move (KIP-429)."""


class Cause(NamedTuple):
    """What set a rebalance off and which of Kafka's rules made it one, and what would have helped.

    `story` may name what `_facts` knows of this rebalance: `{who}`, `{session}`, `{interval}`, `{topics}`, …
    """

    story: str
    remedy: str


CAUSES: dict[str, Cause] = {
    "member joined": Cause(
        "{who} sent JoinGroup: a member that the group did not have. Every other member has to come to the barrier "
        "again before anything is shared out.",
        "Start consumers together: group.initial.rebalance.delay.ms gathers them into one rebalance. "
        "With cooperative-sticky, members keep what does not move.",
    ),
    "member left": Cause(
        "{who} closed its consumer, which commits and sends LeaveGroup: the coordinator took it out at once, "
        "without waiting for its session to end.",
        "A restart with group.instance.id (static membership) leaves no group: nothing is rebalanced if "
        "the member is back within session.timeout.ms.",
    ),
    "session expired": Cause(
        "{static}No heartbeat of {who} reached the coordinator for session.timeout.ms{session}, so it was given up."
        "{before}",
        "A shorter session.timeout.ms finds a dead member sooner; a longer one rides out pauses. "
        "A clean close() needs neither.",
    ),
    "poll interval exceeded": Cause(
        "{who} did not call poll() for max.poll.interval.ms{interval}. Its heartbeat "
        "thread, which had kept its session alive, left the group for it (LeaveGroup): others read its partitions "
        "while it still works on its records, and its next commit is refused.",
        "Fewer records for each poll() (max.poll.records), a longer max.poll.interval.ms, or "
        "processing on another thread.",
    ),
    "subscription changed": Cause(
        "{who} sent JoinGroup with another subscription than before{topics}: what it wants now, and what it "
        "wants no more, has to be shared out anew.",
        "Change subscriptions of all members in one deploy, or give each topic its own group.",
    ),
    "metadata changed": Cause(
        "{who} leads the group. When it refreshed its metadata it saw other partitions than those it had shared out, "
        "and joined again to share out all of them. Only the leader looks: nobody reads a new partition before that.",
        "Add partitions when a rebalance hurts least: every reader of the topic goes through one.",
    ),
    "leader rejoined": Cause(
        "{who}, the group's leader, sent JoinGroup again. A leader may have news of any kind, so the coordinator "
        "rebalances; another member that came with nothing new would only be told its generation again.",
        "The leader's restart costs a rebalance; group.instance.id spares it.",
    ),
    "static member replaced": Cause(
        "a process came with {who}'s group.instance.id. It takes over the place of the old member id, which is fenced "
        "(FENCED_INSTANCE_ID). A Stable group goes on without a rebalance then, unless the newcomer changes what the "
        "members voted for; a group that is about to share out has to begin again.",
        "One group.instance.id for each process: twins fence each other.",
    ),
    "sync timed out": Cause(
        "{who} joined but did not send SyncGroup before the rebalance timed out (the longest max.poll.interval.ms "
        "of its members): the coordinator dropped it, and asks everybody else again.",
        "Look for what held the member up between JoinGroup and SyncGroup: a pause or the network.",
    ),
    "coordinator moved": Cause(
        "the group's coordinator{broker} moved while members were joining. What they had sent was in the old one's "
        "memory only: they find the new one (NOT_COORDINATOR, FindCoordinator) and join again. A Stable group would "
        "not have noticed.",
        "Nothing on the client's side: members find the new coordinator and join again.",
    ),
    "partitions revoked": Cause(
        "the second round of a cooperative rebalance. In the first, {who} was told to give up what others are to "
        "have; it did, and joined again. Only what was given back is handed out now.",
        "This round is the price of cooperative rebalancing; what did not move was read on.",
    ),
}
FIRST_JOIN = (
    "{who} was the first to join an empty group. The coordinator kept the barrier open for "
    "group.initial.rebalance.delay.ms, so that others could join the same rebalance."
)


def story(view: ClusterView, one: RebalanceView) -> str:
    """What set this rebalance off; a cause that this console does not know is told as it is."""
    cause = CAUSES.get(one.cause)
    if cause is None:
        return one.cause
    text = FIRST_JOIN if one.cause == "member joined" and one.initial else cause.story
    return text.format_map(_facts(one, view.members.get(one.trigger)))


def _facts(one: RebalanceView, member: MemberView | None) -> dict[str, str]:
    """What a story may name; what is not known, or not worth a word, is empty."""
    facts = dict.fromkeys(("session", "interval", "topics", "static", "broker", "before"), "")
    facts["who"] = one.trigger or "a member"
    if member is not None:
        facts["session"] = f" ({setting(member.session_timeout_ms)})"
        facts["interval"] = f" ({setting(member.max_poll_interval_ms)})"
        if member.topics:
            facts["topics"] = f" ({', '.join(member.topics)})"
        if member.instance_id:
            facts["static"] = "It is a static member: whatever ended it, nobody was told, and it was not back in time. "
    if one.coordinator != NEVER:
        facts["broker"] = f", now broker-{one.coordinator},"
    if one.unowned_before_us:
        facts["before"] = (
            f" Until then nobody had read its partitions: {duration(one.unowned_before_us)}, summed over them."
        )
    return facts


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
