"""The durable state of groups: what the coordinator writes to its partition of `__consumer_offsets`.

Joins are not here: Kafka keeps them only in memory, so a failover in the middle of a rebalance begins it again.
Written are: an empty group (created, or its last member gone), an assignment, a static member's replacement, offsets.
Source: Kafka's `GroupMetadataValue`, `OffsetCommitValue`; a tombstone is the key with a null value.
"""

import msgspec

from cluster.protocol.messages import MemberMetadata
from cluster.protocol.record_batch import NO_EPOCH, NO_PRODUCER_ID
from cluster.protocol.transaction_states import TransactionState


class StoredMember(msgspec.Struct, frozen=True):
    """A member of a stored generation; of its subscriptions only the one for the selected protocol is kept."""

    member_id: str
    instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    metadata: MemberMetadata
    assignment: tuple[str, ...] = ()


class GroupMetadataValue(msgspec.Struct, frozen=True):
    """A generation of a group: Stable when it has members, Empty without. `leader` is a member id.

    `since_us` is when the group entered the state that is written (offset retention counts from it).
    `protocol_type` is "" for a group that was only ever used to store offsets.
    """

    group: str
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    since_us: int = -1
    members: tuple[StoredMember, ...] = ()

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """What a later record of the same key makes this one worthless by."""
        return (self.group,)


class GroupTombstone(msgspec.Struct, frozen=True, gc=False):
    """The group is no more."""

    group: str


class CommittedOffset(msgspec.Struct, frozen=True, gc=False):
    """A group's offset of one partition: the next to read, when it was committed (µs), and by whom.

    `producer_id` is -1, or that of the transaction which the commit is part of (with its epoch): it counts after a
    COMMIT marker.
    """

    group: str
    partition: str
    offset: int
    leader_epoch: int
    metadata: str
    commit_us: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """What a later record of the same key makes this one worthless by."""
        return (self.group, self.partition)

    @property
    def decided_by(self) -> int:
        """Whose marker says whether this one counts; -1: it does."""
        return self.producer_id

    def in_place_of(self, older: object) -> "CommittedOffset":
        """The same offset where an older one stood, decided by the same marker."""
        assert isinstance(older, CommittedOffset)
        if self.producer_id == older.producer_id:
            return self
        return msgspec.structs.replace(self, producer_id=older.producer_id, producer_epoch=older.producer_epoch)


class OffsetTombstone(msgspec.Struct, frozen=True, gc=False):
    """The group has no offset of this partition any more."""

    group: str
    partition: str


GroupRecord = GroupMetadataValue | GroupTombstone | CommittedOffset | OffsetTombstone


LAST_EPOCH = 32_766  # Short.MaxValue - 1: the last that a producer is given
FENCING_EPOCH = 32_767  # Short.MaxValue: only ever used to fence, or inside an end that rotates the producer id


class TransactionMetadata(msgspec.Struct, frozen=True):
    """One transactional id, as written: a state and everything that belongs to it.

    `last_epoch` is the epoch before `epoch`, if the producer that holds `epoch` asked for the change itself (KIP-360);
    -1 when another one was fenced by it. `next_producer_id` is -1, or the one that the end of this transaction goes
    over to because its epochs are used up. `start_us` is -1 while there is no transaction. `version` is the
    `transaction.version` of the client that ended it. Instants are virtual microseconds.
    """

    transactional_id: str
    producer_id: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    timeout_ms: int = 60_000
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[str, ...] = ()
    start_us: int = -1
    update_us: int = -1
    version: int = 1

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """What a later record of the same key makes this one worthless by."""
        return (self.transactional_id,)

    @property
    def epoch_exhausted(self) -> bool:
        """Whether this producer id has no epoch left to give away."""
        return self.epoch >= LAST_EPOCH


class TransactionTombstone(msgspec.Struct, frozen=True, gc=False):
    """The transactional id has expired."""

    transactional_id: str


TransactionRecord = TransactionMetadata | TransactionTombstone
