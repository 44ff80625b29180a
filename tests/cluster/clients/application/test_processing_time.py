"""Processing time: the declared quantiles, slow keys, a slow dependency, and kills in the middle of it."""

import math
from collections.abc import Iterable

import msgspec
import pytest

from cluster import events as e
from cluster.clients.application.dependency import Dependency
from cluster.clients.application.processing_time import ProcessingTimes
from cluster.protocol.record_batch import RecordBatch, Slice
from cluster.spec import ApplicationSpec, ProcessingSpec, ScenarioSpec, SlowKeysSpec
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import MS, SECOND_US, applied, writing

TAIL = ProcessingSpec(2 * MS, 80 * MS)
ONE_BY_ONE: dict[str, int | str | bool | float | tuple[str, ...] | None] = {"max.poll.records": 1}


def batch_of(keys: Iterable[int]) -> RecordBatch:
    numbers = tuple(keys)
    return RecordBatch("orders-0", "p-1", 0, 0, 0, 0, len(numbers), 100, 0, numbers, 0, 0, 0)


def drawn(spec: ApplicationSpec, keys: Iterable[int], dependency: Dependency | None = None) -> list[float]:
    """The times of records with these keys."""
    batch = batch_of(keys)
    times = ProcessingTimes(spec, 3, "g-1", dependency or Dependency())
    _, ends, rest = times.chunk([Slice(batch, 0, batch.count)], 1_000.0, 1 << 60, slowed=False)
    assert rest == []
    return [end - begin for begin, end in zip([0.0, *ends], ends, strict=False)]


def of_work(flight: Flown, member: str) -> list[int]:
    """How long each poll() with records took a member that gets one at a time, by its events alone."""
    found, since_us = [], 0
    events: list[e.PollReturned | e.PollStarted] = [*flight.all(e.PollReturned), *flight.all(e.PollStarted)]
    for event in sorted(events, key=lambda one: one.seq):
        if event.member == member:
            if isinstance(event, e.PollReturned):
                since_us = event.at_us
            else:
                found.append(event.at_us - since_us)
    return found


def has_quantiles(times: list[int], spec: ProcessingSpec) -> bool:
    """Whether these are the declared quantiles, within what 1,000 draws scatter (four standard errors)."""
    ordered = sorted(times)
    logs = [math.log(max(1, time)) for time in ordered]
    mean = sum(logs) / len(logs)
    deviation = math.sqrt(sum((each - mean) ** 2 for each in logs) / len(logs))
    wanted = (math.log(spec.p99_us) - math.log(spec.p50_us)) / 2.3263478740408408
    error = wanted / math.sqrt(len(logs))
    above = sum(time > spec.p99_us for time in ordered) / len(ordered)
    return (
        abs(mean - math.log(spec.p50_us)) < 4 * error + 1e-3
        and abs(deviation - wanted) < 4 * error
        and abs(above - 0.01) < 4 * math.sqrt(0.01 / len(ordered))
    )


def flight_of(
    spec: ApplicationSpec, *steps: tuple[float, str], until_s: float = 60, limit: int = 1_000
) -> ScenarioSpec:
    made = applied(spec, *steps, until_s=until_s, limit=limit, consumer=dict(ONE_BY_ONE))
    producer = msgspec.structs.replace(made.producers[0], rate_per_second=50.0)
    return msgspec.structs.replace(made, producers=(producer,))


# --- draws ------------------------------------------------------------------------------------------------------------


def test_the_quantiles_of_a_flight_are_the_declared_ones() -> None:
    times = of_work(flown(flight_of(ApplicationSpec(processing=TAIL))), "g-1")
    assert len(times) == 1_000
    assert has_quantiles(times, TAIL)


@pytest.mark.parametrize("wrong", [{"_deviation": 1.0}, {"_mean": math.log(7_000)}, {"_deviation": 0.0}])
def test_other_quantiles_are_noticed(wrong: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    begin = ProcessingTimes.__init__

    def broken(times: ProcessingTimes, *arguments: object) -> None:
        begin(times, *arguments)  # type: ignore[arg-type]
        for name, value in wrong.items():
            setattr(times, name, value)

    monkeypatch.setattr(ProcessingTimes, "__init__", broken)
    assert not has_quantiles(of_work(flown(flight_of(ApplicationSpec(processing=TAIL))), "g-1"), TAIL)


def test_equal_quantiles_are_a_constant() -> None:
    assert drawn(ApplicationSpec(processing=ProcessingSpec(5_000, 5_000)), range(9)) == pytest.approx([5_000.0] * 9)


def test_slow_keys_take_their_own_time() -> None:
    spec = ApplicationSpec(slow_keys=SlowKeysSpec(500_000, ("7", "42")))
    assert drawn(spec, [1, 7, 42, 2, -1]) == [1_000, 500_000, 500_000, 1_000, 1_000]


def test_a_share_of_the_keys_is_slow_always_the_same_ones() -> None:
    spec = ApplicationSpec(slow_keys=SlowKeysSpec(500_000, share=0.1))
    slow = {key for key, time in zip(range(2_000), drawn(spec, range(2_000)), strict=True) if time > 1_000}
    assert 140 < len(slow) < 260
    again = zip(reversed(range(2_000)), drawn(spec, reversed(range(2_000))), strict=True)
    assert {key for key, time in again if time > 1_000} == slow


def test_a_dependency_adds_to_every_record() -> None:
    dependency = Dependency()
    dependency.delay_us = 50_000
    spec = ApplicationSpec(slow_keys=SlowKeysSpec(500_000, ("7",)))
    assert drawn(spec, [1, 7], dependency) == [51_000, 550_000]


def test_a_chunk_ends_with_the_record_that_makes_it_long_enough() -> None:
    batch = batch_of(range(10))
    times = ProcessingTimes(ApplicationSpec(slow_keys=SlowKeysSpec(9_000, ("3",))), 3, "g-1", Dependency())
    taken, ends, rest = times.chunk([Slice(batch, 0, 2), Slice(batch, 2, 10)], 1_000.0, 5_000, slowed=False)
    assert (taken, rest) == ([Slice(batch, 0, 2), Slice(batch, 2, 4)], [Slice(batch, 4, 10)])
    assert ends == [1_000, 2_000, 3_000, 12_000]


# --- flights ----------------------------------------------------------------------------------------------------------


def test_a_slow_dependency_slows_every_member_until_it_is_over() -> None:
    made = flight_of(ApplicationSpec(per_record_us=MS), (5, "slow dependency of g to 50ms for 5s"), until_s=40)
    flight = flown(made)
    work = [
        (poll.at_us, done.at_us - poll.at_us)
        for poll, done in zip(flight.all(e.PollReturned), flight.all(e.PollStarted)[-1_000:], strict=False)
    ]
    assert len(flight.all(e.FaultStarted)) == len(flight.all(e.FaultEnded)) == 1
    assert {time for at_us, time in work if at_us < 5 * SECOND_US - MS} == {MS}
    assert {time for at_us, time in work if 5 * SECOND_US < at_us < 10 * SECOND_US} == {51 * MS}
    assert {time for at_us, time in work if at_us > 10.1 * SECOND_US} == {MS}


def test_a_dependency_that_recovers_ends_the_wait_within_a_poll() -> None:
    made = applied(
        ApplicationSpec(commit="after-each-poll"),
        (0.1, "slow dependency of g to 300ms"),
        (12, "slow dependency of g to 0ms"),
        until_s=20,
    )
    flight = flown(made)
    assert flight.document["groups"]["g"]["lag"] == 0
    assert max(poll.records for poll in flight.all(e.PollReturned)) > 10  # 3 s and more, had it stayed slow


def test_members_that_start_later_have_the_same_dependency() -> None:
    steps = ((4.0, "slow dependency of g to 20ms"), (5.0, "scale g to 2"))
    made = flight_of(ApplicationSpec(), *steps, until_s=30)
    assert set(of_work(flown(made), "g-2")) == {20 * MS}


def test_a_dependency_that_is_not_slow_cannot_recover() -> None:
    (refused,) = flown(flight_of(ApplicationSpec(), (5, "slow dependency of g to 0ms"), until_s=6)).all(
        e.CommandRefused
    )
    assert refused.reason == "the dependency of g is not slow"


def test_a_slowed_member_takes_the_commands_time_for_each_record() -> None:
    steps = ((6.0, "slow g-1 to 90ms for 3s"),)
    flight = flown(flight_of(ApplicationSpec(processing=ProcessingSpec(MS, 2 * MS)), *steps, until_s=30))
    polls = zip(flight.all(e.PollReturned), of_work(flight, "g-1"), strict=False)
    assert {time for poll, time in polls if 6.1 * SECOND_US < poll.at_us < 8.9 * SECOND_US} == {90 * MS}


def test_a_kill_counts_exactly_the_finished_records() -> None:
    slow = ApplicationSpec(processing=ProcessingSpec(100 * MS, 101 * MS), commit="never")
    flight = flown(applied(slow, (10.55, "kill g-1"), until_s=12))
    done = sum(one.next_offset - one.first_offset for one in flight.all(e.RecordsProcessed))
    begun = min(one.at_us for one in flight.all(e.PollReturned))
    assert 0 <= (10_550 * MS - begun) // (100 * MS) - done <= 9  # it waited for records at first


@pytest.mark.parametrize("writes", [True, False])
def test_the_truth_agrees_about_unequal_times(writes: bool) -> None:
    application = ApplicationSpec(
        processing=ProcessingSpec(5 * MS, 90 * MS),
        slow_keys=SlowKeysSpec(200 * MS, share=0.2),
        commit="after-each-poll",
    )
    steps = ((6, "kill g-1 for 2s"), (7, "slow dependency of g to 30ms for 5s"), (9, "slow g-2 to 5ms for 3s"))
    made = applied(application, *steps, members=2, until_s=40)
    if writes:
        made = writing(*steps, members=2)
        first, audit = made.groups
        first = msgspec.structs.replace(first, application=msgspec.structs.replace(application, writes="invoices"))
        made = msgspec.structs.replace(made, groups=(first, audit))
    assert lies(made) == []
