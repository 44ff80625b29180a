"""The fold of the coordinator's events of groups of the new protocol (KIP-848): epochs, targets, members' states.

`GroupView.members`, `session_deadlines_us` and `state` are those of both protocols; `generation` is the group epoch.
"""

from typing import Final

from cluster import events as e
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.fold_cluster import note_of
from cluster.view.fold_groups import NAMES_KEPT, complete, load_offsets
from cluster.view.fold_table import FoldTable
from cluster.view.rebalances import (
    NEVER,
    ConsumerGroupMemberView,
    ConsumerGroupView,
    MemberReconciliation,
    OpenRebalance,
    Revocation,
)
from cluster.view.state import ClusterView, GroupView

FOLD = FoldTable()

NO_MEMBERS: Final = ("Empty", "Dead")
FIRST_EPOCH: Final = 1  # of a group without a record of its epoch
SETTLED: Final = ("Stable", *NO_MEMBERS)


def consumer_view(group: GroupView) -> ConsumerGroupView:
    """What the view holds of a group of the new protocol; made at its first event."""
    if group.consumer is None:
        group.consumer = ConsumerGroupView()
    return group.consumer


@FOLD.handles(e.GroupProtocolDeclared)
def group_protocol_declared(view: ClusterView, event: e.GroupProtocolDeclared) -> None:
    if event.protocol == "consumer":
        consumer_view(view.groups[event.group]).topic_regex = event.topic_regex


@FOLD.handles(e.MemberProtocolDeclared)
def member_protocol_declared(view: ClusterView, event: e.MemberProtocolDeclared) -> None:
    """Change nothing: a member's state says which protocol it speaks."""


@FOLD.handles(e.GroupProtocolConverted)
def group_protocol_converted(view: ClusterView, event: e.GroupProtocolConverted) -> None:
    group = view.groups[event.group]
    group.coordinated_by = event.broker
    group.consumer = ConsumerGroupView() if event.protocol == "consumer" else None
    group.open_rebalance = None
    group.last_given = {}
    note_of(view, event, "member", event.group, f" is a {event.protocol} group from now on")


@FOLD.handles(e.ClassicGroupUpgraded)
def classic_group_upgraded(view: ClusterView, event: e.ClassicGroupUpgraded) -> None:
    group = view.groups[event.group]
    group.coordinated_by, group.generation, group.leader = event.broker, event.epoch, ""
    group.open_rebalance, group.vote, group.pending = None, None, {}
    group.members, group.assignment = dict(event.members), dict(event.assigned)
    group.session_deadlines_us = dict(event.session_deadlines_us)
    consumer = group.consumer = ConsumerGroupView()
    consumer.group_epoch = consumer.assignment_epoch = event.epoch
    for member_id, assigned in event.assigned.items():
        one = consumer.members[member_id] = ConsumerGroupMemberView(classic=True)
        one.epoch = one.previous_epoch = event.epoch
        one.assigned = one.target = assigned
        one.instance_id, one.topics = event.instance_ids.get(member_id, ""), event.topics[member_id]
    note_of(view, event, "member", event.group, f" is a consumer group from now on, with {_classic(group)}")


def _classic(group: GroupView) -> str:
    number = len(group.members)
    return "1 classic member" if number == 1 else f"{number} classic members"


@FOLD.handles(e.ConsumerGroupDowngraded)
def consumer_group_downgraded(view: ClusterView, event: e.ConsumerGroupDowngraded) -> None:
    group = view.groups[event.group]
    group.coordinated_by, group.state, group.generation = event.broker, "Stable", event.generation
    group.assignor, group.leader, group.consumer, group.pending = event.protocol, event.leader, None, {}
    group.members, group.assignment = dict(event.members), dict(event.assignment)
    group.session_deadlines_us = dict(event.session_deadlines_us)
    note_of(view, event, "member", event.group, f" is a classic group from now on, with {_classic(group)}")


@FOLD.handles(e.GroupConversionRefused)
def group_conversion_refused(view: ClusterView, event: e.GroupConversionRefused) -> None:
    note_of(view, event, "member", event.group, f" is not converted: {event.reason}")


@FOLD.handles(e.MemberProtocolChanged)
def member_protocol_changed(view: ClusterView, event: e.MemberProtocolChanged) -> None:
    group = view.groups[event.group]
    group.members[event.member_id] = event.member
    member = consumer_view(group).members.setdefault(event.member_id, ConsumerGroupMemberView())
    member.classic, member.awaited_until_us = event.protocol == "classic", {}


@FOLD.handles(e.ClassicMemberIdAssigned)
def classic_member_id_assigned(view: ClusterView, event: e.ClassicMemberIdAssigned) -> None:
    """Change nothing: the coordinator does not keep the id."""


@FOLD.handles(e.ClassicMemberAwaited)
def classic_member_awaited(view: ClusterView, event: e.ClassicMemberAwaited) -> None:
    member = consumer_view(view.groups[event.group]).members[event.member_id]
    if event.request == "SyncGroup":  # a member that joins has done what it was told to
        member.awaited_until_us.pop("JoinGroup", None)
    if event.until_us >= 0:
        member.awaited_until_us[event.request] = event.until_us
    else:
        member.awaited_until_us.pop(event.request, None)


@FOLD.handles(e.ConsumerMemberSubscribed)
def consumer_member_subscribed(view: ClusterView, event: e.ConsumerMemberSubscribed) -> None:
    group = view.groups[event.group]
    consumer = consumer_view(group)
    group.members[event.member_id] = event.member
    group.pending.pop(event.member_id, None)
    if event.session_deadline_us >= 0:
        group.session_deadlines_us[event.member_id] = event.session_deadline_us
    if not consumer.group_epoch:  # it stays so while no topic matches its regular expressions
        group.generation = consumer.group_epoch = consumer.assignment_epoch = FIRST_EPOCH
    known = consumer.members.setdefault(event.member_id, ConsumerGroupMemberView())
    known.instance_id, known.topics, known.topic_regex = event.instance_id, event.topics, event.topic_regex


@FOLD.handles(e.ConsumerGroupEpochBumped)
def consumer_group_epoch_bumped(view: ClusterView, event: e.ConsumerGroupEpochBumped) -> None:
    group = view.groups[event.group]
    consumer = consumer_view(group)
    group.coordinated_by = event.broker
    group.generation = consumer.group_epoch = event.epoch
    if consumer.rebalance is None:
        trigger = event.members[0] if event.members else ""
        opened = OpenRebalance(event.at_us, event.cause, trigger, group.state in NO_MEMBERS, -1)
        opened.generation = event.epoch - 1
        opened.reconciliation = MemberReconciliation()
        opened.unowned_since_us = dict(group.unowned_since_us)
        opened.unowned_before_us = sum(event.at_us - since for since in group.unowned_since_us.values())
        consumer.rebalance = opened
    else:
        consumer.rebalance.attempts += 1
    if event.cause == RebalanceCause.MEMBER_JOINED:
        consumer.rebalance.newcomers.update(zip(event.member_ids, event.members, strict=True))
    who = f" ({', '.join(event.members)})" if event.members else ""
    note_of(view, event, "rebalance", event.group, f" has epoch {event.epoch}: {event.cause}{who}")


@FOLD.handles(e.TargetAssignmentComputed)
def target_assignment_computed(view: ClusterView, event: e.TargetAssignmentComputed) -> None:
    group = view.groups[event.group]
    consumer = consumer_view(group)
    consumer.assignment_epoch, group.assignor = event.epoch, event.assignor
    consumer.computed += 1
    if consumer.rebalance is not None and consumer.rebalance.reconciliation is not None:
        consumer.rebalance.reconciliation.reached_us.clear()  # of a target that is out of date
    group.barriers_completed += 1
    for member_id, partitions in event.target.items():
        if member_id in consumer.members:
            consumer.members[member_id].target = partitions


@FOLD.handles(e.MemberAssignmentChanged)
def member_assignment_changed(view: ClusterView, event: e.MemberAssignmentChanged) -> None:
    group = view.groups[event.group]
    consumer = consumer_view(group)
    member = consumer.members.setdefault(event.member_id, ConsumerGroupMemberView())
    if consumer.rebalance is not None and consumer.rebalance.reconciliation is not None:
        _reconcile(consumer.rebalance.reconciliation, consumer.assignment_epoch, event)
    if event.pending_revocation and not member.pending_revocation:
        number = len(event.pending_revocation)
        what = "1 partition" if number == 1 else f"{number} partitions"
        note_of(view, event, "member", event.member, f" must revoke {what} before its member epoch rises")
    member.epoch, member.previous_epoch, member.state = event.epoch, event.previous_epoch, event.state
    member.assigned, member.pending_revocation = event.assigned, event.pending_revocation
    member.fenced_at_us = event.fenced_at_us
    group.assignment[event.member_id] = event.assigned
    if group.state == "Stable" and consumer.reconciled:  # a lone member had its next target at once: no other state
        _close(view, group, event.at_us)


def _reconcile(reconciliation: MemberReconciliation, assignment_epoch: int, event: e.MemberAssignmentChanged) -> None:
    """Note when a member must revoke partitions, has given them up, and has its whole target."""
    known = reconciliation.revocations.get(event.member)
    if event.pending_revocation:
        if known is None:
            reconciliation.revocations[event.member] = Revocation(event.at_us, event.pending_revocation)
        else:
            known.partitions = tuple(dict.fromkeys((*known.partitions, *event.pending_revocation)))
            known.done_us, known.removed_for = NEVER, ""
    elif known is not None and known.done_us == NEVER:
        known.done_us = event.at_us
    reached = reconciliation.reached_us
    reached.pop(event.member, None)
    if event.state == "STABLE" and event.epoch == assignment_epoch:
        reached[event.member] = event.at_us
        if len(reached) > NAMES_KEPT:
            del reached[next(iter(reached))]


@FOLD.handles(e.StaticMemberLeft)
def static_member_left(view: ClusterView, event: e.StaticMemberLeft) -> None:
    group = view.groups[event.group]
    member = consumer_view(group).members[event.member_id]
    member.epoch, member.pending_revocation, member.fenced_at_us = -2, (), -1
    group.session_deadlines_us[event.member_id] = event.session_deadline_us
    note_of(view, event, "member", event.member, f" left {event.group} for a while: its partitions are kept")


@FOLD.handles(e.TopicRegexResolved)
def topic_regex_resolved(view: ClusterView, event: e.TopicRegexResolved) -> None:
    group = view.groups[event.group]
    consumer_view(group).regexes[event.regex] = event.topics
    view.reads(group, event.topics)
    found = ", ".join(event.topics) or "no topic"
    note_of(view, event, "member", event.group, f": {event.regex} matches {found}")


@FOLD.handles(e.ConsumerGroupStateChanged)
def consumer_group_state_changed(view: ClusterView, event: e.ConsumerGroupStateChanged) -> None:
    group = view.groups[event.group]
    group.coordinated_by, group.state = event.broker, event.state
    if event.state in SETTLED:
        _close(view, group, event.at_us)
    if event.state == "Stable":
        note_of(view, event, "stable", event.group, f" is Stable in epoch {group.generation}")


def _close(view: ClusterView, group: GroupView, now_us: int) -> None:
    """End the rebalance: every member has reached its target, or none is left."""
    consumer = consumer_view(group)
    opened, consumer.rebalance = consumer.rebalance, None
    if opened is not None:
        complete(group, opened, now_us)
        consumer.awaited = {
            name: client
            for member_id, client in group.members.items()
            for name in group.assignment.get(member_id, ())
            if name not in view.members[client].owned
        }


@FOLD.handles(e.ConsumerGroupLoaded)
def consumer_group_loaded(view: ClusterView, event: e.ConsumerGroupLoaded) -> None:
    group = view.groups[event.group]
    consumer = consumer_view(group)
    group.coordinated_by, group.state, group.assignor = event.broker, event.state, event.assignor
    group.generation = consumer.group_epoch = event.group_epoch
    group.leader, group.open_rebalance = "", None
    consumer.assignment_epoch = event.assignment_epoch
    group.members, group.assignment = dict(event.members), dict(event.assigned)
    group.session_deadlines_us = dict(event.session_deadlines_us)
    before, consumer.members = consumer.members, {}
    for member_id in event.members:
        known = before.get(member_id, ConsumerGroupMemberView())
        consumer.members[member_id] = known
        known.epoch, known.previous_epoch = event.epochs[member_id], event.previous_epochs[member_id]
        known.state, known.fenced_at_us = event.states[member_id], event.fenced_at_us.get(member_id, -1)
        known.assigned = event.assigned.get(member_id, ())
        known.pending_revocation = event.pending_revocation.get(member_id, ())
        known.target = event.target.get(member_id, ())
        known.classic, known.awaited_until_us = False, {}
    if event.state in SETTLED:
        consumer.rebalance = None
    load_offsets(view, event, group)
