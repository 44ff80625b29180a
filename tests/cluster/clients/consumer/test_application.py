"""What applications do with records: poison, crashes and restarts, stores, in tiny flights."""

import msgspec
import pytest

from cluster import events as e
from cluster.clients.delivery_ledger import DeliveryLedger
from cluster.clients.key_order import ONE_MOVE, KeyOrder
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import ApplicationSpec, PoisonSpec
from tests.support.completed_flight import flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import MS, SECOND_US, applied

# --- poison -----------------------------------------------------------------------------------------------------------


def test_a_poison_record_crashes_its_reader_before_it_is_finished_and_nobody_starts_it_again() -> None:
    flight = flown(applied(ApplicationSpec(commit="after-each-poll", poison=PoisonSpec("7"))))
    (crash,) = flight.all(e.MemberStopped)
    assert (crash.how, crash.reason[:20]) == ("crash", "poison record: key 7")
    assert flight.document["members"]["g-1"]["state"] == "Dead"
    assert not flight.document["members"]["g-1"]["alive"]
    finished = {
        (done.partition, offset)
        for done in flight.all(e.RecordsProcessed)
        for offset in range(done.first_offset, done.next_offset)
    }
    partition, offset = crash.reason.split(" in ")[1].split(" at offset ")
    assert (partition, int(offset)) not in finished
    assert flight.simulation.view.members["g-1"].crashes == 1


def test_a_crash_loop_comes_back_each_time_to_the_same_record() -> None:
    application = ApplicationSpec(commit="after-each-poll", poison=PoisonSpec("7"), restart_after_us=2 * SECOND_US)
    flight = flown(applied(application, until_s=60))
    crashes, starts = flight.all(e.MemberStopped, how="crash"), flight.all(e.MemberStarted)
    assert len(crashes) >= 3
    assert [start.at_us for start in starts[1:]] == [
        crash.at_us + 2 * SECOND_US for crash in crashes if crash.at_us + 2 * SECOND_US <= 60 * SECOND_US
    ]
    assert len({crash.reason for crash in crashes[-3:]}) <= 2  # a partition's first poison record, again and again
    assert flight.simulation.view.members["g-1"].crashes == len(crashes)


def test_a_skipped_poison_record_is_lost_when_a_commit_has_passed_it() -> None:
    application = ApplicationSpec(commit="after-each-poll", poison=PoisonSpec("7", crashes=False))
    flight = flown(applied(application))
    skipped = flight.all(e.RecordSkipped)
    delivery = flight.document["delivery"]
    assert len(skipped) > 3
    assert (delivery["lost"], delivery["delivered"]) == (len(skipped), 100 - len(skipped))
    assert flight.simulation.view.groups["g"].skipped == len(skipped)
    assert not flight.all(e.MemberStopped)


def test_without_poison_nothing_is_lost() -> None:
    flight = flown(applied(ApplicationSpec(commit="after-each-poll")))
    assert (flight.document["delivery"]["lost"], flight.document["delivery"]["delivered"]) == (0, 100)


def test_a_killed_member_comes_back_when_its_scenario_says_so_unless_the_group_was_scaled_down() -> None:
    application = ApplicationSpec(poison=PoisonSpec("7"), restart_after_us=5 * SECOND_US)
    crash, *_ = flown(applied(application, until_s=10)).all(e.MemberStopped)
    first_s = crash.at_us / SECOND_US
    assert len(flown(applied(application, until_s=first_s + 5)).all(e.MemberStarted)) == 2
    scaled = applied(application, (first_s + 1, "scale g to 0"), until_s=20)
    assert len(flown(scaled).all(e.MemberStarted)) == 1


@pytest.mark.parametrize("crashes", [True, False])
def test_the_truth_agrees_about_poison_and_stores(crashes: bool) -> None:
    application = ApplicationSpec(
        per_record_us=20 * MS,
        commit="after-each-poll",
        poison=PoisonSpec("7", crashes=crashes),
        restart_after_us=SECOND_US,
        sink="database",
    )
    assert lies(applied(application, (9, "kill g-2 for 3s"), members=2, until_s=40)) == []


# --- an outside store -------------------------------------------------------------------------------------------------


def test_a_store_has_duplicates_of_what_was_finished_but_not_committed() -> None:
    application = ApplicationSpec(per_record_us=20 * MS, commit="never", sink="database")
    flight = flown(applied(application, (6, "kill g-1 for 1s"), until_s=40))
    delivery = flight.document["delivery"]
    assert delivery["duplicated"] > 10
    assert delivery["sink_duplicates"] == delivery["duplicated"]
    without = msgspec.structs.replace(application, sink=None)
    assert flown(applied(without, (6, "kill g-1 for 1s"), until_s=40)).document["delivery"]["sink_duplicates"] == 0


# --- ground truth -----------------------------------------------------------------------------------------------------


def _batch(partition: str, serial: int, offset: int, keys: tuple[int, ...], **more: object) -> RecordBatch:
    made = RecordBatch(partition, "p-1", 0, 0, 0, serial, len(keys), 100, 0, keys, offset, 0, 0)
    return msgspec.structs.replace(made, **more)


def _stands(_: RecordBatch) -> bool:
    """No log was truncated."""
    return False


def _finish(truth: DeliveryLedger, batch: RecordBatch) -> int:
    stretches = list(truth.finished(batch, batch.base_offset, batch.next_offset))
    assert sum(count for count, _ in stretches) == batch.count
    return sum(again for _, again in stretches)


def test_the_same_records_at_other_offsets_are_the_same_records() -> None:
    emitted: list[e.Event] = []
    truth = DeliveryLedger("g", emitted.append, KeyOrder(), _stands)
    assert _finish(truth, _batch("orders-0", 0, 0, (1, 2, 3))) == 0
    assert _finish(truth, _batch("orders-0", 0, 3, (1, 2, 3))) == 3
    assert _finish(truth, _batch("orders-0", 2, 6, (3, 1))) == 1
    assert emitted == []


def test_what_was_written_for_an_input_is_that_input_again() -> None:
    truth = DeliveryLedger("g", lambda _: None, KeyOrder(), _stands)
    origins = (("p-1", "orders-0", 5, 1), ("p-2", "orders-1", 7, 2))
    assert _finish(truth, _batch("invoices-0", 0, 0, (), count=3, origins=origins)) == 0
    again = _batch("invoices-1", 0, 0, (), count=2, origins=(("p-2", "orders-1", 8, 2),))
    assert _finish(truth, again) == 1


def test_the_order_of_a_key_is_broken_once_by_a_partition_that_is_read_before_an_older_one() -> None:
    emitted: list[e.Event] = []
    moves = KeyOrder()
    truth = DeliveryLedger("g", emitted.append, moves, _stands)
    _finish(truth, _batch("orders-0", 0, 0, (1, 2)))
    moves.moved("p-1", {"orders-0": 4, "orders-1": 0})
    _finish(truth, _batch("orders-1", 0, 0, (2,)))
    _finish(truth, _batch("orders-0", 2, 2, (2, 2)))  # sent before key 2 moved to orders-1
    assert emitted == [e.KeyOrderBroken(group="g", topic="orders", key=2)]
    assert moves.rank(("p-1", "orders-0"), 4) == ONE_MOVE + 4


def test_order_holds_when_the_older_partition_is_read_first() -> None:
    emitted: list[e.Event] = []
    moves = KeyOrder()
    truth = DeliveryLedger("g", emitted.append, moves, _stands)
    moves.moved("p-1", {"orders-0": 4, "orders-1": 0})
    for batch in (_batch("orders-0", 2, 2, (2, 2)), _batch("orders-1", 0, 0, (2,)), _batch("orders-0", 9, 9, (2,))):
        _finish(truth, batch)
    assert emitted == []


@pytest.mark.parametrize(("added", "broken"), [(True, True), (False, False)])
def test_order_per_key_breaks_where_partitions_are_added_while_a_reader_lags(added: bool, broken: bool) -> None:
    steps: tuple[tuple[float, str], ...] = ((5, "slow g-1 to 300ms"), (60, "slow g-1 to 0s"))
    if added:
        steps = ((10, "add partitions orders to 5"), *steps)
    made = applied(
        ApplicationSpec(),
        *steps,
        until_s=140,
        members=2,
        limit=1_000,
        consumer={"metadata.max.age.ms": 8_000, "max.poll.records": 10},
    )
    producer = msgspec.structs.replace(made.producers[0], rate_per_second=20.0, config={"metadata.max.age.ms": 6_000})
    made = msgspec.structs.replace(made, producers=(producer,))
    assert (flown(made).document["delivery"]["out_of_order_keys"] > 0) is broken
    assert lies(made) == []
