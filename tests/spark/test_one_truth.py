"""One truth, five readers: simulator = fold = `summary` = Spark's report = SQL of its own, of the same flights.

Totals, delivery, rebalances with what they cost, and lag at every second. The default run has some flights and a broken
cluster's; `-m slow` the library, twelve of the swarm's, every mutant's, and compacted topics under faults.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from cluster import events as e
from recordings.journal.reader import Recording
from recordings.spark.report import report
from recordings.tables.export import export
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import ALL, AT_LENGTH, EVERY_RUN
from tests.support.spark.progress import watch_sortie
from tests.support.spark.reader_facts import (
    DELETED,
    FROM_LOGS,
    PROCESSED,
    REREAD,
    UNOWNED,
    Facts,
    disagreements,
    of_fold,
    of_lines,
    of_report,
    of_simulator,
    of_tables,
)

READS_WHAT_IT_LEFT = {"mutant-keeps_what_is_not_in_its_target"}
"""The planted bug takes partitions out of a member's own list, which the simulator's count asks, while it reads on.

No event says that it lets them go: the log has an owner for them, and the four readers of the log must agree.
"""

ALONE = (
    "ahead-of-the-log", "at-least-once", "compacted-followers", "consumer-session-expired", "migration-rolling",
    "short-transaction-abort", "short-unclean-election", "swarm-7001",
)  # fmt: skip
"""Flights that each have other kinds of events."""

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy


@pytest.mark.parametrize("name", EVERY_RUN)
def test_five_readers_tell_the_same(name: str, every_run: FiveReaders) -> None:
    readers = every_run.readers(name)
    assert len(readers["simulator"]) > 60
    assert not disagreements(readers)


@pytest.mark.parametrize("name", ["led-twice", *(pytest.param(name, marks=pytest.mark.slow) for name in ALONE)])
def test_spark_tells_the_same_of_a_flight_alone(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """What a set has no event of is left out of the plan: among others, a flight is asked with their events' plan."""
    flight = watch_sortie(tmp_path, ALL[name])
    export([flight.path], tmp_path)
    alone = report([tmp_path], tmp_path / "out", spark=spark).report.flights[0]
    truth = of_simulator(flight) | of_lines(flight.path)
    assert not disagreements({"simulator": truth, "Spark": of_report(alone)})


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_five_readers_tell_the_same_of_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    readers = whole_fleet.readers(name)
    if name in READS_WHAT_IT_LEFT:
        readers["simulator"] |= {fact: count for fact, count in readers["fold"].items() if fact[0] == UNOWNED}
    assert not disagreements(readers)


@pytest.mark.slow
def test_the_flights_have_what_readers_may_get_wrong(every_run: FiveReaders) -> None:
    """Else five readers that all forgot the same thing would agree."""
    seen: dict[str, int] = {}
    for name in EVERY_RUN:
        for (what, group, second), count in every_run.readers(name)["simulator"].items():
            if group and second < 0:
                seen[what] = seen.get(what, 0) + count
    beside = ("delivered_unacknowledged", "delivered_then_lost", FROM_LOGS)
    for what in ("lost", "skipped", "unread", "duplicated", DELETED, *beside):
        assert seen[what] > 0, what
    assert seen["rebalances"] > 10
    assert seen[REREAD] > 0
    assert seen[UNOWNED] > 0


# --- readers that are wrong on purpose --------------------------------------------------------------------------------


def counts_markers(every_run: FiveReaders) -> Facts:
    """Control records are records to this fold."""
    events = Recording(every_run.flights["short-transaction-abort"].path).events()
    plain = (msgspec.structs.replace(one, marker="") if isinstance(one, e.RecordsAppended) else one for one in events)
    return of_fold(plain, every_run.flights["short-transaction-abort"].told["now_ms"] * 1000)


def forgets(table: str, name: str) -> Callable[[FiveReaders], Facts]:
    """The SQL without a table."""
    return lambda every_run: of_tables(every_run.tables, without=table)[every_run.flights[name].run_id]


def one_more(what: str, name: str) -> Callable[[FiveReaders], Facts]:
    """Spark's report with one number that is one too high."""

    def patched(every_run: FiveReaders) -> Facts:
        facts = every_run.readers(name)["Spark"]
        place = max(fact for fact in facts if fact[0] == what)
        return facts | {place: facts[place] + 1}

    return patched


def without_the_last_second(every_run: FiveReaders) -> Facts:
    """Spark's report, a second too short."""
    facts = every_run.readers("short-first-flight")["Spark"]
    last = max(second for _, _, second in facts)
    return {fact: count for fact, count in facts.items() if fact[2] != last}


def without_a_group_that_reads_nothing(every_run: FiveReaders) -> Facts:
    """Spark's report, where a group whose pattern matches no topic has no lag at all."""
    facts = every_run.readers("short-patterns")["Spark"]
    return {fact: count for fact, count in facts.items() if fact[1] != "nothing" or fact[2] < 0}


@pytest.mark.parametrize(
    ("name", "wrong", "about"),
    [
        ("short-transaction-abort", counts_markers, "appended"),
        ("short-add-partitions", forgets("partitions_added", "short-add-partitions"), "lag"),
        ("short-subscription-change", forgets("subscription_changed", "short-subscription-change"), "delivered"),
        ("short-patterns", forgets("topic_regex_resolved", "short-patterns"), "produced"),
        ("short-patterns", without_a_group_that_reads_nothing, "time lag"),
        ("short-unclean-election", forgets("records_lost", "short-unclean-election"), "delivered_then_lost"),
        ("short-unclean-election", forgets("records_lost", "short-unclean-election"), FROM_LOGS),
        ("unread-loss", one_more(FROM_LOGS, "unread-loss"), FROM_LOGS),
        ("short-offset-reset", forgets("log_start_advanced", "short-offset-reset"), "skipped"),
        ("short-offset-reset", forgets("log_start_advanced", "short-offset-reset"), DELETED),
        ("short-offset-reset", one_more(DELETED, "short-offset-reset"), DELETED),
        ("short-at-most-once", one_more(PROCESSED, "short-at-most-once"), PROCESSED),
        ("replaced-records", forgets("truncated_records_processed", "replaced-records"), "delivered"),
        ("truncated-records", forgets("truncated_records_processed", "truncated-records"), "delivered"),
        ("compacted-transactions-crash", forgets("log_compacted", "compacted-transactions-crash"), "lost"),
        ("compacted-fate-2009", forgets("log_compacted", "compacted-fate-2009"), "delivered"),
        ("compacted-followers", forgets("preferred_read_replica_changed", "compacted-followers"), "lost"),
        ("short-at-most-once", one_more("lost", "short-at-most-once"), "lost"),
        ("short-first-flight", one_more("rebalances", "short-first-flight"), "rebalances"),
        ("short-first-flight", one_more(REREAD, "short-first-flight"), REREAD),
        ("short-offset-reset", one_more(UNOWNED, "short-offset-reset"), UNOWNED),
        ("short-first-flight", one_more("time lag", "short-first-flight"), "time lag"),
        ("short-first-flight", without_the_last_second, "lag"),
    ],
)
def test_a_reader_that_is_wrong_is_caught(
    name: str, wrong: Callable[[FiveReaders], Facts], about: str, every_run: FiveReaders
) -> None:
    flight = every_run.flights[name]
    found = disagreements({"simulator": of_simulator(flight) | of_lines(flight.path), "wrong": wrong(every_run)})
    assert any(words.startswith(f"{about} ") for words in found), found
