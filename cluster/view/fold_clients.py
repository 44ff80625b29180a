"""The fold of consumers' events: ownership, positions, processed records, phases of their processes."""

from typing import Final

from cluster import events as e
from cluster.config import parse_rate
from cluster.view import fold_producers, ledger
from cluster.view.fold_cluster import note, note_of, require_in_sync
from cluster.view.fold_table import FoldTable
from cluster.view.state import ACTIVITY_US, NEVER, ActivitySpan, ClusterView, GroupView, MemberView, ReaderView

FOLD = FoldTable()

BUSY_US: Final = 1_000_000  # a longer time between two polls becomes a span of its own


def _lane(member: MemberView, at_us: int, phase: str) -> None:
    """Add a phase to the member's activity, and drop spans older than `ACTIVITY_US`."""
    lane = member.activity
    if lane and lane[-1].phase == phase:
        return
    if lane and lane[-1].from_us >= at_us:
        lane[-1].phase = phase
        return
    lane.append(ActivitySpan(at_us, phase))
    while len(lane) > 2 and lane[1].from_us < at_us - ACTIVITY_US:
        del lane[0]


@FOLD.handles(e.MemberDeclared)
def member_declared(view: ClusterView, event: e.MemberDeclared) -> None:
    known = view.members.get(event.member)
    view.members[event.member] = fresh = MemberView(
        event.member,
        event.group,
        event.instance_id,
        event.topics,
        event.session_timeout_ms,
        event.heartbeat_interval_ms,
        event.max_poll_interval_ms,
    )
    fresh.assignors = fresh.next_assignors = view.groups[event.group].assignors
    if known is not None:
        fresh.assignors, fresh.next_assignors = known.assignors, known.next_assignors
        fresh.processed, fresh.activity, fresh.fenced = known.processed, known.activity, known.fenced
        fresh.polls, fresh.last_poll_us, fresh.last_heartbeat_us = (
            known.polls,
            known.last_poll_us,
            known.last_heartbeat_us,
        )
        fresh.heartbeats, fresh.crashes, fresh.last_crash = known.heartbeats, known.crashes, known.last_crash
        fresh.removed_us, fresh.removed_for = known.removed_us, known.removed_for


@FOLD.handles(e.MemberAssignorsDeclared)
def member_assignors_declared(view: ClusterView, event: e.MemberAssignorsDeclared) -> None:
    view.members[event.member].next_assignors = event.assignors


@FOLD.handles(e.MemberStarted)
def member_started(view: ClusterView, event: e.MemberStarted) -> None:
    member = view.members[event.member]
    member.assignors = member.next_assignors
    member.alive, member.paused, member.state = True, False, "Joining"
    member.member_id, member.generation, member.coordinator = "", -1, -1
    member.polling, member.last_poll_us = True, event.at_us
    member.read_from, member.paused_partitions, member.buffered = {}, {}, {}
    member.heartbeats_paused, member.stalled_until_us, member.heartbeats_from_us = False, None, NEVER
    member.starting_until_us = NEVER
    _lane(member, event.at_us, "joining")
    note_of(view, event, "member", event.member, " started")


@FOLD.handles(e.MemberStopped)
def member_stopped(view: ClusterView, event: e.MemberStopped) -> None:
    member = view.members[event.member]
    member.alive = member.polling = member.paused = member.heartbeats_paused = False
    member.stalled_until_us = None
    member.state = "Left" if event.how == "stop" else "Dead"
    _release(view, member, event.at_us, tuple(member.owned))
    member.positions, member.read_from, member.buffered = {}, {}, {}
    _lane(member, event.at_us, "dead")
    words = {"stop": "closed cleanly", "kill": "was killed", "crash": f"crashed: {event.reason}"}[event.how]
    if event.how == "crash":
        member.crashes += 1
        member.last_crash = event.reason
    note_of(view, event, "member" if event.how == "stop" else "fault", event.member, f" {words}")


@FOLD.handles(e.MemberPaused)
def member_paused(view: ClusterView, event: e.MemberPaused) -> None:
    view.members[event.member].paused = True
    _lane(view.members[event.member], event.at_us, "paused")


@FOLD.handles(e.MemberResumed)
def member_resumed(view: ClusterView, event: e.MemberResumed) -> None:
    member = view.members[event.member]
    member.paused = False
    _lane(member, event.at_us, _phase_of(member.state))


def _phase_of(state: str) -> str:
    return {
        "Joining": "joining",
        "Syncing": "syncing",
        "Stable": "reading",
        "Assigned": "reading",
        "Revoking": "revoking",
        "UNSUBSCRIBED": "joining",
        "JOINING": "joining",
        "RECONCILING": "reconciling",
        "ACKNOWLEDGING": "reading",
        "STABLE": "reading",
        "FENCED": "joining",
        "STALE": "joining",
    }.get(state, "dead")


@FOLD.handles(e.MemberStateChanged)
def member_state_changed(view: ClusterView, event: e.MemberStateChanged) -> None:
    member = view.members[event.member]
    member.state, member.reason = event.state, event.reason
    member.member_id, member.generation = event.member_id, event.generation
    if event.state in ("Syncing", "JOINING"):  # after the answer to its JoinGroup; with the new protocol at once
        member.heartbeats_from_us = event.at_us
    if event.state == "Fenced":
        member.fenced += 1
        _let_go(view, member, event.at_us, tuple(member.owned))  # it keeps them until close(), and no longer reads them
    if event.state == "FENCED":
        note_of(view, event, "member", event.member, f" is FENCED: its coordinator answered {event.reason}")
    _lane(member, event.at_us, _phase_of(event.state))


@FOLD.handles(e.MemberEpochChanged)
def member_epoch_changed(view: ClusterView, event: e.MemberEpochChanged) -> None:
    member = view.members[event.member]
    member.member_id, member.generation = event.member_id, event.epoch


@FOLD.handles(e.ConsumerFenced)
def consumer_fenced(view: ClusterView, event: e.ConsumerFenced) -> None:
    note_of(view, event, "fault", event.member, f" is fenced: another process joined as {event.instance_id}")


@FOLD.handles(e.ApplicationFailed)
def application_failed(view: ClusterView, event: e.ApplicationFailed) -> None:
    note_of(view, event, "fault", event.member, f" failed: {event.reason}")


@FOLD.handles(e.SubscriptionChanged)
def subscription_changed(view: ClusterView, event: e.SubscriptionChanged) -> None:
    view.members[event.member].topics = event.topics
    view.reads(view.groups[event.group], event.topics)
    note_of(
        view,
        event,
        "member",
        event.member,
        f" subscribes to {', '.join(event.topics)}" if event.topics else " unsubscribes",
    )


@FOLD.handles(e.CoordinatorFound)
def coordinator_found(view: ClusterView, event: e.CoordinatorFound) -> None:
    view.members[event.member].coordinator = event.broker


@FOLD.handles(e.CoordinatorLost)
def coordinator_lost(view: ClusterView, event: e.CoordinatorLost) -> None:
    view.members[event.member].coordinator = NEVER


@FOLD.handles(e.PartitionsAssigned)
def partitions_assigned(view: ClusterView, event: e.PartitionsAssigned) -> None:
    member = view.members[event.member]
    group = view.groups[event.group]
    for name in event.partitions:
        member.owned[name] = event.at_us
        _take(group, name, event.member)
        since = group.unowned_since_us.pop(name, None)
        if since is not None:
            group.stopped_partition_us += event.at_us - since
            group.owner_found(since, event.at_us)
    taken, generation = event.partitions, event.generation
    if group.consumer is not None:
        taken, generation = group.consumer.taken(event.member, taken), group.generation
        if not taken:
            return
    elif group.last_given.get(event.member) == event.generation:
        return  # a static member has rejoined without a rebalance
    group.last_given[event.member] = event.generation
    group.given_in.update(dict.fromkeys(taken, generation))
    last = group.rebalances[-1] if group.rebalances else None
    if last is None or last.generation != event.generation or group.under_way is not None:
        return
    if group.consumer is None or last.reconciliation is not None:  # else it was a classic group then
        last.assigned_us = event.at_us


@FOLD.handles(e.PartitionsRevoked)
def partitions_revoked(view: ClusterView, event: e.PartitionsRevoked) -> None:
    _release(view, view.members[event.member], event.at_us, event.partitions)


def _release(view: ClusterView, member: MemberView, at_us: int, partitions: tuple[str, ...]) -> None:
    """Take partitions from a member. A removed member that does not know it yet may still hold them too."""
    for name in partitions:
        member.owned.pop(name, None)
        member.positions.pop(name, None)
        member.read_from.pop(name, None)
        member.paused_partitions.pop(name, None)
    _let_go(view, member, at_us, partitions)


def _let_go(view: ClusterView, member: MemberView, at_us: int, partitions: tuple[str, ...]) -> None:
    """Give partitions that a member no longer reads to their latest other holder, if there is one."""
    group = view.groups[member.group]
    for name in partitions:
        others = group.other_holders.pop(name, [])
        if group.owners.get(name) != member.member:
            others = [other for other in others if other != member.member]
        elif others:
            group.owners[name] = others.pop()
        else:
            del group.owners[name]
            group.unowned_since_us[name] = at_us
            if group.under_way is not None:
                group.under_way.unowned_since_us[name] = at_us
        if others:
            group.other_holders[name] = others


def _take(group: GroupView, name: str, member: str) -> None:
    """Make a member the owner of a partition. The owner before may not know it yet, and still holds it."""
    owner = group.owners.get(name, member)
    group.owners[name] = member
    if owner == member:
        return
    others = group.other_holders.setdefault(name, [])
    if member in others:
        others.remove(member)
    others.append(owner)


def _reader(group: GroupView, name: str) -> ReaderView:
    reader = group.readers.get(name)
    if reader is None:
        reader = group.readers[name] = ReaderView()
    return reader


@FOLD.handles(e.PositionsReset)
def positions_reset(view: ClusterView, event: e.PositionsReset) -> None:
    member = view.members[event.member]
    group = view.groups[event.group]
    if event.reason == "seek":
        sought = ", ".join(f"{name} to {offset}" for name, offset in event.positions.items())
        note_of(view, event, "member", event.member, f" seeks {sought}")
    for name, offset in event.positions.items():
        member.positions[name] = offset
        reader, partition = _reader(group, name), view.partitions[name]
        if event.reason != "committed":
            reader.moved_by = event.reason
        if reader.start == NEVER or reader.start > partition.log_end:  # no position yet that the log has reached
            ledger.begins(partition, reader, offset)
        elif event.reason == "truncated":  # the records read beyond are truncated: none is read again
            reader.highest_position = offset
        generation = group.given_in.pop(name, None)  # none for a seek or a reset of an owned partition
        reread = max(0, reader.highest_position - offset)
        if reread and generation is not None:
            group.read_again(generation, reread)


@FOLD.handles(e.PollReturned)
def poll_returned(view: ClusterView, event: e.PollReturned) -> None:
    member = view.members[event.member]
    member.polling = False
    member.last_poll_us = event.at_us
    member.polls += 1
    readers = view.groups[event.group].readers
    positions, buffered = member.positions, member.buffered
    for name, offset in event.positions.items():
        positions[name] = offset
        if buffered and name in buffered and offset >= buffered[name].next_offset:
            del buffered[name]
        reader = readers[name]
        if offset > reader.highest_position:
            reader.highest_position = offset


@FOLD.handles(e.PositionsMovedOn)
def positions_moved_on(view: ClusterView, event: e.PositionsMovedOn) -> None:
    positions, readers = view.members[event.member].positions, view.groups[event.group].readers
    for name, offset in event.positions.items():
        positions[name] = offset
        readers[name].highest_position = max(readers[name].highest_position, offset)


@FOLD.handles(e.PollStarted)
def poll_started(view: ClusterView, event: e.PollStarted) -> None:
    member = view.members[event.member]
    stalled = member.stalled_until_us is not None
    if (stalled or event.at_us - member.last_poll_us > BUSY_US) and not member.polling:
        if not stalled:
            _lane(member, member.last_poll_us, "busy")
        _lane(member, event.at_us, _phase_of(member.state))
    member.stalled_until_us = None
    member.polling = True


@FOLD.handles(e.RecordsProcessed)
def records_processed(view: ClusterView, event: e.RecordsProcessed) -> None:
    group, name, repeated = view.groups[event.group], event.partition, event.repeated
    count = event.next_offset - event.first_offset
    reader = group.readers[name]
    ledger.finished(view.partitions[name], reader, event)
    step = reader.step_back
    if step is not None and event.first_offset < step.before:
        step.read_again += max(0, min(event.next_offset, step.before) - max(event.first_offset, step.after))
    group.delivered += count - repeated
    if repeated:
        group.duplicated += repeated
    view.members[event.member].processed += count


@FOLD.handles(e.TruncatedRecordsProcessed)
def truncated_records_processed(view: ClusterView, event: e.TruncatedRecordsProcessed) -> None:
    ledger.truncated_since(view.groups[event.group].readers[event.partition], event)


@FOLD.handles(e.RecordFailed)
def record_failed(view: ClusterView, event: e.RecordFailed) -> None:
    if event.attempt == 1:
        note_of(view, event, "fault", event.member, f" fails on {event.partition} {event.offset}")


@FOLD.handles(e.RecordDeadLettered)
def record_dead_lettered(view: ClusterView, event: e.RecordDeadLettered) -> None:
    note_of(view, event, "fault", event.member, f" sends {event.partition} {event.offset} to {event.topic}")


@FOLD.handles(e.RecordSkipped)
def record_skipped(view: ClusterView, event: e.RecordSkipped) -> None:
    view.groups[event.group].skipped += 1
    note_of(view, event, "fault", event.member, f" skips {event.partition} {event.offset}")


@FOLD.handles(e.KeyOrderBroken)
def key_order_broken(view: ClusterView, event: e.KeyOrderBroken) -> None:
    view.groups[event.group].out_of_order_keys += 1


@FOLD.handles(e.ApplicationStalled)
def application_stalled(view: ClusterView, event: e.ApplicationStalled) -> None:
    member = view.members[event.member]
    member.stalled_until_us = event.until_us
    if member.polling:
        member.polling, member.last_poll_us = False, event.at_us
    _lane(member, event.at_us, "stalled")


TIMEOUTS = {
    "session.timeout.ms": "session_timeout_ms",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "max.poll.interval.ms": "max_poll_interval_ms",
}


@FOLD.handles(e.SettingChanged)
def setting_changed(view: ClusterView, event: e.SettingChanged) -> None:
    note(view, event, "member", event.scope, f"set {event.scope} {event.key} {event.value}")
    fold_producers.configured(view, event)
    if event.effect != "now":
        return  # a starting process is declared again
    group, topic = view.groups.get(event.scope), view.topics.get(event.scope)
    if topic is not None or event.scope == "cluster" or event.scope.startswith("broker-"):
        view.settings.setdefault(event.scope, {})[event.key] = event.value
    if group is not None and event.key == "auto.offset.reset":
        group.offset_reset = event.value
    elif group is not None and event.key in TIMEOUTS:
        for name in event.processes:
            setattr(view.members[name], TIMEOUTS[event.key], int(event.value))
    elif event.key == "rate":
        for name in event.processes:
            view.producers[name].rate_per_second = parse_rate(event.value)
    elif topic is not None and event.key == "min.insync.replicas":
        require_in_sync(view, topic, int(event.value))


@FOLD.handles(e.HeartbeatsPaused)
def heartbeats_paused(view: ClusterView, event: e.HeartbeatsPaused) -> None:
    view.members[event.member].heartbeats_paused = event.paused
