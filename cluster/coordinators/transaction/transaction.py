"""One transactional id at its coordinator: its durable metadata, its pending transition, and its records.

Theory of operation. `metadata` is the last committed record. A request prepares a transition (`prepare_…`), which
becomes `pending` and a record; until the record is committed every other request gets CONCURRENT_TRANSACTIONS. Then
`complete` makes the record the metadata. While the markers of a prepared end are on their way, its completion is
already pending. `forget` drops a transition whose append failed, and the producer retries. Only a fence under
`transaction.version` 1 keeps its raised epoch, so that repeated failures raise it once. Under 2 the abort of a fence
raises it, as any end does.
Source: `TransactionMetadata` (`prepareTransitionTo`, `completeTransitionTo`).
"""

from typing import Final

from msgspec.structs import replace

from cluster.coordinators.records import FENCING_EPOCH, TransactionMetadata
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import NO_EPOCH, NO_PRODUCER_ID
from cluster.protocol.release_rules import ReleaseRules
from cluster.protocol.transaction_states import TransactionState, check_transition

WITH_EPOCHS: Final = 2
"""The `transaction.version` from which on every end raises the epoch."""

_S = TransactionState


class Transaction:
    """The soft and the durable state of one transactional id.

    `failed_epoch_fence`: the epoch in `metadata` was raised by a fence whose append failed. `unmarked`: the partitions
    of a prepared end without their marker. `awaiting_markers`: `pending` follows the markers, and is not written yet.
    `written`: the last record that this coordinator wrote, committed or not. `fenced_with`: the epoch of the last
    fence that was emitted.
    """

    __slots__ = (
        "awaiting_markers", "failed_epoch_fence", "fenced_with", "metadata", "pending", "rules", "unmarked", "written"
    )  # fmt: skip

    def __init__(self, metadata: TransactionMetadata, rules: ReleaseRules) -> None:
        self.metadata, self.rules = metadata, rules
        self.pending: TransactionState | None = None
        self.failed_epoch_fence = self.awaiting_markers = False
        self.fenced_with = NO_EPOCH
        self.unmarked: dict[str, None] = {}
        self.written: TransactionMetadata | None = None

    # --- transitions: the record of each ------------------------------------------------------------------------------

    def _prepare(self, to: TransactionMetadata) -> TransactionMetadata:
        under_way = None if self.awaiting_markers and self.pending is to.state else self.pending
        assert under_way is None, f"{to.transactional_id}: {to.state} while {under_way} is pending"
        check_transition(self.metadata.state, to.state, to.version)
        self.pending, self.awaiting_markers = to.state, False
        return replace(to, previous_producer_id=self.metadata.producer_id)

    def prepare_next_epoch(
        self, timeout_ms: int, expected_epoch: int | None, now_us: int
    ) -> TransactionMetadata | ErrorCode:
        """InitProducerId: the next epoch, or PRODUCER_FENCED for a producer whose epoch is neither this nor the last.

        A request with the last epoch repeats one whose answer was lost, and gets the same answer (KIP-360). When the
        epochs are used up Kafka throws, so the answer is UNKNOWN_SERVER_ERROR.
        """
        now = self.metadata
        if now.epoch_exhausted:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        if expected_epoch is None:
            epoch, last_epoch = now.epoch + 1, NO_EPOCH
        elif now.epoch in (NO_EPOCH, expected_epoch):
            epoch, last_epoch = now.epoch + 1, now.epoch
        elif expected_epoch == now.last_epoch:
            epoch, last_epoch = now.epoch, now.last_epoch
        else:
            return ErrorCode.PRODUCER_FENCED
        return self._prepare(self._initialised(now.producer_id, epoch, last_epoch, timeout_ms, now_us))

    def prepare_next_producer_id(
        self, producer_id: int, timeout_ms: int, expected_epoch: int | None, now_us: int
    ) -> TransactionMetadata:
        """InitProducerId after the last epoch: a new producer id, epoch 0."""
        last_epoch = NO_EPOCH if expected_epoch is None else self.metadata.epoch
        return self._prepare(self._initialised(producer_id, 0, last_epoch, timeout_ms, now_us))

    def _initialised(
        self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_us: int
    ) -> TransactionMetadata:
        return TransactionMetadata(
            self.metadata.transactional_id,
            producer_id,
            epoch,
            last_epoch,
            timeout_ms=timeout_ms,
            update_us=now_us,
            version=self.metadata.version,
        )

    def prepare_partitions(self, added: tuple[str, ...], now_us: int) -> TransactionMetadata:
        """AddPartitionsToTxn: Ongoing with the first partition."""
        now = self.metadata
        partitions = tuple(dict.fromkeys((*now.partitions, *added)))
        start_us = now.start_us if now.state is _S.ONGOING else now_us
        return self._prepare(replace(now, state=_S.ONGOING, partitions=partitions, start_us=start_us, update_us=now_us))

    def fence(self, version: int) -> None:
        """Fence the producer of an ongoing transaction before its abort: its requests are refused from now on.

        Version 1 raises the epoch once, even if several appends fail. Under version 2 the abort itself raises it. No
        producer ever gets this epoch. (The snapshot raised it here under version 2 as well, so twice in all.)
        """
        now = self.metadata
        check_transition(now.state, _S.PREPARE_EPOCH_FENCE, now.version)
        if version >= WITH_EPOCHS and self.rules.fence_raises_epoch_once:
            return
        epoch = now.epoch if self.failed_epoch_fence else now.epoch + 1
        assert epoch <= FENCING_EPOCH, f"{now.transactional_id}: no epoch is left to fence with"
        self.metadata = replace(now, epoch=epoch, last_epoch=NO_EPOCH)

    def prepare_end(self, *, commit: bool, version: int, next_producer_id: int, now_us: int) -> TransactionMetadata:
        """EndTxn: PrepareCommit or PrepareAbort; version 2 raises the epoch, so that late requests are refused."""
        now = self.metadata
        epoch, last_epoch = now.epoch, now.last_epoch
        if version >= WITH_EPOCHS:
            epoch, last_epoch = min(epoch + 1, FENCING_EPOCH), epoch
        return self._prepare(
            replace(
                now,
                state=_S.PREPARE_COMMIT if commit else _S.PREPARE_ABORT,
                epoch=epoch,
                last_epoch=last_epoch,
                next_producer_id=next_producer_id,
                start_us=now.start_us if now.state is _S.ONGOING else now_us,
                update_us=now_us,
                version=version,
            )
        )

    def prepare_complete(self, now_us: int) -> TransactionMetadata:
        """CompleteCommit or CompleteAbort once every partition has its marker, with the next producer id if any."""
        now = self.metadata
        producer_id, epoch = now.producer_id, now.epoch
        if now.next_producer_id != NO_PRODUCER_ID:
            producer_id, epoch = now.next_producer_id, 0
        return self._prepare(
            replace(
                now,
                state=_S.COMPLETE_COMMIT if now.state is _S.PREPARE_COMMIT else _S.COMPLETE_ABORT,
                producer_id=producer_id,
                epoch=epoch,
                next_producer_id=NO_PRODUCER_ID,
                partitions=(),
                update_us=now_us,
            )
        )

    def prepare_dead(self) -> None:
        """Begin the expiration: until the tombstone is committed no other transition may begin."""
        check_transition(self.metadata.state, _S.DEAD, self.metadata.version)
        self.pending = _S.DEAD

    # --- the result of the append --------------------------------------------------------------------------------

    def await_markers(self) -> None:
        """Make the completion of a committed Prepare* pending until the markers are appended."""
        committed = self.metadata.state is _S.PREPARE_COMMIT
        self.pending, self.awaiting_markers = _S.COMPLETE_COMMIT if committed else _S.COMPLETE_ABORT, True

    def complete(self, written: TransactionMetadata) -> None:
        """Make a committed record the metadata."""
        assert self.pending is written.state, f"{written.transactional_id}: {written.state} was not pending"
        self.metadata, self.pending = written, None
        if written.state in (_S.PREPARE_COMMIT, _S.PREPARE_ABORT):
            self.failed_epoch_fence = False

    def make_late(self, written: TransactionMetadata) -> None:
        """Make a dropped record, committed after all, the metadata, until a pending later one is committed.

        The epoch that a failed fence has raised meanwhile stays raised: the record is older than the fence.
        """
        now = self.metadata
        older = written.producer_id == now.producer_id and written.epoch < now.epoch
        fenced = self.failed_epoch_fence and older
        self.metadata = replace(written, epoch=now.epoch, last_epoch=now.last_epoch) if fenced else written
        if self.awaiting_markers:
            self.pending, self.awaiting_markers = None, False
        if written.state in (_S.PREPARE_COMMIT, _S.PREPARE_ABORT):
            self.failed_epoch_fence = False

    def forget(self) -> None:
        """Drop the pending transition: its append failed."""
        self.pending, self.awaiting_markers = None, False
