"""What the conditions read: the view at an instant, and its partitions by their health."""

from typing import NamedTuple

from cluster.view.state import ClusterView, GroupView
from console.presenters.producers.limits import ProducerConfigs
from console.presenters.topology.standing import PartitionHealth, partition_health


class ConditionWords(NamedTuple):
    """A condition that holds: its words in several lengths, the longest first."""

    forms: tuple[str, ...]


class ClusterFacts:
    """A view at an instant; `session_us` is broker.session.timeout.ms in µs, if known."""

    def __init__(
        self, view: ClusterView, now_us: int, session_us: int | None, configs: ProducerConfigs | None = None
    ) -> None:
        self.view, self.now_us, self.session_us, self.configs = view, now_us, session_us, configs or {}

    @property
    def partitions(self) -> PartitionHealth:
        """Every partition that is not well, in the order of the topics."""
        return partition_health(self.view)

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
