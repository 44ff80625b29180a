"""Predictors of commands to topics and their logs: create, add partitions, reassign, delete records."""

from collections.abc import Sequence

from cluster.commands import catalogue as c
from cluster.protocol.placement.reassignments import (
    NO_REASSIGNMENT,
    Reassignment,
    completed,
    reverted,
    toward,
    why_not_assigned,
)
from cluster.protocol.placement.topic_creation import why_no_name, why_no_replicas, why_not_added
from cluster.protocol.topic_pattern import topic_pattern
from cluster.spec import TopicRefusedError, admitted_topic
from cluster.view.state import NEVER, PartitionView
from console.presenters.formatting import many, memory
from console.presenters.impacts.cluster import leader_moves
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
    assigned = command.assignment
    if assigned:
        partitions, replicas = len(assigned), len(assigned[0])
    if model.spec is not None:
        try:
            topic = admitted_topic(model.spec, command, {name: one.partitions for name, one in topics.items()})
        except TopicRefusedError as refusal:
            return str(refusal)
        partitions, replicas = topic.partitions, topic.replication
    brokers, unfenced = model.view.brokers, _unfenced(model)
    reason = why_no_name(command.topic, topics) or why_no_replicas(assigned, replicas or 1, brokers, unfenced)
    if reason is not None:
        return str(reason)
    sizes = [many(partitions, "partition")] if partitions else []
    sizes += [many(replicas, "replica")] if replicas else []
    model.note(": ".join([f"{command.topic} begins empty", *([", ".join(sizes)] if sizes else [])]))
    return None


def _unfenced(model: ImpactModel) -> list[int]:
    return [broker.broker for broker in model.view.brokers.values() if not broker.fenced]


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
    if command.assignment and (reason := _not_assigned(model, command, known)) is not None:
        model.refuse(reason)
        return
    model.note(f"{command.to - known} more partitions: existing keys map to other partitions")
    for group in model.view.groups.values():
        if command.topic in group.topics:
            model.group_rebalances(group.group)


def _not_assigned(model: ImpactModel, command: c.AddPartitions, known: int) -> str | None:
    """Why new partitions cannot have the replicas that the command assigns to them."""
    replication, new = len(model.view.partitions[f"{command.topic}-0"].replicas), range(known, command.to)
    reason = why_not_added(command.assignment, new, replication, model.view.brokers, _unfenced(model))
    return str(reason) if reason is not None else None


def reassign(model: ImpactModel, command: c.Reassign) -> None:
    """New replicas copy the log; those that go leave, with the leadership, when the new ones are in sync."""
    partition = model.partition(command.topic, command.partition)
    if partition is None or _without_controller(model):
        return
    error = why_not_assigned(command.replicas, model.view.brokers)
    if error:
        model.refuse(f"INVALID_REPLICA_ASSIGNMENT: {error}")
        return
    name, now = partition.partition, Reassignment(partition.replicas, partition.adding, partition.removing)
    places = toward(now, command.replicas)
    if places == now:
        model.note(f"{name} has these replicas already")
        return
    at_once = completed(places, partition.isr)
    _moved(model, partition, places, arrived=at_once is not None)
    follows = partition.leader != NO_BROKER and all(model.can_lead(broker) for broker in places.adding)
    arrived = completed(places, (*partition.isr, *places.adding)) if follows else at_once
    if arrived is not None:
        _led_after(model, partition, *arrived)


def _without_controller(model: ImpactModel) -> bool:
    if model.view.controller == NO_BROKER:
        model.refuse("there is no active controller")
    return model.view.controller == NO_BROKER


def _moved(model: ImpactModel, partition: PartitionView, places: Reassignment, *, arrived: bool) -> None:
    """Which replicas a reassignment adds and removes, and what that copies."""
    name = partition.partition
    new = [broker for broker in places.adding if broker not in partition.isr]
    if new:
        size = memory(partition.bytes * len(new))
        model.note(f"{name}: {_brokers(new)} {'copies' if len(new) == 1 else 'copy'} {size} from the leader")
    down = [broker for broker in new if not model.can_lead(broker)]
    if down:
        model.note(f"{_brokers(down)} cannot follow now: the reassignment stays in progress until then")
    if places.removing:
        left = "the new ones are" if places.adding else f"{_brokers(places.target)} is"
        verb = "deletes its replica" if len(places.removing) == 1 else "delete their replicas"
        model.note(f"{_brokers(places.removing)} {verb}{'' if arrived else f' when {left} in sync'}")
    elif not new and not places.adding:
        model.note(f"broker-{places.replicas[0]} becomes the preferred leader of {name}")


def _led_after(model: ImpactModel, partition: PartitionView, replicas: tuple[int, ...], isr: tuple[int, ...]) -> None:
    """The leader of a partition whose replicas have changed: the present one, if it may stay."""
    order = (partition.leader, *replicas)
    leader = next((one for one in order if one in isr and model.can_lead(one)), NO_BROKER)
    if leader != partition.leader:
        leader_moves(model, partition.partition, leader)


def _brokers(ids: Sequence[int]) -> str:
    return ", ".join(f"broker-{one}" for one in ids)


def cancel_reassignment(model: ImpactModel, command: c.CancelReassignment) -> None:
    """The replicas that are being added leave, and those that would go stay."""
    partition = model.partition(command.topic, command.partition)
    if partition is None or _without_controller(model):
        return
    known = Reassignment(partition.replicas, partition.adding, partition.removing)
    if not known.in_progress:
        model.refuse(f"NO_REASSIGNMENT_IN_PROGRESS: {NO_REASSIGNMENT}")
        return
    back = reverted(known, partition.isr)
    if back.unclean:
        model.note("only new replicas are in sync: Kafka refuses without unclean.leader.election.enable")
        return
    model.note(f"{partition.partition} keeps replicas {','.join(map(str, back.replicas))}")
    _led_after(model, partition, back.replicas, back.isr)


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
    predictor(c.Reassign, reassign),
    predictor(c.CancelReassignment, cancel_reassignment),
    predictor(c.DeleteRecords, delete_records),
))  # fmt: skip
