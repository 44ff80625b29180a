"""Log lines of group coordinators, the 4.x `GroupMetadataManager`. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol import reasons
from cluster.protocol.rebalance_causes import BarrierExtension, RebalanceCause
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import GroupLogState, KafkaLogState, Line

WRITER = LogWriter()

GROUPS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
CLASSIC = "org.apache.kafka.coordinator.group.classic.ClassicGroup"
SHARD = "org.apache.kafka.coordinator.group.GroupCoordinatorShard"


def coordinator_line(group: GroupLogState, message: str, level: str = "INFO", logger: str = GROUPS) -> Line:
    """A line of the group's coordinator."""
    topic, _, number = group.partition.rpartition("-")
    return Line(level, f"[GroupCoordinator id={group.broker} topic={topic} partition={number}] ", message, logger)


def converted_to_classic(group: GroupLogState, name: str) -> Line:
    """The last line of a downgrade: what the group does next has been said."""
    return coordinator_line(group, f"[GroupId {name}] Converted the consumer group to a classic group.")


@WRITER.handles(e.GroupDeclared)
def group_declared(log: KafkaLogState, event: e.GroupDeclared) -> list[Line]:
    group = log.groups[event.group] = GroupLogState(event.coordinator_partition)
    group.assignors, group.cooperative = event.assignors, event.assignors == ("cooperative-sticky",)
    log.coordinating[event.coordinator_partition] = None
    return []


@WRITER.handles(e.MemberIdAssigned)
def member_id_assigned(log: KafkaLogState, event: e.MemberIdAssigned) -> list[Line]:
    group = log.group(event.group)
    group.broker = event.broker
    log.pending[event.member_id] = None
    log.member(event.member).join_arrived = True
    message = (
        f"Dynamic member with unknown member id joins group {event.group} in {group.state} state. Created a new member"
        f" id {event.member_id} and requesting the member to rejoin with this id."
    )
    return [coordinator_line(group, message)]


@WRITER.handles(e.RebalanceStarted)
def rebalance_started(log: KafkaLogState, event: e.RebalanceStarted) -> list[Line]:
    group = log.group(event.group)
    group.broker = event.broker
    lines = []
    if log.newcomer_of(event):  # Kafka adds the member first, and then rebalances for it
        lines.append(_joins(log, event.group, event.trigger, event.member_id))
        group.logged_join = event.member_id
    group.state = "PreparingRebalance"
    message = (
        f"Preparing to rebalance group {event.group} in state PreparingRebalance with old generation"
        f" {event.generation} (reason: {event.detail})."
    )
    lines.append(coordinator_line(group, message))
    if group.converted:
        group.converted = False
        lines.append(converted_to_classic(group, event.group))
    return lines


@WRITER.handles(e.JoinReceived)
def join_received(log: KafkaLogState, event: e.JoinReceived) -> list[Line]:
    group = log.group(event.group)
    log.member_ids[event.member] = event.member_id
    log.member(event.member).join_arrived = True
    logged, group.logged_join = group.logged_join == event.member_id, ""
    if not event.newcomer or logged:
        log.pending.pop(event.member_id, None)
        return []
    line = _joins(log, event.group, event.member, event.member_id)
    log.pending.pop(event.member_id, None)
    return [line]


def _joins(log: KafkaLogState, name: str, member: str, member_id: str) -> Line:
    group, instance_id = log.group(name), log.member(member).instance_id
    if member_id in log.pending:
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
    return coordinator_line(group, message)


@WRITER.handles(e.StaticMemberReplaced)
def static_member_replaced(log: KafkaLogState, event: e.StaticMemberReplaced) -> list[Line]:
    group = log.group(event.group)
    if group.consumer:
        return []
    log.member_ids.pop(event.member, None)
    log.member_ids[event.member] = event.member_id  # the newest member id is the last
    group.assignment = {**group.assignment, event.member_id: group.assignment.get(event.old_member_id, ())}
    message = (
        f"Static member with groupInstanceId={log.member(event.member).instance_id} and unknown member id joins group"
        f" {event.group} in {group.state} state. Replacing previously mapped member {event.old_member_id} with this"
        " groupInstanceId."
    )
    lines = [coordinator_line(group, message)]
    if event.goes_on:
        message = (
            "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger a"
            " rebalance."
        )
        lines.append(coordinator_line(group, message))
    return lines


@WRITER.handles(e.JoinBarrierExtended)
def join_barrier_extended(log: KafkaLogState, event: e.JoinBarrierExtended) -> list[Line]:
    group = log.group(event.group)
    lines = _absent(group, event.group)
    if event.reason == BarrierExtension.NO_REJOIN:
        message = f"Group {event.group} could not complete rebalance because no members rejoined."
        lines.append(coordinator_line(group, message, "ERROR"))
    return lines


@WRITER.handles(e.JoinBarrierCompleted)
def join_barrier_completed(log: KafkaLogState, event: e.JoinBarrierCompleted) -> list[Line]:
    group = log.group(event.group)
    group.generation, group.members, group.protocol = event.generation, tuple(event.members.values()), event.protocol
    group.state = "CompletingRebalance" if event.members else "Empty"
    for member_id, member in event.members.items():
        log.member_ids[member] = member_id
    if event.members:
        message = f"Stabilized group {event.group} generation {event.generation} with {len(event.members)} members."
    else:
        message = f"Group {event.group} with generation {event.generation} is now empty."
    return [*_absent(group, event.group), coordinator_line(group, message)]


def _absent(group: GroupLogState, name: str) -> list[Line]:
    """Members that did not rejoin are removed all at once, when the barrier closes."""
    if not group.absent:
        return []
    message = f"Group {name} removed dynamic members who haven't joined: [{', '.join(group.absent)}]"
    group.absent = []
    return [coordinator_line(group, message)]


@WRITER.handles(e.SyncReceived)
def sync_received(log: KafkaLogState, event: e.SyncReceived) -> list[Line]:
    group = log.group(event.group)
    if not event.leader or group.state == "Stable":
        return []
    static = sum(1 for member in group.members if log.member(member).instance_id)
    message = (
        f"Assignment received from leader {event.member_id} for group {event.group} for generation {group.generation}."
        f" The group has {len(group.members)} members, {static} of which are static."
    )
    return [coordinator_line(group, message)]


@WRITER.handles(e.HeartbeatAnswered)
def heartbeat_answered(log: KafkaLogState, event: e.HeartbeatAnswered) -> list[Line]:
    """Only a member that its twin fenced has a line of its own."""
    if event.error != "FENCED_INSTANCE_ID" or log.group(event.group).consumer:
        return []
    instance_id = log.member(event.member).instance_id
    now = next((log.member_ids[name] for name in reversed(log.member_ids) if _is(log, name, instance_id)), "")
    message = (
        f"Request memberId={event.member_id} for static member with groupInstanceId={instance_id} is fenced by existing"
        f" memberId={now} during operation heartbeat"
    )
    return [coordinator_line(log.group(event.group), message, logger=CLASSIC)]


def _is(log: KafkaLogState, name: str, instance_id: str) -> bool:
    """Whether a client has a group.instance.id."""
    return log.member(name).instance_id == instance_id


@WRITER.handles(e.GroupStabilized)
def group_stabilized(log: KafkaLogState, event: e.GroupStabilized) -> list[Line]:
    group = log.group(event.group)
    group.state, group.assignment = "Stable", event.assignment
    return []


@WRITER.handles(e.MemberRemoved)
def member_removed(log: KafkaLogState, event: e.MemberRemoved) -> list[Line]:
    group, name, member_id = log.group(event.group), event.group, event.member_id
    if group.consumer:
        return []
    pending = member_id in log.pending
    log.pending.pop(member_id, None)
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
            return []  # the line that prepares the rebalance names the reason, or no line does
    return [coordinator_line(group, message)]


@WRITER.handles(e.GroupLoaded)
def group_loaded(log: KafkaLogState, event: e.GroupLoaded) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.state, group.generation = event.broker, event.state, event.generation
    group.members, group.protocol = tuple(event.members.values()), event.protocol
    group.absent, group.logged_join = [], ""
    return [coordinator_line(group, f"Loaded classic group {event.group} with {len(event.members)} members.")]


@WRITER.handles(e.GroupUnloaded)
def group_unloaded(log: KafkaLogState, event: e.GroupUnloaded) -> list[Line]:
    group = log.group(event.group)
    group.broker = event.broker
    if event.broker in log.stopping:  # a coordinator that is shutting down does not log it (4.1.0 and 4.3.1)
        return []
    message = f"[GroupId={event.group}] Unloading group metadata for generation {group.generation}."
    if group.consumer:
        message = f"[GroupId={event.group}] Unloaded group metadata for group epoch {group.generation}."
    return [coordinator_line(group, message)]


@WRITER.handles(e.OffsetsExpired)
def offsets_expired(log: KafkaLogState, event: e.OffsetsExpired) -> list[Line]:
    count = len(event.partitions)
    message = f"Generated {count} tombstone records while cleaning up group metadata."
    return [coordinator_line(log.group(event.group), message, logger=SHARD)]


@WRITER.handles(e.OffsetsDeleted)
def offsets_deleted(log: KafkaLogState, event: e.OffsetsDeleted) -> list[Line]:
    """OffsetDelete has no line; that of DeleteGroups comes with the group's own event."""
    log.group(event.group).offsets_deleted = event.at_us, len(event.partitions)
    return []


@WRITER.handles(e.GroupDeleted)
def group_deleted(log: KafkaLogState, event: e.GroupDeleted) -> list[Line]:
    """Deleted by an administrator, with its offsets (`GroupCoordinatorShard.deleteGroups`); an expiration says less."""
    group = log.group(event.group)
    group.state, group.generation, group.members = "Empty", 0, ()
    at_us, count = group.offsets_deleted
    if at_us != event.at_us:
        return []
    message = f"The following groups were deleted: {event.group}. A total of {count} offsets were removed."
    return [coordinator_line(group, message, logger=SHARD)]
