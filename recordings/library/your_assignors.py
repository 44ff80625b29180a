"""Two assignors as a user would write them, for the scenario `your-own-assignor`: one works, one fails."""

from collections.abc import Mapping

from cluster.assignors import Subscription, TopicPartition


class EvenAndOdd:
    """Partitions with an even number go to the first half of the members (by id), those with an odd one to the rest."""

    name = "even-and-odd"

    def assign(
        self, partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Deal each half in turn."""
        members = sorted(subscriptions)
        half = (len(members) + 1) // 2
        halves = (members[:half], members[half:] or members)
        dealt: dict[str, list[TopicPartition]] = {member: [] for member in members}
        for topic in sorted(partitions_per_topic):
            for number in range(partitions_per_topic[topic]):
                takers = halves[number % 2]
                dealt[takers[number // 2 % len(takers)]].append(TopicPartition(topic, number))
        return dealt


class MadeForTwo:
    """Halves every topic between two members, and was never tried with three."""

    name = "made-for-two"

    def assign(
        self, partitions_per_topic: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> dict[str, list[TopicPartition]]:
        """Raise ValueError for any other number of members, as careless code does."""
        if len(subscriptions) != 2:
            raise ValueError(f"made for 2 members, not for {len(subscriptions)}")
        dealt: dict[str, list[TopicPartition]] = {member: [] for member in sorted(subscriptions)}
        for topic, count in sorted(partitions_per_topic.items()):
            for number in range(count):
                dealt[sorted(subscriptions)[number * 2 // count]].append(TopicPartition(topic, number))
        return dealt
