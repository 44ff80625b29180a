"""Kafka's protocol as data: names, messages, errors, record batches. No behaviour."""

from cluster.protocol.names import (
    TopicPartition,
    coordinator_partition,
    java_string_hash,
    murmur2,
    to_positive,
)

__all__ = ["TopicPartition", "coordinator_partition", "java_string_hash", "murmur2", "to_positive"]
