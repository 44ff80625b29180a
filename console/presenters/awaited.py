"""Who a group waits for right now, why, and until when: the first question of everybody who sees a rebalance."""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters.numbers import SECOND_US, countdown, duration


class Awaited(NamedTuple):
    """A member id that the group waits for: the member's name and the reason in words."""

    member_id: str
    member: str
    reason: str


def members_of(view: ClusterView, group: str) -> list[MemberView]:
    """The declared members of a group, in the scenario's order."""
    return [member for member in view.members.values() if member.group == group]


def awaited_joins(view: ClusterView, group: GroupView, now_us: int) -> list[Awaited]:
    """Members whose JoinGroup is missing at the barrier, those that cannot join first; ids not used yet last."""
    barrier = group.barrier
    if barrier is None or barrier.completed_us != NEVER:
        return []
    held_up: list[Awaited] = []
    others: list[Awaited] = []
    for member_id, name in group.members.items():
        if member_id not in barrier.joined:
            trouble = _trouble(view, group, member_id, name, now_us)
            one = Awaited(member_id, name, trouble or _why_not_joined(view, group, member_id, name, now_us))
            (held_up if trouble else others).append(one)
    pending = [
        Awaited(member_id, name, "has its member id and comes back with it")
        for member_id, name in group.pending.items()
    ]
    return held_up + others + pending


def awaited_syncs(view: ClusterView, group: GroupView, now_us: int) -> list[Awaited]:
    """The leader while the generation has no assignment yet: nobody else can end the wait."""
    barrier = group.barrier
    if group.state != "CompletingRebalance" or barrier is None:
        return []
    for member_id, name in group.members.items():
        if name == group.leader and member_id not in barrier.synced:
            trouble = _trouble(view, group, member_id, name, now_us)
            return [Awaited(member_id, name, trouble or "it leads: it shares the partitions out and sends SyncGroup")]
    return []


def awaited_ids(view: ClusterView, group: GroupView, now_us: int) -> set[str]:
    """Names of members that hold the group up."""
    return {one.member for one in (*awaited_joins(view, group, now_us), *awaited_syncs(view, group, now_us))}


def poll_age_us(member: MemberView, now_us: int) -> int:
    """How long poll() has not been called; 0 while it runs."""
    if member.polling or member.last_poll_us == NEVER:
        return 0
    return max(0, now_us - member.last_poll_us)


def heartbeat_due_us(member: MemberView, session_deadline_us: int = NEVER) -> int:
    """When the heartbeat thread sends next, counted from the last answer; NEVER when nothing is known of it.

    Before the first answer it counts from the JoinGroup or SyncGroup that began the session.
    """
    last_us = member.last_heartbeat_us
    if session_deadline_us != NEVER and member.lane and last_us < member.lane[0].from_us:
        last_us = session_deadline_us - member.session_timeout_ms * 1_000
    return last_us + member.heartbeat_interval_ms * 1_000 if last_us != NEVER else NEVER


def _why_not_joined(view: ClusterView, group: GroupView, member_id: str, name: str, now_us: int) -> str:
    member = view.members[name]
    if member.state in {"Joining", "Revoking"}:
        return "its JoinGroup is under way"
    age_us = poll_age_us(member, now_us)
    if member.last_heartbeat_error == "REBALANCE_IN_PROGRESS" and age_us:
        return f"last poll {duration(age_us)} ago: it knows, and joins in its next poll()"
    due_us = heartbeat_due_us(member, group.session_deadlines_us.get(member_id, NEVER))
    if due_us == NEVER or due_us <= now_us:
        return "it has not heard of it yet"
    return f"learns of it at its next heartbeat, in {countdown(due_us - now_us)}"


def _trouble(view: ClusterView, group: GroupView, member_id: str, name: str, now_us: int) -> str:
    """Why a member cannot answer at all, with the timer that ends the wait; "" when it can."""
    deadline_us = group.session_deadlines_us.get(member_id, NEVER)
    given_up = f"given up in {countdown(deadline_us - now_us)}" if deadline_us != NEVER else "its session stands still"
    member = view.members.get(name)
    if member is None:
        return f"nobody of that name runs: {given_up}"
    if not member.alive and member.instance_id:
        return f"static, it is away and told nobody: {given_up}"
    if not member.alive:
        return f"its process is dead: {given_up}"
    if member.member_id not in {"", member_id}:
        return f"the id of its former life: {given_up}"
    if member.paused:
        return f"its process is frozen: {given_up}"
    age_us = poll_age_us(member, now_us)
    if member.stalled_until_us is not None:
        return f"last poll {duration(age_us)} ago: stalled; it joins inside poll()"
    if age_us > SECOND_US:
        return f"last poll {duration(age_us)} ago: processing; it joins inside poll()"
    if member.heartbeats_paused:
        return f"its heartbeat thread stands still: {given_up}"
    return ""
