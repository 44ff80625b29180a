"""Log lines of coordinators of groups of the new protocol, the 4.x `GroupMetadataManager`."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.kafka_log.group_coordinators import coordinator_line
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import GroupLogState, KafkaLogState, Line

WRITER = LogWriter()


def _line(group: GroupLogState, name: str, message: str) -> list[Line]:
    return [coordinator_line(group, f"[GroupId {name}] {message}")]


@WRITER.handles(e.GroupProtocolConverted)
def group_protocol_converted(log: KafkaLogState, event: e.GroupProtocolConverted) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.consumer = event.broker, event.protocol == "consumer"
    before = "classic" if group.consumer else "consumer"
    return _line(group, event.group, f"Converted the empty {before} group to a {event.protocol} group.")


@WRITER.handles(e.ConsumerMemberSubscribed)
def consumer_member_subscribed(log: KafkaLogState, event: e.ConsumerMemberSubscribed) -> list[Line]:
    group = log.group(event.group)
    group.consumer, group.broker = True, log.partition(group.partition).leader
    group.rebalance_timeouts_ms[event.member_id] = event.rebalance_timeout_ms
    replaces = group.instance_ids.get(event.member_id)
    group.instance_ids[event.member_id] = event.instance_id
    if event.epoch != 0 or (event.instance_id and replaces is not None):
        return []
    if event.instance_id:
        who = f"Static member {event.member_id} with instance id {event.instance_id}"
    else:
        who = f"Member {event.member_id}"
    return _line(group, event.group, f"{who} joins the consumer group using the consumer protocol.")


@WRITER.handles(e.HeartbeatAnswered)
def heartbeat_answered(log: KafkaLogState, event: e.HeartbeatAnswered) -> list[Line]:
    """A member whose instance id belongs to another member has a line at the coordinator, too."""
    group, instance_id = log.group(event.group), log.member(event.member).instance_id
    if not group.consumer or event.error not in ("UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"):
        return []
    owner = group.owner_of(instance_id)
    if event.error == "FENCED_INSTANCE_ID":
        words = f"is fenced by existing member {owner}."
    else:
        words = f"cannot join the group because the instance id is owned by member {owner}."
    return _line(group, event.group, f"Static member {event.member_id} with instance id {instance_id} {words}")


@WRITER.handles(e.StaticMemberReplaced)
def static_member_replaced(log: KafkaLogState, event: e.StaticMemberReplaced) -> list[Line]:
    group = log.group(event.group)
    if not group.consumer:
        return []
    group.instance_ids[event.member_id] = instance_id = group.instance_ids.pop(event.old_member_id, "")
    message = (
        f"Static member with instance id {instance_id} re-joins the consumer group using the consumer protocol. Created"
        f" a new member {event.member_id} to replace the existing member {event.old_member_id}."
    )
    return _line(group, event.group, message)


@WRITER.handles(e.StaticMemberLeft)
def static_member_left(log: KafkaLogState, event: e.StaticMemberLeft) -> list[Line]:
    who = f"Static member {event.member_id} with instance id {event.instance_id}"
    return _line(log.group(event.group), event.group, f"{who} temporarily left the consumer group.")


@WRITER.handles(e.ConsumerGroupEpochBumped)
def consumer_group_epoch_bumped(log: KafkaLogState, event: e.ConsumerGroupEpochBumped) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.generation, group.consumer = event.broker, event.epoch, True
    message = f"Bumped group epoch to {event.epoch} with metadata hash {event.metadata_hash}."
    return _line(group, event.group, message)


@WRITER.handles(e.TargetAssignmentComputed)
def target_assignment_computed(log: KafkaLogState, event: e.TargetAssignmentComputed) -> list[Line]:
    message = f"Computed a new target assignment for epoch {event.epoch} with '{event.assignor}' assignor in 0ms."
    return _line(log.group(event.group), event.group, message)


@WRITER.handles(e.MemberAssignmentChanged)
def member_assignment_changed(log: KafkaLogState, event: e.MemberAssignmentChanged) -> list[Line]:
    """Kafka logs it at DEBUG."""
    log.group(event.group).epochs[event.member_id] = event.epoch
    return []


@WRITER.handles(e.MemberRemoved)
def member_removed(log: KafkaLogState, event: e.MemberRemoved) -> list[Line]:
    group, member_id = log.group(event.group), event.member_id
    if not group.consumer:
        return []
    instance_id = group.instance_ids.pop(member_id, "")
    timeout_ms, epoch = group.rebalance_timeouts_ms.pop(member_id, -1), group.epochs.pop(member_id, 0)
    match event.reason:
        case RebalanceCause.SESSION_EXPIRED:
            message = f"Member {member_id} fenced from the group because the member session expired."
        case RebalanceCause.POLL_INTERVAL_EXCEEDED if not event.client_reason:
            message = (
                f"Member {member_id} fenced from the group because it failed to transition from epoch {epoch} within"
                f" {timeout_ms}ms."
            )
        case _ if instance_id:
            message = f"Static member {member_id} with instance id {instance_id} left the consumer group."
        case _:
            message = f"Member {member_id} left the consumer group."
    return _line(group, event.group, message)


@WRITER.handles(e.TopicRegexResolved)
def topic_regex_resolved(log: KafkaLogState, event: e.TopicRegexResolved) -> list[Line]:
    message = f"Scanned {event.scanned} topics to refresh regular expressions [{event.regex}] in 0ms."
    return _line(log.group(event.group), event.group, message)


@WRITER.handles(e.ConsumerGroupLoaded)
def consumer_group_loaded(log: KafkaLogState, event: e.ConsumerGroupLoaded) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.generation, group.consumer = event.broker, event.group_epoch, True
    group.epochs = dict(event.epochs)
    message = f"Loaded consumer group {event.group} with {len(event.members)} members."
    return [coordinator_line(group, message)]
