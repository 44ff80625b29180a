"""Producers: their processes, batches and requests."""

from cluster.events.event import Event


class ProducerStateChanged(Event, frozen=True, kw_only=True):
    """A producer's application is now `Running`, `Paused`, `Fenced`, `Stopped` or `Dead`; `reason` says why.

    A producer of logs may be in an `AbortableError`, so that its transaction can only be aborted, or a `FatalError`.
    """

    producer: str
    state: str
    reason: str


class ProducerIdAssigned(Event, frozen=True, kw_only=True):
    """The idempotent or transactional producer's identity from now on.

    It comes of an answer to InitProducerId or, under `transaction.version` 2, to EndTxn (KIP-890); an idempotent
    producer whose sequence is in doubt raises its epoch itself (KIP-360).
    """

    producer: str
    producer_id: int
    epoch: int


class ProducerCoordinatorFound(Event, frozen=True, kw_only=True):
    """FindCoordinator was answered with a broker. `of`: "transaction", or "group" for offsets of a transaction."""

    producer: str
    of: str
    broker: int


class SequenceInDoubt(Event, frozen=True, kw_only=True):
    """Nothing of a partition is in flight, and a batch that was given up may be missing: the epoch is to be raised.

    `acknowledged`: the last sequence number that is in the log for certain, -1 for none; `following`: the next one.
    """

    producer: str
    partition: str
    acknowledged: int
    following: int


class BatchOpened(Event, frozen=True, kw_only=True):
    """The accumulator took `bytes` of `buffer.memory` for a new batch of this partition."""

    producer: str
    partition: str
    bytes: int


class ProduceSent(Event, frozen=True, kw_only=True):
    """A Produce request left. `records`: partition → records sent for the first time; `retried`: … sent again."""

    producer: str
    broker: int
    records: dict[str, int]
    retried: dict[str, int]
    bytes: int


class BatchAcknowledged(Event, frozen=True, kw_only=True):
    """The leader confirmed a batch; `duplicate`: it had it already, nothing was appended twice.

    `freed_bytes` go back to `buffer.memory`; `latency_us` counts from the batch's first record. With acks=0 it is the
    client's own word, given when the request was written, and `base_offset` is -1.
    """

    producer: str
    partition: str
    base_offset: int
    records: int
    freed_bytes: int
    latency_us: int
    duplicate: bool
    first_serial: int = -1


class BatchRetried(Event, frozen=True, kw_only=True):
    """A batch failed with a retriable error and will be sent again after its backoff.

    `disconnected_from`: the broker whose connection ended before it answered (NETWORK_EXCEPTION), or because it did not
    answer in time (REQUEST_TIMED_OUT); -1 when it answered.
    """

    producer: str
    partition: str
    records: int
    error: str
    attempt: int
    disconnected_from: int = -1


class BatchSplit(Event, frozen=True, kw_only=True):
    """A leader refused a batch as larger than `max.message.bytes`: its records go again at once, in `pieces` batches.

    The pieces are no part of `buffer.memory`, to which `freed_bytes` go back.
    """

    producer: str
    partition: str
    records: int
    pieces: int
    freed_bytes: int
    error: str


class BatchFailed(Event, frozen=True, kw_only=True):
    """The application was told that a batch failed for good; `sent`: it had been on the wire at least once.

    `disconnected_from`: as of `batch_retried`.
    """

    producer: str
    partition: str
    records: int
    freed_bytes: int
    error: str
    sent: bool
    disconnected_from: int = -1


class SendRefused(Event, frozen=True, kw_only=True):
    """send() failed before any batch took the record: it had waited `max.block.ms`, or the record is too large.

    `waited_for`: "memory" or "metadata"; "" when it is larger than `max.request.size` or `buffer.memory`, or when the
    producer knows that its epoch is old.
    """

    producer: str
    topic: str
    records: int
    waited_for: str
    error: str
