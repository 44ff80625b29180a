"""Topics that are created in flight: who learns of them when, and what happens without a live replica."""

from cluster import events as e
from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import parse_scenario
from tests.support.completed_flight import flown
from tests.support.random_flights import lies

SECOND_US = 1_000_000
TEXT = """
title = "t"
module = "groups"
lesson = "l"
until = "60s"
[cluster]
brokers = 3
[[topic]]
name = "orders"
partitions = 2
[[topic]]
name = "late"
partitions = 3
created = "20s"
[[producer]]
name = "p"
topics = ["orders"]
rate = "10/s"
[[producer]]
name = "q"
topics = ["late"]
rate = "10/s"
start = "30s"
[[group]]
name = "g"
topic_regex = ".*"
members = 2
config = { "group.protocol" = "consumer", "auto.offset.reset" = "earliest" }
"""


def spec(*steps: tuple[str, str]) -> ScenarioSpec:
    return parse_scenario(TEXT + "".join(f'[[at]]\ntime = "{at}"\ndo = "{do}"\n' for at, do in steps), "t.toml").spec


def test_the_view_is_the_truth_before_and_after_a_topic_is_created() -> None:
    assert lies(spec(("40s", "add partitions late to 4"))) == []


def test_a_topic_is_led_produced_to_and_read() -> None:
    flight = flown(spec())
    created = [fact for fact in flight.all(e.TopicCreated) if fact.at_us]
    assert [(fact.topic, fact.at_us) for fact in created] == [("late", 20 * SECOND_US)]
    led = [fact.partition for fact in flight.all(e.LeaderElected) if fact.reason == "created" and fact.at_us]
    assert led == ["late-0", "late-1", "late-2"]
    counts = flight.document["delivery"]["by_group"]["g"]
    assert counts["lost"] == counts["skipped"] == 0
    assert counts["delivered"] + counts["unread"] == counts["appended"] > 850


def test_an_administrator_tries_again_until_a_replica_of_each_partition_lives() -> None:
    kills = [("19s", f"kill broker-{number} for 10s") for number in (1, 2, 3)]
    (created,) = [fact for fact in flown(spec(*kills)).all(e.TopicCreated) if fact.at_us]
    assert created.at_us > 29 * SECOND_US


def test_a_command_on_a_topic_that_is_not_there_yet_is_refused() -> None:
    flight = flown(spec(("10s", "add partitions late to 4"), ("11s", "delete records late-0 before 1")))
    assert [fact.at_us // SECOND_US for fact in flight.all(e.CommandRefused)] == [10, 11]
