"""Scenario files: defaults, every field, files and names, and the library. Errors: `test_scenario_errors.py`."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.commands import Kill, Scale
from cluster.spec import (
    ArrivalsSpec,
    AutoscalerSpec,
    BrokerSpec,
    KeysSpec,
    LinkSpec,
    NetworkSpec,
    PoisonSpec,
    ScenarioSpec,
)
from recordings.scenarios.loader import ScenarioErrors, library, list_scenarios, load, parse_scenario
from recordings.scenarios.parser import read_scenario
from recordings.scenarios.toml_lines import Place, locate
from recordings.scenarios.toml_tables import Problem
from tests.support.minimal_scenario import MINIMAL

KAFKAS_DEFAULT = ("range", "cooperative-sticky")


def read(text: str) -> ScenarioSpec:
    """What a text says, built or not; it must have the right structure."""
    problems: list[Problem] = []
    spec = read_scenario(tomllib.loads(text), problems, locate(text), [])
    assert problems == []
    return spec


# --- what is right ------------------------------------------------------------------------------------------------


def test_defaults_are_the_contracts() -> None:
    scenario = parse_scenario(MINIMAL, "dir/a-name.toml")
    spec = scenario.spec
    assert (scenario.name, scenario.text) == ("a-name", MINIMAL)
    assert (spec.module, spec.lesson, spec.seed, spec.until_us) == ("other", "", 1, 300_000_000)
    assert spec.brokers == (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3))
    assert spec.network == NetworkSpec(1_000, 0.2, ())
    assert (spec.startup_us, spec.start_jitter_us) == (6_000_000, 100_000)
    topic, producer, group = spec.topics[0], spec.producers[0], spec.groups[0]
    assert (topic.partitions, topic.replication, topic.config) == (4, 3, {})
    assert (producer.count, producer.rate_per_second, producer.limit) == (1, 10.0, None)
    assert (producer.arrivals, producer.keys) == (ArrivalsSpec(), KeysSpec())
    assert (producer.size_bytes, producer.start_us, producer.transactions) == (1_024, 0, None)
    assert (group.stagger_us, group.start_us, group.static, group.assignors) == (0, 0, False, KAFKAS_DEFAULT)
    assert (group.application.per_record_us, group.application.jitter, group.application.commit) == (0, 0.0, "auto")
    assert (producer.instances(), group.instances()) == (("checkout-1",), ("billing-1", "billing-2"))
    assert group.topics_of("billing-2") == ("orders",)


def test_replication_is_at_most_the_brokers_when_the_file_does_not_say() -> None:
    assert read('title = "t"\n[cluster]\nbrokers = 2\n[[topic]]\nname = "a"').topics[0].replication == 2


EVERY_FIELD = """\
title = "t"
module = "groups"
lesson = "l"
seed = 7
until = "10m"
start_jitter = "0ms"
[cluster]
brokers = [{ id = 4, rack = "b" }, { id = 1 }]
startup = "45s"
config = { "group.initial.rebalance.delay.ms" = 0, "transaction.version" = 1 }
[network]
latency = "2ms"
jitter = 0.0
links = [{ between = ["broker-1", "broker-4"], latency = "20ms" }]
[[producer]]
name = "checkout"
topics = ["orders"]
count = 2
rate = "3/m"
limit = 1000
arrivals = [["0s", "200/s"], ["30s", "0/s"]]
keys = { kind = "hot", distinct = 10, share = 0.9 }
size = "512B"
start = "5s"
config = { "linger.ms" = 5, acks = "all" }
transactions = { id = "checkout-{n}", records = 50, abort = 0.1, on_abort = "retry" }
[[group]]
name = "billing"
subscriptions = { "billing-1" = ["orders"], "billing-2" = ["orders", "payments"] }
members = 2
stagger = "100ms"
startup = "35s"
ready = "joined"
autoscaler = { lag_per_member = 100, min = 2, max = 10, every = "30s", stabilization = "2m" }
start = "1s"
static = true
assignors = ["cooperative-sticky", "range"]
[group.config]
session.timeout.ms = 10000
isolation.level = "read_committed"
[group.application]
per_record = "2ms"
jitter = 0.5
commit = "transaction"
writes = "invoices"
sink = "database"
poison = { key = "42", crashes = false }
restart_after = "5s"
[[at]]
time = "60s"
do = "kill broker 1 for 20s"
[[expect]]
event = "rebalance_started"
where = { group = "billing" }
from = "1s"
to = "2s"
count = 3
[[expect]]
that = "delivery.lost == 0"
always = true
from = "60s"
"""


def test_every_field_of_the_contract_is_read() -> None:
    spec = read(EVERY_FIELD)
    assert (spec.module, spec.lesson, spec.seed, spec.until_us) == ("groups", "l", 7, 600_000_000)
    assert spec.brokers == (BrokerSpec(1), BrokerSpec(4, "b"))
    assert (spec.startup_us, spec.start_jitter_us) == (45_000_000, 0)
    assert spec.config == {"group.initial.rebalance.delay.ms": 0, "transaction.version": 1}
    assert spec.network == NetworkSpec(2_000, 0.0, (LinkSpec(("broker-1", "broker-4"), 20_000),))
    producer, group = spec.producers[0], spec.groups[0]
    assert producer.arrivals == ArrivalsSpec("profile", ((0, 200.0), (30_000_000, 0.0)))
    assert producer.keys == KeysSpec("hot", distinct=10, share=0.9)
    assert (producer.rate_per_second, producer.limit, producer.size_bytes) == (0.05, 1000, 512)
    assert producer.config == {"linger.ms": 5, "acks": "all"}
    assert producer.transactions is not None
    assert producer.transactions.id_of(2) == "checkout-2"
    assert producer.transactions.on_abort == "retry"
    assert group.topics_of("billing-1") == ("orders",)
    assert (group.stagger_us, group.start_us, group.static) == (100_000, 1_000_000, True)
    assert (group.startup_us, group.ready) == (35_000_000, "joined")
    assert group.autoscaler == AutoscalerSpec(100, 2, 10, 30_000_000, 120_000_000)
    assert group.assignors == ("cooperative-sticky", "range")
    assert group.config == {"session.timeout.ms": 10_000, "isolation.level": "read_committed"}
    application = group.application
    assert (application.commit, application.writes, application.sink) == ("transaction", "invoices", "database")
    assert (application.poison, application.restart_after_us) == (PoisonSpec("42", crashes=False), 5_000_000)
    assert (spec.steps[0].command, spec.steps[0].text) == (Kill("broker-1", 20_000_000), "kill broker-1 for 20s")
    counted, always = spec.expectations
    assert (counted.event, counted.where, counted.count) == ("rebalance_started", {"group": "billing"}, 3)
    assert (counted.from_us, counted.to_us) == (1_000_000, 2_000_000)
    assert EVERY_FIELD.splitlines()[counted.line - 1 : counted.line + 1] == [
        "[[expect]]",
        'event = "rebalance_started"',
    ]
    assert (always.that, always.always, always.from_us) == ("delivery.lost == 0", True, 60_000_000)


def test_what_the_file_says_in_its_own_words_reaches_kafkas_keys() -> None:
    group = read(MINIMAL + 'static = true\nassignors = ["sticky"]\n[group.application]\ncommit = "async"').groups[0]
    config = group.consumer_config("billing-2")
    assert config["enable.auto.commit"] is False
    assert config["group.instance.id"] == "billing-2"
    assert config["partition.assignment.strategy"] == ("sticky",)
    assert config["session.timeout.ms"] == 45_000


def test_enable_auto_commit_false_alone_means_that_nobody_commits() -> None:
    group = read(MINIMAL + 'config = { "enable.auto.commit" = false }').groups[0]
    assert group.application.commit == "never"


def test_names_count_what_a_step_scales_to() -> None:
    text = MINIMAL + '[[at]]\ntime = "1s"\ndo = "scale billing to 4"\n[[at]]\ntime = "9s"\ndo = "kill billing-4"\n'
    spec = parse_scenario(text, "f.toml").spec
    assert spec.steps[0].command == Scale("billing", 4)
    assert spec.names().groups["billing"][-1] == "billing-4"
    assert spec.names().scopes() == (
        *("cluster", "broker-1", "broker-2", "broker-3", "orders", "billing", "checkout"),
        *spec.names().members(),
    )


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(ScenarioErrors, match=r"nowhere\.toml: it cannot be read: No such file"):
        load(tmp_path / "nowhere.toml")
    with pytest.raises(ScenarioErrors, match=r"it is a directory; name the files in it"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(ScenarioErrors, match="it is not text in UTF-8"):
        load(str(tmp_path / "latin.toml"))


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(
        ScenarioErrors, match=r"^first-fligth: no scenario has this name \(did you mean first-flight\?\)$"
    ):
        load("first-fligth")


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL)
    assert load(path).name == "mine"
    assert load(str(path)).spec.title == "t"


# --- the library --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", library())
def test_every_scenario_of_the_library_loads(name: str) -> None:
    scenario = load(name)
    assert scenario.name == name
    assert scenario.spec.lesson
    assert scenario.spec.expectations or name.startswith("reference-")


def test_the_library_is_listed_as_the_contract_says() -> None:
    listed = list_scenarios()
    assert [each["name"] for each in listed] == sorted(library())
    assert all(list(each) == ["name", "title", "lesson", "module", "until"] for each in listed)
    flight = next(each for each in listed if each["name"] == "first-flight")
    assert (flight["module"], flight["until"]) == ("start", "10m")


# --- lines --------------------------------------------------------------------------------------------------------


def every_place(data: object, place: Place = ()) -> Iterator[tuple[Place, str | None]]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield (*place, key), key if isinstance(key, str) else None
        yield from every_place(value, (*place, key))


@pytest.mark.parametrize("name", library())
def test_every_key_of_the_library_is_found_on_a_line_that_has_it(name: str) -> None:
    text = load(name).text
    lines, found = text.splitlines(), locate(text)
    for place, key in every_place(tomllib.loads(text)):
        assert key is None or key in lines[found[place] - 1]


TRICKY = r"""# a comment [[topic]]
a."b.c".'d' = 1 # and = another
s = '''
[not] = "a table" "" ''
''' # over
l = [ # one
  { x = 1, "y]" = ['}', "]\""] },
  1979-05-27 07:32:00, # two
]
[t.u]
k = "it's # not [a comment]"
[[t.v]]
[[t.v]]
w.x = true
[t.v.deep]
z = [[1,
2]]
"""


def test_lines_of_whatever_toml_allows() -> None:
    for text in (TRICKY, TRICKY.replace("\n", "\r\n")):
        found = locate(text)
        for place, _ in every_place(tomllib.loads(text)):
            assert place in found
        assert found["a", "b.c", "d"] == 2
        assert (found["l",], found["l", 0, "y]"], found["l", 1]) == (6, 7, 8)
        assert (found["t", "v", 0], found["t", "v", 1], found["t", "v", 1, "w", "x"]) == (12, 13, 14)
        assert (found["t", "v", 1, "deep", "z", 0, 0], found["t", "v", 1, "deep", "z", 0, 1]) == (16, 17)
