"""Requests that name the leader epoch they are meant for: only the leader of exactly that epoch serves them (KIP-320).

A client or follower that knows an older epoch has to learn of the newer one; when it knows a newer one, the broker has.
Source: `Partition.checkCurrentLeaderEpoch`, `getLocalLog`, `lastOffsetForLeaderEpoch`.
"""

from typing import Protocol

from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import PartitionMetadata
from cluster.storage.leader_epochs import EpochEnd
from cluster.storage.partition_log import PartitionLog


class Leading(Protocol):
    """A replica, as whoever asks for its partition's leader sees it."""

    is_leader: bool
    metadata: PartitionMetadata
    log: PartitionLog


def refusal(replica: Leading | None, leader_epoch: int) -> ErrorCode:
    """Why a request that names this leader epoch is not served here; NONE when it is. Epochs are compared first."""
    if replica is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if leader_epoch < replica.metadata.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader_epoch > replica.metadata.leader_epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if replica.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER


def end_of_epoch(replica: Leading | None, leader_epoch: int, epoch: int) -> tuple[ErrorCode, EpochEnd | None]:
    """The answer to OffsetsForLeaderEpoch, of followers and of consumers: where `epoch` ends in the leader's log."""
    error = refusal(replica, leader_epoch)
    if replica is None or error is not ErrorCode.NONE:
        return error, None
    return error, replica.log.epochs.end_offset_for(epoch, replica.log.log_end)
