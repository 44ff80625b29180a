"""pause() and resume() by hand: what poll() returns, what goes on, and what a rebalance keeps."""

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.fetcher import Fetcher
from cluster.config import Value
from cluster.spec import ApplicationSpec, ScenarioSpec
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import COOPERATIVE, SECOND_US, spec


def made(
    *steps: tuple[float, str], assignors: tuple[str, ...] = ("range",), members: int = 1, until_s: float = 30
) -> ScenarioSpec:
    """A group that reads orders-0 and orders-1; its auto commits come every second, its polls may take two."""
    consumer: dict[str, Value] = {
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": 2_000,
        "auto.commit.interval.ms": 1_000,
    }
    given = spec(*steps, until_s=until_s, members=members, rate=40, consumer=consumer)
    group = msgspec.structs.replace(given.groups[0], assignors=assignors)
    return msgspec.structs.replace(given, groups=(group,))


def read(flight: Flown, partition: str, from_s: float, to_s: float) -> int:
    """How many records of a partition were processed in a stretch."""
    return sum(
        one.next_offset - one.first_offset
        for one in flight.all(e.RecordsProcessed, partition=partition)
        if from_s * SECOND_US <= one.at_us < to_s * SECOND_US
    )


def reasons(flight: Flown) -> list[str]:
    return [one.reason for one in flight.all(e.CommandRefused)]


def test_a_paused_partition_is_not_read_and_the_member_stays() -> None:
    flight = flown(made((10, "pause partitions orders-0 of g-1 for 10s")))
    assert read(flight, "orders-0", 10.1, 20) == 0
    assert read(flight, "orders-1", 10.1, 20) > 150
    assert read(flight, "orders-0", 20, 21) > 150  # what waited, at once
    assert [one.partitions for one in flight.all(e.PartitionsPaused)] == [("orders-0",)]
    assert [one.at_us for one in flight.all(e.FaultEnded)] == [20 * SECOND_US]
    assert flight.document["groups"]["g"]["rebalances"] == 0
    assert flight.all(e.MemberRemoved) == []
    assert flight.document["delivery"]["lost"] == flight.document["delivery"]["duplicated"] == 0


def test_a_member_that_pauses_everything_polls_on_for_longer_than_its_poll_interval() -> None:
    flight = flown(made((10, "pause partitions of g-1"), (20, "resume partitions of g-1")))
    assert read(flight, "orders-0", 10.1, 20) == read(flight, "orders-1", 10.1, 20) == 0
    beats = [one for one in flight.all(e.HeartbeatAnswered) if 11 * SECOND_US < one.at_us < 20 * SECOND_US]
    assert beats
    assert flight.document["groups"]["g"]["rebalances"] == 0
    assert read(flight, "orders-0", 20, 21) > 150


def test_buffered_records_are_kept_and_returned_first() -> None:
    """Records of a Fetch in flight are kept: the first ones after resume() need no fetch."""
    scenario = made((10, "pause partitions orders-0 of g-1"), (12, "resume partitions orders-0 of g-1"))
    flight = flown(scenario)
    (resumed,) = flight.all(e.PartitionsResumed)
    first = next(one for one in flight.all(e.PollReturned) if one.at_us >= resumed.at_us)
    assert (first.at_us, "orders-0" in first.positions) == (resumed.at_us, True)
    assert flight.document["delivery"]["unread"] == 0


@pytest.mark.parametrize(("assignors", "kept"), [(("range",), False), (COOPERATIVE, True)])
def test_an_eager_rebalance_forgets_the_pause_and_a_cooperative_one_keeps_it(
    assignors: tuple[str, ...], kept: bool
) -> None:
    """`SubscriptionState.assignFromSubscribed` keeps the state of partitions that stay, and no others."""
    scenario = made((10, "pause partitions of g-1"), (15, "scale g to 2"), assignors=assignors, until_s=26)
    flight = flown(scenario)
    (stays,) = flight.document["members"]["g-1"]["owned"]
    assert flight.document["members"]["g-1"]["paused_partitions"] == ([stays] if kept else [])
    assert (read(flight, stays, 20, 26) == 0) is kept
    (moved,) = flight.document["members"]["g-2"]["owned"]
    assert read(flight, moved, 20, 26) > 60
    assert bool(flight.all(e.FaultEnded)) is not kept


def test_the_fault_is_over_when_its_last_partition_is_not_paused_any_longer() -> None:
    steps = (
        (10, "pause partitions orders-0,orders-1 of g-1"),
        (12, "resume partitions orders-0 of g-1"),
        (14, "pause partitions orders-1 of g-1 for 3s"),  # the later command says when it is resumed
    )
    flight = flown(made(*steps))
    assert [one.text for one in flight.all(e.FaultStarted)] == [steps[0][1], steps[2][1]]
    assert [one.at_us for one in flight.all(e.FaultEnded)] == [14 * SECOND_US, 17 * SECOND_US]
    assert read(flight, "orders-0", 12.1, 17) > 0
    assert read(flight, "orders-1", 10.1, 17) == 0


@pytest.mark.parametrize("how", ["kill g-1 for 1s", "restart g-1", "stop g-1 for 1s"])
def test_the_next_process_has_paused_nothing(how: str) -> None:
    flight = flown(made((10, "pause partitions of g-1"), (15, how)))
    assert len(flight.all(e.FaultEnded)) == len(flight.all(e.FaultStarted))
    assert flight.document["members"]["g-1"]["paused_partitions"] == []
    assert read(flight, "orders-0", 20, 30) > 100


def test_what_the_consumer_throws_at_is_refused() -> None:
    steps = (
        (10, "pause partitions orders-1 of g-1"),
        (11, "resume partitions of g-1"),
        (12, "kill g-1"),
        (13, "pause partitions of g-1"),
    )
    flight = flown(made(*steps, members=2))
    assert reasons(flight) == [
        "IllegalStateException: No current assignment for partition orders-1 (g-2 owns it)",
        "g-1 has paused no partition",
        "g-1 is not running: start it first",
    ]


def test_a_consumer_that_called_assign_pauses_too() -> None:
    given = made((10, "pause partitions orders-0 of g-1 for 5s"))
    group = msgspec.structs.replace(given.groups[0], assign={"g-1": ("orders-0",)}, topics=())
    flight = flown(msgspec.structs.replace(given, groups=(group,)))
    assert (read(flight, "orders-0", 10.1, 15), read(flight, "orders-0", 15, 15.1)) == (0, 64)


def test_workers_that_resume_their_partitions_resume_those_too() -> None:
    """A consumer has one flag for each partition: resume(paused()) of the queue does not ask who paused it."""
    given = made((10, "pause partitions orders-0 of g-1"))
    application = ApplicationSpec(per_record_us=100_000, commit="async", worker_threads=2, queue=20)
    group = msgspec.structs.replace(given.groups[0], application=application)
    flight = flown(msgspec.structs.replace(given, groups=(group,)))
    assert flight.all(e.FaultEnded)
    assert read(flight, "orders-0", 20, 30) > 0


def test_a_frozen_or_stalled_member_pauses_when_it_polls_again() -> None:
    flight = flown(made((10, "stall g-1 for 1s"), (10.5, "pause partitions of g-1")))
    (paused,) = flight.all(e.PartitionsPaused)
    assert paused.at_us == 11 * SECOND_US


@pytest.mark.parametrize(
    "text",
    ["kill g-1 for 2s", "scale g to 3", "seek g orders-0 to 3", "pause g-1 for 9s", "add partitions orders to 4"],
)
def test_the_truth_agrees(text: str) -> None:
    for assignors in (("range",), COOPERATIVE):
        assert lies(made((8, "pause partitions of g-1"), (9, text), members=2, until_s=20, assignors=assignors)) == []


@pytest.mark.parametrize("broken", ["collects", "forgets"])
def test_the_invariant_sees_a_paused_partition_that_is_read(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: tuple[tuple[float, str], ...] = ((10, "pause partitions of g-1"),)
    if broken == "collects":
        monkeypatch.setattr(Fetcher, "pause", lambda *_: None)
    else:  # a partition that stays with its member loses its pause in a cooperative rebalance

        def gone(consumer: Consumer, partitions: tuple[str, ...]) -> None:
            del partitions
            consumer.fetcher.paused.clear()

        monkeypatch.setattr(Consumer, "partitions_gone", gone)
        steps = (*steps, (12, "scale g to 2"))
    scenario = made(*steps, assignors=COOPERATIVE)
    plan = Plan(scenario="t", text="", spec=scenario, settings=Settings(seed=1, until_us=scenario.until_us))
    (violation,) = fly(plan).invariants["violations"]
    assert violation["invariant"] == "G16"
