"""Log lines of coordinators of groups of the new protocol, the 4.x `GroupMetadataManager`."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from cluster import events as e
from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.kafka_log.group_coordinators import converted_to_classic, coordinator_line
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


@WRITER.handles(e.ClassicGroupUpgraded)
def classic_group_upgraded(log: KafkaLogState, event: e.ClassicGroupUpgraded) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.generation, group.consumer = event.broker, event.epoch, True
    group.classic = dict.fromkeys(event.members)
    group.instance_ids = {member_id: event.instance_ids.get(member_id, "") for member_id in event.members}
    return _line(group, event.group, "Converted the classic group to a consumer group.")


@WRITER.handles(e.ConsumerGroupDowngraded)
def consumer_group_downgraded(log: KafkaLogState, event: e.ConsumerGroupDowngraded) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.generation, group.consumer = event.broker, event.generation, False
    group.protocol = event.protocol
    group.classic.clear()
    if group.changed_us == event.at_us:  # it rebalances, which Kafka says first
        group.converted = True
        return []
    return [converted_to_classic(group, event.group)]


@WRITER.handles(e.GroupConversionRefused)
def group_conversion_refused(log: KafkaLogState, event: e.GroupConversionRefused) -> list[Line]:
    group = log.group(event.group)
    group.broker = event.broker
    if event.protocol == "consumer":
        what = f"Cannot upgrade classic group {event.group} to consumer group"
    elif event.protocol == "classic":
        what = f"Cannot downgrade consumer group {event.group} to classic group"
    else:
        what = f"Cannot join the consumer group {event.group} with the classic protocol"
    group.refusal = f"{what} because {event.reason}."
    return [coordinator_line(group, group.refusal)]


@WRITER.handles(e.MemberProtocolChanged)
def member_protocol_changed(log: KafkaLogState, event: e.MemberProtocolChanged) -> list[Line]:
    """Change what the lines of the member's join say."""
    group = log.group(event.group)
    group.classic.pop(event.member_id, None)
    if event.protocol == "classic":
        group.classic[event.member_id] = None
    return []


@WRITER.handles(e.ClassicMemberIdAssigned)
def classic_member_id_assigned(log: KafkaLogState, event: e.ClassicMemberIdAssigned) -> list[Line]:
    message = (
        "Dynamic member with unknown member id joins the consumer group. Created a new member id"
        f" {event.member_id} and requesting the member to rejoin with this id."
    )
    return _line(log.group(event.group), event.group, message)


@WRITER.handles(e.ConsumerMemberSubscribed)
def consumer_member_subscribed(log: KafkaLogState, event: e.ConsumerMemberSubscribed) -> list[Line]:
    group = log.group(event.group)
    group.consumer, group.broker = True, log.partition(group.partition).leader
    group.rebalance_timeouts_ms[event.member_id] = event.rebalance_timeout_ms
    replaces = group.instance_ids.get(event.member_id)
    group.instance_ids[event.member_id] = event.instance_id
    rejoins = event.epoch != 0 and event.member_id not in group.classic
    if rejoins or (event.instance_id and replaces is not None):
        return []
    if event.instance_id:
        who = f"Static member {event.member_id} with instance id {event.instance_id}"
    else:
        who = f"Member {event.member_id}"
    protocol = "classic" if event.member_id in group.classic else "consumer"
    return _line(group, event.group, f"{who} joins the consumer group using the {protocol} protocol.")


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
    protocol = "consumer"
    if event.old_member_id in group.classic:
        protocol = "classic"
        del group.classic[event.old_member_id]
        group.classic[event.member_id] = None
    message = (
        f"Static member with instance id {instance_id} re-joins the consumer group using the {protocol} protocol."
        f" Created a new member {event.member_id} to replace the existing member {event.old_member_id}."
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
    group.changed_us = event.at_us
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
    group.changed_us = event.at_us
    instance_id = group.instance_ids.pop(member_id, "")
    timeout_ms, epoch = group.rebalance_timeouts_ms.pop(member_id, -1), group.epochs.pop(member_id, 0)
    if member_id in group.classic:
        del group.classic[member_id]
        return _line(group, event.group, _classic_removal(event, instance_id))
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


def _classic_removal(event: e.MemberRemoved, instance_id: str) -> str:
    member_id = event.member_id
    if event.reason == RebalanceCause.SESSION_EXPIRED:
        return f"Member {member_id} fenced from the group because the member session expired."
    if event.reason == RebalanceCause.SYNC_TIMED_OUT:
        return f"Member {member_id} fenced from the group because the member failed to sync within timeout."
    if event.reason == RebalanceCause.POLL_INTERVAL_EXCEEDED and not event.client_reason:
        why = "the classic member failed to join within the rebalance timeout"
        return f"Member {member_id} fenced from the group because {why}."
    who = f"Static member {member_id} with instance id {instance_id}" if instance_id else f"Dynamic member {member_id}"
    reason = event.client_reason or "not provided"
    return f"{who} has left group through explicit `LeaveGroup` request; client reason: {reason}"


@WRITER.handles(e.TopicRegexResolved)
def topic_regex_resolved(log: KafkaLogState, event: e.TopicRegexResolved) -> list[Line]:
    message = f"Scanned {event.scanned} topics to refresh regular expressions [{event.regex}] in 0ms."
    return _line(log.group(event.group), event.group, message)


@WRITER.handles(e.ConsumerGroupLoaded)
def consumer_group_loaded(log: KafkaLogState, event: e.ConsumerGroupLoaded) -> list[Line]:
    group = log.group(event.group)
    group.broker, group.generation, group.consumer = event.broker, event.group_epoch, True
    group.epochs = dict(event.epochs)
    group.classic.clear()
    message = f"Loaded consumer group {event.group} with {len(event.members)} members."
    return [coordinator_line(group, message)]
