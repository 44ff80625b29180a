"""What a broker has heard from the controller: live brokers and partitions (Kafka's `KRaftMetadataCache`).

News of two controllers may arrive out of order, so each partition has the version that changed it last.
"""

from cluster.broker.controller_channel import LiveBrokers, Metadata


class MetadataCache:
    """The metadata of one broker. `image` is every partition it knows, by name; `live` the unfenced brokers."""

    def __init__(self) -> None:
        self.image: Metadata = {}
        self.live: LiveBrokers = ()
        self._live_version = 0
        self._versions: dict[str, int] = {}

    @property
    def version(self) -> int:
        """The newest that it has heard of."""
        return self._live_version

    def open(self, live: LiveBrokers, image: Metadata) -> None:
        """The cluster is up at t = 0: everything is known."""
        self.live, self.image = live, image

    def replace(self, version: int, live: LiveBrokers, image: Metadata) -> None:
        """The answer to a registration holds all metadata; what another controller told since stays."""
        self.live, self._live_version = live, version
        newer = {name: heard for name, heard in self._versions.items() if heard > version}
        self.image = {**image, **{name: self.image[name] for name in newer}}
        self._versions = dict.fromkeys(image, version) | newer

    def apply(self, version: int, live: LiveBrokers, delta: Metadata) -> tuple[Metadata, bool]:
        """Take what is news of a delta: (the partitions that changed, whether a broker is live again)."""
        came_back = False
        if version >= self._live_version:
            came_back = any(broker not in self.live for broker in live)
            self.live, self._live_version = live, version
        news = {name: metadata for name, metadata in delta.items() if version >= self._versions.get(name, 0)}
        self.image.update(news)
        self._versions.update(dict.fromkeys(news, version))
        return news, came_back
