"""Records that fail: attempts and backoffs, what becomes of the record, what waits behind it."""

from collections import Counter, defaultdict

import msgspec
import pytest

from cluster import events as e
from cluster.clients.application.dependency import Dependency
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
    spec = ApplicationSpec(fail=FailSpec(1.0), retries=RetriesSpec(100, SECOND_US, 10.0))
    failures = Failures(spec, 1, "g", Dependency())
    assert [failures.backoff_us(attempt) for attempt in (1, 2, 3)] == [SECOND_US, 10 * SECOND_US, 100 * SECOND_US]
    assert failures.backoff_us(100) == failures.backoff_us(99)


# --- a dependency that answers with an error --------------------------------------------------------------------------

OUTAGE = (6.0, "fail dependency of g for 2s")


def begun_in_outage(flight: Flown) -> list[e.RecordFailed]:
    return [one for one in flight.all(e.RecordFailed) if 6 * SECOND_US <= one.at_us < 8 * SECOND_US + 20 * MS]


def test_every_record_fails_while_the_dependency_does_and_none_before_or_after() -> None:
    flight = flown(failing(EXACT, OUTAGE, per_record_us=10 * MS))
    failed = flight.all(e.RecordFailed)
    assert failed == begun_in_outage(flight)
    assert all("its dependency answers with an error in " in one.reason for one in failed)
    done = [one for one in flight.all(e.RecordsProcessed, group="g") if one.at_us < 8 * SECOND_US]
    letters = {(one.partition, one.offset) for one in flight.all(e.RecordDeadLettered)}
    assert letters
    assert {(one.partition, one.first_offset) for one in done if one.at_us > 6 * SECOND_US + 10 * MS} <= letters
    assert flight.document["delivery"]["by_group"]["g"]["delivered"] == 100


def test_retries_that_outlast_the_outage_send_no_dead_letter() -> None:
    flight = flown(failing(EXACT, OUTAGE, retries=RetriesSpec(9, 400 * MS)))
    assert len({(one.partition, one.offset) for one in flight.all(e.RecordFailed)}) == 1  # the others wait behind it
    assert flight.all(e.RecordDeadLettered) == []
    counts = flight.document["delivery"]["by_group"]["g"]
    assert (counts["delivered"], counts["duplicated"]) == (100, 0)


@pytest.mark.parametrize(
    ("poison", "fail", "how"),
    [
        (None, None, "crash"),
        (PoisonSpec("99999", crashes=False), None, "skip"),
        (None, FailSpec(0.0001, crashes=False), "skip"),
    ],
)
def test_without_a_way_out_the_process_crashes_or_skips_as_at_other_failures(
    poison: PoisonSpec | None, fail: FailSpec | None, how: str
) -> None:
    plain = ApplicationSpec(commit="after-each-poll", restart_after_us=500 * MS)
    flight = flown(failing(plain, OUTAGE, until_s=90, poison=poison, fail=fail))
    crashed, skipped = flight.all(e.MemberStopped, how="crash"), flight.all(e.RecordSkipped)
    assert (bool(crashed), bool(skipped)) == (how == "crash", how == "skip")
    assert flight.document["delivery"]["by_group"]["g"]["lost"] == len(skipped)
    assert flight.document["delivery"]["by_group"]["g"]["unread"] == 0


def test_it_is_felt_within_a_second_of_work() -> None:
    """A poll() with much work: what is done before the outage counts, and the rest fails."""
    slow = ApplicationSpec(commit="after-each-poll", per_record_us=300 * MS, retries=RetriesSpec(50, 100 * MS))
    flight = flown(failing(slow, (12, "fail dependency of g for 3s"), until_s=60))
    first = flight.all(e.RecordFailed)[0]
    assert 12 * SECOND_US <= first.at_us <= 13.4 * SECOND_US
    quiet = [one for one in flight.all(e.RecordsProcessed, group="g") if first.at_us < one.at_us < 15 * SECOND_US]
    assert quiet == []


def test_the_command_that_restores_it_ends_both_faults() -> None:
    steps = (
        (5.0, "slow dependency of g to 50ms"),
        (6.0, "fail dependency of g"),
        (7.0, "restore dependency of g"),
        (8.0, "restore dependency of g"),
    )
    flight = flown(failing(EXACT, *steps))
    assert [one.at_us for one in flight.all(e.FaultEnded)] == [7 * SECOND_US] * 2
    assert [one.reason for one in flight.all(e.CommandRefused)] == ["the dependency of g is neither slow nor failing"]


def test_worker_threads_are_refused_a_failing_dependency_and_feel_a_slow_one() -> None:
    pool = ApplicationSpec(commit="async", per_record_us=5 * MS, worker_threads=1)
    flight = flown(applied(pool, (5, "fail dependency of g"), (6, "slow dependency of g to 1s for 20s"), until_s=25))
    (refused,) = flight.all(e.CommandRefused)
    assert refused.reason == "g has worker threads: only records met in poll() can fail"
    done = [one for one in flight.all(e.RecordsProcessed, group="g") if one.at_us > 8 * SECOND_US]
    assert 0 < sum(one.next_offset - one.first_offset for one in done) <= 18


@pytest.mark.parametrize("commit", ["auto", "after-each-poll", "async"])
def test_the_truth_agrees_about_an_outage(commit: CommitPolicy) -> None:
    steps = ((6, "fail dependency of g for 4s"), (7, "kill g-1 for 2s"), (8, "pause g-2 for 1s"))
    made = failing(EXACT, *steps, members=2, fail=FailSpec(0.3, 2), commit=commit)
    assert lies(made) == []
    bare = failing(ApplicationSpec(commit=commit, restart_after_us=SECOND_US), *steps, members=2)
    assert lies(bare) == []
