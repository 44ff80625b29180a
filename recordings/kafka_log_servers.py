"""What brokers and controllers write: the group coordinator, partitions, the active controller. One function a kind."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from recordings.kafka_log_notes import GroupNotes, Line, Notes

METADATA = "kafka.coordinator.group.GroupMetadataManager"
COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
CONTROLLER = "org.apache.kafka.controller.QuorumController"
REPLICATION = "org.apache.kafka.controller.ReplicationControlManager"
HEARTBEATS = "org.apache.kafka.controller.BrokerHeartbeatManager"
PARTITION = "kafka.cluster.Partition"
STATE_CHANGE = "state.change.logger"

LEAVE_REASONS = {"poll interval exceeded": "consumer poll timeout has expired."}


def _coordinator(group: GroupNotes, message: str) -> list[Line]:
    return [Line("INFO", f"[GroupCoordinator {group.broker}]: ", message, COORDINATOR)]


def _controller(notes: Notes, message: str, logger: str = CONTROLLER) -> list[Line]:
    return [Line("INFO", f"[QuorumController id={notes.controller}] ", message, logger)]


def _ids(numbers: tuple[int, ...]) -> str:
    return ",".join(str(number) for number in numbers)


# --- the group coordinator -----------------------------------------------------------------------------------------


def group_declared(notes: Notes, event: e.GroupDeclared) -> list[Line]:
    notes.groups[event.group] = GroupNotes(event.coordinator_partition)
    return []


def member_id_assigned(notes: Notes, event: e.MemberIdAssigned) -> list[Line]:
    group = notes.group(event.group)
    group.broker = event.broker
    notes.member_ids[event.member] = event.member_id
    return _coordinator(
        group,
        f"Dynamic member with unknown member id joins group {event.group} in {group.state} state. Created a new member"
        f" id {event.member_id} and request the member to rejoin with this id.",
    )


def rebalance_started(notes: Notes, event: e.RebalanceStarted) -> list[Line]:
    group = notes.group(event.group)
    reason = _reason(notes, event, group.state)
    group.broker, group.state = event.broker, "PreparingRebalance"
    return _coordinator(
        group,
        f"Preparing to rebalance group {event.group} in state PreparingRebalance with old generation"
        f" {event.generation} ({group.partition}) (reason: {reason})",
    )


def _reason(notes: Notes, event: e.RebalanceStarted, state: str) -> str:
    """The coordinator's reason for a cause; the client's own reason follows it, as of KIP-800."""
    member_id, instance = notes.member_id(event.trigger), notes.instance(event.trigger)
    match event.cause:
        case "member joined":
            said = "not provided" if instance != "None" else f"need to re-join with the given member-id: {member_id}"
            return f"Adding new member {member_id} with group instance id {instance}; client reason: {said}"
        case "member left" | "poll interval exceeded":
            said = LEAVE_REASONS.get(event.cause, "the consumer is being closed")
            return f"Removing member {member_id} on LeaveGroup; client reason: {said}"
        case "session expired":
            return f"removing member {member_id} on heartbeat expiration"
        case "sync timed out":
            return f"Removing {member_id} on pending sync request expiration"
        case "leader rejoined" | "metadata changed":
            said = "cached metadata has changed" if event.cause == "metadata changed" else "not provided"
            return f"Leader {member_id} re-joining group during {state}; client reason: {said}"
        case "static member replaced":
            return f"Updating metadata for static member {member_id} with instance id {instance}"
        case "subscription changed" | "partitions revoked":
            revoked = event.cause == "partitions revoked"
            said = "need to revoke partitions and re-join" if revoked else "subscription has changed"
            return f"Updating metadata for member {member_id} during {state}; client reason: {said}"
        case cause:
            return f"Member {member_id} joining group during {state}; client reason: {cause}"


def join_received(notes: Notes, event: e.JoinReceived) -> list[Line]:
    group = notes.group(event.group)
    notes.member_ids[event.member] = event.member_id
    if not event.newcomer:
        return []
    if instance := notes.instance_ids.get(event.member, ""):
        message = (
            f"Static member with groupInstanceId={instance} and unknown member id joins group {event.group} in"
            f" {group.state} state. Created a new member id {event.member_id} for this member and add to the group."
        )
    else:
        message = (
            f"Pending dynamic member with id {event.member_id} joins group {event.group} in {group.state} state."
            " Adding to the group now."
        )
    return _coordinator(group, message)


def static_member_replaced(notes: Notes, event: e.StaticMemberReplaced) -> list[Line]:
    group = notes.group(event.group)
    notes.member_ids[event.member] = event.member_id
    return _coordinator(
        group,
        f"Static member with groupInstanceId={notes.instance_ids.get(event.member, event.member)} and unknown member id"
        f" joins group {event.group} in {group.state} state. Replacing previously mapped member {event.old_member_id}"
        " with this groupInstanceId.",
    )


def join_barrier_completed(notes: Notes, event: e.JoinBarrierCompleted) -> list[Line]:
    group = notes.group(event.group)
    group.generation, group.members, group.protocol = event.generation, len(event.members), event.protocol
    group.state = "CompletingRebalance" if event.members else "Empty"
    for member_id, member in event.members.items():
        notes.member_ids[member] = member_id
    if not event.members:
        return _coordinator(
            group, f"Group {event.group} with generation {event.generation} is now empty ({group.partition})"
        )
    return _coordinator(
        group,
        f"Stabilized group {event.group} generation {event.generation} ({group.partition}) with"
        f" {len(event.members)} members",
    )


def sync_received(notes: Notes, event: e.SyncReceived) -> list[Line]:
    if not event.leader:
        return []
    group = notes.group(event.group)
    static = sum(1 for member in notes.instance_ids if notes.groups_of[member] == event.group)
    return _coordinator(
        group,
        f"Assignment received from leader {event.member_id} for group {event.group} for generation {group.generation}."
        f" The group has {group.members} members, {min(static, group.members)} of which are static.",
    )


def group_stabilized(notes: Notes, event: e.GroupStabilized) -> list[Line]:
    notes.group(event.group).state = "Stable"
    return []


def member_removed(notes: Notes, event: e.MemberRemoved) -> list[Line]:
    group = notes.group(event.group)
    match event.reason:
        case "session expired":
            message = f"Member {event.member_id} in group {event.group} has failed, removing it from the group"
        case "member left" | "poll interval exceeded":
            said = LEAVE_REASONS.get(event.reason, "the consumer is being closed")
            message = (
                f"Member {event.member_id} has left group {event.group} through explicit `LeaveGroup`;"
                f" client reason: {said}"
            )
        case "sync timed out":
            message = f"Group {event.group} removed members who haven't sent their sync request: {event.member_id}"
        case _:
            message = f"Group {event.group} removed dynamic members who haven't joined: Set({event.member_id})"
    return _coordinator(group, message)


def group_loaded(notes: Notes, event: e.GroupLoaded) -> list[Line]:
    group = notes.group(event.group)
    group.broker, group.state, group.generation = event.broker, event.state, event.generation
    group.members, group.protocol = len(event.members), event.protocol
    return _coordinator(group, f"Loading group metadata for {event.group} with generation {event.generation}")


def group_unloaded(notes: Notes, event: e.GroupUnloaded) -> list[Line]:
    group = notes.group(event.group)
    group.broker = event.broker
    return _coordinator(group, f"Unloading group metadata for {event.group} with generation {group.generation}")


def offsets_expired(notes: Notes, event: e.OffsetsExpired) -> list[Line]:
    broker = notes.group(event.group).broker
    context = f"[GroupMetadataManager brokerId={broker}] "
    message = f"Removed {len(event.partitions)} expired offsets of group {event.group}."
    return [Line("INFO", context, message, METADATA)]


def group_deleted(notes: Notes, event: e.GroupDeleted) -> list[Line]:
    generation = notes.group(event.group).generation
    context = f"[GroupMetadataManager brokerId={event.broker}] "
    message = f"Group {event.group} transitioned to Dead in generation {generation}"
    return [Line("INFO", context, message, METADATA)]


# --- brokers and the controller ------------------------------------------------------------------------------------


def broker_started(_notes: Notes, event: e.BrokerStarted) -> list[Line]:
    context = f"[KafkaRaftServer nodeId={event.broker}] "
    return [Line("INFO", context, "Kafka Server started", "kafka.server.KafkaRaftServer")]


def broker_stopped(_notes: Notes, event: e.BrokerStopped) -> list[Line]:
    if event.how != "stop":
        return []
    return [Line("INFO", f"[BrokerServer id={event.broker}] ", "shut down completed", "kafka.server.BrokerServer")]


def broker_unfenced(notes: Notes, event: e.BrokerUnfenced) -> list[Line]:
    return _controller(notes, f"The request from broker {event.broker} to unfence has been granted", HEARTBEATS)


def broker_fenced(notes: Notes, event: e.BrokerFenced) -> list[Line]:
    if event.reason == "session expired":
        return _controller(notes, f"Fencing broker {event.broker} because its session has timed out.", REPLICATION)
    message = f"Unfenced broker {event.broker} has requested and been granted a {event.reason}."
    return _controller(notes, message, HEARTBEATS)


def controller_elected(notes: Notes, event: e.ControllerElected) -> list[Line]:
    notes.controller = event.broker
    return _controller(notes, "Becoming the active controller.") if event.broker >= 0 else []


def leader_elected(notes: Notes, event: e.LeaderElected) -> list[Line]:
    partition = notes.partition(event.partition)
    before = (partition.isr, partition.leader, partition.leader_epoch)
    partition.isr, partition.leader, partition.leader_epoch = event.isr, event.leader, event.leader_epoch
    if event.reason == "created":
        return []
    changes = [
        f"{name}: {old} -> {new}"
        for name, old, new in zip(
            ("isr", "leader", "leaderEpoch"), before, (event.isr, event.leader, event.leader_epoch), strict=True
        )
        if old != new
    ]
    unclean = "UNCLEAN " if event.reason == "unclean" else ""
    changed = ", ".join(changes).replace("(", "[").replace(",)", "]").replace(")", "]")
    return _controller(notes, f"{unclean}partition change for {event.partition}: {changed}", REPLICATION)


def leadership_taken(notes: Notes, event: e.LeadershipTaken) -> list[Line]:
    partition = notes.partition(event.partition)
    partition.high_watermark, partition.log_end = event.high_watermark, event.log_end
    if event.at_us == 0:
        return []
    message = (
        f"Leader {event.partition} starts at leader epoch {event.leader_epoch} from offset {event.log_end} with"
        f" high watermark {event.high_watermark}, ISR [{_ids(partition.isr)}]."
    )
    return [Line("INFO", f"[Broker id={event.broker}] ", message, STATE_CHANGE)]


def isr_changed(notes: Notes, event: e.IsrChanged) -> list[Line]:
    partition = notes.partition(event.partition)
    gone = [replica for replica in partition.isr if replica not in event.isr]
    context = f"[Partition {event.partition} broker={partition.leader}] "
    lines = []
    if gone:
        lost = " ".join(f"(brokerId: {replica})" for replica in gone)
        message = (
            f"Shrinking ISR from {_ids(partition.isr)} to {_ids(event.isr)}. Leader: (highWatermark:"
            f" {partition.high_watermark}, endOffset: {partition.log_end}). Out of sync replicas: {lost}."
        )
        lines.append(Line("INFO", context, message, PARTITION))
    partition.isr = event.isr
    lines.append(Line("INFO", context, f"ISR updated to {_ids(event.isr)}", PARTITION))
    return lines


def records_appended(notes: Notes, event: e.RecordsAppended) -> list[Line]:
    notes.partition(event.partition).log_end = event.base_offset + event.count
    return []


def high_watermark_advanced(notes: Notes, event: e.HighWatermarkAdvanced) -> list[Line]:
    notes.partition(event.partition).high_watermark = event.offset
    return []


def log_truncated(_notes: Notes, event: e.LogTruncated) -> list[Line]:
    context = f"[UnifiedLog partition={event.partition}, broker={event.broker}] "
    return [Line("INFO", context, f"Truncating to offset {event.offset}", "kafka.log.UnifiedLog")]


# --- of which Kafka knows nothing ----------------------------------------------------------------------------------


def fault_started(_notes: Notes, event: e.FaultStarted) -> list[Line]:
    return [Line("WARN", "[Flightdeck] ", f"fault {event.fault} begins: {event.text}", "flightdeck")]


def fault_ended(_notes: Notes, event: e.FaultEnded) -> list[Line]:
    return [Line("INFO", "[Flightdeck] ", f"fault {event.fault} is over", "flightdeck")]


def command_refused(_notes: Notes, event: e.CommandRefused) -> list[Line]:
    return [Line("WARN", "[Flightdeck] ", f"{event.text}: refused, {event.reason}", "flightdeck")]
