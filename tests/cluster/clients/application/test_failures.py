"""Records that fail: attempts and backoffs, what becomes of the record, what waits behind it."""

from collections import Counter, defaultdict

import msgspec
import pytest

from cluster import events as e
from cluster.clients.application.failures import Failures
from cluster.clients.consumer.application import Application
from cluster.spec import ApplicationSpec, CommitPolicy, FailSpec, PoisonSpec, RetriesSpec, ScenarioSpec, TopicSpec
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import MS, SECOND_US, applied, moving

TWICE = RetriesSpec(2, 100 * MS, 3.0)
EXACT = ApplicationSpec(commit="after-each-poll", retries=TWICE, dead_letter="letters")


def failing(
    base: ApplicationSpec, *steps: tuple[float, str], members: int = 1, until_s: float = 60, **changes: object
) -> ScenarioSpec:
    """100 records, ten a second; some fail. The group `undertaker` reads the dead letters."""
    made = applied(msgspec.structs.replace(base, **changes), *steps, members=members, until_s=until_s)
    undertaker = msgspec.structs.replace(
        made.groups[0], name="undertaker", topics=("letters",), members=1, application=ApplicationSpec()
    )
    topics = (*made.topics, TopicSpec("letters"))
    return msgspec.structs.replace(made, topics=topics, groups=(*made.groups, undertaker))


def fates(flight: Flown) -> dict[tuple[str, int], set[str]]:
    """What became of each record that failed at least once in group g, by its events alone."""
    found: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for one in flight.all(e.RecordFailed):
        found[one.partition, one.offset] |= set()
    for letter in flight.all(e.RecordDeadLettered):
        found[letter.partition, letter.offset].add("dead letter")
    for skipped in flight.all(e.RecordSkipped):
        found[skipped.partition, skipped.offset].add("skipped")
    dead = {place for place, fate in found.items() if fate}
    for done in flight.all(e.RecordsProcessed, group="g"):
        for offset in range(done.first_offset, done.next_offset):
            place = (done.partition, offset)
            if place in found and place not in dead:
                found[place].add("retry success")
    return dict(found)


def test_attempts_come_after_their_backoffs() -> None:
    flight = flown(failing(EXACT, poison=PoisonSpec("7"), per_record_us=10 * MS))
    attempts: defaultdict[tuple[str, int], list[e.RecordFailed]] = defaultdict(list)
    for one in flight.all(e.RecordFailed):
        attempts[one.partition, one.offset].append(one)
    assert len(attempts) > 3
    for tries in attempts.values():
        assert [(one.attempt, one.retry_us) for one in tries] == [(1, 100 * MS), (2, 300 * MS), (3, -1)]
        first, second, third = (one.at_us for one in tries)
        assert (second - first, third - second) == (110 * MS, 310 * MS)


@pytest.mark.parametrize("times", [None, 1, 2])
def test_each_failed_record_is_a_dead_letter_or_a_retry_success(times: int | None) -> None:
    flight = flown(failing(EXACT, fail=FailSpec(0.2, times)))
    ends = fates(flight)
    assert 8 <= len(ends) <= 35
    assert {frozenset(fate) for fate in ends.values()} == {
        frozenset({"dead letter" if times is None else "retry success"})
    }
    counts = flight.document["delivery"]["by_group"]
    assert (counts["g"]["delivered"], counts["g"]["lost"], counts["g"]["duplicated"]) == (100, 0, 0)
    letters = len(ends) if times is None else 0
    assert (counts["undertaker"]["delivered"], flight.document["topics"]["letters"]["records"]) == (letters, letters)


def test_a_record_that_is_dropped_silently_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The break that `fates` must show: the last attempt is forgotten, and nothing is done with the record."""
    monkeypatch.setattr(Application, "_give_up", lambda *_: iter(()))
    flight = flown(failing(EXACT, fail=FailSpec(0.2)))
    assert set() in fates(flight).values()
    assert flight.document["delivery"]["by_group"]["g"]["delivered"] < 100


@pytest.mark.parametrize("crashes", [True, False])
def test_without_a_dead_letter_topic_the_process_crashes_or_skips(crashes: bool) -> None:
    flight = flown(failing(EXACT, fail=FailSpec(0.2, crashes=crashes), dead_letter=None))
    assert bool(flight.all(e.MemberStopped, how="crash")) is crashes
    skipped = flight.all(e.RecordSkipped)
    assert bool(skipped) is not crashes
    assert flight.document["delivery"]["by_group"]["g"]["lost"] == len(skipped)


def test_a_record_that_is_read_again_fails_again_and_no_other_one() -> None:
    calm = flown(failing(EXACT, fail=FailSpec(0.2)))
    killed = flown(failing(EXACT, (6.0, "kill g-1 for 1s"), (9.0, "kill g-1 for 1s"), fail=FailSpec(0.2)))
    assert set(fates(calm)) == set(fates(killed))
    letters = Counter((one.partition, one.offset) for one in killed.all(e.RecordDeadLettered))
    again = sum(count - 1 for count in letters.values())
    counts = killed.document["delivery"]["by_group"]["undertaker"]
    assert (counts["delivered"], counts["duplicated"]) == (len(letters), again)


def test_retries_that_outlast_the_poll_interval_block_the_partition_and_end_the_membership() -> None:
    long = RetriesSpec(9, 3 * SECOND_US)
    made = failing(EXACT, poison=PoisonSpec("7"), retries=long)
    first, undertaker = made.groups
    first = msgspec.structs.replace(first, config=first.config | {"max.poll.interval.ms": 8_000})
    flight = flown(msgspec.structs.replace(made, groups=(first, undertaker)))
    assert flight.all(e.MemberRemoved, reason="poll interval exceeded")
    assert len({(one.partition, one.offset) for one in flight.all(e.RecordFailed)}) <= 2
    assert flight.document["groups"]["g"]["lag"] > 50


def test_a_dead_letter_is_part_of_its_transaction() -> None:
    made = moving((6.0, "kill g-1 for 1s"), (9.0, "kill g-1 for 1s"), until_s=60)
    first, audit = made.groups
    application = msgspec.structs.replace(
        first.application, poison=PoisonSpec("7"), retries=TWICE, dead_letter="letters"
    )
    first = msgspec.structs.replace(first, application=application)
    audit = msgspec.structs.replace(audit, topics=("invoices", "letters"))
    made = msgspec.structs.replace(made, groups=(first, audit), topics=(*made.topics, TopicSpec("letters")))
    flight = flown(made)
    counts = flight.document["delivery"]["by_group"]["audit"]
    assert (counts["delivered"] + counts["delivered_unacknowledged"], counts["duplicated"]) == (200, 0)
    assert flight.all(e.RecordDeadLettered)


@pytest.mark.parametrize("commit", ["auto", "after-each-poll", "never"])
def test_the_truth_agrees_about_failures(commit: CommitPolicy) -> None:
    steps = ((6, "kill g-1 for 2s"), (7, "pause g-2 for 3s"), (9, "kill broker-2 for 5s"))
    made = failing(EXACT, *steps, members=2, fail=FailSpec(0.3, 2), poison=PoisonSpec("3"), commit=commit)
    assert lies(made) == []


def test_backoffs_grow_to_the_longest_flight_and_no_further() -> None:
    failures = Failures(ApplicationSpec(fail=FailSpec(1.0), retries=RetriesSpec(100, SECOND_US, 10.0)), 1, "g")
    assert [failures.backoff_us(attempt) for attempt in (1, 2, 3)] == [SECOND_US, 10 * SECOND_US, 100 * SECOND_US]
    assert failures.backoff_us(100) == failures.backoff_us(99)
