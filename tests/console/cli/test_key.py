"""`flightdeck key`: where a key goes, by each client's hash, now and after partitions are added."""

import json
from pathlib import Path
from zlib import crc32

import pytest

from recordings.flights.runner import make_plan, view_at
from recordings.scenarios.loader import load
from tests.support.console.command_processes import Flightdeck
from tests.support.minimal_scenario import SMALL


def test_both_hashes_now_and_after_adding(flightdeck: Flightdeck) -> None:
    ended = flightdeck("key", "42", "orders", "--partitions", "3,6")
    assert ended.code == 0
    java, librdkafka = (line for line in ended.out.splitlines() if "orders-" in line)
    assert "murmur2_random" in java
    assert java.split()[-3:] == ["orders-1", "orders-4", "(moves)"]
    assert "consistent_random" in librdkafka
    assert librdkafka.split()[-3:] == ["orders-2", "orders-2", "(stays)"]
    assert "The two hashes disagree" in ended.out


@pytest.mark.parametrize("key", ["customer-42", "Grüße", "-1", "\N{AIRPLANE}"])
def test_a_key_is_its_utf_8(flightdeck: Flightdeck, key: str) -> None:
    report = json.loads(flightdeck("key", key, "orders", "--partitions", "50", "--json").out)
    assert bytes.fromhex(report["bytes"]) == key.encode()
    assert report["placements"][0]["crc32"] == crc32(key.encode()) % 50
    assert report["placements"][0]["murmur2"] == (report["murmur2"] & 0x7FFF_FFFF) % 50


def test_an_empty_key_is_no_key_for_librdkafka(flightdeck: Flightdeck) -> None:
    assert json.loads(flightdeck("key", "", "t", "--partitions", "4", "--json").out)["placements"][0]["crc32"] is None
    told = flightdeck("key", "", "t", "--partitions", "4").out
    assert "any: an empty key is no key" in told
    assert "The two hashes disagree" not in told


def test_a_scenarios_steps_and_producers_are_told(flightdeck: Flightdeck) -> None:
    told = flightdeck("key", "7", "orders", "--scenario", "add-partitions").out
    assert "6 partitions from 00:01:00 on" in told
    assert "checkout  Java  its keys are the numbers 0 … 199, sent as text" in told
    mixed = flightdeck("key", "0", "tickets", "--scenario", "two-partitioners").out
    assert "use both hashes" in mixed
    assert "app    librdkafka, consistent_random" in mixed
    assert "use both hashes" not in flightdeck("key", "0", "accounts", "--scenario", "two-partitioners").out


def test_the_flight_writes_the_key_where_the_command_says(flightdeck: Flightdeck) -> None:
    report = json.loads(flightdeck("key", "0", "tickets", "--scenario", "two-partitioners", "--json").out)
    (place,) = report["placements"]
    view = view_at(make_plan(load("two-partitioners")), 5_000_000)
    written = {name for name, partition in view.partitions.items() if name.startswith("tickets-") and partition.log_end}
    assert written == {f"tickets-{place['murmur2']}", f"tickets-{place['crc32']}"}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["orders"], "give either --scenario SCENARIO or --partitions N[,N2]"),
        (["orders", "--partitions", "3", "--scenario", "first-flight"], "give either"),
        (["orders", "--partitions", "6,3"], "Kafka only adds partitions: 3 does not come after 6"),
        (["orders", "--partitions", "0"], "'0' is not a number of partitions: write 6, or 6,12"),
        (["orders", "--partitions", "3,"], "'' is not a number of partitions"),
        (["orders", "--partitions", "9999999999"], "is not a number of partitions"),
        ([" ", "--partitions", "3"], "the topic has no name"),
        (["order", "--scenario", "first-flight"], "the scenario has no topic 'order' (did you mean orders?)"),
        (["orders", "--scenario", "first-fligt"], "no scenario has this name (did you mean first-flight?)"),
    ],
)
def test_wrong_words(flightdeck: Flightdeck, words: list[str], reason: str) -> None:
    ended = flightdeck("key", "42", *words)
    assert ended.code == 2
    assert reason in ended.err


def test_a_producer_whose_keys_choose_nothing_says_why(flightdeck: Flightdeck, tmp_path: Path) -> None:
    producer = '[[producer]]\nname = "{}"\ntopics = ["orders"]\nkeys = {{ kind = "uniform", distinct = 1 }}\n{}\n'
    turns = producer.format("turns", 'config = { "partitioner.class" = "roundrobin" }')
    ignores = producer.format("ignores", 'config = { "partitioner.ignore.keys" = true }')
    path = tmp_path / "s.toml"
    path.write_text(SMALL + turns + ignores + producer.format("murmur", 'config = { partitioner = "murmur2_random" }'))
    told = flightdeck("key", "0", "orders", "--scenario", path).out
    assert "keys choose no partition: partitioner.class = RoundRobinPartitioner" in told
    assert "keys choose no partition: partitioner.ignore.keys = true" in told
    assert "librdkafka, murmur2_random  its keys are the number 0, sent as text" in told
