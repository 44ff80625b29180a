"""The fold of the group coordinator's events: states, members, barriers, rebalances and their cost."""

from typing import Final

from cluster import events as e
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.committed import LOADED, NO_OFFSET, RESET, STEPS_KEPT, CommittedStepBack, cause_of, step_words
from cluster.view.fold_cluster import note, note_of
from cluster.view.fold_table import FoldTable
from cluster.view.rebalances import ConsumerGroupView, OpenRebalance, RebalanceView
from cluster.view.state import ACTIVITY_US, NEVER, ClusterView, GroupView, Heartbeat, ReaderView
from cluster.view.votes import AssignorVote

FOLD = FoldTable()

REBALANCES_KEPT: Final = 500
NAMES_KEPT: Final = 12  # of the last members to join, of new members, of removed members
MOVES_KEPT: Final = 24
DATED_US: Final = 180_000_000


@FOLD.handles(e.GroupDeclared)
def group_declared(view: ClusterView, event: e.GroupDeclared) -> None:
    view.groups[event.group] = GroupView(
        event.group,
        event.topics,
        event.assignors,
        event.offset_reset,
        event.read_committed,
        event.coordinator_partition,
        event.sink,
    )
    for topic in event.topics:
        view.topic_readers.setdefault(topic, []).append(event.group)


@FOLD.handles(e.MemberIdAssigned)
def member_id_assigned(view: ClusterView, event: e.MemberIdAssigned) -> None:
    group = view.groups[event.group]
    group.pending[event.member_id] = event.member
    if group.state == "Dead":  # a deleted group exists again
        group.state = "Empty"


@FOLD.handles(e.RebalanceStarted)
def rebalance_started(view: ClusterView, event: e.RebalanceStarted) -> None:
    group = view.groups[event.group]
    group.coordinated_by = event.broker
    opened = OpenRebalance(event.at_us, event.cause, event.trigger, event.initial, event.closes_at_us)
    opened.detail, opened.generation = event.detail, event.generation
    if group.open_rebalance is not None:  # the last attempt never became Stable: its first cause stays
        _continue(group.open_rebalance, opened)
    else:
        opened.unowned_since_us = dict(group.unowned_since_us)
        opened.unowned_before_us = sum(event.at_us - since for since in group.unowned_since_us.values())
        if event.cause == RebalanceCause.PARTITIONS_REVOKED and group.rebalances:
            last = group.rebalances[-1]  # it made members revoke partitions: their time without an owner counts for it
            opened.follows = last.generation
            given_up = [since for since in group.unowned_since_us.values() if since >= last.stable_us]
            last.stopped_partition_us += sum(event.at_us - since for since in given_up)
    group.state = "PreparingRebalance"
    group.session_deadlines_us.update(event.session_deadlines_us)
    group.open_rebalance = opened
    who = f" ({event.trigger})" if event.trigger else ""
    note_of(view, event, "rebalance", event.group, f" rebalances: {event.cause}{who}")


def _continue(before: OpenRebalance, now: OpenRebalance) -> None:
    """Carry an attempt over to the next: the barrier opens again for the same rebalance."""
    now.started_us, now.cause, now.trigger, now.detail = before.started_us, before.cause, before.trigger, before.detail
    now.generation, now.attempts = before.generation, before.attempts + 1
    now.removed, now.unowned_since_us = before.removed, before.unowned_since_us
    now.unowned_before_us = before.unowned_before_us
    now.follows = before.follows


@FOLD.handles(e.JoinBarrierExtended)
def join_barrier_extended(view: ClusterView, event: e.JoinBarrierExtended) -> None:
    barrier = view.groups[event.group].open_rebalance
    if barrier is not None:
        barrier.closes_at_us = event.closes_at_us
        barrier.extensions += 1
        barrier.extended = event.reason


@FOLD.handles(e.JoinReceived)
def join_received(view: ClusterView, event: e.JoinReceived) -> None:
    group = view.groups[event.group]
    group.pending.pop(event.member_id, None)
    group.members[event.member_id] = event.member
    group.session_deadlines_us[event.member_id] = event.session_deadline_us
    group.leader = event.leader
    if group.open_rebalance is not None:
        group.open_rebalance.joined[event.member_id] = event.at_us
        if event.newcomer:
            group.open_rebalance.newcomers[event.member_id] = event.member


@FOLD.handles(e.JoinBarrierCompleted)
def join_barrier_completed(view: ClusterView, event: e.JoinBarrierCompleted) -> None:
    group = view.groups[event.group]
    group.generation = event.generation
    group.assignor = event.protocol
    group.leader = event.leader
    group.members = dict(event.members)
    group.session_deadlines_us = dict(event.session_deadlines_us)
    group.barriers_completed += 1
    group.vote = None
    if event.members:
        group.state = "CompletingRebalance"
        if group.open_rebalance is not None:
            group.open_rebalance.completed_us = event.at_us
            group.open_rebalance.last_joined = event.last_joined
            group.open_rebalance.waited_us = event.waited_us
        return
    group.state = "Empty"
    group.assignment = {}
    if group.open_rebalance is not None:
        _close(group, event.at_us)


@FOLD.handles(e.ProtocolElected)
def protocol_elected(view: ClusterView, event: e.ProtocolElected) -> None:
    group = view.groups[event.group]
    offers = {group.members.get(member_id, member_id): offer for member_id, offer in event.offers.items()}
    votes = {group.members.get(member_id, member_id): name for member_id, name in event.votes.items()}
    group.vote = vote = AssignorVote(event.protocol, offers, votes)
    lacking = [f"{name} is blocked by {_listed(members)}" for name, members in vote.blocked.items()]
    why = "; ".join(lacking) or f"{list(votes.values()).count(event.protocol)} of {len(votes)} votes"
    note_of(view, event, "member", event.group, f" elects {event.protocol}: {why}")


def _listed(members: list[str]) -> str:
    return ", ".join(members) if len(members) <= 3 else f"{', '.join(members[:2])} and {len(members) - 2} more"


@FOLD.handles(e.AssignmentMade)
def assignment_made(view: ClusterView, event: e.AssignmentMade) -> None:
    """Change nothing: the assignment counts when the coordinator has stored it."""


@FOLD.handles(e.SyncReceived)
def sync_received(view: ClusterView, event: e.SyncReceived) -> None:
    group = view.groups[event.group]
    group.session_deadlines_us[event.member_id] = event.session_deadline_us
    if group.open_rebalance is not None:
        group.open_rebalance.synced[event.member_id] = event.at_us


@FOLD.handles(e.GroupStabilized)
def group_stabilized(view: ClusterView, event: e.GroupStabilized) -> None:
    group = view.groups[event.group]
    group.state = "Stable"
    group.assignment = dict(event.assignment)
    group.session_deadlines_us.update(event.session_deadlines_us)
    _close(group, event.at_us)
    note_of(view, event, "stable", event.group, f" is Stable in generation {event.generation}")


def _close(group: GroupView, now_us: int) -> None:
    barrier, group.open_rebalance = group.open_rebalance, None
    if barrier is not None:
        complete(group, barrier, now_us)


def complete(group: GroupView, barrier: OpenRebalance, now_us: int) -> None:
    """Add a completed rebalance, with the partitions that changed hands."""
    moves = [
        (name, group.previous_owners[name], owner)
        for member_id, partitions in group.assignment.items()
        for owner in (group.members.get(member_id, ""),)
        for name in partitions
        if group.previous_owners.get(name, owner) != owner
    ]
    for member_id, partitions in group.assignment.items():
        group.previous_owners.update(dict.fromkeys(partitions, group.members.get(member_id, "")))
    one = RebalanceView(
        group.generation,
        barrier.cause,
        barrier.trigger,
        barrier.started_us,
        now_us,
        barrier.last_joined,
        barrier.waited_us,
        len(moves),
        len(group.members),
    )
    _describe(one, group, barrier)
    one.moves = moves[:MOVES_KEPT]
    group.rebalances.append(one)
    del group.rebalances[:-REBALANCES_KEPT]


def _describe(one: RebalanceView, group: GroupView, barrier: OpenRebalance) -> None:
    """Fill in the details of a completed rebalance."""
    one.detail, one.initial, one.before = barrier.detail, barrier.initial, barrier.generation
    one.assigned_us, one.follows = one.stable_us, barrier.follows
    one.coordinator, one.assignor, one.leader = group.coordinated_by, group.assignor, group.leader
    one.vote, one.stopped_partition_us, one.reread = group.vote, barrier.stopped_partition_us, barrier.reread
    one.completed_us, one.attempts = barrier.completed_us, barrier.attempts
    one.extensions, one.extended, one.reconciliation = barrier.extensions, barrier.extended, barrier.reconciliation
    joined = sorted(barrier.joined.items(), key=lambda join: join[1])[-NAMES_KEPT:]
    one.arrivals = {group.members.get(member_id, member_id): at_us for member_id, at_us in joined}
    one.newcomers = tuple(list(barrier.newcomers.values())[:NAMES_KEPT])
    one.removed = dict(list(barrier.removed.items())[:NAMES_KEPT])
    one.unowned, one.unowned_before_us = len(barrier.unowned_since_us), barrier.unowned_before_us
    one.kept = sum(1 for name in group.owners if name not in barrier.unowned_since_us)


@FOLD.handles(e.MemberRemoved)
def member_removed(view: ClusterView, event: e.MemberRemoved) -> None:
    group = view.groups[event.group]
    for known in (group.members, group.pending, group.session_deadlines_us):
        known.pop(event.member_id, None)
    group.leader = event.leader
    if group.consumer is not None:
        group.consumer.members.pop(event.member_id, None)
        group.assignment.pop(event.member_id, None)
    if (rebalance := group.under_way) is not None:
        rebalance.member_removed(event.member_id, event.member, event.reason)
        if rebalance.reconciliation is not None and event.member not in group.members.values():
            rebalance.reconciliation.removed(event.member, event.at_us, event.reason)
    if (member := view.members.get(event.member)) is not None:
        member.removed_us, member.removed_for = event.at_us, event.reason
    note_of(view, event, "member", event.member, f" left {event.group}: {event.reason}")


@FOLD.handles(e.StaticMemberReplaced)
def static_member_replaced(view: ClusterView, event: e.StaticMemberReplaced) -> None:
    group = view.groups[event.group]
    successor = (event.member_id, event.member)
    group.members = dict([successor if one[0] == event.old_member_id else one for one in group.members.items()])
    group.leader = event.leader
    group.session_deadlines_us.pop(event.old_member_id, None)
    group.session_deadlines_us[event.member_id] = event.session_deadline_us
    if event.goes_on:  # it has its predecessor's partitions, late: no part of the rebalance
        group.last_given[event.member] = group.generation
    if event.old_member_id in group.assignment:
        group.assignment[event.member_id] = group.assignment.pop(event.old_member_id)
    if group.open_rebalance is not None:
        group.open_rebalance.joined.pop(event.old_member_id, None)
    if group.consumer is not None and event.old_member_id in group.consumer.members:
        group.consumer.members[event.member_id] = group.consumer.members.pop(event.old_member_id)
    note_of(view, event, "member", event.member, f" is back in {event.group} under its instance id")


@FOLD.handles(e.HeartbeatAnswered)
def heartbeat_answered(view: ClusterView, event: e.HeartbeatAnswered) -> None:
    member = view.members.get(event.member)
    if member is not None:
        member.last_heartbeat_us = event.at_us
        member.last_heartbeat_error = event.error
        beats = member.heartbeats
        beats.append(Heartbeat(event.at_us, event.error))
        while beats[0].at_us < event.at_us - ACTIVITY_US:
            del beats[0]
    if event.session_deadline_us >= 0:
        view.groups[event.group].session_deadlines_us[event.member_id] = event.session_deadline_us


@FOLD.handles(e.SessionRenewed)
def session_renewed(view: ClusterView, event: e.SessionRenewed) -> None:
    view.groups[event.group].session_deadlines_us[event.member_id] = event.session_deadline_us


@FOLD.handles(e.OffsetsCommitted)
def offsets_committed(view: ClusterView, event: e.OffsetsCommitted) -> None:
    group = view.groups[event.group]
    if event.session_deadline_us >= 0:
        group.session_deadlines_us[event.member_id] = event.session_deadline_us
    if group.state == "Dead":
        group.state = "Empty"
    readers = group.readers
    fallen: list[CommittedStepBack] = []
    for name, offset in event.offsets.items():
        reader = readers.get(name)
        if reader is None:
            reader = readers[name] = ReaderView()
        if offset < reader.committed:
            cause = cause_of(event.member, event.generation, reader.moved_by)
            by = event.member, event.generation, cause
            step = CommittedStepBack(event.at_us, name, reader.committed, offset, *by)
            reader.step_back = step if step.cause != "truncated" else None  # else no record is read again
            fallen.append(step)
        elif reader.step_back is not None and offset >= reader.step_back.before:
            reader.step_back = None
        reader.committed, reader.moved_by = offset, ""
        _forget_append_times(view, name, event.at_us - DATED_US)
    if fallen:
        _stepped_back(view, event, group, fallen)


def _stepped_back(view: ClusterView, event: e.Event, group: GroupView, steps: list[CommittedStepBack]) -> None:
    """Note committed offsets that went back by one commit, or as a coordinator loaded the group."""
    group.steps_back += steps
    del group.steps_back[:-STEPS_KEPT]
    by = (steps[0].member,) if steps[0].cause != RESET else ()
    concerned = (*by, *[step.partition for step in steps])
    note(view, event, "offset", group.group, f"{group.group}: {step_words(steps)}", targets=concerned)


def _forget_append_times(view: ClusterView, name: str, before_us: int) -> None:
    """Drop dates of records that every reading group committed long ago; late commits do not go back so far."""
    partition = view.partitions[name]
    lowest = partition.log_end
    for reading in view.topic_readers.get(partition.topic, ()):
        reader = view.groups[reading].readers.get(name)
        lowest = min(lowest, reader.committed if reader is not None else 0)
    ends = partition.append_ends
    done = 0
    times_us = partition.append_times_us
    while done < len(ends) and ends[done] <= lowest and times_us[done] < before_us:
        done += 1
    if done:
        del ends[:done]
        del times_us[:done]


@FOLD.handles(e.AutoCommitFailed)
def auto_commit_failed(view: ClusterView, event: e.AutoCommitFailed) -> None:
    """Change nothing: the committed offset stays."""


@FOLD.handles(e.OffsetCommitRefused)
def offset_commit_refused(view: ClusterView, event: e.OffsetCommitRefused) -> None:
    if event.session_deadline_us >= 0:
        view.groups[event.group].session_deadlines_us[event.member_id] = event.session_deadline_us
    note_of(view, event, "member", event.member, f": commit refused, {event.error}")


@FOLD.handles(e.GroupLoaded)
def group_loaded(view: ClusterView, event: e.GroupLoaded) -> None:
    group = view.groups[event.group]
    group.coordinated_by, group.state, group.generation = event.broker, event.state, event.generation
    group.assignor, group.leader = event.protocol, event.leader
    group.members, group.assignment = dict(event.members), dict(event.assignment)
    group.session_deadlines_us = dict(event.session_deadlines_us)
    group.pending = {}
    group.open_rebalance = group.vote = None
    if event.members:  # else it may be the offsets of a consumer group
        group.consumer = None
    elif group.consumer is not None:  # a lossy election took the records of its members
        group.consumer.members, group.consumer.rebalance = {}, None
    load_offsets(view, event, group)


def load_offsets(view: ClusterView, event: e.GroupLoaded | e.ConsumerGroupLoaded, group: GroupView) -> None:
    """Take the committed offsets that a new coordinator found in the log, and note those that went back."""
    before = {name: reader.committed for name, reader in group.readers.items() if reader.committed != NEVER}
    for reader in group.readers.values():
        reader.committed = NEVER
    for name, offset in event.offsets.items():
        group.readers.setdefault(name, ReaderView()).committed = offset
    note_of(view, event, "election", event.group, f" is coordinated by broker-{event.broker}")
    fallen = [
        CommittedStepBack(event.at_us, name, offset, event.offsets.get(name, NO_OFFSET), "", NO_OFFSET, LOADED)
        for name, offset in before.items()
        if event.offsets.get(name, NO_OFFSET) < offset
    ]
    for step in fallen:
        group.readers[step.partition].step_back = step
    if fallen:
        _stepped_back(view, event, group, fallen)


@FOLD.handles(e.GroupUnloaded)
def group_unloaded(view: ClusterView, event: e.GroupUnloaded) -> None:
    group = view.groups[event.group]
    if group.coordinated_by not in {NEVER, event.broker}:
        return  # a deposed coordinator; its successor has the group already
    group.pending = {}
    group.open_rebalance = None


@FOLD.handles(e.GroupDeleted)
def group_deleted(view: ClusterView, event: e.GroupDeleted) -> None:
    group = view.groups[event.group]
    group.state, group.generation, group.assignor, group.leader = "Dead", 0, "", ""
    group.members, group.assignment, group.session_deadlines_us, group.pending = {}, {}, {}, {}
    group.open_rebalance = group.vote = None
    group.last_given = {}  # its generations begin anew
    if group.consumer is not None:
        group.consumer = ConsumerGroupView(topic_regex=group.consumer.topic_regex)
    for reader in group.readers.values():
        reader.committed = NEVER


def stopped_partition_us(group: GroupView, now_us: int) -> int:
    """Σ over partitions of the time (µs) without an owner since their first owner, up to `now_us`."""
    return group.stopped_partition_us + sum(now_us - since for since in group.unowned_since_us.values())
