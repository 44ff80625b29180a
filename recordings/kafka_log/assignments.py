"""Log lines of a group's leader when it assigns the partitions. One function a class of events."""

# ruff: noqa: D103 - a renderer is named for its kind of event, whose docstring says what happened

from collections.abc import Mapping, Sequence

from cluster import events as e
from cluster.assignors import Subscription, TopicPartition
from cluster.assignors.sticky import assign_sticky
from recordings.kafka_log.consumer_lines import assignment_text, consumer_line
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.state import KafkaLogState, Line

WRITER = LogWriter()

STICKY = "org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor"


COOPERATIVE = "cooperative-sticky"


@WRITER.handles(e.JoinBarrierCompleted)
def join_barrier_completed(log: KafkaLogState, event: e.JoinBarrierCompleted) -> list[Line]:
    """Keep the members' subscriptions of their JoinGroups: the leader assigns by them, also if it is late."""
    if event.protocol == COOPERATIVE:
        said = {member_id: _subscription(log, client) for member_id, client in event.members.items()}
        log.group(event.group).subscriptions[event.generation] = said
    return []


@WRITER.handles(e.AssignmentMade)
def assignment_made(log: KafkaLogState, event: e.AssignmentMade) -> list[Line]:
    known, group = log.member(event.member), log.group(event.group)
    known.counts = {topic: log.partition_counts.get(topic, 0) for topic in log.topics_of(event.group)}
    lines = []
    if event.generation in group.subscriptions:
        lines.append(_final(before_holding_back(group.subscriptions[event.generation], event.assignments)))
        group.subscriptions = {
            number: said for number, said in group.subscriptions.items() if number > event.generation
        }
    elif group.protocol == "sticky":
        lines.append(_final(event.assignments))
    shares = ", ".join(f"{member_id}={assignment_text(given)}" for member_id, given in event.assignments.items())
    message = f"Finished assignment for group at generation {event.generation}: {{{shares}}}"
    return [*lines, consumer_line(log, event.member, message)]


@WRITER.handles(e.SyncReceived)
def sync_received(log: KafkaLogState, event: e.SyncReceived) -> list[Line]:
    """A leader that rejoined a Stable group assigns nothing: this line precedes its SyncGroup."""
    if not event.leader or log.group(event.group).state != "Stable":
        return []
    message = (
        f"Skipped assignment for returning static leader at generation {log.member(event.member).generation}. The"
        " static leader will continue with its existing assignment."
    )
    return [consumer_line(log, event.member, message)]


def _final(assignments: Mapping[str, Sequence[object]]) -> Line:
    """The line of both sticky assignors, from a logger without a client's context."""
    shares = ", ".join(f"{member_id}=[{', '.join(map(str, given))}]" for member_id, given in assignments.items())
    return Line("INFO", "", f"Final assignment of partitions to consumers: \n{{{shares}}}", STICKY)


def _subscription(log: KafkaLogState, member: str) -> Subscription:
    """The subscription of a member's last JoinGroup."""
    known = log.member(member)
    generation, claimed = known.claimed
    owned = tuple(map(TopicPartition.parse, claimed))
    return Subscription(known.joined_topics, owned, generation, known.instance_id or None)


def before_holding_back(
    subscriptions: Mapping[str, Subscription], assignments: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[object]]:
    """The assignment that the cooperative assignor logs: with the partitions that it then holds back until revoked.

    It holds back only what a member owns: so the leader's partitions are those that it assigned and those owned.
    """
    given = {TopicPartition.parse(name) for names in assignments.values() for name in names}
    owned = {name for subscription in subscriptions.values() for name in subscription.owned_partitions}
    if owned <= given:
        return assignments
    counts: dict[str, int] = {}
    for topic, number in given | owned:
        counts[topic] = max(counts.get(topic, 0), number + 1)
    return assign_sticky(counts, subscriptions).assignment
