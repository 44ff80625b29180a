"""What group coordinators write: the 4.x coordinator (`GroupMetadataManager`). One function a kind of event."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol import reasons
from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.kafka_log.state import GroupNotes, Line, Notes

GROUPS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
CLASSIC = "org.apache.kafka.coordinator.group.classic.ClassicGroup"
SHARD = "org.apache.kafka.coordinator.group.GroupCoordinatorShard"


def _coordinator(group: GroupNotes, message: str, level: str = "INFO", logger: str = GROUPS) -> Line:
    topic, _, number = group.partition.rpartition("-")
    return Line(level, f"[GroupCoordinator id={group.broker} topic={topic} partition={number}] ", message, logger)


def group_declared(notes: Notes, event: e.GroupDeclared) -> list[Line]:
    group = notes.groups[event.group] = GroupNotes(event.coordinator_partition)
    group.cooperative = event.assignors == ("cooperative-sticky",)
    notes.coordinating[event.coordinator_partition] = None
    return []


def member_id_assigned(notes: Notes, event: e.MemberIdAssigned) -> list[Line]:
    group = notes.group(event.group)
    group.broker = event.broker
    notes.pending[event.member_id] = None
    notes.member(event.member).join_arrived = True
    message = (
        f"Dynamic member with unknown member id joins group {event.group} in {group.state} state. Created a new member"
        f" id {event.member_id} and requesting the member to rejoin with this id."
    )
    return [_coordinator(group, message)]


def rebalance_started(notes: Notes, event: e.RebalanceStarted) -> list[Line]:
    group = notes.group(event.group)
    group.broker = event.broker
    lines = []
    if notes.newcomer_of(event):  # Kafka lets it in first, and then rebalances for it
        lines.append(_joins(notes, event.group, event.trigger, event.member_id))
        group.told_joined = event.member_id
    group.state = "PreparingRebalance"
    message = (
        f"Preparing to rebalance group {event.group} in state PreparingRebalance with old generation"
        f" {event.generation} (reason: {event.detail})."
    )
    return [*lines, _coordinator(group, message)]


def join_received(notes: Notes, event: e.JoinReceived) -> list[Line]:
    group = notes.group(event.group)
    notes.member_ids[event.member] = event.member_id
    notes.member(event.member).join_arrived = True
    told, group.told_joined = group.told_joined == event.member_id, ""
    if not event.newcomer or told:
        notes.pending.pop(event.member_id, None)
        return []
    line = _joins(notes, event.group, event.member, event.member_id)
    notes.pending.pop(event.member_id, None)
    return [line]


def _joins(notes: Notes, name: str, member: str, member_id: str) -> Line:
    group, instance_id = notes.group(name), notes.member(member).instance_id
    if member_id in notes.pending:
        message = f"Pending dynamic member with id {member_id} joins group {name} in {group.state} state. Adding to the"
        message += " group now."
    elif instance_id:
        message = (
            f"Static member with groupInstanceId={instance_id} and unknown member id joins group {name} in"
            f" {group.state} state. Created a new member id {member_id} for this member and added to the group."
        )
    else:
        message = (
            f"Dynamic member with unknown member id joins group {name} in state {group.state}. Created a new member id"
            f" {member_id} and added the member to the group."
        )
    return _coordinator(group, message)


def static_member_replaced(notes: Notes, event: e.StaticMemberReplaced) -> list[Line]:
    group = notes.group(event.group)
    notes.member_ids.pop(event.member, None)
    notes.member_ids[event.member] = event.member_id  # the newest is the last
    group.assignment = {**group.assignment, event.member_id: group.assignment.get(event.old_member_id, ())}
    message = (
        f"Static member with groupInstanceId={notes.member(event.member).instance_id} and unknown member id joins group"
        f" {event.group} in {group.state} state. Replacing previously mapped member {event.old_member_id} with this"
        " groupInstanceId."
    )
    lines = [_coordinator(group, message)]
    if event.goes_on:
        message = (
            "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger a"
            " rebalance."
        )
        lines.append(_coordinator(group, message))
    return lines


def join_barrier_extended(notes: Notes, event: e.JoinBarrierExtended) -> list[Line]:
    group = notes.group(event.group)
    lines = _absent(group, event.group)
    if event.reason == "nobody rejoined":
        message = f"Group {event.group} could not complete rebalance because no members rejoined."
        lines.append(_coordinator(group, message, "ERROR"))
    return lines


def join_barrier_completed(notes: Notes, event: e.JoinBarrierCompleted) -> list[Line]:
    group = notes.group(event.group)
    group.generation, group.members, group.protocol = event.generation, tuple(event.members.values()), event.protocol
    group.state = "CompletingRebalance" if event.members else "Empty"
    for member_id, member in event.members.items():
        notes.member_ids[member] = member_id
    if event.members:
        message = f"Stabilized group {event.group} generation {event.generation} with {len(event.members)} members."
    else:
        message = f"Group {event.group} with generation {event.generation} is now empty."
    return [*_absent(group, event.group), _coordinator(group, message)]


def _absent(group: GroupNotes, name: str) -> list[Line]:
    """Those that did not come are removed all at once, when the barrier closes."""
    if not group.absent:
        return []
    message = f"Group {name} removed dynamic members who haven't joined: [{', '.join(group.absent)}]"
    group.absent = []
    return [_coordinator(group, message)]


def sync_received(notes: Notes, event: e.SyncReceived) -> list[Line]:
    group = notes.group(event.group)
    if not event.leader or group.state == "Stable":
        return []
    static = sum(1 for member in group.members if notes.member(member).instance_id)
    message = (
        f"Assignment received from leader {event.member_id} for group {event.group} for generation {group.generation}."
        f" The group has {len(group.members)} members, {static} of which are static."
    )
    return [_coordinator(group, message)]


def heartbeat_answered(notes: Notes, event: e.HeartbeatAnswered) -> list[Line]:
    """Only who is fenced by its twin has a line of its own."""
    if event.error != "FENCED_INSTANCE_ID":
        return []
    instance_id = notes.member(event.member).instance_id
    now = next((notes.member_ids[name] for name in reversed(notes.member_ids) if _is(notes, name, instance_id)), "")
    message = (
        f"Request memberId={event.member_id} for static member with groupInstanceId={instance_id} is fenced by existing"
        f" memberId={now} during operation heartbeat"
    )
    return [_coordinator(notes.group(event.group), message, logger=CLASSIC)]


def _is(notes: Notes, name: str, instance_id: str) -> bool:
    """Whether a client has a group.instance.id."""
    return notes.member(name).instance_id == instance_id


def group_stabilized(notes: Notes, event: e.GroupStabilized) -> list[Line]:
    group = notes.group(event.group)
    group.state, group.assignment = "Stable", event.assignment
    return []


def member_removed(notes: Notes, event: e.MemberRemoved) -> list[Line]:
    group, name, member_id = notes.group(event.group), event.group, event.member_id
    pending = member_id in notes.pending
    notes.pending.pop(member_id, None)
    match event.reason:
        case RebalanceCause.SESSION_EXPIRED if pending:
            message = f"Pending member {member_id} in group {name} has been removed after session timeout expiration."
        case RebalanceCause.SESSION_EXPIRED:
            message = f"Member {member_id} in group {name} has failed, removing it from the group."
        case RebalanceCause.POLL_INTERVAL_EXCEEDED if not event.client_reason:
            group.absent.append(member_id)
            return []
        case RebalanceCause.MEMBER_LEFT | RebalanceCause.POLL_INTERVAL_EXCEEDED:
            who = "Pending member" if pending else "Member"
            said = event.client_reason or reasons.NOT_PROVIDED
            message = f"[Group {name}] {who} {member_id} has left group through explicit `LeaveGroup` request;"
            message += f" client reason: {said}"
        case _:
            return []  # the line that prepares the rebalance names it, or nothing does
    return [_coordinator(group, message)]


def group_loaded(notes: Notes, event: e.GroupLoaded) -> list[Line]:
    group = notes.group(event.group)
    group.broker, group.state, group.generation = event.broker, event.state, event.generation
    group.members, group.protocol = tuple(event.members.values()), event.protocol
    group.absent, group.told_joined = [], ""
    return [_coordinator(group, f"Loaded classic group {event.group} with {len(event.members)} members.")]


def group_unloaded(notes: Notes, event: e.GroupUnloaded) -> list[Line]:
    group = notes.group(event.group)
    group.broker = event.broker
    if event.broker in notes.stopping:  # one that is shutting down does not write it (4.1.0 and 4.3.1)
        return []
    message = f"[GroupId={event.group}] Unloading group metadata for generation {group.generation}."
    return [_coordinator(group, message)]


def offsets_expired(notes: Notes, event: e.OffsetsExpired) -> list[Line]:
    count = len(event.partitions)
    message = f"Generated {count} tombstone records while cleaning up group metadata."
    return [_coordinator(notes.group(event.group), message, logger=SHARD)]


def group_deleted(notes: Notes, event: e.GroupDeleted) -> list[Line]:
    group = notes.group(event.group)
    group.state, group.generation, group.members = "Empty", 0, ()
    return []
