"""The durable state of groups and transactional ids: the records of `__consumer_offsets` and `__transaction_state`.

Of a classic group, a coordinator writes an empty group (new, or left by its last member), an assignment, a static
member's replacement, and offsets. It keeps joins in memory only, as Kafka does: a failover during a rebalance restarts
it. Of a group of the new protocol it writes everything. A tombstone is the key with a null value.
Source: Kafka's `GroupMetadataValue`, `OffsetCommitValue`, `ConsumerGroup…Value`.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from cluster.coordinators.consumer_group.member import ClassicMemberMetadata
from cluster.coordinators.consumer_group.states import MemberAssignmentState
from cluster.protocol.messages import MemberMetadata
from cluster.protocol.record_batch import NO_EPOCH, NO_PRODUCER_ID, KeyedRecord
from cluster.protocol.transaction_states import TransactionState


class StoredMember(msgspec.Struct, frozen=True):
    """A member of a stored generation, with the subscription for the selected protocol only."""

    member_id: str
    instance_id: str | None
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    metadata: MemberMetadata
    assignment: tuple[str, ...] = ()


class GroupMetadataValue(KeyedRecord, frozen=True):
    """A generation of a group: Stable when it has members, Empty without. `leader` is a member id.

    `since_us` is when the group entered the written state (offset retention counts from it).
    `protocol_type` is "" for a group that only stores offsets.
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
        """The key of log compaction: a later record with the same key replaces this one."""
        return (self.group,)


class GroupTombstone(msgspec.Struct, frozen=True, gc=False):
    """The coordinator deleted the group."""

    group: str


class CommittedOffset(KeyedRecord, frozen=True, gc=False):
    """A group's committed offset of one partition: the next offset to read, and when it was committed (µs).

    For a commit in a transaction, `producer_id` and `producer_epoch` are the transaction's, and the offset counts after
    its COMMIT marker. Otherwise both are -1.
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
        """The key of log compaction: a later record with the same key replaces this one."""
        return (self.group, self.partition)

    @property
    def decided_by(self) -> int:
        """The producer id whose marker decides whether this offset counts; -1: it counts without a marker."""
        return self.producer_id

    def in_place_of(self, older: KeyedRecord) -> "CommittedOffset":
        """This offset at the log position of an older record, decided by the older record's marker."""
        assert isinstance(older, CommittedOffset)
        if self.producer_id == older.producer_id:
            return self
        return msgspec.structs.replace(self, producer_id=older.producer_id, producer_epoch=older.producer_epoch)


class OffsetTombstone(msgspec.Struct, frozen=True, gc=False):
    """The coordinator deleted the group's offset of this partition."""

    group: str
    partition: str


class ConsumerGroupRecord(KeyedRecord, frozen=True):
    """A record of a group of the new protocol. `KEY` is the kind of record; a member's has its id, too."""

    KEY: ClassVar[str] = ""

    group: str

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """The key of log compaction: a later record with the same key replaces this one."""
        return (self.group, self.KEY)


class ConsumerGroupEpoch(ConsumerGroupRecord, frozen=True):
    """The group epoch, and a hash of the subscribed topics and their partitions (ConsumerGroupMetadataValue)."""

    KEY: ClassVar[str] = "group"

    epoch: int
    metadata_hash: int


class TargetAssignmentMetadata(ConsumerGroupRecord, frozen=True):
    """The group epoch that the target is of, and when it was computed (ConsumerGroupTargetAssignmentMetadataValue)."""

    KEY: ClassVar[str] = "target"

    epoch: int
    at_us: int


class ConsumerGroupMemberRecord(ConsumerGroupRecord, frozen=True):
    """A record of one member."""

    member_id: str

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """The key of log compaction: a later record with the same key replaces this one."""
        return (self.group, self.KEY, self.member_id)


class ConsumerGroupMemberMetadata(ConsumerGroupMemberRecord, frozen=True):
    """What a member subscribes to (ConsumerGroupMemberMetadataValue); `classic`: if it speaks the classic protocol."""

    KEY: ClassVar[str] = "member"

    instance_id: str | None
    rack_id: str | None
    client_id: str
    topics: tuple[str, ...]
    topic_regex: str
    rebalance_timeout_ms: int
    assignor: str | None
    classic: ClassicMemberMetadata | None = None


class TargetAssignmentMember(ConsumerGroupMemberRecord, frozen=True):
    """A member's target (ConsumerGroupTargetAssignmentMemberValue)."""

    KEY: ClassVar[str] = "target of member"

    partitions: tuple[str, ...]


class CurrentMemberAssignment(ConsumerGroupMemberRecord, frozen=True):
    """A member's epochs, state and partitions, each with its epoch (ConsumerGroupCurrentMemberAssignmentValue)."""

    KEY: ClassVar[str] = "assignment of member"

    epoch: int
    previous_epoch: int
    state: MemberAssignmentState
    assigned: Mapping[str, int]
    pending_revocation: Mapping[str, int]


class RegularExpression(ConsumerGroupRecord, frozen=True):
    """The topics that an expression matched, of which version, and when (ConsumerGroupRegularExpressionValue)."""

    KEY: ClassVar[str] = "regex"

    regex: str
    topics: tuple[str, ...]
    version: int
    at_us: int

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """The key of log compaction: a later record with the same key replaces this one."""
        return (self.group, self.KEY, self.regex)


class ConsumerGroupTombstone(ConsumerGroupRecord, frozen=True):
    """The coordinator deleted the record with this key."""

    key: tuple[str, ...]

    @classmethod
    def of(cls, kind: type[ConsumerGroupRecord], group: str, name: str | None = None) -> "ConsumerGroupTombstone":
        """The tombstone of a record of this kind; `name`: its member id or regular expression."""
        return cls(group, (group, kind.KEY) if name is None else (group, kind.KEY, name))

    @property
    def compaction_key(self) -> tuple[str, ...]:
        """The key of the deleted record."""
        return self.key


GroupRecord = GroupMetadataValue | GroupTombstone | CommittedOffset | OffsetTombstone | ConsumerGroupRecord


LAST_EPOCH: Final = 32_766  # Short.MaxValue - 1: the last epoch that a coordinator assigns to a producer
FENCING_EPOCH: Final = 32_767  # Short.MaxValue: for fences, and for an end that rotates the producer id


class TransactionMetadata(KeyedRecord, frozen=True):
    """One transactional id as written to the log: its state, producer id, epochs and partitions.

    `last_epoch` is the epoch before `epoch` if the producer with `epoch` requested the change itself (KIP-360), and -1
    if the change fenced another producer. `next_producer_id` is the producer id that follows this transaction because
    the epochs are used up, else -1. `start_us` is -1 outside a transaction. `version` is the `transaction.version` of
    the client that ended the transaction. Instants are virtual microseconds.
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
        """The key of log compaction: a later record with the same key replaces this one."""
        return (self.transactional_id,)

    @property
    def epoch_exhausted(self) -> bool:
        """Whether this producer id has no epoch left to assign."""
        return self.epoch >= LAST_EPOCH


class TransactionTombstone(msgspec.Struct, frozen=True, gc=False):
    """The coordinator expired the transactional id."""

    transactional_id: str


TransactionRecord = TransactionMetadata | TransactionTombstone
