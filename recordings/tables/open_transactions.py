"""The rows of a summary about transactions that are open at the end: merely long, or hanging.

Source: `TransactionsCommand.FindHangingTransactionsCommand` (KIP-664).
"""

from typing import Final

import msgspec

from cluster.events import Event, RecordsAppended
from cluster.view import ClusterView
from cluster.view.transactions import TransactionView, is_hanging

SECOND_US: Final = 1_000_000
FIND_HANGING_US: Final = 900 * SECOND_US
"""`--max-transaction-timeout` of `kafka-transactions.sh find-hanging` by default: 15 minutes."""


class OpenTransactionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that is open in a partition at the end.

    `state`: of its transactional id, or `hanging`: its coordinator has no such ongoing transaction, so none will end
    it. `left_s`: the rest of `transaction.timeout.ms` of one that is Ongoing. `waiting`: offsets that its partition's
    readers of committed data wait for, if it holds them back. `found`: `kafka-transactions.sh find-hanging` would list
    it, which needs 15 minutes since its last record.
    """

    partition: str
    transactional_id: str
    producer_id: int
    state: str
    first_offset: int
    records: int
    open_s: float
    left_s: float | None
    waiting: int
    found: bool


class OpenTransactions:
    """Notes when the open transactions of each partition began and were last written to."""

    def __init__(self) -> None:
        self._dates_us: dict[tuple[str, int], tuple[int, int]] = {}

    def note(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, RecordsAppended) and event.transactional:
            key = event.partition, event.producer_id
            if event.marker:
                self._dates_us.pop(key, None)
            else:
                self._dates_us[key] = self._dates_us.get(key, (event.at_us, 0))[0], event.at_us

    def rows(self, view: ClusterView, now_us: int) -> list[OpenTransactionRow]:
        """One row for each, hanging ones first."""
        ids = {one.producer_id: one for one in view.transactions.values()}
        found = [
            self._row(view, name, producer_id, ids.get(producer_id), now_us)
            for name, partition in view.partitions.items()
            if partition.transactions is not None and not view.topics[partition.topic].internal
            for producer_id in partition.transactions.open
        ]
        return sorted(found, key=lambda row: (row.state != "hanging", -row.open_s))

    def _row(
        self, view: ClusterView, name: str, producer_id: int, one: TransactionView | None, now_us: int
    ) -> OpenTransactionRow:
        partition = view.partitions[name]
        known = partition.transactions
        assert known is not None
        hanging = is_hanging(one, name)
        first = known.index.open[producer_id]
        began_us, last_us = self._dates_us.get((name, producer_id), (now_us, now_us))
        ongoing = one is not None and one.state == "Ongoing" and not hanging
        holds = first == partition.last_stable_offset < partition.high_watermark
        return OpenTransactionRow(
            partition=name,
            transactional_id=one.transactional_id if one is not None else "",
            producer_id=producer_id,
            state="hanging" if hanging or one is None else one.state,
            first_offset=first,
            records=known.open[producer_id].size,
            open_s=(now_us - began_us) / SECOND_US,
            left_s=(one.start_us + 1_000 * one.timeout_ms - now_us) / SECOND_US
            if ongoing and one is not None
            else None,
            waiting=partition.high_watermark - first if holds else 0,
            found=hanging and now_us - last_us > FIND_HANGING_US,
        )
