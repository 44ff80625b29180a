"""The reasons that a consumer gives in JoinGroup and LeaveGroup (KIP-800), in Kafka's own words.

A coordinator has no other information about it. Source: Kafka's `AbstractCoordinator`, `ConsumerCoordinator`.
"""

from typing import Final

METADATA_CHANGED: Final = "cached metadata has changed"
SUBSCRIPTION_CHANGED: Final = "subscription has changed"
ASSIGNMENT_DOES_NOT_MATCH: Final = "received assignment does not match the current subscription"
REVOKED: Final = "need to revoke partitions and re-join"
ALREADY_REBALANCING: Final = "group is already rebalancing"
ASSIGNED: Final = "assign() was called"
COMMIT_FAILED: Final = "offset commit failed since group is already rebalancing"
REBALANCE_FAILED: Final = "rebalance failed due to "
"""Followed by the simple name of Kafka's exception: `rebalance failed due to NotCoordinatorException`."""

LEAVING: Final = "consumer pro-actively leaving the group"
POLL_TIMEOUT: Final = "consumer poll timeout has expired."
CLOSED: Final = "the consumer is being closed"

UNSUBSCRIBED: Final = "the consumer unsubscribed from all topics"

NOT_PROVIDED: Final = "not provided"
"""The text that a coordinator logs for a client without a reason."""


def given_member_id(member_id: str) -> str:
    """The reason after MEMBER_ID_REQUIRED."""
    return f"need to re-join with the given member-id: {member_id}"


def encountered(error: str, api: str) -> str:
    """The reason after an answer that resets the generation, e.g. `encountered UNKNOWN_MEMBER_ID from HEARTBEAT …`."""
    return f"encountered {error} from {api} response"


def rebalance_failed(error: str) -> str:
    """The reason after a failed JoinGroup or SyncGroup: Kafka names the exception of the error."""
    name = "".join(word.capitalize() for word in error.split("_"))
    return f"{REBALANCE_FAILED}{name}Exception"
