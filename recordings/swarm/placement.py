"""Where a scenario places replicas, and which replicas of each partition remain when only some brokers are healthy."""

from collections.abc import Iterable

from cluster.commands import AddPartitions
from cluster.protocol.names import coordinator_partition
from cluster.spec import ScenarioSpec, TopicSpec

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class Placement:
    """The replicas of each partition, and which of them are in the core.

    Replica k of partition p of the topic at `place` is on the broker at place (place + p + k) mod n, unless the
    scenario assigns it; internal topics come after the declared ones.
    """

    def __init__(self, spec: ScenarioSpec, core: Iterable[int]) -> None:
        sound = frozenset(core)
        config = spec.broker_config(spec.brokers[0])
        brokers = sorted(broker.id for broker in spec.brokers)
        self._offsets, self._transactions = (
            int(str(config[key])) for key in ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
        )
        three = min(3, len(brokers))
        internal = (
            TopicSpec(OFFSETS, self._offsets, three),
            TopicSpec(
                TRANSACTIONS,
                self._transactions,
                three,
                {"min.insync.replicas": str(config["transaction.state.log.min.isr"])},
            ),
        )
        self.inside: dict[str, tuple[int, ...]] = {}  # the core's replicas
        self.wanted: dict[str, int] = {}  # in-sync replicas without which nothing is committed
        self.of_topic: dict[str, list[str]] = {}
        grown = [step.command for step in spec.steps if isinstance(step.command, AddPartitions)]
        for place, topic in enumerate((*spec.topics, *map(spec.internally_assigned, internal))):
            added = [each.to for each in grown if each.topic == topic.name]
            least = int(str(topic.topic_config(spec.config)["min.insync.replicas"]))
            for number in range(max(topic.partitions, *added, 0)):
                name = f"{topic.name}-{number}"
                hosts = [brokers[(place + number + k) % len(brokers)] for k in range(topic.replication)]
                hosts = list(dict(enumerate(topic.replica_assignment)).get(number, hosts))
                self.inside[name] = tuple(sorted(host for host in hosts if host in sound))
                self.wanted[name] = min(least, topic.replication)
                self.of_topic.setdefault(topic.name, []).append(name)

    def coordinators(self, *, group: str = "", transactional_id: str = "") -> str:
        """The partition whose leader coordinates a group or a transactional id."""
        if group:
            return f"{OFFSETS}-{coordinator_partition(group, self._offsets)}"
        return f"{TRANSACTIONS}-{coordinator_partition(transactional_id, self._transactions)}"

    def lacks(self, partitions: Iterable[str]) -> str:
        """Why these cannot all progress in the core: the first that cannot, or ""."""
        for name in partitions:
            has, wanted = len(self.inside[name]), self.wanted[name]
            if has < wanted:
                return f"{name} has {has} of its replicas in the core, and min.insync.replicas is {wanted}"
            if not has:
                return f"{name} has no replica in the core"
        return ""

    def whole(self) -> int:
        """The number of partitions that have enough replicas in the core."""
        return sum(not self.lacks([name]) for name in self.inside)
