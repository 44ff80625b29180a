"""The metadata that one broker received from the controller (Kafka's `KRaftMetadataCache`).

Updates of two controllers may arrive out of order. So the cache keeps, for each partition, the version that changed the
partition last.
"""

from cluster.coordinators.consumer_group.topic_metadata import TopicMetadata
from cluster.protocol.messages import PartitionMetadata

LiveBrokers = tuple[int, ...]
Metadata = dict[str, PartitionMetadata]


class MetadataCache:
    """The metadata of one broker. `image`: each known partition and its metadata; `live`: the unfenced brokers.

    `topics`: the known topics, for this broker's group coordinators.
    """

    def __init__(self) -> None:
        self.image: Metadata = {}
        self.topics = TopicMetadata()
        self.live: LiveBrokers = ()
        self._live_version = 0
        self._versions: dict[str, int] = {}

    @property
    def version(self) -> int:
        """The newest metadata version received."""
        return self._live_version

    def open(self, live: LiveBrokers, image: Metadata) -> None:
        """Take the complete metadata of a new cluster, at t = 0."""
        self.live, self.image = live, image
        self.topics.add(image)

    def replace(self, version: int, live: LiveBrokers, image: Metadata) -> None:
        """Take the complete metadata of a registration response; newer updates of another controller stay."""
        self.live, self._live_version = live, version
        newer = {name: known for name, known in self._versions.items() if known > version}
        self.image = {**image, **{name: self.image[name] for name in newer}}
        self._versions = dict.fromkeys(image, version) | newer
        self.topics.add(image)

    def apply(self, version: int, live: LiveBrokers, delta: Metadata) -> tuple[Metadata, bool]:
        """Apply the newer part of an update; returns (the changed partitions, whether a broker became live again)."""
        came_back = False
        if version >= self._live_version:
            came_back = any(broker not in self.live for broker in live)
            self.live, self._live_version = live, version
        newer = {name: metadata for name, metadata in delta.items() if version >= self._versions.get(name, 0)}
        if any(name not in self.image for name in newer):
            self.topics.add(newer)
        self.image.update(newer)
        self._versions.update(dict.fromkeys(newer, version))
        return newer, came_back
