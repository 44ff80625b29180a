"""The topics that a coordinator knows: names and numbers of partitions, as its broker's metadata has them."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from cluster.protocol.names import topic_of

NO_TOPICS: Final = 0
INTERNAL: Final = ("__consumer_offsets", "__transaction_state")


class TopicMetadata:
    """The number of partitions of each topic. `version` grows with each change; `created`: of the last new topic.

    Kafka's hash has racks too; here replicas keep their brokers, and brokers their racks.
    Source: `CoordinatorMetadataImage`, `Utils.computeGroupHash`, `GroupMetadataManager.onMetadataUpdate`.
    """

    def __init__(self) -> None:
        self.partitions: dict[str, int] = {}
        self.version = 0
        self.created = 0

    def add(self, names: Iterable[str]) -> None:
        """Take new partitions by name; those that are known change nothing."""
        found: dict[str, int] = {}
        for name in names:
            topic = topic_of(name)
            found[topic] = max(found.get(topic, 0), int(name[len(topic) + 1 :]) + 1)
        grown = {topic: count for topic, count in found.items() if count > self.partitions.get(topic, 0)}
        if not grown:
            return
        self.version += 1
        if any(topic not in self.partitions for topic in grown):
            self.created = self.version
        self.partitions.update(grown)

    def hash_of(self, topics: Iterable[str]) -> int:
        """A hash of these topics, as far as they exist, and their partitions; 0 for none."""
        known = [f"{topic}:{self.partitions[topic]}" for topic in sorted(topics) if topic in self.partitions]
        if not known:
            return NO_TOPICS
        return int.from_bytes(blake2b(",".join(known).encode(), digest_size=8).digest(), "big", signed=True)

    def user_topics(self) -> Mapping[str, int]:
        """The topics without the internal ones."""
        return {topic: count for topic, count in self.partitions.items() if topic not in INTERNAL}
