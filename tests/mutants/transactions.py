"""Transactions that are broken on purpose: their coordinator, their markers, and who reads them."""

from typing import Any

import msgspec
import pytest

from cluster.broker.replica import Replica
from cluster.broker.transaction_coordinator_service import TransactionCoordinatorService
from cluster.broker.transactional_requests import TransactionalRequests
from cluster.coordinators.group import coordinator as group_coordinator
from cluster.coordinators.group import offset_replay as group_offset_log
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.records import TransactionMetadata
from cluster.coordinators.transaction.coordinator import TransactionCoordinator
from cluster.coordinators.transaction.transaction import Transaction
from cluster.protocol.transaction_messages import WriteTxnMarkersRequest
from cluster.storage.transaction_index import TransactionIndex

Patch = pytest.MonkeyPatch


def forgets_the_last_stable_offset(patch: Patch) -> None:
    patch.setattr(Replica, "last_stable_offset", property(lambda replica: replica.high_watermark))


def returns_aborted_records(patch: Patch) -> None:
    patch.setattr(TransactionIndex, "aborted_between", lambda *_: ())


def commits_what_was_aborted(patch: Patch) -> None:
    mark: Any = TransactionalRequests._mark

    def flipped(requests: TransactionalRequests, name: str, request: WriteTxnMarkersRequest, wait: Any) -> None:  # noqa: ANN401
        mark(requests, name, msgspec.structs.replace(request, committed=not request.committed), wait)

    patch.setattr(TransactionalRequests, "_mark", flipped)


def sends_only_the_first_marker(patch: Patch) -> None:
    """The other partitions count as marked."""
    send = TransactionCoordinatorService._send

    def lazy(of: TransactionCoordinatorService, hosted: Any, markers: Any, names: tuple[str, ...]) -> None:  # noqa: ANN401
        who = markers.transactional_id, markers.producer_id, markers.epoch
        for name in names[1:]:
            of._run(hosted, hosted.coordinator.marked(*who, name, of._broker.now_us))
        send(of, hosted, markers, names[:1])

    patch.setattr(TransactionCoordinatorService, "_send", lazy)


def ends_transactions_without_a_new_epoch(patch: Patch) -> None:
    """As under version 1: what is late could be taken for the next transaction's (KIP-890)."""
    prepare = Transaction.prepare_end

    def keeps(
        transaction: Transaction, *, commit: bool, version: int, next_producer_id: int, now_us: int
    ) -> TransactionMetadata:
        del version
        return prepare(transaction, commit=commit, version=1, next_producer_id=next_producer_id, now_us=now_us)

    patch.setattr(Transaction, "prepare_end", keeps)


def gives_a_successor_the_same_epoch(patch: Patch) -> None:
    """InitProducerId fences no producer."""
    initialised: Any = Transaction._initialised

    def same(transaction: Transaction, producer_id: int, epoch: int, *others: int) -> TransactionMetadata:
        metadata: TransactionMetadata = initialised(transaction, producer_id, max(epoch - 1, 0), *others)
        return metadata

    patch.setattr(Transaction, "_initialised", same)


def lets_transactions_last_for_ever(patch: Patch) -> None:
    patch.setattr(TransactionCoordinator, "_scan_timeouts", lambda *_: None)


def forgets_what_was_to_be_ended(patch: Patch) -> None:
    """A new coordinator leaves Prepare* where it finds it."""
    loaded = TransactionCoordinator.loaded

    def idle(coordinator: TransactionCoordinator, now_us: int) -> Any:  # noqa: ANN401 - a Decision
        decision = loaded(coordinator, now_us)
        decision.markers.clear()
        return decision

    patch.setattr(TransactionCoordinator, "loaded", idle)


def counts_offsets_of_aborted_transactions(patch: Patch) -> None:
    replay = group_offset_log.replay_marker

    def counts(group: ClassicGroup, producer_id: int, *, committed: bool) -> dict[str, int]:
        del committed
        return replay(group, producer_id, committed=True)

    patch.setattr(group_coordinator, "replay_marker", counts)
