"""Invariants of transactions: the last stable offset, markers, and offsets of groups (T)."""

from typing import Final

from cluster import events as e
from cluster.invariants.log_state import LogState
from cluster.invariants.sentences import broken
from cluster.protocol.names import coordinator_partition
from cluster.protocol.record_batch import ABORT, COMMIT
from cluster.view import ClusterView

TRANSACTIONS_TOPIC: Final = "__transaction_state"
WITH_EPOCHS: Final = 2  # the transaction.version from which on every end raises the epoch
LAST_EPOCH: Final = 32_766  # the last epoch of a producer id
_DECISIONS = {"PrepareCommit": COMMIT, "PrepareAbort": ABORT}


class TransactionInvariants:
    """The sentences about transactions. `version`: the cluster's `transaction.version`; under 1, T4 may break.

    `logs`: each partition's history.
    """

    def __init__(self, view: ClusterView, version: int, logs: dict[str, LogState]) -> None:
        self._view, self._version, self._logs = view, version, logs
        self._decided: dict[int, tuple[str, int]] = {}  # producer id → the decision of its transaction, and its epoch
        self._ongoing: dict[int, int] = {}  # producer id → the epoch of its open transaction
        self._coordinated: dict[int, tuple[str, int]] = {}  # producer id → its coordinator's partition and leader epoch
        self._by_hand: dict[str, int] = {}  # partition → producer id whose transaction an administrator ends
        self._commits: dict[str, int] = {}  # coordinator partition → COMMIT markers without an offsets event
        self._unmarked: dict[int, dict[str, None]] = {}  # producer id → partitions that wait for their marker

    def state_changed(self, event: e.TransactionStateChanged) -> None:
        """T2, T4: a transaction is complete when all its partitions have the marker; its end raises the epoch."""
        producer_id, state = event.producer_id, event.state
        self._coordinated[producer_id] = self._coordinator(event.transactional_id)
        decision = _DECISIONS.get(state)
        if decision is not None:
            ongoing = self._ongoing.pop(producer_id, -1)
            if self._version >= WITH_EPOCHS and event.epoch <= ongoing < LAST_EPOCH:
                found = f"{event.transactional_id} is {state} in epoch {event.epoch}, it was Ongoing in {ongoing}"
                broken("T4", event, found)
            if not event.loaded or producer_id not in self._decided:
                self._unmarked[producer_id] = dict.fromkeys(event.partitions)
            self._decided[producer_id] = decision, event.epoch
        elif state == "Ongoing":
            self._ongoing[producer_id] = event.epoch
            self._unmarked.pop(producer_id, None)
            if not event.loaded:  # else a crash may have taken the decision while its markers are on their way
                self._decided.pop(producer_id, None)
        elif state in {"CompleteCommit", "CompleteAbort"} and not event.loaded:
            unmarked = self._unmarked.pop(producer_id, {})
            missing = [
                name for name in unmarked if not self._logs[name].lossy
            ]  # else its leader may have lost the marker
            if missing:
                broken("T2", event, f"{event.transactional_id} is {state} without a marker in {', '.join(missing)}")

    def _coordinator(self, transactional_id: str) -> tuple[str, int]:
        """The coordinator partition of a transactional id, and its leader epoch."""
        count = self._view.topics[TRANSACTIONS_TOPIC].partitions
        partition = f"{TRANSACTIONS_TOPIC}-{coordinator_partition(transactional_id, count)}"
        return partition, self._view.partitions[partition].leader_epoch

    def _deposed(self, producer_id: int) -> bool:
        """Whether another broker coordinates the producer id by now: its predecessor's last decision had no event."""
        partition, epoch = self._coordinated.get(producer_id, ("", -1))
        return bool(partition) and self._view.partitions[partition].leader_epoch != epoch

    def _of_another(self, marker: e.RecordsAppended, epoch: int) -> bool:
        """Whether a marker may end another transaction than the last one decided, in this epoch, by an event.

        Under version 2 each end has its own epoch until the last one; under version 1 only a fence has. A transaction
        has ended in a partition with its marker.
        """
        if marker.epoch > epoch or epoch > LAST_EPOCH:
            return True
        return self._version < WITH_EPOCHS and marker.partition not in self._unmarked.get(marker.producer_id, ())

    def aborted_by_hand(self, event: e.HangingTransactionAborted) -> None:
        """Note an administrator's abort: T2 and T4 do not judge the marker that follows."""
        self._by_hand[event.partition] = event.producer_id

    def appended(self, event: e.RecordsAppended, log: LogState) -> None:
        """T2, T4: a marker has the decision of its transaction."""
        producer_id = event.producer_id
        if not log.transactional:
            log.transactional, log.stable = True, log.highest_watermark
        if not event.marker:
            log.open[producer_id] = None
            return
        if event.marker == COMMIT:
            self._commits[event.partition] = self._commits.get(event.partition, 0) + 1
        was_open = producer_id in log.open
        log.open.pop(producer_id, None)
        if self._by_hand.pop(event.partition, None) == producer_id:
            return
        decision, epoch = self._decided.get(producer_id, (None, -1))
        if was_open and decision is None and self._version >= WITH_EPOCHS and not self._deposed(producer_id):
            found = f"{event.marker} ends producer id {producer_id}'s transaction, which no coordinator decided"
            broken("T4", event, f"{event.partition}: {found}")
        differs = decision is not None and decision != event.marker
        if was_open and differs and not (self._deposed(producer_id) and self._of_another(event, epoch)):
            found = f"{event.marker} ends producer id {producer_id}'s transaction, the decision was {decision}"
            broken("T2", event, f"{event.partition}: {found}")
        unmarked = self._unmarked.get(producer_id)
        if unmarked is not None:
            unmarked.pop(event.partition, None)

    def offsets_counted(self, event: e.OffsetsCommitted, partition: str) -> None:
        """T5: each time transactional offsets count, the group's partition has a COMMIT marker for it."""
        left = self._commits.get(partition, 0) - 1
        if left < 0:
            broken("T5", event, f"{event.group}: offsets of a transaction count without a COMMIT in {partition}")
        self._commits[partition] = left

    def decided(self, event: e.HighWatermarkAdvanced, log: LogState) -> None:
        """T1: the last stable offset follows the high watermark and never falls."""
        stable = self._view.partitions[event.partition].last_stable_offset
        if stable > event.offset or stable < log.unstable:
            found = f"last stable offset {stable} after {log.unstable}, high watermark {event.offset}"
            broken("T1", event, f"{event.partition}: {found}")
        log.unstable = stable
        log.stable = max(log.stable, stable)
        if log.reloaded:
            self.decides(event.partition, log, log.leaders.get(event.leader_epoch, -1), event.offset)

    def decides(self, name: str, log: LogState, broker: int, watermark: int) -> None:
        """T3: note the last stable offset of a leader, in office or deposed, by its own high watermark.

        An open transaction holds it back, and one whose marker is above the high watermark. But a producer snapshot has
        only open transactions: a leader rebuilt from one does not know that the others are undecided.
        Source: `ProducerStateManager.truncateAndReload`, `loadFromSnapshot`.
        """
        if not log.transactional:
            return
        partition, first = self._view.partitions[name], None
        if partition.transactions is not None:
            index, known = partition.transactions.index, max(watermark, log.replica(broker).reloaded or 0)
            behind = [begun for marker, begun in index.undecided.items() if marker >= known]
            first = min((*index.open.values(), *behind), default=None)
        stable = watermark if first is None else min(watermark, max(first, partition.log_start))
        log.stable = max(log.stable, stable)
