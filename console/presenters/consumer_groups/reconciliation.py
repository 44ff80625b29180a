"""Who must still revoke what for which member, who waits for it, and what each unfinished member needs next.

A member has reached its target when it is STABLE in the assignment epoch. Until then the group is Reconciling, and
waits for members that must revoke partitions, and for members whose next heartbeat takes them further. A member that
only waits for partitions of another one is not awaited itself.
"""

from typing import NamedTuple

from cluster.view.rebalances import ConsumerGroupMemberView, ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters.awaited_members import (
    awaited_joins,
    awaited_syncs,
    heartbeat_due_us,
    poll_age_us,
    session_words,
    why_absent,
)
from console.presenters.coordinator_status import is_up
from console.presenters.formatting import SECOND_US, countdown, duration, ranges

UNDER_WAY = ("Assigning", "Reconciling")


class AwaitedMember(NamedTuple):
    """An unfinished member that the group waits for.

    `gives_up`: partitions that it must still revoke, for the members `wanted_by`. `fenced_at_us`: when the coordinator
    removes it for that, NEVER without such a limit. `unable`: it sends no heartbeat, or its application does not poll.
    """

    member_id: str
    member: str
    reason: str
    gives_up: tuple[str, ...] = ()
    wanted_by: tuple[str, ...] = ()
    fenced_at_us: int = NEVER
    unable: bool = False


class WaitingMember(NamedTuple):
    """A member whose target has partitions that other members own: their names and those partitions."""

    member: str
    held_by: dict[str, tuple[str, ...]]


def is_reconciled(consumer: ConsumerGroupView, member: ConsumerGroupMemberView) -> bool:
    """Whether a member has its whole target of the assignment epoch."""
    return member.state == "STABLE" and member.epoch == consumer.assignment_epoch


def reconciled_members(consumer: ConsumerGroupView) -> int:
    """How many members have reached their targets."""
    return sum(1 for member in consumer.members.values() if is_reconciled(consumer, member))


def still_to_give_up(consumer: ConsumerGroupView, member: ConsumerGroupMemberView) -> tuple[str, ...]:
    """Partitions that a member must revoke: asked for already, or asked for with its next heartbeat."""
    if member.pending_revocation or is_reconciled(consumer, member) or member.epoch == consumer.assignment_epoch:
        return member.pending_revocation
    return tuple(name for name in member.assigned if name not in member.target)


def wanted_by(group: GroupView, member_id: str, partitions: tuple[str, ...]) -> tuple[str, ...]:
    """The other members whose targets have one of these partitions of a member."""
    consumer, wanted = group.consumer, set(partitions)
    if consumer is None or not wanted:
        return ()
    names = (
        group.members.get(other_id, other_id)
        for other_id, other in consumer.members.items()
        if other_id != member_id and not wanted.isdisjoint(other.target)
    )
    return tuple(dict.fromkeys(names))


def held_by_others(group: GroupView, member_id: str) -> dict[str, tuple[str, ...]]:
    """Partitions of a member's target that other members own, by the owner's name."""
    consumer = group.consumer
    if consumer is None or member_id not in consumer.members:
        return {}
    mine = consumer.members[member_id]
    missing = set(mine.target) - {*mine.assigned, *mine.pending_revocation}
    if not missing:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for other_id, other in consumer.members.items():
        held = tuple(name for name in (*other.assigned, *other.pending_revocation) if name in missing)
        if held and other_id != member_id:
            found[group.members.get(other_id, other_id)] = held
    return found


def waiting_members(group: GroupView) -> list[WaitingMember]:
    """Members that wait for partitions of others, in the order of their ids at the coordinator."""
    consumer = group.consumer
    if consumer is None or group.state not in UNDER_WAY:
        return []
    return [
        WaitingMember(group.members.get(member_id, member_id), held)
        for member_id in consumer.members
        if (held := held_by_others(group, member_id))
    ]


def awaited_members(view: ClusterView, group: GroupView, now_us: int) -> list[AwaitedMember]:
    """Unfinished members that the group waits for: those first for whose partitions others wait, then by their limit.

    Without a coordinator the group waits for no member.
    """
    consumer = group.consumer
    if consumer is None or group.state not in UNDER_WAY or not is_up(view, group):
        return []
    awaited = [
        _awaited(view, group, consumer, member_id, now_us)
        for member_id, member in consumer.members.items()
        if not is_reconciled(consumer, member) and not _only_waits(group, member_id, member)
    ]
    return sorted(awaited, key=_urgency)


def unconcerned_members(view: ClusterView, group: GroupView) -> list[str]:
    """The ids of members that own partitions, run, and have nothing to revoke."""
    consumer = group.consumer
    if consumer is None:
        return []
    found = []
    for member_id, known in consumer.members.items():
        member = view.members.get(group.members.get(member_id, ""))
        reads = member is not None and member.alive and not member.paused and bool(member.owned)
        if reads and member is not None and member.member_id == member_id and not still_to_give_up(consumer, known):
            found.append(member_id)
    return found


def awaited_of(view: ClusterView, group: GroupView, now_us: int) -> list[tuple[str, str]]:
    """The awaited members of a group of either protocol, each with its reason."""
    if group.consumer is not None:
        return [(one.member, one.reason) for one in awaited_members(view, group, now_us)]
    missing = awaited_joins(view, group, now_us) or awaited_syncs(view, group, now_us)
    return [(one.member, one.reason) for one in missing]


def _urgency(one: AwaitedMember) -> tuple[bool, bool, bool, int]:
    limit_us = one.fenced_at_us if one.fenced_at_us != NEVER else 1 << 62
    return not one.wanted_by, not one.gives_up, not one.unable, limit_us


def _only_waits(group: GroupView, member_id: str, member: ConsumerGroupMemberView) -> bool:
    """Whether all that a member lacks belongs to others: its heartbeats cannot take it further."""
    if member.state != "UNRELEASED_PARTITIONS":
        return False
    held = held_by_others(group, member_id)
    return sum(len(names) for names in held.values()) == len(set(member.target) - set(member.assigned))


def _awaited(
    view: ClusterView, group: GroupView, consumer: ConsumerGroupView, member_id: str, now_us: int
) -> AwaitedMember:
    known, name = consumer.members[member_id], group.members.get(member_id, member_id)
    reason = _why_silent(view, group, member_id, name, now_us)
    unable, member = bool(reason), view.members.get(name)
    if not reason and member is not None:
        if known.state == "UNREVOKED_PARTITIONS":
            reason, unable = _why_not_revoked(member, now_us)
        else:
            reason = _why_behind(member, now_us)
    gives_up = still_to_give_up(consumer, known)
    wanted = wanted_by(group, member_id, gives_up)
    return AwaitedMember(member_id, name, reason, gives_up, wanted, known.fenced_at_us, unable)


def _why_silent(view: ClusterView, group: GroupView, member_id: str, name: str, now_us: int) -> str:
    """Why a member sends no heartbeat, with the timer that ends the wait; "" for a member that sends them."""
    ends = session_words(group, member_id, now_us)
    absent = why_absent(view, member_id, name, "static member is away", ends)
    if absent:
        return absent
    member = view.members[name]
    if member.heartbeats_paused:
        return f"its heartbeats are paused: {ends}"
    return "looks up the coordinator" if member.coordinator == NEVER else ""


def _why_not_revoked(member: MemberView, now_us: int) -> tuple[str, bool]:
    """Why a member with a coordinator has not given its partitions up; whether its application is the reason."""
    age_us = poll_age_us(member, now_us)
    if member.state == "ACKNOWLEDGING":
        return "its next heartbeat reports the revocation", False
    if member.stalled_until_us is not None:
        return f"stalled, last poll {duration(age_us)} ago", True
    if age_us > SECOND_US:
        return f"processing, last poll {duration(age_us)} ago", True
    if member.state == "RECONCILING":
        return "inside poll()", False
    return "the answer to its heartbeat is under way", False


def _why_behind(member: MemberView, now_us: int) -> str:
    due_us = heartbeat_due_us(member)
    if due_us == NEVER or due_us <= now_us:
        return "its heartbeat is under way"
    return f"next heartbeat in {countdown(due_us - now_us)}"


def duty_words(one: AwaitedMember) -> str:
    """`to revoke orders 4-5 for billing-3`; "" for a member that has nothing to revoke."""
    if not one.gives_up:
        return ""
    return f"to revoke {ranges(list(one.gives_up))}{for_words(one.wanted_by)}"


def for_words(names: tuple[str, ...]) -> str:
    """` for billing-3`, ` for billing-3 and 2 more`."""
    if not names:
        return ""
    return f" for {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def waits_words(one: WaitingMember) -> str:
    """`billing-3 waits for orders 4-5 of billing-1`."""
    owner, names = next(iter(one.held_by.items()))
    more = f" and of {len(one.held_by) - 1} more" if len(one.held_by) > 1 else ""
    return f"{one.member} waits for {ranges(list(names))} of {owner}{more}"
