"""Kafka's client-side partition assignors, and the interface for custom ones."""

from cluster.assignors.cooperative_sticky import CooperativeStickyAssignor
from cluster.assignors.interface import (
    ASSIGNORS,
    Assignor,
    PartitionRacks,
    RackAwareAssignor,
    Subscription,
    assignor_named,
    protocols_of,
)
from cluster.assignors.range import RangeAssignor
from cluster.assignors.round_robin import RoundRobinAssignor
from cluster.assignors.sticky import StickyAssignor
from cluster.protocol.names import TopicPartition

_KAFKAS: tuple[Assignor, ...] = (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
ASSIGNORS.update({assignor.name: assignor for assignor in _KAFKAS})

__all__ = [
    "ASSIGNORS",
    "Assignor",
    "PartitionRacks",
    "RackAwareAssignor",
    "Subscription",
    "TopicPartition",
    "assignor_named",
    "protocols_of",
]
