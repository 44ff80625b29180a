"""Why a member does not read: gone from its group, without a process, without a poll, awaited by its group."""

from cluster.view.state import NEVER, GroupView, MemberView
from console.presenters.activity_lanes import LATE_SHARE
from console.presenters.awaited_members import (
    Awaited,
    awaited_joins,
    awaited_syncs,
    heartbeat_late_us,
    is_former,
    poll_age_us,
    session_words,
)
from console.presenters.consumer_groups.reconciliation import AwaitedMember, awaited_members
from console.presenters.coordinator_status import is_up
from console.presenters.formatting import countdown, duration, setting
from console.presenters.rebalance_phase import session_key
from console.presenters.styled_text import OK, WARN
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, fault_ends, in_order
from console.presenters.why.groups import (
    awaited,
    coordinator_not_available,
    generation_not_complete,
    process_lines,
    restart,
)
from console.presenters.why.partitions import leaders_away

GONE_LINES = (
    "member_removed",
    "application_failed",
    "consumer_fenced",
    "member_state_changed",
    "fault_started",
    "member_stopped",
    "member_started",
)
DECIDED = {
    "member left": "it sent LeaveGroup",
    "session expired": "its coordinator had no heartbeat for its session",
    "poll interval exceeded": "max.poll.interval.ms passed",
    "sync timed out": "its coordinator had no SyncGroup in time",
    "group full": "the group has group.max.size members",
    "static member replaced": "another process has its group.instance.id",
}
"""Reason of a removal → the decision behind it."""
EVICTED = DECIDED.keys() - {"member left"}
"""Reasons of a removal that the member's application did not ask for."""


def member_gone(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member is not in its group: when it left, and why."""
    member, group = _member(facts, name)
    if group is None or name in group.members.values() or name in group.pending.values():
        return None
    decided = DECIDED.get(member.removed_for, member.removed_for)
    because = f": {decided}" if decided else ""
    verdict = f"{name} is not a member of {group.group}{because}"
    found = facts.lines(name, *GONE_LINES)
    may = () if member.alive else (f"start {name}",)
    ends = fault_ends(facts, name)
    if not member.alive and not ends:
        ends = "no timer ends this: its process is not running"
    return WhyAnswer(verdict, WARN, in_order(*found), ends, may)


def process_stands_still(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member has no process, a frozen one, or one whose heartbeat thread is paused."""
    member, group = _member(facts, name)
    ids = [member_id for member_id, known in group.members.items() if known == name] if group is not None else []
    if group is None or not ids:
        return None
    if not member.alive:
        verdict = f"{name}'s process is not running, and {group.group} has not noticed"
    elif member.paused:
        verdict = f"{name}'s process is frozen"
    elif all(is_former(member, one) for one in ids):
        verdict = f"{name} runs again, and {group.group} still has the id of its former process"
    elif member.heartbeats_paused:
        verdict = f"{name}'s heartbeat thread is paused"
    else:
        return None
    ends = fault_ends(facts, name, f"{session_words(group, ids[0], facts.now_us)} ({session_key(group)})")
    may = (f"resume {name}",) if member.alive and member.paused else restart(facts, name)
    return WhyAnswer(verdict, WARN, in_order(*process_lines(facts, name)), ends, may)


def poll_late(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The application has not called poll() for a quarter of max.poll.interval.ms, or it is stalled."""
    member, _ = _member(facts, name)
    age_us, limit_us = poll_age_us(member, facts.now_us), 1_000 * member.max_poll_interval_ms
    stalled = member.stalled_until_us is not None
    if not member.alive or member.paused or not age_us or not (stalled or LATE_SHARE * age_us > limit_us):
        return None
    what = "stalled" if stalled else "processing"
    verdict = f"{name} has not polled for {duration(age_us)}: {what}"
    found = (WhyFact(member.last_poll_us, f"{name}'s last poll() returned"), *facts.last(name, "fault_started"))
    left_us, limit = limit_us - age_us, setting(member.max_poll_interval_ms)
    ends = f"max.poll.interval.ms ({limit}) passes in {countdown(left_us)}" if left_us > 0 else ""
    return WhyAnswer(verdict, WARN, in_order(*found), fault_ends(facts, name, ends), restart(facts, name))


def coordinator_away(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member runs, and no coordinator answers it."""
    member, group = _member(facts, name)
    return coordinator_not_available(facts, group.group) if group is not None and member.alive else None


def heartbeat_late(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member's heartbeat was due a while ago, and no answer has come."""
    member, group = _member(facts, name)
    late_us = heartbeat_late_us(member, facts.now_us)
    ids = [member_id for member_id, known in group.members.items() if known == name] if group is not None else []
    if group is None or not ids or not late_us:
        return None
    verdict = f"{name}'s heartbeat is late: it was due {duration(late_us)} ago"
    found = (*_last_heartbeat(member), *facts.last(name, "fault_started"))
    ends = f"{session_words(group, ids[0], facts.now_us)} ({session_key(group)})"
    return WhyAnswer(verdict, WARN, in_order(*found), ends)


def owned_leaders_away(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Partitions that the member owns without a live leader."""
    member, _ = _member(facts, name)
    return leaders_away(facts, name, member.owned) if member.owned and member.alive else None


def group_lost_a_member(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """A member whose process runs is not in the group: its coordinator removed it, or max.poll.interval.ms did."""
    for member in facts.view.members.values():
        if member.group == name and member.alive and member.removed_for in EVICTED:
            answer = member_gone(facts, member.member)
            if answer is not None:
                return answer
    return None


def group_waits(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The group waits for this member."""
    _, group = _member(facts, name)
    if group is None or group.under_way is None or not is_up(facts.view, group):
        return None
    now_us = facts.now_us
    missing: list[Awaited | AwaitedMember] = [*awaited_members(facts.view, group, now_us)]
    missing += awaited_joins(facts.view, group, now_us) or awaited_syncs(facts.view, group, now_us)
    one = next((one for one in missing if one.member == name), None)
    whole = generation_not_complete(facts, group.group)
    if one is None or whole is None:
        return None
    found = in_order(*awaited(facts, group.under_way, one))
    return whole._replace(verdict=f"{group.group} waits for {name}", facts=found, may=())


def group_rebalances(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The member owns nothing while its group rebalances: what that waits for."""
    member, group = _member(facts, name)
    if group is None or member.owned or name not in {*group.members.values(), *group.pending.values()}:
        return None
    return generation_not_complete(facts, group.group) if group_waits(facts, name) is None else None


def member_goes_on(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that the member reads."""
    member, _ = _member(facts, name)
    number = len(member.owned)
    owned = f"{number} partition{'s' * (number != 1)}"
    return WhyAnswer(f"{name} is {member.state}: it owns {owned}", OK, _last_heartbeat(member))


def _last_heartbeat(member: MemberView) -> tuple[WhyFact, ...]:
    if member.heartbeats_from_us == NEVER or member.last_heartbeat_us <= member.heartbeats_from_us:
        return ()
    text = f"{member.member}'s last heartbeat was answered: {member.last_heartbeat_error}"
    return (WhyFact(member.last_heartbeat_us, text),)


def _member(facts: WhyFacts, name: str) -> tuple[MemberView, GroupView | None]:
    member = facts.view.members[name]
    return member, facts.view.groups.get(member.group)
