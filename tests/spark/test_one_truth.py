"""One truth, five readers: simulator = fold = `summary` = Spark's report = SQL of its own, of the same flights.

Totals, delivery, rebalances, and lag at every second. The default run has ten flights and a broken cluster's; `-m slow`
the whole library, fifty of the swarm's, and every mutant's.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from cluster import events as e
from recordings.export import export
from recordings.reader import Recording
from recordings.spark.report import report
from recordings.spark.report_data import Report
from recordings.summary import summarize
from tests.spark.command import Made
from tests.spark.fleet import ALL, EVERY_RUN
from tests.spark.tellings import (
    Facts,
    disagreements,
    of_fold,
    of_recording,
    of_report,
    of_simulator,
    of_summary,
    of_tables,
)
from tests.spark.watched import Watched, watch_sortie

pytestmark = pytest.mark.timeout(600)  # a Java virtual machine, and a machine that may be busy

THE_OTHERS = tuple(name for name in ALL if name not in EVERY_RUN)


class Told(msgspec.Struct):
    """Flights by name with what the simulator said of them, Spark's report of them all, the SQL's answers."""

    flights: dict[str, Watched]
    report: Report
    tables: Path
    by_sql: dict[str, Facts]

    def readers(self, name: str) -> dict[str, Facts]:
        """What each reader says of a flight."""
        flight = self.flights[name]
        [reported] = [each for each in self.report.flights if each.run_id == flight.run_id]
        return {
            "simulator": of_simulator(flight),
            "fold": of_recording(flight.path),
            "summary": of_summary(summarize(flight.path)),
            "Spark": of_report(reported),
            "SQL": self.by_sql[flight.run_id],
        }


@pytest.fixture(scope="session")
def told(made: Made, sorties: dict[str, Watched], tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The flights of every run."""
    place = tmp_path_factory.mktemp("truth")
    export([flight.path for flight in sorties.values()], place)
    return Told(sorties, made.report, place, of_tables(place))


@pytest.fixture(scope="session")
def told_at_length(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """All the others, in one report."""
    place = tmp_path_factory.mktemp("at-length")
    flights = {name: watch_sortie(place, ALL[name]) for name in THE_OTHERS}
    export([flight.path for flight in flights.values()], place)
    made = report([place], place / "out", spark=spark)
    return Told(flights, made.report, place, of_tables(place))


@pytest.mark.parametrize("name", EVERY_RUN)
def test_five_readers_tell_the_same(name: str, told: Told) -> None:
    readers = told.readers(name)
    assert len(readers["simulator"]) > 60
    assert not disagreements(readers)


@pytest.mark.slow
@pytest.mark.parametrize("name", THE_OTHERS)
def test_five_readers_tell_the_same_of_every_flight(name: str, told_at_length: Told) -> None:
    assert not disagreements(told_at_length.readers(name))


def test_the_flights_have_what_readers_may_get_wrong(told: Told) -> None:
    """Else five readers that all forgot the same thing would agree."""
    seen: dict[str, int] = {}
    for name in EVERY_RUN:
        for (what, group, second), count in told.readers(name)["simulator"].items():
            if group and second < 0:
                seen[what] = seen.get(what, 0) + count
    for what in ("lost", "skipped", "unread", "duplicated", "delivered_unacknowledged", "delivered_then_lost"):
        assert seen[what] > 0, what
    assert seen["rebalances"] > 10


# --- readers that are wrong on purpose --------------------------------------------------------------------------------


def counts_markers(told: Told) -> Facts:
    """Control records are records to this fold."""
    events = Recording(told.flights["transaction-abort"].path).events()
    plain = (msgspec.structs.replace(one, marker="") if isinstance(one, e.RecordsAppended) else one for one in events)
    return of_fold(plain, told.flights["transaction-abort"].told["now_ms"] * 1000)


def forgets(table: str, name: str) -> Callable[[Told], Facts]:
    """The SQL without a table."""
    return lambda told: of_tables(told.tables, without=table)[told.flights[name].run_id]


def one_more(what: str, name: str) -> Callable[[Told], Facts]:
    """Spark's report with one number that is one too high."""

    def patched(told: Told) -> Facts:
        facts = told.readers(name)["Spark"]
        place = max(fact for fact in facts if fact[0] == what)
        return facts | {place: facts[place] + 1}

    return patched


def without_the_last_second(told: Told) -> Facts:
    """Spark's report, a second too short."""
    facts = told.readers("first-flight")["Spark"]
    last = max(second for _, _, second in facts)
    return {fact: count for fact, count in facts.items() if fact[2] != last}


@pytest.mark.parametrize(
    ("name", "wrong", "about"),
    [
        ("transaction-abort", counts_markers, "appended"),
        ("add-partitions", forgets("partitions_added", "add-partitions"), "lag"),
        ("subscription-change", forgets("subscription_changed", "subscription-change"), "delivered"),
        ("unclean-election", forgets("records_lost", "unclean-election"), "delivered_then_lost"),
        ("offset-reset", forgets("log_start_advanced", "offset-reset"), "skipped"),
        ("at-most-once", one_more("lost", "at-most-once"), "lost"),
        ("first-flight", one_more("rebalances", "first-flight"), "rebalances"),
        ("first-flight", one_more("time lag", "first-flight"), "time lag"),
        ("first-flight", without_the_last_second, "lag"),
    ],
)
def test_a_reader_that_is_wrong_is_caught(name: str, wrong: Callable[[Told], Facts], about: str, told: Told) -> None:
    found = disagreements({"simulator": of_simulator(told.flights[name]), "wrong": wrong(told)})
    assert any(words.startswith(f"{about} ") for words in found), found
