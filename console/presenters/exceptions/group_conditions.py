"""Conditions of consumer groups: no coordinator, awaited and silent members, late polls, pauses, rebalances."""

from typing import NamedTuple

from cluster.view.state import NEVER, GroupView
from console.presenters.activity_lanes import LATE_SHARE
from console.presenters.awaited_members import (
    Awaited,
    awaited_joins,
    awaited_syncs,
    is_silent,
    members_of,
    poll_age_us,
    session_words,
    silent_ids,
)
from console.presenters.consumer_groups.reconciliation import AwaitedMember, awaited_members
from console.presenters.coordinator_status import (
    DOWN,
    FROZEN,
    LOADING,
    NO_LEADER,
    RESTARTED,
    coordinator_status,
    is_up,
    outage_of,
)
from console.presenters.exceptions.facts import ClusterFacts, ConditionWords, and_more, longest_first
from console.presenters.exceptions.group_lag import unread_of_paused
from console.presenters.formatting import count, countdown, duration, many, setting

PAUSED_US = 30_000_000  # an application that pauses partitions because it has much to do resumes them sooner
OUTAGES = {DOWN: "is down", FROZEN: "is frozen", RESTARTED: "restarted"}


class GroupWait(NamedTuple):
    """A group that waits for its first awaited member; `unable`: that member cannot act now."""

    group: GroupView
    unowned: int
    unable: bool
    finding: ConditionWords


def coordinator_out(facts: ClusterFacts) -> ConditionWords | None:
    """Groups with members whose coordinator does not answer."""
    by_cause: dict[tuple[int, str], list[GroupView]] = {}
    for group in facts.view.groups.values():
        broker, state = coordinator_status(facts.view, group)
        if group.members and state in {*OUTAGES, NO_LEADER}:
            by_cause.setdefault((broker, state), []).append(group)
    if not by_cause:
        return None
    (broker, state), groups = max(by_cause.items(), key=lambda item: len(item[1]))
    names = and_more([group.group for group in groups], "groups" if len(groups) > 2 else "group")
    if state == NO_LEADER:
        return longest_first(f"no coordinator of {names}", f"{groups[0].coordinator_partition} has no leader")
    within = outage_of(facts.view, groups[0], facts.now_us, facts.session_us).within.partition(" (")[0]
    fenced = f"broker-{broker} is fenced within {within}" if within else ""
    return longest_first(f"coordinator broker-{broker} of {names} {OUTAGES[state]}", fenced)


def coordinator_loading(facts: ClusterFacts) -> ConditionWords | None:
    """Groups that their new coordinator is loading."""
    for group in facts.view.groups.values():
        broker, state = coordinator_status(facts.view, group)
        if state == LOADING:
            return longest_first(f"coordinator broker-{broker} is loading {group.group}")
    return None


def waits_for_unable(facts: ClusterFacts) -> ConditionWords | None:
    """A group waits for a member that cannot act: of several groups, the one with the most unowned partitions."""
    return _worst(facts, unable=True)


def rebalance_under_way(facts: ClusterFacts) -> ConditionWords | None:
    """A group rebalances, and no member of it stands still."""
    return _worst(facts, unable=False)


def _worst(facts: ClusterFacts, *, unable: bool) -> ConditionWords | None:
    waits = [
        wait
        for group in facts.view.groups.values()
        if group.under_way is not None and is_up(facts.view, group)
        if (wait := group_wait(facts, group)).unable == unable
    ]
    return max(waits, key=lambda wait: wait.unowned).finding if waits else None


def group_wait(facts: ClusterFacts, group: GroupView) -> GroupWait:
    """The first awaited member of a group that rebalances, and the timer that ends the wait."""
    unowned, total = facts.unowned(group)
    cost = f"{unowned} of {total} partitions unowned" if unowned else ""
    if group.consumer is not None:
        return _consumer_wait(facts, group, unowned, cost)
    barrier = group.open_rebalance
    assert barrier is not None
    opened = group.state == "PreparingRebalance"
    left = f"barrier closes within {countdown(barrier.closes_at_us - facts.now_us)}" if opened else ""
    if opened and barrier.initial:
        return GroupWait(group, unowned, False, longest_first(f"{group.group}: initial rebalance delay", left, cost))
    missing = awaited_joins(facts.view, group, facts.now_us) or awaited_syncs(facts.view, group, facts.now_us)
    if not missing:
        return GroupWait(group, unowned, False, longest_first(f"{group.group} rebalances: {barrier.cause}", left, cost))
    head = f"{group.group} waits for {and_more([one.member for one in missing])}"
    why = _why(facts, missing[0])
    return GroupWait(group, unowned, missing[0].unable, _with_reason(head, why, left, cost))


def _consumer_wait(facts: ClusterFacts, group: GroupView, unowned: int, cost: str) -> GroupWait:
    missing = awaited_members(facts.view, group, facts.now_us)
    if not missing:
        assert group.under_way is not None
        words = longest_first(f"{group.group} rebalances: {group.under_way.cause}", cost)
        return GroupWait(group, unowned, False, words)
    missing.sort(key=lambda one: not one.unable)  # which cannot act ends the wait last
    first = missing[0]
    head = f"{group.group} waits for {and_more([one.member for one in missing])}"
    left = f"fenced within {countdown(first.fenced_at_us - facts.now_us)}" if first.fenced_at_us != NEVER else ""
    return GroupWait(group, unowned, first.unable, _with_reason(head, _why(facts, first), left, cost))


def _why(facts: ClusterFacts, one: Awaited | AwaitedMember) -> str:
    """`, stalled 5.8 s` of a member whose poll loop stands still, else its reason."""
    member = facts.view.members.get(one.member)
    if one.unable and member is not None and not is_silent(facts.view, one.member_id, one.member):
        age_us = poll_age_us(member, facts.now_us)
        if age_us and not member.heartbeats_paused and member.coordinator != NEVER:
            return f", {'stalled' if member.stalled_until_us is not None else 'processing'} {duration(age_us)}"
    return f": {one.reason.partition('; ')[0].replace(': ', ', ')}"


def _with_reason(head: str, why: str, left: str, cost: str) -> ConditionWords:
    """The awaited member and its limit come before the reason, and the reason before the cost."""
    whole = f"{head}{why}"
    if not left:
        return ConditionWords((*longest_first(whole, cost).forms, head))
    return ConditionWords((*longest_first(f"{whole} · {left}", cost).forms, f"{head} · {left}", head))


def silent_member(facts: ClusterFacts) -> ConditionWords | None:
    """Members of a group for which no process sends heartbeats: the one whose session ends first."""
    found: list[tuple[int, int, GroupView, str]] = []
    for group in facts.view.groups.values():
        if is_up(facts.view, group):
            for member_id in silent_ids(facts.view, group):
                deadline_us = group.session_deadlines_us.get(member_id, NEVER)
                found.append((deadline_us if deadline_us != NEVER else 1 << 62, len(found), group, member_id))
    if not found:
        return None
    _, _, group, member_id = min(found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    are = "is silent" if len(found) == 1 else "are silent"
    head = f"{group.members[member_id]} of {group.group}{more} {are}"
    return longest_first(head, session_words(group, member_id, facts.now_us))


def frozen_outside(facts: ClusterFacts) -> ConditionWords | None:
    """Members whose process is frozen and whose group has removed them: the one removed first."""
    found = [
        member
        for group in facts.view.groups.values()
        for member in members_of(facts.view, group.group)
        if member.alive and member.paused and member.member not in group.members.values()
    ]
    if not found:
        return None
    first = min(found, key=lambda one: one.removed_us if one.removed_us != NEVER else 1 << 62)
    more, one = (f" and {len(found) - 1} more", False) if len(found) > 1 else ("", True)
    head = f"{first.member} of {first.group}{more} {'is frozen and not a member' if one else 'are frozen, not members'}"
    removed = f"removed {duration(facts.now_us - first.removed_us)} ago" if first.removed_us != NEVER else ""
    return longest_first(head, removed)


def late_poll(facts: ClusterFacts) -> ConditionWords | None:
    """The member that has used the largest share of max.poll.interval.ms, from a quarter of it on."""
    worst, words = 0.0, None
    for group in facts.view.groups.values():
        for member in members_of(facts.view, group.group):
            limit_us = 1_000 * member.max_poll_interval_ms
            age_us = poll_age_us(member, facts.now_us)
            if member.alive and not member.paused and LATE_SHARE * age_us > limit_us and age_us > worst * limit_us:
                worst = age_us / limit_us
                what = "stalled" if member.stalled_until_us is not None else "processing"
                age, limit = duration(age_us), setting(member.max_poll_interval_ms)
                words = longest_first(
                    f"{member.member} of {group.group} has not polled for {age}", what, f"max.poll.interval.ms {limit}"
                )
    return words


def long_pause(facts: ClusterFacts) -> ConditionWords | None:
    """The member that has paused partitions for longest, from half a minute on, and left records of them unread."""
    longest_us, words = PAUSED_US, None
    for member in facts.view.members.values():
        if not member.paused_partitions or member.paused:
            continue
        unread = unread_of_paused(facts.view, member)
        since = {name: facts.now_us - member.paused_partitions[name] for name in unread}
        long = [name for name, us in since.items() if us >= PAUSED_US]
        if long and max(since.values()) >= longest_us:
            longest_us = max(since.values())
            head = f"{member.member} of {member.group} has paused {many(len(long), 'partition')}"
            number = sum(unread[name] for name in long)
            noun = "record" if number == 1 else "records"
            words = longest_first(head, f"for {duration(longest_us)}", f"{count(number)} {noun} unread")
    return words
