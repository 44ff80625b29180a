"""An assignment of one member, with the epoch that tells two equal ones apart.

Source: `AbstractMembershipManager.LocalAssignment`.
"""

from typing import Final, NamedTuple

from cluster.protocol.names import TopicPartition

NO_LOCAL_EPOCH: Final = -1


class LocalAssignment(NamedTuple):
    """Partitions in their order, and how many assignments came before; the coordinator does not see that number."""

    local_epoch: int
    partitions: tuple[str, ...]

    def updated(self, partitions: tuple[str, ...]) -> "LocalAssignment":
        """The assignment after the coordinator has sent these partitions: itself, if they are the same."""
        ordered = tuple(sorted(partitions, key=TopicPartition.parse))
        if self.local_epoch != NO_LOCAL_EPOCH and ordered == self.partitions:
            return self
        return LocalAssignment(self.local_epoch + 1, ordered)


NO_ASSIGNMENT: Final = LocalAssignment(NO_LOCAL_EPOCH, ())
"""Nothing was assigned yet, or everything was given up."""
