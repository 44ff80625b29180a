"""The iteration order of Java's and Scala's collections: log lines list their entries, or name the first.

Source: `java.util.HashMap` (16 buckets that double when they are three quarters full; `hash ^ hash >>> 16`),
`scala.collection.mutable.HashSet` (the same hash; it doubles when it comes to three quarters, and keeps each bucket in
the order of hashes), `java.util.TreeSet` with `TopicPartitionComparator`; Kafka's `TimelineHashMap`.
"""

from collections.abc import Iterable

from cluster.protocol.names import TopicPartition, java_string_hash, topic_of

MASK_32 = 0xFFFF_FFFF
SIGN_32 = 0x8000_0000
MASK_64 = 0xFFFF_FFFF_FFFF_FFFF
FIBONACCI = -7_046_029_254_386_353_131


def hash_map_order(keys: Iterable[str], hash_of: dict[str, int]) -> list[str]:
    """Keys by their buckets; those that share one stay in the order in which they were put."""
    known = list(dict.fromkeys(keys))
    buckets = 16
    while 4 * len(known) > 3 * buckets:
        buckets *= 2
    return sorted(known, key=lambda key: (hash_of[key] ^ hash_of[key] >> 16) & (buckets - 1))


def string_map_order(keys: Iterable[str], buckets: int = 16) -> list[str]:
    """Strings as keys of a HashMap that was made with so many buckets, a power of two."""
    known = list(dict.fromkeys(keys))
    while 4 * len(known) > 3 * buckets:
        buckets *= 2
    hashes = {key: java_string_hash(key) & MASK_32 for key in known}
    return sorted(known, key=lambda key: (hashes[key] ^ hashes[key] >> 16) & (buckets - 1))


def timeline_map_order(keys: Iterable[str]) -> list[str]:
    """Strings as keys of a TimelineHashMap, given in the order in which they were put.

    Source: `BaseHashTable.findSlot`; those that share a slot stay in their order.
    """
    known = list(dict.fromkeys(keys))
    bits = 1
    while 3 * len(known) > 4 << bits:  # it doubles before the load comes above 4/3
        bits += 1
    return sorted(known, key=lambda key: (java_string_hash(key) * FIBONACCI & MASK_64) >> 64 - bits)


def _hashes(partitions: Iterable[str]) -> dict[str, int]:
    """`TopicPartition.hashCode` of each."""
    found = {name: TopicPartition.parse(name) for name in partitions}
    return {name: (31 * (31 + each.partition) + java_string_hash(each.topic)) & MASK_32 for name, each in found.items()}


def hash_set_order(partitions: Iterable[str]) -> list[str]:
    """The partitions of a mutable HashSet of Scala's."""
    hashes = {name: number ^ number >> 16 for name, number in _hashes(partitions).items()}
    buckets = 16
    while 4 * len(hashes) >= 3 * buckets:
        buckets *= 2
    return sorted(hashes, key=lambda name: (hashes[name] & (buckets - 1), hashes[name] ^ SIGN_32))


def tree_set(partitions: Iterable[str]) -> str:
    """The partitions of a TreeSet as a log line has them: `[orders-2, orders-10]`."""
    return f"[{', '.join(sorted(partitions, key=TopicPartition.parse))}]"


def consumed_order(partitions: Iterable[str]) -> list[str]:
    """The partitions of a map of positions, such as `SubscriptionState.allConsumed` fills."""
    hashes = _hashes(partitions)
    return hash_map_order(hashes, hashes)


def commit_order(partitions: Iterable[str]) -> list[str]:
    """The partitions of an OffsetCommit: topics in a map by name, the partitions of each as a map of all had them.

    Source: `SubscriptionState.allConsumed`, `ConsumerCoordinator.sendOffsetCommitRequest`, `TopicPartition.hashCode`.
    """
    by_topic: dict[str, list[str]] = {}
    for name in consumed_order(partitions):
        by_topic.setdefault(topic_of(name), []).append(name)
    topics = hash_map_order(by_topic, {topic: java_string_hash(topic) & MASK_32 for topic in by_topic})
    return [name for topic in topics for name in by_topic[topic]]
