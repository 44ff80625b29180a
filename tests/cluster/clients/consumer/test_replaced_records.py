"""Records that an application works on although they were truncated: offsets do not say which they are."""

from typing import Any

import msgspec
import pytest

from cluster import events as e
from cluster.commands import parse, text_of
from cluster.simulation.simulation import Simulation
from cluster.spec import StepSpec
from cluster.storage.lost_records import truncated
from cluster.storage.partition_log import PartitionLog
from cluster.view import ledger
from cluster.view.fold import HANDLERS
from cluster.view.placements import note_run
from cluster.view.state import PartitionView, ReaderView
from tests.support.checks_delivery import delivery_errors
from tests.support.completed_flight import Flown, flown
from tests.support.partition_logs import log_of_tens
from tests.support.random_delivery_flights import fateful
from tests.support.slow_cases import mostly_slow
from tests.support.truncation_scenarios import CRASH_S, buffered, deposed

SECOND_US = 1_000_000


def fates(flight: Flown) -> dict[str, Any]:
    counts: dict[str, Any] = flight.document["delivery"]["by_group"]["g"]
    return counts


def test_what_was_fetched_before_a_truncation_is_finished_as_what_it_was() -> None:
    """Seed 348: offset 650 was finished, and the fold took it for the record that stood there by then."""
    flight = flown(buffered())
    emitted = flight.all(e.TruncatedRecordsProcessed)
    assert {event.producer for event in emitted} == {"p-1"}
    assert [event.first_offset for event in emitted] == [event.first_serial for event in emitted]
    assert {event.leader_epoch for event in emitted} == {0}
    assert fates(flight)["delivered_then_lost"] > 0
    assert delivery_errors(buffered()) == []


def test_each_of_them_is_told_just_before_it_is_finished() -> None:
    flight = flown(buffered())
    for event in flight.all(e.TruncatedRecordsProcessed):
        (done,) = flight.all(e.RecordsProcessed, event.at_us, at_us=event.at_us, partition=event.partition)
        assert (done.first_offset, done.next_offset) == (event.first_offset, event.first_offset + event.records)
        assert done.seq > event.seq


def test_they_are_told_also_where_nothing_stands_at_their_offsets() -> None:
    """What was fetched lay beyond the end of the log that the crash left."""
    spec = buffered()
    alone = msgspec.structs.replace(spec, producers=spec.producers[:1])
    emitted = flown(alone).all(e.TruncatedRecordsProcessed)
    assert [(event.producer, event.first_serial) for event in emitted] == [
        ("p-1", event.first_offset) for event in emitted
    ]
    assert emitted
    assert delivery_errors(alone) == []


def test_they_are_told_also_where_a_deposed_leader_appended_them() -> None:
    """No log that counts ever had them: its successor's ended before."""
    flight = flown(deposed())
    *_, successor = [one for one in flight.all(e.LeadershipTaken, partition="t-0") if one.leader_epoch <= 2]
    emitted = flight.all(e.TruncatedRecordsProcessed)
    assert successor.leader_epoch == 2
    assert emitted
    for event in emitted:
        [written] = flight.all(e.RecordsAppended, base_offset=event.first_offset, leader_epoch=0, partition="t-0")
        assert written.at_us > successor.at_us
        assert event.first_offset >= successor.log_end
    assert fates(flight)["delivered_then_lost"] > len(emitted)
    assert delivery_errors(deposed()) == []


def test_nothing_is_told_where_no_log_was_truncated() -> None:
    assert flown(buffered(crash=False)).all(e.TruncatedRecordsProcessed) == []


def test_what_was_deleted_on_purpose_was_not_truncated() -> None:
    delete = parse("delete records t-0 before 25")
    spec = msgspec.structs.replace(buffered(), steps=(StepSpec(CRASH_S * SECOND_US, delete, text_of(delete)),))
    flight = flown(spec)
    [deletion] = flight.all(e.LogStartAdvanced, partition="t-0")
    assert any(done.next_offset <= 25 for done in flight.all(e.RecordsProcessed, deletion.at_us))
    assert flight.all(e.TruncatedRecordsProcessed) == []


@pytest.mark.parametrize("seed", mostly_slow([51, 78, 176, 348], quick=[348]))
def test_the_law_holds_where_readers_worked_on_truncated_records(seed: int) -> None:
    assert delivery_errors(fateful(seed), seed) == []


def _nothing(*_: object) -> None:
    """Do nothing."""


def test_a_ledger_that_does_not_hear_of_them_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[Any, Any] = HANDLERS
    monkeypatch.setitem(handlers, e.TruncatedRecordsProcessed, _nothing)
    assert any("delivered" in words for words in delivery_errors(buffered(), stop=True))


def test_a_simulator_that_does_not_tell_of_them_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simulation, "_truncated", lambda *_: False)
    assert any("delivered" in words for words in delivery_errors(buffered(), stop=True))


# --- the logs alone ---------------------------------------------------------------------------------------------------

THIRD = log_of_tens(3).beyond(20)[0]
"""Offsets 20 … 29 of a log of tens: a consumer fetched them."""


def cut(end: int) -> PartitionLog:
    """A log of tens that ends here."""
    log = log_of_tens(5)
    log.truncate_to(end)
    return log


def rewritten() -> PartitionLog:
    """A log with other records at their offsets."""
    log = cut(20)
    log.append(msgspec.structs.replace(THIRD, producer="q-1", leader_epoch=1))
    return log


def from_50(log: PartitionLog, *, segments: bool) -> PartitionLog:
    """Its records were deleted on purpose, perhaps with the segment that held them."""
    if segments:
        log.drop_before(50)
    else:
        log.advance_start(50)
    return log


def started_over(log: PartitionLog) -> PartitionLog:
    """A follower that ended before its leader's log began."""
    log.start_over(50)
    return log


@pytest.mark.parametrize(
    ("log", "others", "expected"),
    [
        (log_of_tens(5), [], False),
        (log_of_tens(3), [], False),
        (cut(20), [log_of_tens(5)], True),
        (rewritten(), [log_of_tens(5)], True),
        (from_50(log_of_tens(5), segments=True), [], False),
        (from_50(log_of_tens(5), segments=False), [], False),
        (started_over(log_of_tens(5)), [], False),
        (started_over(log_of_tens(1)), [from_50(log_of_tens(5), segments=True)], False),
        (started_over(log_of_tens(1)), [from_50(log_of_tens(5), segments=False)], False),
        (started_over(log_of_tens(1)), [], True),
        (cut(20), [from_50(log_of_tens(5), segments=True)], True),  # an unclean election undid the deletion
    ],
)
def test_a_batch_is_truncated_where_the_log_that_counts_does_not_have_it(
    log: PartitionLog, others: list[PartitionLog], expected: bool
) -> None:
    assert truncated(THIRD, log, [log, *others]) == expected


# --- the ledger alone -------------------------------------------------------------------------------------------------


def ledger_with(*replaced: tuple[int, int, int]) -> tuple[PartitionView, ReaderView]:
    """A log of 20 records of q, and what a reader is about to finish although it was p's: offset, records, serial."""
    partition, reader = PartitionView("t-0", "t", 0), ReaderView(start=0)
    partition.placements.append(0, 20, "q", 100)
    for offset, records, serial in replaced:
        event = e.TruncatedRecordsProcessed(
            group="g", member="g-1", partition="t-0", first_offset=offset, records=records, leader_epoch=0,
            producer="p", first_serial=serial,
        )  # fmt: skip
        ledger.truncated_since(reader, event)
    return partition, reader


def finish(partition: PartitionView, reader: ReaderView, first: int, end: int, repeated: int = 0) -> dict[str, Any]:
    """Whose records the reader has finished after these."""
    event = e.RecordsProcessed(
        group="g", member="g-1", partition="t-0", first_offset=first, next_offset=end, repeated=repeated
    )
    ledger.finished(partition, reader, event)
    return {producer: list(known.ranges()) for producer, known in reader.finished_serials.items()}


def test_around_replaced_records_what_stands_there_is_finished() -> None:
    partition, reader = ledger_with((5, 3, 40))
    assert finish(partition, reader, 2, 10) == {"p": [(40, 43)], "q": [(102, 105), (108, 110)]}
    assert list(reader.finished.ranges()) == [(2, 5), (8, 10)]
    assert finish(partition, reader, 5, 8) == {"p": [(40, 43)], "q": [(102, 110)]}


def test_replaced_records_of_two_stretches_are_each_finished_once() -> None:
    partition, reader = ledger_with((5, 3, 40), (8, 4, 60))
    assert finish(partition, reader, 5, 7) == {"p": [(40, 42)]}
    assert finish(partition, reader, 7, 12) == {"p": [(40, 43), (60, 64)]}
    assert reader.truncated == []
    assert list(reader.finished.ranges()) == []


def test_replaced_records_that_were_finished_before_are_no_copies() -> None:
    partition, reader = ledger_with((5, 3, 40))
    note_run(reader.finished_serials, "p", 40, 42)
    assert finish(partition, reader, 5, 8, repeated=2) == {"p": [(40, 43)]}
    assert reader.copies == {}


def test_replaced_records_may_lie_beyond_the_end_of_the_log() -> None:
    partition, reader = ledger_with((18, 4, 40))
    assert finish(partition, reader, 18, 22) == {"p": [(40, 44)]}
    assert list(reader.finished.ranges()) == []
