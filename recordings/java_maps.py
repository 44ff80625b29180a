"""In which order Java's HashMap gives its entries: some log lines name the first of several partitions.

Source: `java.util.HashMap` (16 buckets that double when they are three quarters full; `hash ^ hash >>> 16`).
"""

from collections.abc import Iterable

from cluster.protocol.names import TopicPartition, java_string_hash, topic_of

MASK_32 = 0xFFFF_FFFF


def hash_map_order(keys: Iterable[str], hash_of: dict[str, int]) -> list[str]:
    """Keys by their buckets; those that share one stay in the order in which they were put."""
    known = list(dict.fromkeys(keys))
    buckets = 16
    while 4 * len(known) > 3 * buckets:
        buckets *= 2
    return sorted(known, key=lambda key: (hash_of[key] ^ hash_of[key] >> 16) & (buckets - 1))


def consumed_order(partitions: Iterable[str]) -> list[str]:
    """The partitions of a map of positions, such as `SubscriptionState.allConsumed` fills."""
    found = {name: TopicPartition.parse(name) for name in partitions}
    hashes = {
        name: (31 * (31 + each.partition) + java_string_hash(each.topic)) & MASK_32 for name, each in found.items()
    }
    return hash_map_order(found, hashes)


def commit_order(partitions: Iterable[str]) -> list[str]:
    """The partitions of an OffsetCommit: topics in a map by name, the partitions of each as a map of all had them.

    Source: `SubscriptionState.allConsumed`, `ConsumerCoordinator.sendOffsetCommitRequest`, `TopicPartition.hashCode`.
    """
    by_topic: dict[str, list[str]] = {}
    for name in consumed_order(partitions):
        by_topic.setdefault(topic_of(name), []).append(name)
    topics = hash_map_order(by_topic, {topic: java_string_hash(topic) & MASK_32 for topic in by_topic})
    return [name for topic in topics for name in by_topic[topic]]
