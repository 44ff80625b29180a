"""Predictors of commands to topics and their logs: create, add partitions, delete records."""

from cluster.commands import catalogue as c
from cluster.protocol.topic_creation import why_no_name, why_not_placed
from cluster.protocol.topic_pattern import topic_pattern
from cluster.spec import TopicRefusedError, admitted_topic
from cluster.view.state import NEVER
from console.presenters.formatting import many
from console.presenters.impacts.model import NO_BROKER, ImpactModel, Predictors, predictor


def create_topic(model: ImpactModel, command: c.CreateTopic) -> None:
    """A topic begins empty; members that subscribe to its name rebalance when they have its metadata."""
    view = model.view
    if command.topic in view.topics and command.if_not_exists:
        model.refuse(f"{command.topic} exists already")
    elif view.controller == NO_BROKER:
        model.refuse("there is no active controller")
    elif (reason := _not_created(model, command)) is not None:
        model.refuse(reason)
    else:
        _found(model, command.topic)


def _not_created(model: ImpactModel, command: c.CreateTopic) -> str | None:
    """Why the controller refuses a topic; None when it creates it, and then the size of it is noted."""
    partitions, replicas, topics = command.partitions, command.replicas, model.view.topics
    if model.spec is not None:
        try:
            topic = admitted_topic(model.spec, command, {name: one.partitions for name, one in topics.items()})
        except TopicRefusedError as refusal:
            return str(refusal)
        partitions, replicas = topic.partitions, topic.replication
    brokers = model.view.brokers.values()
    unfenced = sum(not broker.fenced for broker in brokers)
    reason = why_no_name(command.topic, topics) or why_not_placed(replicas or 1, len(brokers), unfenced)
    if reason is not None:
        return str(reason)
    sizes = [many(partitions, "partition")] if partitions else []
    sizes += [many(replicas, "replica")] if replicas else []
    model.note(": ".join([f"{command.topic} begins empty", *([", ".join(sizes)] if sizes else [])]))
    return None


def _found(model: ImpactModel, topic: str) -> None:
    """The groups that a new topic reaches: by its name with the next metadata, by an expression with a later search."""
    for member in model.view.members.values():
        if member.alive and topic in member.topics:
            model.group_rebalances(member.group)
    for group in model.view.groups.values():
        members = group.consumer.members.values() if group.consumer is not None else ()
        regexes = dict.fromkeys(member.topic_regex for member in members if member.topic_regex)
        found = [regex for regex in regexes if topic_pattern(regex).matches(topic)]
        if found:
            model.note(f"{group.group} rebalances when its coordinator searches for {found[0]} again")


def add_partitions(model: ImpactModel, command: c.AddPartitions) -> None:
    """Keys map to other partitions, and the groups that read the topic rebalance."""
    topic = model.view.topics.get(command.topic)
    if topic is None:
        model.refuse(f"there is no topic {command.topic} yet")
        return
    known = topic.partitions
    if command.to <= known:
        model.refuse(f"INVALID_PARTITIONS: {command.topic} has {known} partitions already")
        return
    model.note(f"{command.to - known} more partitions: existing keys map to other partitions")
    for group in model.view.groups.values():
        if command.topic in group.topics:
            model.group_rebalances(group.group)


def delete_records(model: ImpactModel, command: c.DeleteRecords) -> None:
    """The leader deletes records, also records that groups have not read."""
    partition = model.partition(command.topic, command.partition)
    if partition is None:
        return
    name = partition.partition
    if partition.leader == NO_BROKER:
        model.refuse(f"LEADER_NOT_AVAILABLE: {name} has no leader")
    elif command.before > partition.high_watermark:
        model.refuse(f"OFFSET_OUT_OF_RANGE: the high watermark of {name} is {partition.high_watermark}")
    else:
        deleted = max(0, command.before - partition.log_start)
        model.note(f"{name} loses {deleted:,} offsets")
        for group in model.view.groups.values():
            reader = group.readers.get(name)
            if reader is not None and reader.committed != NEVER and reader.committed < command.before:
                unread = command.before - max(reader.committed, partition.log_start)
                model.note(f"{group.group} has not read {unread:,} of them")


PREDICTORS: Predictors = dict((
    predictor(c.CreateTopic, create_topic),
    predictor(c.AddPartitions, add_partitions),
    predictor(c.DeleteRecords, delete_records),
))  # fmt: skip
