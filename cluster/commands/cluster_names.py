"""The names of a cluster that commands may use."""

import msgspec


class Names(msgspec.Struct, frozen=True):
    """Every name of a cluster, in the order of its scenario.

    `brokers`: `broker-1` …; `groups` and `producers`: a name and its instances; `topics`: a name and its partitions.
    """

    brokers: tuple[str, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}
    producers: dict[str, tuple[str, ...]] = {}
    topics: dict[str, int] = {}

    def members(self) -> tuple[str, ...]:
        """Every member of every group."""
        return tuple(member for members in self.groups.values() for member in members)

    def clients(self) -> tuple[str, ...]:
        """Every member and every producer's instance."""
        return self.members() + tuple(name for instances in self.producers.values() for name in instances)

    def processes(self) -> tuple[str, ...]:
        """Every broker, member and producer's instance."""
        return self.brokers + self.clients()

    def partitions(self) -> tuple[str, ...]:
        """Every partition of every topic."""
        return tuple(f"{topic}-{number}" for topic, count in self.topics.items() for number in range(count))

    def scopes(self) -> tuple[str, ...]:
        """The scopes of settings: the cluster, brokers, topics, groups, their members and producers."""
        return ("cluster", *self.brokers, *self.topics, *self.groups, *self.producers, *self.members())

    def instances_of(self, name: str) -> tuple[str, ...]:
        """The instances of a group or producer; empty for any other name."""
        return self.groups.get(name) or self.producers.get(name) or ()
