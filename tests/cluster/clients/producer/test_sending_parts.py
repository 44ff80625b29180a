"""What a producer is made of: arrivals, keys, partitioners, the accumulator, sequences."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.clients.producer.accumulator import Accumulator
from cluster.clients.producer.arrivals import ListedArrivals, SteadyArrivals, arrivals
from cluster.clients.producer.partitioners import KeyedPartitioner, StickyPartitioner
from cluster.clients.producer.sequences import Sequences
from cluster.protocol.names import murmur2
from cluster.protocol.record_batch import RECORD_BATCH_OVERHEAD_BYTES
from cluster.spec import ArrivalsSpec, ProducerSpec
from cluster.virtual_time.waiting import NEVER_US

SECOND_US = 1_000_000


@given(
    st.sampled_from([0.5, 3.0, 7.0, 200.0]),
    st.integers(0, 5_000_000),
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 400_000), st.integers(0, 9)), max_size=25),
)
def test_steady_arrivals_are_the_listed_ones(
    rate: float, start_us: int, limit: int, looks: list[tuple[int, int]]
) -> None:
    times = (start_us + int(number * (SECOND_US / rate)) for number in range(10**6))
    steady, listed = SteadyArrivals(rate, start_us, limit), ListedArrivals(times, limit)
    now_us = 0
    for wait_us, most in looks:
        now_us += wait_us
        assert steady.at(0) == listed.at(0)
        assert steady.at(most) == listed.at(most)
        assert steady.take_until(now_us, most) == listed.take_until(now_us, most)
        assert steady.taken == listed.taken


def test_a_profile_sends_at_each_steps_rate() -> None:
    profile = ArrivalsSpec("profile", ((0, 2.0), (SECOND_US, 0.0), (2 * SECOND_US, 4.0)))
    coming = arrivals(ProducerSpec("p", ("t",), arrivals=profile, limit=6), lambda: Random(1))
    assert [coming.at(place) for place in range(7)] == [
        0,
        500_000,
        2_000_000,
        2_250_000,
        2_500_000,
        2_750_000,
        NEVER_US,
    ]


def test_no_rate_is_no_record() -> None:
    assert arrivals(ProducerSpec("p", ("t",), rate_per_second=0.0), lambda: Random(1)).at(0) == NEVER_US


def test_a_key_goes_where_kafka_sends_it() -> None:
    names = tuple(f"t-{number}" for number in range(7))
    keyed = KeyedPartitioner(names)
    for key in range(50):
        place = (murmur2(str(key).encode()) & 0x7FFFFFFF) % 7
        assert keyed.partition(key) == keyed.partition(key) == names[place]


@pytest.mark.parametrize(("partitioner", "place"), [("consistent_random", 1), ("murmur2_random", 0), (None, 0)])
def test_librdkafkas_default_has_another_hash(partitioner: str | None, place: int) -> None:
    names = tuple(f"t-{number}" for number in range(4))
    assert KeyedPartitioner(names, partitioner).partition(0) == names[place]


class FirstChoice(Random):
    """Draws 0, ½, 0, ½ …"""

    _next = 0.5

    def random(self) -> float:
        self._next = 0.5 - self._next
        return self._next


def test_the_sticky_partitioner_moves_at_a_new_batch_once_batch_size_was_sent() -> None:
    sticky = StickyPartitioner(1_000, FirstChoice().random, lambda: ("t-0", "t-1"))
    assert sticky.for_new_batch() == "t-0"
    sticky.produced(999)
    assert sticky.for_new_batch() == "t-0"
    sticky.produced(1)
    assert sticky.current == "t-0"  # a half-filled batch stays where it is
    assert sticky.for_new_batch() == "t-1"
    assert sticky.room() == 2_000


def test_the_sticky_partitioner_moves_at_twice_batch_size_in_any_case() -> None:
    sticky = StickyPartitioner(1_000, FirstChoice().random, lambda: ("t-0", "t-1"))
    sticky.produced(1_999)
    assert (sticky.current, sticky.room()) == ("t-0", 1)
    sticky.produced(1)
    assert (sticky.current, sticky.room()) == ("t-1", 2_000)


def accumulator(buffer: int = 10_000) -> Accumulator:
    return Accumulator(1_000, buffer, linger_us=5_000, record_bytes=200)


def test_a_batch_takes_batch_size_of_the_buffer_until_it_is_released() -> None:
    kept = accumulator(buffer=2_500)
    first, second = kept.new_batch("t-0", 0), kept.new_batch("t-1", 0)
    assert first is not None
    assert second is not None
    assert (kept.free_bytes, kept.new_batch("t-2", 0)) == (500, None)
    kept.release(first)
    assert kept.free_bytes == 1_500


def test_a_batch_is_ready_when_it_lingered_is_full_or_another_waits_behind_it() -> None:
    kept = accumulator()
    batch = kept.new_batch("t-0", 100)
    assert batch is not None
    kept.add(batch, 1)
    assert kept.room(batch) == (1_000 - RECORD_BATCH_OVERHEAD_BYTES) // 200 - 1
    assert kept.ready_us(batch, last=True) == 5_100
    assert kept.ready_us(batch, last=False) == 0
    batch.fills_itself = True
    assert kept.ready_us(batch, last=True) == NEVER_US
    batch.full = True
    assert kept.ready_us(batch, last=True) == 0
    batch.first_sent_us, batch.not_before_us = 200, 7_000  # it failed: it backs off
    assert kept.ready_us(batch, last=False) == 7_000
    assert kept.open_batch("t-0") is None


def test_serial_numbers_go_on_over_batches_and_restarts() -> None:
    kept = accumulator()
    first = kept.new_batch("t-0", 0)
    assert first is not None
    kept.add(first, 3)
    kept.reset(10_000)
    second = kept.new_batch("t-0", 0)
    assert second is not None
    assert (first.first_serial, second.first_serial) == (0, 3)


@pytest.mark.parametrize("appended", [True, False])
def test_a_batch_that_gave_up_needs_a_new_epoch_only_if_it_left_a_hole(appended: bool) -> None:
    kept, sequences = accumulator(), Sequences()
    sequences.epoch = 0
    lost, after = kept.new_batch("t-0", 0), kept.new_batch("t-0", 0)
    assert lost is not None
    assert after is not None
    for batch in (lost, after):
        kept.add(batch, 2)
        sequences.number(batch)
    assert (lost.base_sequence, after.base_sequence) == (0, 2)
    sequences.mark_unresolved(lost)
    if appended:
        sequences.acknowledged(after)
    sequences.resolve(lambda _: True)
    assert ("t-0" in sequences.to_rewrite) is not appended
    if not appended:
        sequences.begin_epoch(1, ["t-0"])
        sequences.number(after)
        assert (after.epoch, after.base_sequence) == (1, 0)
