"""The state that all rules of one transaction coordinator share: settings, transactional ids, and writing."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from cluster.config.broker_values import broker_number
from cluster.coordinators.decision import DeadlineName, Deadlines, Draft, Markers
from cluster.coordinators.records import TransactionMetadata
from cluster.coordinators.transaction.transaction import Transaction
from cluster.events import TransactionStateChanged
from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import NO_EPOCH
from cluster.protocol.release_rules import RELEASE_RULES
from cluster.protocol.transaction_states import TransactionState

TIMEOUT_SCAN, EXPIRATION_SCAN, COMPLETION = 0, 1, 2  # kinds of deadlines
RETRY_COMPLETION_US: Final = 100_000
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
        """Read a configuration; absent keys have Kafka's defaults."""
        number = partial(broker_number, config)
        return cls(
            max_timeout_ms=number("transaction.max.timeout.ms"),
            timeout_scan_us=1_000 * number("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            id_expiration_us=1_000 * number("transactional.id.expiration.ms"),
            expiration_scan_us=1_000 * number("transaction.remove.expired.transaction.cleanup.interval.ms"),
            version=number("transaction.version"),
        )


class TransactionContext:
    """The transactional ids of one partition of `__transaction_state`, with the settings that rules need."""

    __slots__ = ("broker", "deadlines", "first_epoch", "new_producer_id", "rules", "settings", "transactions")

    def __init__(self, broker: int, settings: TransactionSettings, new_producer_id: Callable[[], int]) -> None:
        self.broker, self.settings, self.new_producer_id = broker, settings, new_producer_id
        self.rules = RELEASE_RULES
        self.transactions: dict[str, Transaction] = {}
        self.first_epoch = NO_EPOCH  # the epoch before a transactional id's first
        self.deadlines = Deadlines()

    def write(self, transaction: Transaction, record: TransactionMetadata, outcome: Outcome, draft: Draft) -> None:
        """Write a prepared transition; `outcome` gets the result once the transition is completed or dropped.

        A transition dropped after a timeout is completed when its record is committed after all. An end is not, if a
        later record follows it: that record counts, and may be the opposite end with the same epoch.
        """
        before, transaction.written = transaction.written, record
        begun_us = draft.now_us  # the draft refers to these closures: a reference back would make a cycle

        def committed(error: ErrorCode, later: Draft) -> None:
            if error is not ErrorCode.NONE and later.now_us == begun_us:  # refused: the record is not in the log
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
            later.emit(state_changed(transaction.metadata, self.broker))
            if ends:
                self.write_markers(transaction, later)
            else:  # else its retry ends the next transaction without markers
                self.deadlines.cancel(_completion_of(record))

        draft.records.append(record)
        draft.when_committed(committed)
        draft.when_late(late)

    def write_markers(self, transaction: Transaction, draft: Draft) -> None:
        """Send the markers of a committed Prepare* to every partition; without partitions complete it at once."""
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
        """Write Complete* once every partition has its marker; retry after 100 ms if the append fails."""

        def written(error: ErrorCode, later: Draft) -> None:
            done = error is ErrorCode.NONE or transaction.metadata.state not in PREPARED  # or committed late
            if not done and error is not ErrorCode.NOT_COORDINATOR:
                transaction.await_markers()  # every marker is appended; nothing else may begin
                self.deadlines.set(_completion_of(transaction.metadata), later.now_us + RETRY_COMPLETION_US)

        self.write(transaction, transaction.prepare_complete(draft.now_us), written, draft)


def _completion_of(metadata: TransactionMetadata) -> DeadlineName:
    return COMPLETION, metadata.transactional_id, ""


def state_changed(metadata: TransactionMetadata, broker: int, *, loaded: bool = False) -> TransactionStateChanged:
    """The event with the state of a transactional id."""
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
