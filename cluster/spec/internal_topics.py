"""Kafka's own topics, and the keys of brokers that say how large each is. Source: `AutoTopicCreationManager`."""

from typing import Final

from cluster.protocol.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

INTERNAL_TOPICS: Final = {
    OFFSETS_TOPIC: "offsets.topic.num.partitions",
    TRANSACTIONS_TOPIC: "transaction.state.log.num.partitions",
}
"""Kafka's own topics, and the key with the number of partitions of each."""

INTERNAL_REPLICATION: Final = {
    OFFSETS_TOPIC: "offsets.topic.replication.factor",
    TRANSACTIONS_TOPIC: "transaction.state.log.replication.factor",
}
"""Kafka's own topics, and the key with the number of replicas of each partition."""
