"""Places of a producer with one false statement each."""

import pytest

from cluster.view.lives.lives import NEVER, FinishedTransaction, ProducerLife
from cluster.view.state import ClusterView, ProducerView
from cluster.view.transactions import TransactionView
from console.presenters.processes import producer_facts, producer_tables
from console.presenters.processes.batches import BatchesListing
from console.presenters.processes.producer_tables import (
    ClocksListing,
    ErrorsListing,
    LastTransactionsListing,
    WrittenListing,
)
from console.presenters.producers.limits import ProducerConfigs
from console.presenters.styled_text import Line, line

Patch = pytest.MonkeyPatch


def a_producer_that_stands_still_looks_well(patch: Patch) -> None:
    """No acknowledgement for long is not told."""
    patch.setattr(producer_facts, "still_us", lambda producer, now_us, limits: 0)


def an_old_epoch_is_not_told(patch: Patch) -> None:
    """A producer whose transactional id has a newer epoch looks well."""
    true = producer_facts._transactional

    def words(one: TransactionView | None, producer: ProducerView, now_us: int) -> list[Line]:
        return [part for part in true(one, producer, now_us) if "the id now has" not in str(part)]

    patch.setattr(producer_facts, "_transactional", words)


def all_that_was_sent_is_acknowledged(patch: Patch) -> None:
    """The records that were sent are those that were acknowledged."""
    true = producer_facts._records

    def records(producer: ProducerView, now_us: int) -> list[Line]:
        parts = true(producer, now_us)
        return [parts[0], line(f"{producer.acked} sent"), *parts[2:]]

    patch.setattr(producer_facts, "_records", records)


def an_error_is_of_now(patch: Patch) -> None:
    """The last error has just come."""
    true = producer_facts._error

    def error(producer: ProducerView, life: ProducerLife, now_us: int) -> list[Line]:
        return (
            true(producer, ProducerLife(last_error_us=now_us), now_us)
            if life.last_error_us >= 0
            else true(producer, life, now_us)
        )

    patch.setattr(producer_facts, "_error", error)


def the_oldest_request_is_the_newest(patch: Patch) -> None:
    """Every request in flight has just been sent."""
    true = ClocksListing.__init__

    def made(
        self: ClocksListing,
        view: ClusterView,
        producer: ProducerView,
        now_us: int,
        width: int,
        configs: ProducerConfigs,
    ) -> None:
        newest = list(producer.in_flight.items())[-1:]
        known = ProducerView(producer.producer, producer.topics, 0.0, producer.state)
        known.in_flight, known.open_batches = dict(newest), producer.open_batches
        known.buffered_bytes = producer.buffered_bytes
        true(self, view, known, now_us, width, configs)

    patch.setattr(ClocksListing, "__init__", made)


def what_is_to_be_sent_again_is_in_flight(patch: Patch) -> None:
    """A batch between two requests counts as in flight."""
    patch.setattr(producer_tables, "RETRIES", -7)


def a_partition_without_leader_has_one(patch: Patch) -> None:
    """The state of a leader's process is not told."""
    patch.setattr(WrittenListing, "_leader", lambda self, broker: line(f"broker-{abs(broker)}"))


def retries_are_not_told(patch: Patch) -> None:
    """Errors for which batches are sent again are not listed."""
    patch.setattr(ErrorsListing, "row_keys", lambda self: [f"#{error}" for error in self.failed])


def every_transaction_commits(patch: Patch) -> None:
    """An aborted transaction is shown as committed."""

    def outcome(one: FinishedTransaction) -> Line:
        return line("● committed") if one.ended_us != NEVER else line("▶ open")

    patch.setattr(producer_tables, "_outcome", outcome)


def lost_transactions_are_open(patch: Patch) -> None:
    """A transaction without a decision is shown as open, though its coordinator's log has it no more."""
    true = producer_tables._outcome
    patch.setattr(producer_tables, "_outcome", lambda one: line("▶ open") if one.lost else true(one))


def no_transaction_was_fenced(patch: Patch) -> None:
    """Why a transaction was aborted is not told."""
    patch.setattr(producer_tables, "FENCED", {})


def the_markers_belong_to_the_transaction(patch: Patch) -> None:
    """A transaction is open until its last marker."""
    true = LastTransactionsListing.rows

    def rows(self: LastTransactionsListing, key: str) -> tuple[Line]:
        one = self.shown[key]
        if one.ended_us != NEVER:
            self.shown[key] = FinishedTransaction(
                one.producer_id, one.epoch, one.start_us, one.partitions, one.committed, one.ended_us, one.ended_us
            )
        return true(self, key)

    patch.setattr(LastTransactionsListing, "rows", rows)


def every_batch_is_in_the_buffer(patch: Patch) -> None:
    """A batch in flight looks like one that no request has carried."""
    patch.setattr(BatchesListing, "_stage", lambda self, one: ("in the buffer", "muted"))


FALSE_PRODUCER_PLACES = {
    every_batch_is_in_the_buffer: ("below-min-isr", 60),
    a_producer_that_stands_still_looks_well: ("below-min-isr", 60),
    an_old_epoch_is_not_told: ("zombie-producer", 60),
    all_that_was_sent_is_acknowledged: ("below-min-isr", 60),
    an_error_is_of_now: ("zombie-producer", 60),
    the_oldest_request_is_the_newest: ("below-min-isr", 60),
    what_is_to_be_sent_again_is_in_flight: ("below-min-isr", 90),
    a_partition_without_leader_has_one: ("broker-down", 60),
    retries_are_not_told: ("below-min-isr", 90),
    every_transaction_commits: ("zombie-producer", 60),
    no_transaction_was_fenced: ("zombie-producer", 60),
    the_markers_belong_to_the_transaction: ("zombie-producer", 60),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""
