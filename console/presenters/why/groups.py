"""Why a group does not go on: no coordinator, an incomplete generation, silent members, partitions without an owner."""

from cluster.view.rebalances import OpenRebalance
from cluster.view.state import NEVER, GroupView
from console.presenters.awaited_members import (
    Awaited,
    awaited_joins,
    awaited_syncs,
    session_words,
    silent_ids,
)
from console.presenters.consumer_groups.reconciliation import AwaitedMember, awaited_members, duty_words
from console.presenters.coordinator_status import DOWN, FROZEN, NO_LEADER, UP, coordinator_status, outage_of
from console.presenters.exceptions.facts import and_more
from console.presenters.formatting import countdown
from console.presenters.rebalance_phase import session_key
from console.presenters.styled_text import ERROR, MOVING, OK, WARN
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, in_order
from console.presenters.why.brokers import broker_lines

NAMED = 3


def coordinator_not_available(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """No coordinator answers the group's members."""
    group = facts.view.groups[name]
    broker, state = coordinator_status(facts.view, group)
    if state == UP or not group.members:
        return None
    outage = outage_of(facts.view, group, facts.now_us, facts.session_us)
    verdict = outage.reason + (f": {outage.explanation}" if outage.explanation else "")
    partition = group.coordinator_partition
    found = [*facts.last(partition, "leader_elected"), *facts.last(name, "group_loaded", "consumer_group_loaded")]
    if broker >= 0:
        found += broker_lines(facts, broker)
    may = {DOWN: f"start broker-{broker}", FROZEN: f"resume broker-{broker}"}.get(state, "")
    if state == NO_LEADER:
        replicas = facts.view.partitions[partition].replicas if partition in facts.view.partitions else ()
        may = next((f"start broker-{one}" for one in replicas if not facts.view.brokers[one].alive), "")
    ends = f"broker-{broker} is fenced within {outage.within}" if outage.within else ""
    return WhyAnswer(verdict, ERROR, in_order(*found), ends, (may,) if may else ())


def generation_not_complete(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The group rebalances: the awaited members, each with its reason, and the timer that ends the wait."""
    group = facts.view.groups[name]
    if group.under_way is None or coordinator_status(facts.view, group).state != UP:
        return None
    if group.consumer is not None:
        return _reconciles(facts, group, group.under_way)
    barrier = group.under_way
    opened = group.state == "PreparingRebalance"
    left = countdown(barrier.closes_at_us - facts.now_us)
    found = (*_cause(group, barrier), *_last_join(group, barrier))
    if opened and barrier.initial:
        return WhyAnswer(
            f"{name} is in its initial rebalance delay: no member is awaited",
            MOVING,
            in_order(*found),
            f"the barrier closes within {left} (group.initial.rebalance.delay.ms)",
        )
    missing = awaited_joins(facts.view, group, facts.now_us) or awaited_syncs(facts.view, group, facts.now_us)
    if not missing:
        ends = f"the barrier closes within {left} (max.poll.interval.ms)" if opened else ""
        return WhyAnswer(f"{name} rebalances: no member is missing", MOVING, in_order(*found), ends)
    who = and_more([one.member for one in missing])
    number = group.generation + 1 if opened else group.generation
    verdict = f"generation {number} is not complete: {name} waits for {who}"
    found = (*(fact for one in missing[:NAMED] for fact in awaited(facts, barrier, one)), *found)
    join = "it joins" if len(missing) == 1 else "all have joined"
    ends = (
        f"the barrier closes when {join}, or in {left} (max.poll.interval.ms)" if opened else "SyncGroup ends the wait"
    )
    tone = WARN if missing[0].unable else MOVING
    return WhyAnswer(verdict, tone, in_order(*found), ends, _remedy(facts, missing[0]))


def silent_members(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Members without a process that sends heartbeats: the one whose session ends first."""
    group = facts.view.groups[name]
    silent = silent_ids(facts.view, group)
    if not silent or coordinator_status(facts.view, group).state != UP:
        return None
    first = min(silent, key=lambda one: group.session_deadlines_us.get(one, 1 << 62))
    member = group.members[first]
    verb = "is" if len(silent) == 1 else "are"
    verdict = f"{and_more([member, *(group.members[one] for one in silent if one != first)])} {verb} silent"
    found = process_lines(facts, member)
    ends = f"{session_words(group, first, facts.now_us)} ({session_key(group)})"
    return WhyAnswer(verdict, WARN, in_order(*found), ends, restart(facts, member))


def partitions_unowned(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Partitions of the group's topics that no member reads."""
    group = facts.view.groups[name]
    unowned, total = facts.unowned(group)
    if not unowned:
        return None
    lost = sorted(group.unowned_since_us.items(), key=lambda item: item[1])[:NAMED]
    found = [WhyFact(since_us, f"{partition} lost its owner") for partition, since_us in lost]
    noun, verb = "partition" if total == 1 else "partitions", "has" if unowned == 1 else "have"
    verdict = f"{unowned} of {total} {noun} {verb} no owner in {name}"
    may = () if group.members or group.pending else (f"scale {name} to 1",)
    return WhyAnswer(verdict, WARN, in_order(*found), "", may)


def nothing_wrong(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that the group goes on."""
    group = facts.view.groups[name]
    found = facts.last(name, "group_stabilized", "consumer_group_state_changed")
    if not group.members:
        return WhyAnswer(f"{name} is {group.state}: it has no members", OK, found)
    owned = len(group.owners)
    noun = "partition has" if owned == 1 else "partitions have"
    return WhyAnswer(f"{name} is {group.state}: {owned} {noun} an owner, no member is awaited", OK, found)


def _cause(group: GroupView, barrier: OpenRebalance) -> tuple[WhyFact, ...]:
    """The line of the event that began the rebalance."""
    who = f" ({barrier.trigger})" if barrier.trigger else ""
    return (WhyFact(barrier.started_us, f"{group.group} rebalances: {barrier.cause}{who}"),)


def _last_join(group: GroupView, barrier: OpenRebalance) -> tuple[WhyFact, ...]:
    """The last JoinGroup at the barrier."""
    if not barrier.joined or barrier.reconciliation is not None:
        return ()
    of = max(len(group.members) + len(group.pending), len(barrier.joined))
    return (WhyFact(max(barrier.joined.values()), f"{len(barrier.joined)} of {of} members have joined"),)


def awaited(facts: WhyFacts, rebalance: OpenRebalance, one: Awaited | AwaitedMember) -> tuple[WhyFact, ...]:
    """Why a member is awaited, at its last poll() or at the beginning of the rebalance, and the end of its process."""
    member = facts.view.members.get(one.member)
    polled = member is not None and "last poll" in one.reason
    at_us = member.last_poll_us if member is not None and polled else rebalance.started_us
    duty = duty_words(one) if isinstance(one, AwaitedMember) else ""
    words = f"{one.member}{f' {duty}' if duty else ''}: {one.reason}"
    return (WhyFact(at_us, words), *(process_lines(facts, one.member) if one.unable else ()))


def process_lines(facts: WhyFacts, name: str) -> tuple[WhyFact, ...]:
    """The newest fault of a member, and the end of its process."""
    member = facts.view.members.get(name)
    runs = member is not None and member.alive
    return facts.lines(name, *(("fault_started",) if runs else ("fault_started", "member_stopped")))


def _reconciles(facts: WhyFacts, group: GroupView, rebalance: OpenRebalance) -> WhyAnswer:
    missing = awaited_members(facts.view, group, facts.now_us)
    found = [*facts.last(group.group, "consumer_group_epoch_bumped")]
    if not missing:
        return WhyAnswer(f"{group.group} rebalances: no member is missing", MOVING, in_order(*found))
    for one in missing[:NAMED]:
        found += awaited(facts, rebalance, one)
    first = missing[0]
    limit = next((one for one in missing if one.fenced_at_us != NEVER), None)
    ends = ""
    if limit is not None:
        left = countdown(limit.fenced_at_us - facts.now_us)
        ends = f"{limit.member} is fenced in {left} (max.poll.interval.ms)"
    who = and_more([one.member for one in missing])
    verdict = f"epoch {group.generation} is not reconciled: {group.group} waits for {who}"
    return WhyAnswer(verdict, WARN if first.unable else MOVING, in_order(*found), ends, _remedy(facts, first))


def _remedy(facts: WhyFacts, one: Awaited | AwaitedMember) -> tuple[str, ...]:
    return restart(facts, one.member) if one.unable else ()


def restart(facts: WhyFacts, name: str) -> tuple[str, ...]:
    """The command for a member that cannot act: a process that stands still is restarted, one that ended started."""
    member = facts.view.members.get(name)
    if member is None:
        return ()
    return (f"start {name}",) if not member.alive else (f"restart {name}",)
