"""What the rules of one transaction coordinator share: its settings, its transactional ids, and how it writes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from cluster.config import broker_number
from cluster.coordinators.decision import DeadlineName, Deadlines, Draft, Markers
from cluster.coordinators.records import TransactionMetadata
from cluster.coordinators.transaction.transaction import Transaction
from cluster.events import TransactionStateChanged
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import NO_EPOCH
from cluster.protocol.release_rules import RELEASE_RULES
from cluster.protocol.transaction_states import TransactionState

TIMEOUT_SCAN, EXPIRATION_SCAN, COMPLETION = 0, 1, 2  # kinds of deadlines
RETRY_COMPLETION_US = 100_000
PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

Outcome = Callable[[ErrorCode, Draft], None]


class TransactionSettings(NamedTuple):
    """The coordinator's configuration, by Kafka's keys; the defaults are Kafka's. `version`: `transaction.version`."""

    max_timeout_ms: int
    timeout_scan_us: int
    id_expiration_us: int
    expiration_scan_us: int
    version: int

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "TransactionSettings":
        """Read a configuration that may lack keys."""
        number = partial(broker_number, config)
        return cls(
            max_timeout_ms=number("transaction.max.timeout.ms"),
            timeout_scan_us=1_000 * number("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            id_expiration_us=1_000 * number("transactional.id.expiration.ms"),
            expiration_scan_us=1_000 * number("transaction.remove.expired.transaction.cleanup.interval.ms"),
            version=number("transaction.version"),
        )


class TransactionContext:
    """The transactional ids of one partition of `__transaction_state`, and what every rule needs beside them."""

    __slots__ = ("broker", "deadlines", "first_epoch", "new_producer_id", "rules", "settings", "transactions")

    def __init__(self, broker: int, settings: TransactionSettings, new_producer_id: Callable[[], int]) -> None:
        self.broker, self.settings, self.new_producer_id = broker, settings, new_producer_id
        self.rules = RELEASE_RULES
        self.transactions: dict[str, Transaction] = {}
        self.first_epoch = NO_EPOCH  # before the first one that a transactional id gets
        self.deadlines = Deadlines()

    def write(self, transaction: Transaction, record: TransactionMetadata, outcome: Outcome, draft: Draft) -> None:
        """Write a prepared move; `outcome` hears of its fate when it has been made or forgotten.

        One that was forgotten because nobody knew of its fate in time is made when its record is committed after all.
        An end is not when another record was written behind it: that one counts, and may be the opposite end, with the
        same epoch.
        """
        before, transaction.written = transaction.written, record
        begun_us = draft.now_us  # the draft holds these closures: one that held the draft would make a circle

        def committed(error: ErrorCode, later: Draft) -> None:
            if error is not ErrorCode.NONE and later.now_us == begun_us:  # refused at once: it is not in the log
                transaction.written = before
            if self.transactions.get(record.transactional_id) is not transaction:
                outcome(ErrorCode.NOT_COORDINATOR, later)  # resigned meanwhile
                return
            if error is ErrorCode.NONE:
                transaction.complete(record)
                later.emit(state_changed(record, self.broker))
            else:
                transaction.forget()
            outcome(error, later)

        def late(later: Draft) -> None:
            known = self.transactions.get(record.transactional_id) is transaction
            ends = record.state in PREPARED
            if not known or transaction.pending is TransactionState.DEAD:  # a tombstone is behind it
                return
            if ends and transaction.written is not record:
                return
            transaction.make_late(record)
            later.emit(state_changed(record, self.broker))
            if ends:
                self.write_markers(transaction, later)
            else:  # its repetition would end the next transaction without markers
                self.deadlines.cancel(_completion_of(record))

        draft.records.append(record)
        draft.when_committed(committed)
        draft.when_late(late)

    def write_markers(self, transaction: Transaction, draft: Draft) -> None:
        """A Prepare* is committed: bring its marker to every partition; without any it is complete at once."""
        now = transaction.metadata
        transaction.unmarked = dict.fromkeys(now.partitions)
        transaction.await_markers()
        if not now.partitions:
            self.complete(transaction, draft)
            return
        committed = now.state is TransactionState.PREPARE_COMMIT
        of = now.transactional_id, now.producer_id, now.epoch
        draft.markers.append(Markers(*of, committed, now.partitions, now.version))

    def complete(self, transaction: Transaction, draft: Draft) -> None:
        """Every partition has its marker: write Complete*, and again in a while if it cannot be written now."""

        def written(error: ErrorCode, later: Draft) -> None:
            done = error is ErrorCode.NONE or transaction.metadata.state not in PREPARED  # an earlier one counts, late
            if not done and error is not ErrorCode.NOT_COORDINATOR:
                transaction.await_markers()  # they are all there; nothing else may begin
                self.deadlines.set(_completion_of(transaction.metadata), later.now_us + RETRY_COMPLETION_US)

        self.write(transaction, transaction.prepare_complete(draft.now_us), written, draft)


def _completion_of(metadata: TransactionMetadata) -> DeadlineName:
    return COMPLETION, metadata.transactional_id, ""


def state_changed(metadata: TransactionMetadata, broker: int, *, loaded: bool = False) -> TransactionStateChanged:
    """The event that tells where a transactional id stands."""
    return TransactionStateChanged(
        transactional_id=metadata.transactional_id,
        broker=broker,
        state=metadata.state.value,
        producer_id=metadata.producer_id,
        epoch=metadata.epoch,
        timeout_ms=metadata.timeout_ms,
        start_us=metadata.start_us,
        partitions=metadata.partitions,
        loaded=loaded,
    )
