"""How consumers' own facts change the view: what they own, read, finish, and what holds them up."""

from cluster import events as e
from cluster.view.fold_cluster import note
from cluster.view.state import LANE_US, NEVER, ClusterView, GroupView, LaneSpan, MemberView, ReaderView

BUSY_US = 1_000_000  # an application that works longer than this between two polls shows in its lane


def _lane(member: MemberView, at_us: int, phase: str) -> None:
    """The member's lane changes its phase; what lies further back than `LANE_US` is forgotten."""
    lane = member.lane
    if lane and lane[-1].phase == phase:
        return
    if lane and lane[-1].from_us >= at_us:
        lane[-1].phase = phase
        return
    lane.append(LaneSpan(at_us, phase))
    while len(lane) > 2 and lane[1].from_us < at_us - LANE_US:
        del lane[0]


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
    if known is not None:
        fresh.processed, fresh.lane, fresh.fenced = known.processed, known.lane, known.fenced
        fresh.beats = known.beats


def member_started(view: ClusterView, event: e.MemberStarted) -> None:
    member = view.members[event.member]
    member.alive, member.paused, member.state = True, False, "Joining"
    member.member_id, member.generation, member.coordinator = "", -1, -1
    member.polling, member.last_poll_us = True, event.at_us
    member.heartbeats_paused, member.stalled_until_us = False, None
    _lane(member, event.at_us, "joining")
    note(view, event.at_us, "member", event.member, f"{event.member} started")


def member_stopped(view: ClusterView, event: e.MemberStopped) -> None:
    member = view.members[event.member]
    member.alive = member.polling = member.paused = member.heartbeats_paused = False
    member.stalled_until_us = None
    member.state = "Left" if event.how == "stop" else "Dead"
    _release(view, member, event.at_us, tuple(member.owned))
    member.positions = {}
    _lane(member, event.at_us, "dead")
    words = "closed cleanly" if event.how == "stop" else "was killed"
    note(view, event.at_us, "member" if event.how == "stop" else "fault", event.member, f"{event.member} {words}")


def member_paused(view: ClusterView, event: e.MemberPaused) -> None:
    view.members[event.member].paused = True
    _lane(view.members[event.member], event.at_us, "paused")


def member_resumed(view: ClusterView, event: e.MemberResumed) -> None:
    member = view.members[event.member]
    member.paused = False
    _lane(member, event.at_us, _phase_of(member.state))


def _phase_of(state: str) -> str:
    return {"Joining": "joining", "Syncing": "syncing", "Stable": "reading", "Revoking": "revoking"}.get(state, "dead")


def member_state_changed(view: ClusterView, event: e.MemberStateChanged) -> None:
    member = view.members[event.member]
    member.state, member.reason = event.state, event.reason
    member.member_id, member.generation = event.member_id, event.generation
    if event.state == "Fenced":
        member.fenced += 1
        _release(view, member, event.at_us, tuple(member.owned))
    _lane(member, event.at_us, _phase_of(event.state))


def coordinator_found(view: ClusterView, event: e.CoordinatorFound) -> None:
    view.members[event.member].coordinator = event.broker


def partitions_assigned(view: ClusterView, event: e.PartitionsAssigned) -> None:
    member = view.members[event.member]
    group = view.groups[event.group]
    for name in event.partitions:
        member.owned[name] = event.at_us
        group.owners[name] = event.member
        since = group.unowned_since_us.pop(name, None)
        if since is not None:
            group.stopped_partition_us += event.at_us - since
    if group.rebalances:
        group.rebalances[-1].stopped_partition_us = group.stopped_partition_us - group.stopped_at_rebalance_us


def partitions_revoked(view: ClusterView, event: e.PartitionsRevoked) -> None:
    _release(view, view.members[event.member], event.at_us, event.partitions)


def _release(view: ClusterView, member: MemberView, at_us: int, partitions: tuple[str, ...]) -> None:
    """A member holds these no more; one that was thrown out and does not know it yet may still hold them, too."""
    group = view.groups[member.group]
    for name in partitions:
        member.owned.pop(name, None)
        member.positions.pop(name, None)
        if group.owners.get(name) != member.member:
            continue
        group.previous_owners[name] = member.member
        holders = (other for other in view.members.values() if other.group == group.group and name in other.owned)
        holder = next(holders, None)
        if holder is not None:
            group.owners[name] = group.previous_owners[name] = holder.member
        else:
            del group.owners[name]
            group.unowned_since_us[name] = at_us


def _reader(group: GroupView, name: str) -> ReaderView:
    reader = group.readers.get(name)
    if reader is None:
        reader = group.readers[name] = ReaderView()
    return reader


def positions_reset(view: ClusterView, event: e.PositionsReset) -> None:
    member = view.members[event.member]
    group = view.groups[event.group]
    for name, offset in event.positions.items():
        member.positions[name] = offset
        reader = _reader(group, name)
        if reader.start == NEVER:
            reader.start = reader.highest_position = offset
        reread = max(0, reader.highest_position - offset)
        if reread and group.rebalances:
            group.rebalances[-1].reread += reread


def poll_returned(view: ClusterView, event: e.PollReturned) -> None:
    member = view.members[event.member]
    member.polling = False
    member.last_poll_us = event.at_us
    member.polls += 1
    readers = view.groups[event.group].readers
    positions = member.positions
    for name, offset in event.positions.items():
        positions[name] = offset
        reader = readers[name]
        if offset > reader.highest_position:
            reader.highest_position = offset


def poll_started(view: ClusterView, event: e.PollStarted) -> None:
    member = view.members[event.member]
    if event.at_us - member.last_poll_us > BUSY_US and not member.polling:
        if member.stalled_until_us is None:
            _lane(member, member.last_poll_us, "busy")
        _lane(member, event.at_us, _phase_of(member.state))
    member.stalled_until_us = None
    member.polling = True


def records_processed(view: ClusterView, event: e.RecordsProcessed) -> None:
    group = view.groups[event.group]
    count = event.next_offset - event.first_offset
    new = group.readers[event.partition].finished.add(event.first_offset, event.next_offset)
    group.delivered += new
    group.duplicated += count - new
    view.members[event.member].processed += count


def key_order_broken(view: ClusterView, event: e.KeyOrderBroken) -> None:
    view.groups[event.group].out_of_order_keys += 1


def application_stalled(view: ClusterView, event: e.ApplicationStalled) -> None:
    member = view.members[event.member]
    member.stalled_until_us = event.until_us
    if member.polling:
        member.polling, member.last_poll_us = False, event.at_us
    _lane(member, event.at_us, "stalled")


def heartbeats_paused(view: ClusterView, event: e.HeartbeatsPaused) -> None:
    view.members[event.member].heartbeats_paused = event.paused
