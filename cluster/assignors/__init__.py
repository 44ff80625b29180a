"""Who reads what: Kafka's client-side partition assignors, and the interface for your own."""

from cluster.assignors.interface import ASSIGNORS, Assignor, Subscription
from cluster.assignors.range import RangeAssignor
from cluster.protocol.names import TopicPartition

for _assignor in (RangeAssignor(),):
    ASSIGNORS[_assignor.name] = _assignor

__all__ = ["ASSIGNORS", "Assignor", "Subscription", "TopicPartition"]
