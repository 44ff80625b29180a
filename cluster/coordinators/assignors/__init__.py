"""The partition assignors of Kafka's coordinator, for groups of the consumer protocol (KIP-848)."""

from typing import Final

from cluster.coordinators.assignors.interface import (
    ConsumerGroupSpec,
    ConsumerMemberSpec,
    ServerAssignor,
    SubscriptionType,
    TargetAssignment,
    subscription_type,
)
from cluster.coordinators.assignors.range import ServerRangeAssignor
from cluster.coordinators.assignors.uniform import UniformAssignor

_KAFKAS: Final[tuple[ServerAssignor, ...]] = (UniformAssignor(), ServerRangeAssignor())
SERVER_ASSIGNORS: Final[dict[str, ServerAssignor]] = {one.name: one for one in _KAFKAS}
"""By name, in the order of group.consumer.assignors: the first one is the default of a group."""

__all__ = [
    "SERVER_ASSIGNORS",
    "ConsumerGroupSpec",
    "ConsumerMemberSpec",
    "ServerAssignor",
    "SubscriptionType",
    "TargetAssignment",
    "subscription_type",
]
