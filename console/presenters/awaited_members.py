"""The members that a group waits for, with the reason and the timer that ends the wait."""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters.coordinator_status import is_up
from console.presenters.formatting import SECOND_US, countdown, duration

LATE_US = 250_000
"""A heartbeat is late from so long on after it was due."""
HEARTBEATING_STATES = {"Syncing", "Stable", "Revoking", "RECONCILING", "STABLE"}
"""Client states in which heartbeats keep an interval: none during a join, after leaving and after fencing.

In the states JOINING and ACKNOWLEDGING of the new protocol the next heartbeat does not wait for the interval.
"""


class Awaited(NamedTuple):
    """A member id that the group waits for, with the member's name and the reason in words.

    `unable`: it cannot act now, because its process, its heartbeat thread or its poll loop stands still.
    """

    member_id: str
    member: str
    reason: str
    unable: bool = False


def members_of(view: ClusterView, group: str) -> list[MemberView]:
    """The declared members of a group, in the scenario's order."""
    return [member for member in view.members.values() if member.group == group]


def awaited_joins(view: ClusterView, group: GroupView, now_us: int) -> list[Awaited]:
    """Members without a JoinGroup at the barrier: members that cannot join first, pending member ids last.

    Without a coordinator the group waits for no member; an initial barrier waits for its delay only.
    """
    barrier = group.open_rebalance
    if barrier is None or barrier.completed_us != NEVER or barrier.initial or not is_up(view, group):
        return []
    unable: list[Awaited] = []
    able: list[Awaited] = []
    for member_id, name in group.members.items():
        if member_id not in barrier.joined:
            reason = _why_unable(view, group, member_id, name, now_us)
            one = Awaited(member_id, name, reason or _why_not_joined(view.members[name], now_us), bool(reason))
            (unable if reason else able).append(one)
    pending = [
        Awaited(member_id, name, "has its member id, sends JoinGroup next") for member_id, name in group.pending.items()
    ]
    return unable + able + pending


def awaited_syncs(view: ClusterView, group: GroupView, now_us: int) -> list[Awaited]:
    """The leader, while the generation has no assignment: only its SyncGroup ends the wait."""
    barrier = group.open_rebalance
    if group.state != "CompletingRebalance" or barrier is None or not is_up(view, group):
        return []
    for member_id, name in group.members.items():
        if name == group.leader and member_id not in barrier.synced:
            reason = _why_unable(view, group, member_id, name, now_us)
            words = reason or "the leader is computing the assignment, then sends SyncGroup"
            return [Awaited(member_id, name, words, bool(reason))]
    return []


def awaited_ids(view: ClusterView, group: GroupView, now_us: int) -> set[str]:
    """The names of all members that the group waits for."""
    return {one.member for one in (*awaited_joins(view, group, now_us), *awaited_syncs(view, group, now_us))}


def poll_age_us(member: MemberView, now_us: int) -> int:
    """The time since the last poll() returned, in µs; 0 during poll()."""
    if member.polling or member.last_poll_us == NEVER:
        return 0
    return max(0, now_us - member.last_poll_us)


def heartbeat_due_us(member: MemberView) -> int:
    """When the heartbeat thread sends next; NEVER while the thread is stopped or no event has shown it yet.

    A JoinGroup suspends the thread until its response; then the interval counts from the last answered heartbeat.
    """
    if member.state not in HEARTBEATING_STATES:
        return NEVER
    last_us = max(member.last_heartbeat_us, member.heartbeats_from_us)
    return last_us + member.heartbeat_interval_ms * 1_000 if last_us != NEVER else NEVER


def heartbeat_late_us(member: MemberView, now_us: int) -> int:
    """For how long the heartbeat of a running thread has been overdue, in µs; 0 while it is not late."""
    due_us, runs = heartbeat_due_us(member), member.alive and not member.paused and not member.heartbeats_paused
    if not runs or member.generation < 0 or NEVER in {due_us, member.coordinator}:
        return 0
    return now_us - due_us if now_us - due_us > LATE_US else 0


def is_silent(view: ClusterView, member_id: str, name: str) -> bool:
    """Whether no process sends heartbeats for a member id: it ended, is frozen, or returned with another id."""
    member = view.members.get(name)
    return member is None or not member.alive or member.paused or is_former(member, member_id)


def silent_ids(view: ClusterView, group: GroupView) -> list[str]:
    """Member ids of the group for which no process sends heartbeats."""
    return [member_id for member_id, name in group.members.items() if is_silent(view, member_id, name)]


def session_words(group: GroupView, member_id: str, now_us: int) -> str:
    """When the session of a member id ends."""
    deadline_us = group.session_deadlines_us.get(member_id, NEVER)
    return f"session ends in {countdown(deadline_us - now_us)}" if deadline_us != NEVER else "its session is suspended"


def is_former(member: MemberView, member_id: str) -> bool:
    """Whether the id belongs to an earlier process; a static member owns its id before it receives it."""
    return member.member_id != member_id and not (member.instance_id and not member.member_id)


def _why_not_joined(member: MemberView, now_us: int) -> str:
    if member.coordinator == NEVER:
        return "looks up the coordinator"
    if member.state == "Revoking":
        return "revokes partitions, then joins"
    if member.state == "Joining":
        return "its JoinGroup is under way"
    age_us = poll_age_us(member, now_us)
    answered = member.last_heartbeat_us > member.heartbeats_from_us
    if member.last_heartbeat_error == "REBALANCE_IN_PROGRESS" and answered:
        return (
            f"last poll {duration(age_us)} ago: notified, joins in its next poll()"
            if age_us
            else "notified, joins in its poll()"
        )
    due_us = heartbeat_due_us(member)
    if due_us == NEVER or due_us <= now_us:
        return "not notified of the rebalance yet"
    return f"notified at its next heartbeat, in {countdown(due_us - now_us)}"


def why_absent(view: ClusterView, member_id: str, name: str, away: str, ends: str) -> str:
    """Why no process sends for a member id, `ends` being the timer that ends the wait; "" where one does.

    `away`: what is said of a static member without a process.
    """
    member = view.members.get(name)
    if member is None:
        return f"no process of that name runs: {ends}"
    if not member.alive:
        return f"{away if member.instance_id else 'its process is dead'}: {ends}"
    if is_former(member, member_id):
        return f"the id of its former process: {ends}"
    return f"its process is frozen: {ends}" if member.paused else ""


def _why_unable(view: ClusterView, group: GroupView, member_id: str, name: str, now_us: int) -> str:
    """Why a member cannot send JoinGroup, with the timer that ends the wait; "" for a member that can."""
    ends = session_words(group, member_id, now_us)
    absent = why_absent(view, member_id, name, "static member is away, no LeaveGroup was sent", ends)
    if absent:
        return absent
    member = view.members[name]
    age_us = poll_age_us(member, now_us)
    if member.stalled_until_us is not None:
        return f"last poll {duration(age_us)} ago: stalled; joins inside poll()"
    if age_us > SECOND_US:
        return f"last poll {duration(age_us)} ago: processing; joins inside poll()"
    if member.heartbeats_paused:
        return f"its heartbeat thread is paused: {ends}"
    return ""
