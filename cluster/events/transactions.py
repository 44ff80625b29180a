"""Transaction coordinators, and what an epoch fences."""

from cluster.events.event import Event


class TransactionStateChanged(Event, frozen=True, kw_only=True):
    """A transactional id's new state is committed in `__transaction_state`; `loaded`: its coordinator read it there.

    `start_us` is -1 while there is no transaction; `partitions` are those of the transaction under way.
    """

    transactional_id: str
    broker: int
    state: str
    producer_id: int
    epoch: int
    timeout_ms: int
    start_us: int
    partitions: tuple[str, ...]
    loaded: bool = False


class ProducerEpochRefused(Event, frozen=True, kw_only=True):
    """A transactional producer's request came with an epoch that is not the newest: it is fenced.

    `partition` is the one whose leader refused (INVALID_PRODUCER_EPOCH), "" when the coordinator did (PRODUCER_FENCED).
    """

    transactional_id: str
    producer_id: int
    epoch: int
    partition: str = ""


class TransactionFenced(Event, frozen=True, kw_only=True):
    """A coordinator raises the epoch of an ongoing transaction (PrepareEpochFence) to abort it; its producer is fenced.

    `epoch` counts from now on, and no producer has it. `reason`: `timeout` (open for longer than
    transaction.timeout.ms) or `InitProducerId` (a producer with the same transactional id begins).
    """

    transactional_id: str
    broker: int
    producer_id: int
    epoch: int
    reason: str


class TransactionOffsetsRefused(Event, frozen=True, kw_only=True):
    """The group's coordinator refuses a TxnOffsetCommit: the transaction can only be aborted.

    `error` as Kafka names it: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID (KIP-447); or
    INVALID_PRODUCER_EPOCH, when the log knows a newer epoch of the producer.
    """

    transactional_id: str
    group: str
    member_id: str
    generation: int
    error: str


class TransactionMarkerRefused(Event, frozen=True, kw_only=True):
    """A partition's leader knows a newer epoch than a marker bears: of the producer, or of its coordinator.

    `error`: INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED (its sender is not the coordinator any more).
    """

    partition: str
    producer_id: int
    epoch: int
    coordinator_epoch: int
    error: str


class HangingTransactionAborted(Event, frozen=True, kw_only=True):
    """An administrator ends a producer's open transaction in one partition; an ABORT marker follows."""

    partition: str
    producer_id: int
    epoch: int
