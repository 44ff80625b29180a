"""The durable state of transactional ids: what their coordinator writes to its partition of `__transaction_state`.

Source: Kafka's `TransactionLogValue`; a tombstone is the key with a null value.
"""

import msgspec

from cluster.protocol.record_batch import NO_EPOCH, NO_PRODUCER_ID
from cluster.protocol.transaction_states import TransactionState

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
