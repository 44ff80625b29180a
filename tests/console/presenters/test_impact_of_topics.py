"""What creating a topic would hit, as `impact` says it, is what the groups of the flight do."""

import msgspec
import pytest

from cluster import events as e
from cluster.commands import parse
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.presenters.impact import impact_of, sentences
from console.presenters.impacts import topics
from recordings.scenarios.loader import parse_scenario
from tests.support.completed_flight import Flown, flown

AT_US = 4_000_000
CREATE = "create topic returns partitions 2 replicas 3"
TEXT = f"""
title = "t"
until = "16s"
[cluster]
brokers = 3
config = {{ "offsets.topic.num.partitions" = 2, "group.initial.rebalance.delay.ms" = 0 }}
[[topic]]
name = "orders"
[[topic]]
name = "returns"
created = "10s"
[[group]]
name = "named"
topics = ["orders"]
[[group]]
name = "other"
topics = ["orders"]
[[group]]
name = "pattern"
topic_regex = "ret.*"
config = {{ "group.protocol" = "consumer" }}
[[at]]
time = "4s"
do = "{CREATE}"
"""


def scenario() -> ScenarioSpec:
    """`named` subscribes to a topic that does not exist yet, which Kafka's consumers may and a file may not."""
    made = parse_scenario(TEXT, "t.toml").spec
    groups = [msgspec.structs.replace(one, topics=("orders", "returns")) if one.name == "named" else one
              for one in made.groups]  # fmt: skip
    return msgspec.structs.replace(made, groups=tuple(groups))


def said_before(flight: Flown) -> set[str]:
    """The sentences of impact, of the view just before the command."""
    view = ClusterView()
    for event in flight.all(e.Event):
        if event.at_us >= AT_US:
            break
        fold(view, event)
    return {words for _, words in sentences(impact_of(view, parse(CREATE), AT_US))}


def wrong(flight: Flown) -> set[str]:
    """The sentences that the events after the command belie, or that are missing."""
    (created,) = flight.all(e.TopicCreated, topic="returns")
    expected = {f"returns begins empty: {created.partitions} partitions"}
    expected |= {f"{one.group} rebalances" for one in flight.all(e.RebalanceStarted) if one.at_us > AT_US}
    expected |= {
        f"{one.group} rebalances when its coordinator searches for {one.regex} again"
        for one in flight.all(e.TopicRegexResolved)
        if one.at_us > AT_US and "returns" in one.topics
    }
    return expected ^ said_before(flight)


def test_the_groups_that_impact_names_rebalance_and_no_others() -> None:
    flight = flown(scenario())
    assert len(said_before(flight)) == 3
    assert wrong(flight) == set()


def test_a_group_that_impact_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "_found", lambda model, topic: None)
    assert len(wrong(flown(scenario()))) == 2
