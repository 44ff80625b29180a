"""What the conditions read: the view at an instant, and its partitions by their health, each looked at once."""

from functools import cached_property
from typing import NamedTuple

from cluster.view.state import ClusterView, GroupView, PartitionView
from console.presenters.producers.limits import ProducerConfigs


class PartitionHealth(NamedTuple):
    """Partitions without a live leader, with a frozen one, below min.insync.replicas, under-replicated.

    A partition is in one of the first two lists, or in the last two.
    """

    unled: list[PartitionView]
    frozen: list[PartitionView]
    below_minimum: list[PartitionView]
    under_replicated: list[PartitionView]


class ConditionWords(NamedTuple):
    """A condition that holds: its words in several lengths, the longest first."""

    forms: tuple[str, ...]


class ClusterFacts:
    """A view at an instant; `session_us` is broker.session.timeout.ms in µs, if known."""

    def __init__(
        self, view: ClusterView, now_us: int, session_us: int | None, configs: ProducerConfigs | None = None
    ) -> None:
        self.view, self.now_us, self.session_us, self.configs = view, now_us, session_us, configs or {}

    @cached_property
    def partitions(self) -> PartitionHealth:
        """Every partition that is not well, in the order of the topics."""
        view, partitions = self.view, self.view.partitions.values()
        serving = {one.broker for one in view.brokers.values() if one.up}
        frozen = {one.broker for one in view.brokers.values() if one.paused}
        least = {one.topic: one.min_insync_replicas for one in view.topics.values()}
        # One comprehension a question: thousands of partitions, nearly all of them well, are asked in every frame.
        below_minimum = [one for one in partitions if len(one.isr) < least[one.topic]]
        under_replicated = [one for one in partitions if len(one.isr) < len(one.replicas)]
        well_led = serving - frozen
        ill_led = [one for one in partitions if one.leader not in well_led]
        return PartitionHealth(
            [one for one in ill_led if one.leader not in serving],
            [one for one in ill_led if one.leader in serving],
            [one for one in below_minimum if one.leader in well_led],
            [one for one in under_replicated if one.leader in well_led],
        )

    def unowned(self, group: GroupView) -> tuple[int, int]:
        """How many partitions of a group's topics have no owner, and how many there are."""
        total = sum(len(self.view.partitions_by_topic.get(topic, ())) for topic in group.topics)
        return max(0, total - len(group.owners)), total


def longest_first(head: str, *parts: str) -> ConditionWords:
    """The words with all parts, then with one less each; empty parts are left out."""
    shown = [part for part in parts if part]
    return ConditionWords(tuple(" · ".join((head, *shown[:number])) for number in range(len(shown), -1, -1)))


def and_more(names: list[str], of: str = "") -> str:
    """`orders-0`, `orders-0 and 2 more`."""
    noun = f" {of}" if of else ""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more{noun}"
