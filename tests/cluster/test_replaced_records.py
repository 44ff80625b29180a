"""Records that an application works on although a truncation replaced them: offsets do not say which they are."""

from typing import Any

import msgspec
import pytest

from cluster import events as e
from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.simulation.simulation import Simulation
from cluster.spec import ApplicationSpec, BrokerSpec, GroupSpec, ProducerSpec, ScenarioSpec, StepSpec, TopicSpec
from cluster.view import ledger
from cluster.view.fold import HANDLERS
from cluster.view.placements import note_run
from cluster.view.state import PartitionView, ReaderView
from tests.cluster.test_delivery import false
from tests.cluster.test_timing_facts import Flown, flown
from tests.delivery_flights import fateful

SECOND_US = 1_000_000
CRASH_S = 12


def buffered(*, crash: bool = True) -> ScenarioSpec:
    """A reader has ten seconds' work in its buffer; the host of the only replica crashes, another producer writes."""
    command = parse("crash broker-1 for 1s")
    before = ProducerSpec("p", ("t",), rate_per_second=50.0, limit=30, config={"acks": "1"})
    config: dict[str, Value] = {"auto.offset.reset": "earliest", "max.poll.records": 1, "session.timeout.ms": 30_000}
    return ScenarioSpec(
        title="buffered",
        until_us=60 * SECOND_US,
        brokers=(BrokerSpec(1),),
        topics=(TopicSpec("t", replication=1),),
        producers=(before, msgspec.structs.replace(before, name="q", start_us=(CRASH_S + 4) * SECOND_US)),
        groups=(
            GroupSpec(
                "g", ("t",), start_us=2 * SECOND_US, config=config, application=ApplicationSpec(per_record_us=SECOND_US)
            ),
        ),
        steps=(StepSpec(CRASH_S * SECOND_US, command, text_of(command)),) if crash else (),
    )


def fates(flight: Flown) -> dict[str, Any]:
    counts: dict[str, Any] = flight.document["delivery"]["by_group"]["g"]
    return counts


def test_what_was_fetched_before_a_truncation_is_finished_as_what_it_was() -> None:
    """Seed 348: offset 650 was finished, and the fold took it for the record that stood there by then."""
    flight = flown(buffered())
    told = flight.all(e.TruncatedRecordsProcessed)
    assert {event.producer for event in told} == {"p-1"}
    assert [event.first_offset for event in told] == [event.first_serial for event in told]
    assert {event.leader_epoch for event in told} == {0}
    assert fates(flight)["delivered_then_lost"] > 0
    assert false(buffered()) == []


def test_each_of_them_is_told_just_before_it_is_finished() -> None:
    flight = flown(buffered())
    for event in flight.all(e.TruncatedRecordsProcessed):
        (done,) = flight.all(e.RecordsProcessed, event.at_us, at_us=event.at_us, partition=event.partition)
        assert (done.first_offset, done.next_offset) == (event.first_offset, event.first_offset + event.records)
        assert done.seq > event.seq


def test_nothing_is_told_where_no_log_was_truncated() -> None:
    assert flown(buffered(crash=False)).all(e.TruncatedRecordsProcessed) == []


@pytest.mark.parametrize("seed", [51, 78, 348])
def test_the_law_holds_where_readers_worked_on_replaced_records(seed: int) -> None:
    assert false(fateful(seed), seed) == []


def _nothing(*_: object) -> None:
    """Do nothing."""


def test_a_ledger_that_does_not_hear_of_them_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[Any, Any] = HANDLERS
    monkeypatch.setitem(handlers, e.TruncatedRecordsProcessed, _nothing)
    assert any("delivered" in words for words in false(buffered(), stop=True))


def test_a_simulator_that_does_not_tell_of_them_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simulation, "_replaced", lambda *_: False)
    assert any("delivered" in words for words in false(buffered(), stop=True))


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
        ledger.replaced(reader, event)
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
    assert reader.replaced == []
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
