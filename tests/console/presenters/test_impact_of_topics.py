"""What creating a topic would hit, as `impact` says it, is what the groups of the flight do."""

import re

import msgspec
import pytest

from cluster import events as e
from cluster.commands import parse
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.presenters.impact import impact_of, preview, sentences
from console.presenters.impacts import topics
from console.presenters.styled_text import plain
from recordings.scenarios.loader import parse_scenario
from tests.support.command_texts import EVERY_FORM
from tests.support.completed_flight import Flown, flown

SECOND_US = 1_000_000
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


def view_before(flight: Flown, before_us: int) -> ClusterView:
    """The view of the events before an instant."""
    view = ClusterView()
    for event in flight.all(e.Event):
        if event.at_us >= before_us:
            break
        fold(view, event)
    return view


def said_before(flight: Flown) -> set[str]:
    """The sentences of impact, of the view just before the command."""
    impact = impact_of(view_before(flight, AT_US), parse(CREATE), AT_US, spec=scenario())
    return {words for _, words in sentences(impact)}


def wrong(flight: Flown) -> set[str]:
    """The sentences that the events after the command belie, or that are missing."""
    (created,) = flight.all(e.TopicCreated, topic="returns")
    expected = {f"returns begins empty: {created.partitions} partitions, {created.replication_factor} replicas"}
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


# --- commands that the cluster refuses --------------------------------------------------------------------------------

SMALL = """
title = "t"
until = "3s"
[cluster]
brokers = 2
config = { "default.replication.factor" = 3 }
[[topic]]
name = "orders"
replication = 1
[[topic]]
name = "late"
replication = 1
created = "2s"
[[producer]]
name = "w"
topics = ["orders"]
[[group]]
name = "g"
topics = ["orders"]
[[at]]
time = "2s"
do = "create topic returns replicas 1"
"""
NAMES = {"billing-1": "g-1", "billing": "g", "checkout": "w", "orders": "returns", "payments": "late"}


def before_it(spec: ScenarioSpec) -> ClusterView:
    """The view of a flight at 1 s, when neither topic is there."""
    return view_before(flown(spec), SECOND_US + 1)


def test_no_command_has_an_impact_on_a_topic_that_is_not_there_yet() -> None:
    spec = parse_scenario(SMALL, "t.toml").spec
    view = before_it(spec)
    renamed = {re.sub("|".join(NAMES), lambda name: NAMES[name[0]], text) for text in EVERY_FORM}
    about = [text for text in renamed if "returns" in text and not text.startswith("create topic")]
    assert len(about) > 12
    for text in about:
        command = parse(text)
        impact = impact_of(view, command, SECOND_US, spec=spec)
        assert impact.refused == "there is no topic returns yet: a step creates it at 2s", text
    late = impact_of(view, parse("add partitions late to 6"), SECOND_US, spec=spec)
    assert late.refused == "there is no topic late yet: the scenario creates it at 2s"
    shown = preview(view, spec.names(), SECOND_US, "set returns retention.ms 5s", spec=spec)
    assert plain(shown) == "would hit: nothing: there is no topic returns yet: a step creates it at 2s"
    unknown = impact_of(view, parse("add partitions returns to 6"), SECOND_US)
    assert unknown.refused == "there is no topic returns yet"


@pytest.mark.parametrize(
    "do",
    [
        "create topic bad",
        "create topic orders",
        "create topic bad replicas 3",
        "create topic bad replicas 1 config retention.ms=soon",
        "create topic bad replicas 1 partitions 60000",
        "create topic bad replicas 1 partitions 50000",
        "create topic bad assignment 1:2,1:3",
        "create topic bad assignment 1:1",
        "create topic bad assignment 1:2,1",
        "add partitions orders to 3 assignment 1,2",
        "add partitions orders to 2 assignment 1,1:2",
        "add partitions orders to 2 assignment 1,9",
    ],
)
def test_what_the_controller_refuses_is_refused_before_in_the_same_words(do: str) -> None:
    spec = parse_scenario(SMALL, "t.toml").spec
    step = msgspec.structs.replace(spec.steps[0], at_us=SECOND_US, command=parse(do), text=do)
    with_step = msgspec.structs.replace(spec, steps=(step,))
    (refused,) = flown(with_step).all(e.CommandRefused)
    view = before_it(spec)
    assert impact_of(view, parse(do), SECOND_US, spec=spec).refused == refused.reason


def test_the_size_of_a_topic_is_said_in_numbers() -> None:
    spec = parse_scenario(SMALL.replace("= 3 }", '= 2, "num.partitions" = 1_000 }'), "t.toml").spec
    view = before_it(spec)
    said = [words for _, words in sentences(impact_of(view, parse("create topic bad"), SECOND_US, spec=spec))]
    assert said == ["bad begins empty: 1,000 partitions, 2 replicas"]
    assigned = sentences(impact_of(view, parse("create topic bad assignment 1:2,2:1"), SECOND_US, spec=spec))
    assert assigned[0][1] == "bad begins empty: 2 partitions, 2 replicas"
    one = sentences(impact_of(view, parse("create topic bad partitions 1 replicas 1"), SECOND_US, spec=spec))
    assert one[0][1] == "bad begins empty: 1 partition, 1 replica"
