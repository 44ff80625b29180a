"""A partition without a leader holds nothing up but itself: its reader goes on with the others, and rejoins."""

from itertools import pairwise

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.spec import ScenarioSpec, TopicSpec
from tests.support.completed_flight import flown
from tests.support.scenario_builders import MS, SECOND_US, group_of

ALONE = "kill broker-3"
"""broker-3 leads orders-2 and orders-5, of which it has the only replica."""


def on_one_replica(scenario: ScenarioSpec) -> ScenarioSpec:
    """The same with topics that have no followers."""
    topics = tuple(TopicSpec(topic.name, topic.partitions, 1) for topic in scenario.topics)
    return msgspec.structs.replace(scenario, topics=topics)


def test_what_has_a_leader_is_read_on() -> None:
    flight = flown(on_one_replica(group_of((15.0, ALONE), until_s=40, members=1)))
    assert flight.document["partitions"]["orders-2"]["leader"] == -1
    read = {event.partition for event in flight.all(e.RecordsProcessed, 38 * SECOND_US)}
    assert {"orders-0", "orders-1"} <= read
    assert "orders-2" not in read


def test_a_member_without_a_leader_to_ask_rejoins_all_the_same() -> None:
    """Its group's rebalance does not wait for it until max.poll.interval.ms, and it is not thrown out."""
    flight = flown(on_one_replica(group_of((15.0, ALONE), (20.0, "scale g to 3"), until_s=40, members=2)))
    assert flight.document["groups"]["g"]["state"] == "Stable"
    assert flight.document["groups"]["g"]["members"] == 3
    assert not flight.all(e.MemberRemoved)
    assert max(event.at_us for event in flight.all(e.GroupStabilized)) < 30 * SECOND_US


def test_a_member_that_wants_another_topic_forgets_the_partition_without_a_leader() -> None:
    """Of a topic that it does not subscribe to any more it never hears again: that must hold nothing up."""
    flight = flown(on_one_replica(group_of((15.0, ALONE), (20.0, "subscribe g-1 to payments"), members=1)))
    owned = flight.document["members"]["g-1"]["owned"]
    assert [name.split("-")[0] for name in owned] == ["payments"] * 6


def test_leaders_are_asked_for_once_in_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every retry.backoff.ms (100), not as fast as brokers answer.

    Each waits behind the Fetch that is parked at the broker asked, for fetch.max.wait.ms (500) at most: a connection
    that is ready is preferred, however busy (`NetworkClient.leastLoadedNode`).
    """
    asked: list[tuple[int, str]] = []
    refresh = Consumer.refresh_metadata

    async def seen(consumer: Consumer, topics: tuple[str, ...]) -> None:
        asked.append((consumer.timeline.now_us, consumer.name))
        await refresh(consumer, topics)

    monkeypatch.setattr(Consumer, "refresh_metadata", seen)
    flown(on_one_replica(group_of((15.0, ALONE), until_s=40, members=1)))
    late = [at_us for at_us, _ in asked if 30 * SECOND_US <= at_us < 35 * SECOND_US]
    gaps_us = [after - before for before, after in pairwise(late)]
    assert 8 <= len(late) <= 50
    assert 100 * MS <= min(gaps_us) < 110 * MS
    assert max(gaps_us) <= 610 * MS


def test_what_has_a_leader_gets_a_position_when_the_first_partition_has_none() -> None:
    """auto.offset.reset asks each leader; for what has none it asks again later."""
    steps = ((6.0, "kill g-1"), (8.0, "kill broker-1"), (25.0, "start g-1"))
    flight = flown(on_one_replica(group_of(*steps, members=1, consumer={"enable.auto.commit": False})))
    found = {name for event in flight.all(e.PositionsReset, 25 * SECOND_US) for name in event.positions}
    assert found == {"orders-1", "orders-2", "orders-4", "orders-5"}
