"""A flight described by Kafka's tools and imported again: what must be the same in both, taken from each by itself."""

from collections.abc import Iterator

from cluster.events import Event
from cluster.spec import INTERNAL_TOPICS, ScenarioSpec
from cluster.view import ClusterView
from cluster.view.fold import fold
from recordings.flights.runner import fly, make_plan
from recordings.importing.draft import ClusterDraft
from recordings.importing.make import Imported, scenario_of
from recordings.importing.tool_output import read_tool_output
from recordings.kafka_tools.group_descriptions import coordinator_of, exists
from recordings.kafka_tools.look import LookedAtFlight, configs_of, line_of, look, no_log
from recordings.kafka_tools.tool_lines import read_tool_line
from recordings.scenarios.loader import Scenario

SUBJECTS = (
    ("topics", ""),
    ("groups", "--state --verbose"),
    ("groups", ""),
    ("groups", "--members --verbose"),
    ("configs", "--entity-type topics"),
)


def flown(scenario: Scenario) -> ClusterView:
    """The view at the end of a scenario's flight."""
    view = ClusterView()

    def take(event: Event) -> None:
        fold(view, event)

    fly(make_plan(scenario, invariants=False), log=take)
    return view


def described(view: ClusterView, spec: ScenarioSpec) -> list[str]:
    """What the tools print of a view, a text for each subject."""
    flight = LookedAtFlight(view, 0, configs_of(spec, view), no_log)
    lines = (read_tool_line(line_of(subject, options)) for subject, options in SUBJECTS)
    return [look(flight, line).streams.strip("\n") for line in lines]


def imported(texts: list[str]) -> Imported:
    """A scenario of what the tools have printed; an empty text has nothing to be read."""
    draft = ClusterDraft()
    for number, text in enumerate(texts):
        if text:
            read_tool_output(text, f"{number}.txt", draft)
    return scenario_of(draft, "again", "")


def in_view(view: ClusterView) -> Iterator[tuple[object, ...]]:
    """Topics and groups of a view, without the topics that every cluster makes for itself."""
    for topic in view.topics.values():
        if topic.internal:
            yield "replicas", topic.topic, tuple(_alike(view, topic.topic, topic.partitions))
        if topic.topic not in ("__consumer_offsets", "__transaction_state"):
            yield "topic", topic.topic, topic.partitions, topic.replication_factor
            yield "replicas", topic.topic, tuple(_alike(view, topic.topic, topic.partitions))
    for group in view.groups.values():
        if exists(group) and coordinator_of(view, group) >= 0:
            yield "group", group.group, len(group.members), group.consumer is not None


def _alike(view: ClusterView, topic: str, partitions: int) -> list[tuple[int, ...]]:
    """The brokers of each partition, where a reassignment leads; empty if not all partitions have as many."""
    known = [view.partitions[f"{topic}-{number}"] for number in range(partitions)]
    lists = [tuple(broker for broker in one.replicas if broker not in one.removing) for one in known]
    return lists if len({len(replicas) for replicas in lists}) == 1 else []


def in_scenario(spec: ScenarioSpec) -> Iterator[tuple[object, ...]]:
    """Topics and groups of a scenario."""
    for topic in spec.topics:
        yield "topic", topic.name, topic.partitions, topic.replication
        yield "replicas", topic.name, topic.replica_assignment
    for name in INTERNAL_TOPICS:
        yield "replicas", name, spec.internal_assignment.get(name, ())
    for group in spec.groups:
        yield "group", group.name, group.members, group.config.get("group.protocol") == "consumer"
