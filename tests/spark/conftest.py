"""One Spark for the whole run, and a few flights in its tables: an eventful one, and random clusters with faults."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from recordings.flights.runner import Plan, fly, make_plan
from recordings.journal.format import Settings
from recordings.scenarios.loader import parse_scenario
from recordings.spark.report import report
from recordings.spark.runtime.session import spark_session
from recordings.spark.tables import Tables
from recordings.tables.export import export
from tests.support.random_flights import random_spec
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import ALL, EVERY_RUN
from tests.support.spark.folded_view import Folded, folded
from tests.support.spark.progress import Watched, fly_watched, watch_sortie
from tests.support.spark.rare_events import record_rare
from tests.support.spark.reader_facts import of_tables
from tests.support.spark.report_command import Made, make_report

EVENTFUL = """
title = "Everything happens"
seed = 5
until = "90500ms"

[[topic]]
name = "orders"
partitions = 5
replication = 3
config = { "min.insync.replicas" = 2 }
[[topic]]
name = "payments"
partitions = 2
replication = 3

[[producer]]
name = "checkout"
topics = ["orders", "payments"]
count = 2
rate = "40/s"
keys = { kind = "uniform" }

[[group]]
name = "billing"
topics = ["orders", "payments"]
members = 3
config = { "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000, "heartbeat.interval.ms" = 1000 }
[group.application]
per_record = "2ms"
[[group]]
name = "audit"
topics = ["orders"]
members = 2
start = "3s"
config = { "auto.offset.reset" = "latest", "session.timeout.ms" = 10000 }

[[at]]
time = "15s"
do = "kill billing-2"
[[at]]
time = "28s"
do = "start billing-2"
[[at]]
time = "35s"
do = "kill broker-1"
[[at]]
time = "55s"
do = "start broker-1"
[[at]]
time = "60s"
do = "mark \\"here\\""
[[at]]
time = "62s"
do = "scale audit to 4"
[[at]]
time = "70s"
do = "stall billing-1 for 8s"
"""
NEW_PROTOCOL = """
title = "Groups of the consumer protocol"
seed = 3
until = "60500ms"
start_jitter = "0ms"

[cluster]
brokers = 3
config = { "group.consumer.min.session.timeout.ms" = 6000, "group.consumer.session.timeout.ms" = 6000 }

[[topic]]
name = "orders"
partitions = 6
replication = 3

[[producer]]
name = "checkout"
topics = ["orders"]
rate = "30/s"

[defaults.group]
topics = ["orders"]
config = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest", "max.poll.interval.ms" = 12000 }

[[group]]
name = "billing"
members = 3

[[group]]
name = "audit"
members = 2
static = true

[[group]]
name = "lone"

[[at]]
time = "8s"
do = "stall billing-1 for 8s"
[[at]]
time = "10s"
do = "scale billing to 4"
[[at]]
time = "20s"
do = "kill billing-2"
[[at]]
time = "21s"
do = "stop audit-1 for 3s"
[[at]]
time = "30s"
do = "kill broker-2"
[[at]]
time = "35s"
do = "add partitions orders to 7"
[[at]]
time = "37s"
do = "start billing-2"
[[at]]
time = "40s"
do = "pause billing-3 for 10s"
[[at]]
time = "45s"
do = "start broker-2"
[[at]]
time = "50s"
do = "stop audit-2"
"""
SEEDS = (2, 13, 34, 48, 82)  # and the watched one


def random_plan(seed: int) -> Plan:
    """A plan of one of the random flights that the simulator is tested with."""
    spec = random_spec(seed)
    settings = Settings(seed=seed, until_us=spec.until_us)
    return Plan(scenario=f"random-{seed}", text=f'title = "{spec.title}"', spec=spec, settings=settings)


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spark") / "eventful.flight"
    fly(make_plan(parse_scenario(EVENTFUL, "eventful.toml")), record=path)
    return path


@pytest.fixture(scope="session")
def rare(eventful: Path) -> Path:
    path = eventful.with_name("rare.flight")
    record_rare(path)
    return path


@pytest.fixture(scope="session")
def watched(eventful: Path) -> Watched:
    return fly_watched(eventful.with_name("watched.flight"))


@pytest.fixture(scope="session")
def recorded(eventful: Path, rare: Path, watched: Watched) -> list[Path]:
    """All recordings, the eventful one first."""
    new_protocol = eventful.with_name("new-protocol.flight")
    fly(make_plan(parse_scenario(NEW_PROTOCOL, "new-protocol.toml")), record=new_protocol)
    paths = [eventful, rare, watched.path, new_protocol]
    for seed in SEEDS:
        paths.append(eventful.with_name(f"random-{seed}.flight"))
        fly(random_plan(seed), record=paths[-1])
    return paths


@pytest.fixture(scope="session")
def sorties(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Watched]:
    """Flights of which all readers must say the same, by name."""
    place = tmp_path_factory.mktemp("sorties")
    return {name: watch_sortie(place, ALL[name]) for name in EVERY_RUN}


@pytest.fixture(scope="session")
def made(recorded: list[Path], sorties: dict[str, Watched], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """What `flightdeck report` makes of the eventful, the rare and the watched flight, and of the `sorties`."""
    flights = [*recorded[:3], *(flight.path for flight in sorties.values())]
    return make_report(flights, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def truths(recorded: list[Path]) -> Mapping[str, Folded]:
    """What the fold makes of each flight, by its run id."""
    return {each.run_id: each for each in map(folded, recorded)}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """While it lives other tests run in this process too, and some interrupt themselves: that is not for PySpark."""
    heard = signal.getsignal(signal.SIGINT)
    with spark_session("local[2]", name="tests") as session:
        signal.signal(signal.SIGINT, heard)
        yield session


@pytest.fixture(scope="session")
def tables(spark: SparkSession, recorded: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Tables:
    place = tmp_path_factory.mktemp("exported")
    export(recorded, place)
    return Tables(spark, [str(place)])


@pytest.fixture(scope="session")
def every_run(made: Made, sorties: dict[str, Watched], tmp_path_factory: pytest.TempPathFactory) -> FiveReaders:
    """The flights of every run."""
    place = tmp_path_factory.mktemp("truth")
    export([flight.path for flight in sorties.values()], place)
    return FiveReaders(sorties, made.report, place, of_tables(place))


@pytest.fixture(scope="session")
def whole_fleet(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> FiveReaders:
    """All the others that a test of this run asks for, in one report."""
    place = tmp_path_factory.mktemp("at-length")
    flights = {name: watch_sortie(place, ALL[name]) for name in _asked_for(request.session, "whole_fleet")}
    export([flight.path for flight in flights.values()], place)
    made = report([place], place / "out", spark=spark)
    return FiveReaders(flights, made.report, place, of_tables(place))


def _asked_for(session: pytest.Session, fixture: str) -> list[str]:
    """The names of flights that the tests of this run take from a fixture."""
    tests = [item for item in session.items if isinstance(item, pytest.Function) and fixture in item.fixturenames]
    return sorted({str(item.callspec.params["name"]) for item in tests})
