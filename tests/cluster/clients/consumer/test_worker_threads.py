"""Worker threads behind poll(): the queue's bound, pause() and resume(), what is committed, and what a crash costs."""

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.fetcher import Fetcher
from cluster.config import Value
from cluster.spec import ApplicationSpec, CommitPolicy, ScenarioSpec
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import COOPERATIVE, SECOND_US, spec

QUEUE = 20


def pooled(
    *steps: tuple[float, str],
    until_s: float = 30,
    rate: float = 40.0,
    members: int = 1,
    commit: CommitPolicy = "after-each-poll",
    assignors: tuple[str, ...] = ("range",),
    consumer: dict[str, Value] | None = None,
) -> ScenarioSpec:
    """Two workers that take 100 ms for a record, 20 records a second: half of what is produced at 40."""
    config: dict[str, Value] = {"auto.offset.reset": "earliest", "max.poll.interval.ms": 2_000, **(consumer or {})}
    given = spec(*steps, until_s=until_s, members=members, rate=rate, consumer=config)
    application = ApplicationSpec(per_record_us=100_000, commit=commit, worker_threads=2, queue=QUEUE)
    group = msgspec.structs.replace(given.groups[0], application=application, assignors=assignors)
    return msgspec.structs.replace(given, groups=(group,))


def in_hand(flight: Flown) -> int:
    """The most records that were read and not yet processed."""
    most = records = 0
    for event in flight.all(e.Event):
        if isinstance(event, e.PollReturned):
            records += event.records
        elif isinstance(event, e.RecordsProcessed):
            records -= event.next_offset - event.first_offset
        most = max(most, records)
    return most


def test_a_full_queue_pauses_and_poll_is_never_late() -> None:
    flight = flown(pooled(consumer={"max.poll.records": 5}))
    assert QUEUE <= in_hand(flight) < QUEUE + 5
    paused, resumed = flight.all(e.PartitionsPaused), flight.all(e.PartitionsResumed)
    assert len(paused) > 5
    assert {one.partitions for one in paused} == {one.partitions for one in resumed} == {("orders-0", "orders-1")}
    assert flight.all(e.MemberRemoved) == []
    assert flight.document["groups"]["g"]["rebalances"] == 0


def test_two_workers_share_the_work() -> None:
    done = flown(pooled()).all(e.RecordsProcessed, 10 * SECOND_US)
    records = sum(one.next_offset - one.first_offset for one in done)
    assert 1.2 * 20 * 10 < records <= 20 * 20 + 20  # more than one worker could do, at most what two can


@pytest.mark.parametrize("commit", ["after-each-poll", "async"])
@pytest.mark.parametrize("how", ["kill", "restart", "pause"])
def test_a_commit_has_only_what_is_finished_and_a_crash_loses_nothing(commit: CommitPolicy, how: str) -> None:
    text = {"kill": "kill g-1 for 3s", "restart": "restart g-1", "pause": "pause g-1 for 9s"}[how]
    flight = flown(pooled((12.3, text), commit=commit))
    finished: dict[str, int] = {}
    for event in flight.all(e.Event):
        if isinstance(event, e.RecordsProcessed):
            finished[event.partition] = max(event.next_offset, finished.get(event.partition, 0))
        elif isinstance(event, e.OffsetsCommitted):
            assert all(offset <= finished[name] for name, offset in event.offsets.items()), event
    assert flight.document["delivery"]["lost"] == 0
    assert flight.document["delivery"]["duplicated"] <= 2 * 20  # two workers, a second of work each


def test_auto_commits_know_the_positions_only_and_a_crash_loses_the_queue() -> None:
    flight = flown(
        pooled((14, "kill g-1 for 3s"), commit="auto", consumer={"auto.commit.interval.ms": 500, "max.poll.records": 5})
    )
    assert 0 < flight.document["delivery"]["lost"] < QUEUE + 5


def test_a_stop_finishes_what_is_in_work_and_commits_it() -> None:
    flight = flown(pooled((12.35, "stop g-1")))
    (ended,) = flight.all(e.MemberStopped)
    assert 12.35 * SECOND_US < ended.at_us < 14 * SECOND_US
    assert flight.document["delivery"]["lost"] == 0
    done = max(one.next_offset for one in flight.all(e.RecordsProcessed, partition="orders-0"))
    assert flight.document["groups"]["g"]["committed"]["orders-0"] == done


@pytest.mark.parametrize(("assignors", "kept"), [(("range",), False), (COOPERATIVE, True)])
def test_a_rebalance_forgets_the_pause_of_what_is_revoked(assignors: tuple[str, ...], kept: bool) -> None:
    """Eager members give up everything, and fetch again at once; cooperative ones keep what stays, paused."""
    flight = flown(pooled((12.35, "scale g to 2"), assignors=assignors, until_s=20, consumer={"max.poll.records": 30}))
    gone = [one.at_us for one in flight.all(e.PartitionsRevoked, member="g-1")]
    held = [one for one in flight.all(e.PartitionsRevoked, member="g-1") if "orders-0" in one.partitions]
    assert gone
    assert bool(held) is not kept
    assert lies(pooled((12.35, "scale g to 2"), assignors=assignors, until_s=20)) == []


@pytest.mark.parametrize("text", ["kill g-1 for 2s", "stall g-1 for 4s", "seek g orders-0 to 3", "slow g-1 to 300ms"])
def test_the_truth_agrees(text: str) -> None:
    assert lies(pooled((8, text), members=2, until_s=20)) == []


def test_the_invariant_sees_a_paused_partition_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fetcher, "pause", lambda *_: None)
    scenario = pooled(until_s=10)
    plan = Plan(scenario="t", text="", spec=scenario, settings=Settings(seed=1, until_us=scenario.until_us))
    (violation,) = fly(plan).invariants["violations"]
    assert violation["invariant"] == "G16"
