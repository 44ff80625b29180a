"""What brokers and replicas make of thousands of partitions, worked out once until their topology may have changed."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, Generic, NamedTuple, ParamSpec, TypeVar

from cluster.view.state import ClusterView, PartitionView

GivenT = ParamSpec("GivenT")
FoundT = TypeVar("FoundT")


class UntilTopologyChanges(Generic[GivenT, FoundT]):
    """A function of a view and hashable arguments that is asked in every frame, and answers from memory.

    Its answer may depend on brokers, replicas, leaders, faults, settings, and on which groups and transactional ids
    there are, but not on records, offsets and the instant. It keeps what it found for one view, and may not be changed.
    """

    def __init__(self, find: Callable[Concatenate[ClusterView, GivenT], FoundT]) -> None:
        update_wrapper(self, find)
        self._find = find
        self._partitions: dict[str, PartitionView] | None = None  # a view of the past, or of another flight, has others
        self._changes = -1
        self._found: dict[object, FoundT] = {}

    def __call__(self, view: ClusterView, *args: GivenT.args, **kwargs: GivenT.kwargs) -> FoundT:
        """The answer for these arguments, at the view's instant."""
        if self._partitions is not view.partitions or self._changes != view.topology_changes:
            self._found.clear()
            self._partitions, self._changes = view.partitions, view.topology_changes
        asked = (args, tuple(kwargs.items()))
        if asked not in self._found:
            self._found[asked] = self._find(view, *args, **kwargs)
        return self._found[asked]


class PartitionHealth(NamedTuple):
    """Partitions without a live leader, with a frozen one, below min.insync.replicas, under-replicated.

    A partition is in one of the first two lists, or in the last two.
    """

    unled: list[PartitionView]
    frozen: list[PartitionView]
    below_minimum: list[PartitionView]
    under_replicated: list[PartitionView]


@UntilTopologyChanges
def partition_health(view: ClusterView) -> PartitionHealth:
    """Every partition that is not well, in the order of the topics."""
    partitions = view.partitions.values()
    serving = {one.broker for one in view.brokers.values() if one.up}
    frozen = {one.broker for one in view.brokers.values() if one.paused}
    least = {one.topic: one.min_insync_replicas for one in view.topics.values()}
    # One comprehension a question: thousands of partitions, nearly all of them well, are asked.
    under_replicated = [one for one in partitions if len(one.isr) < one.replication_factor]
    below_minimum = [one for one in partitions if len(one.isr) < min(least[one.topic], len(one.replicas))]
    well_led = serving - frozen
    ill_led = [one for one in partitions if one.leader not in well_led]
    return PartitionHealth(
        [one for one in ill_led if one.leader not in serving],
        [one for one in ill_led if one.leader in serving],
        [one for one in below_minimum if one.leader in well_led],
        [one for one in under_replicated if one.leader in well_led],
    )


@UntilTopologyChanges
def reassigned_partitions(view: ClusterView) -> list[PartitionView]:
    """Partitions with replicas that a reassignment in progress adds or removes."""
    return [one for one in view.partitions.values() if one.adding or one.removing]


class ReplicaCounts(NamedTuple):
    """For each broker: partitions of users and internal ones that it leads, its replicas, those out of sync."""

    leads: dict[int, int]
    internal: dict[int, int]
    replicas: dict[int, int]
    out: dict[int, int]


@UntilTopologyChanges
def replica_counts(view: ClusterView) -> ReplicaCounts:
    """By the newest elections; a broker that is not in the view is left out.

    A replica that a reassignment is adding is not out of sync: Kafka counts the original ones (`isUnderReplicated`).
    """
    leads, internal, replicas, out = (dict.fromkeys(view.brokers, 0) for _ in range(4))
    for partition in view.partitions.values():
        if partition.leader in leads:
            counted = internal if view.topics[partition.topic].internal else leads
            counted[partition.leader] += 1
        all_in_sync = len(partition.isr) == len(partition.replicas)
        for broker in partition.replicas:
            if broker in replicas:
                replicas[broker] += 1
                if not all_in_sync and broker not in partition.isr and broker not in partition.adding:
                    out[broker] += 1
    return ReplicaCounts(leads, internal, replicas, out)


class TopicCounts(NamedTuple):
    """How many partitions of a topic have no leader, no live one (those, too), fewer replicas than they should."""

    leaderless: int
    silent: int
    below_minimum: int
    under_replicated: int


@UntilTopologyChanges
def topic_counts(view: ClusterView, topic: str) -> TopicCounts:
    """A broker is live as long as its process serves; the controller may notice an end later."""
    up = {broker.broker for broker in view.brokers.values() if broker.up}
    least = view.topics[topic].min_insync_replicas
    leaderless = silent = short = under = 0
    for name in view.partitions_by_topic.get(topic, ()):
        partition = view.partitions[name]
        in_sync = len(partition.isr)
        if partition.leader not in up:
            silent += 1
            leaderless += partition.leader < 0
        short += in_sync < min(least, len(partition.replicas))
        under += in_sync < partition.replication_factor
    return TopicCounts(leaderless, silent, short, under)
