"""Places of topics, brokers and links with one false statement each."""

import pytest

from cluster.spec import ScenarioSpec
from cluster.view.brokers import BrokerView
from cluster.view.state import ClusterView, FaultView, GroupView, PartitionView
from console.presenters import active_faults, formatting, impact, overview
from console.presenters.impact import Impact
from console.presenters.styled_text import Line, line
from console.presenters.topology import broker, brokers, links, topic_configuration, topics
from console.presenters.topology.topic_configuration import ConfiguredKey

Patch = pytest.MonkeyPatch


def every_leader_is_up(patch: Patch) -> None:
    """The controller's leader is shown as if its process ran."""

    def leader_words(brokers: dict[int, BrokerView], partition: PartitionView, room: int) -> Line:
        del brokers, room
        return line(f"broker-{partition.leader}" if partition.leader >= 0 else "✖ no leader")

    for module in (topics, broker):
        patch.setattr(module, "leader_words", leader_words)


def replicas_are_all_in_sync(patch: Patch) -> None:
    """The assignment is shown as the in-sync replicas."""

    def isr_words(partition: PartitionView, least: int) -> Line:
        del least
        return line(",".join(map(str, sorted(partition.replicas))))

    for module in (topics, broker):
        patch.setattr(module, "isr_words", isr_words)


def offsets_are_rounded(patch: Patch) -> None:
    """The last stable offset and the high watermark differ by less than a hundred, and look the same."""
    patch.setattr(topics, "whole_offset", formatting.count)


def load_is_counted_by_offsets(patch: Patch) -> None:
    """Markers count as records, and deleted records as none."""

    def appended(self: topics.TopicPartitionsListing, view: ClusterView) -> None:
        self.appended = sum(one.log_end for one in view.partitions.values() if one.topic == self.topic.topic)

    original = topics.TopicPartitionsListing.__init__

    def init(self: topics.TopicPartitionsListing, view: ClusterView, *rest: object) -> None:
        original(self, view, *rest)  # type: ignore[arg-type]
        appended(self, view)

    patch.setattr(topics.TopicPartitionsListing, "__init__", init)


def a_rate_is_the_whole_flights(patch: Patch) -> None:
    """The log end is divided by a minute."""
    patch.setattr(topics, "appended_per_second", lambda topic, one: f"{one.log_end / 60:.0f}/s")


def partitions_keep_their_former_owner(patch: Patch) -> None:
    """A partition that was revoked is still shown with its owner."""

    def owner_of(view: ClusterView, group: GroupView, name: str) -> tuple[str, int]:
        del view
        return group.owners.get(name) or group.previous_owners.get(name, ""), -1

    patch.setattr(topics, "owner_of", owner_of)


def commands_change_no_configuration(patch: Patch) -> None:
    """The scenario's configuration is shown whatever a command has set."""
    original = topic_configuration.configuration

    def configuration(view: ClusterView, topic: str, spec: ScenarioSpec) -> dict[str, ConfiguredKey]:
        before, view.settings = view.settings, {}
        found = original(view, topic, spec)
        view.settings = before
        return found

    patch.setattr(topic_configuration, "configuration", configuration)


def readers_stand_in_the_order_of_subscription(patch: Patch) -> None:
    """A group whose pattern matches the topic later stands behind those that named it."""

    def reads(view: ClusterView, group: GroupView, names: tuple[str, ...]) -> None:
        for topic in names:
            if topic not in group.topics:
                group.topics = (*group.topics, topic)
                view.topic_readers.setdefault(topic, []).append(group.group)

    patch.setattr(ClusterView, "reads", reads)


def kafkas_defaults_are_in_force(patch: Patch) -> None:
    """No key of a topic differs from Kafka's default."""
    patch.setattr(topic_configuration, "configuration", lambda *_: {})


def brokers_are_in_their_state_since_the_flight_began(patch: Patch) -> None:
    """A broker has been up or down for as long as the flight."""
    patch.setattr(brokers, "state_since", lambda _, now_us: f"{now_us // 1_000_000} s")


def fenced_brokers_are_starting(patch: Patch) -> None:
    """A running broker that the controller has fenced loads its logs."""
    original = overview.broker_state

    def state(one: BrokerView) -> str:
        found = original(one)
        return "starting" if found == "fenced" else found

    for module in (broker, brokers):
        patch.setattr(module, "broker_state", state)


def faults_of_brokers_are_not_named(patch: Patch) -> None:
    """A broker with a slow disk or a cut link has no fault in its row."""
    patch.setattr(brokers, "fault_labels", lambda view, name: [])


def the_place_of_a_broker_names_its_newest_fault_only(patch: Patch) -> None:
    """Of several faults on a broker its place names one."""
    original = active_faults.fault_words
    patch.setattr(broker, "fault_words", lambda *of: original(*of)[1:])


def coordinators_stay_where_they_were(patch: Patch) -> None:
    """A group is shown at the broker that loaded it last."""
    original = brokers.coordinated

    def coordinated(view: ClusterView) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        groups: dict[int, list[str]] = {one: [] for one in view.brokers}
        for name, group in view.groups.items():
            groups.setdefault(max(1, group.coordinated_by - 1), []).append(name)
        return groups, original(view)[1]

    for module in (brokers, broker):
        patch.setattr(module, "coordinated", coordinated)


def a_death_hits_leaders_only(patch: Patch) -> None:
    """Partitions that a follower's end leaves below min.insync.replicas are left out."""
    patch.setattr(broker, "falls_short", lambda *_: {})


def the_next_leader_is_the_first_replica(patch: Patch) -> None:
    """The preferred replica takes over, also when it is the broker that dies."""
    original = impact.impact_of

    def impact_of(*of: object) -> Impact:
        found: Impact = original(*of)  # type: ignore[arg-type]
        view = of[0]
        assert isinstance(view, ClusterView)
        found.leaders = {name: view.partitions[name].replicas[0] for name in found.leaders}
        return found

    patch.setattr(broker, "impact_of", impact_of)


def a_cut_is_always_both_ways(patch: Patch) -> None:
    """The direction of a fault is left out."""
    patch.setattr(links, "_arrow", lambda *_: "")


def links_have_one_latency(patch: Patch) -> None:
    """Every link takes what the network's `latency` says, whatever a command has set."""

    def latency_us(self: links.Links, source: str, target: str) -> int | None:
        del source, target
        return self.spec.network.latency_us if self.spec is not None else None

    patch.setattr(links.Links, "latency_us", latency_us)


def links_of_clients_are_always_whole(patch: Patch) -> None:
    """Only the faults between brokers are shown."""
    original = links.Links.faults

    def faults(self: links.Links, source: str, target: str) -> list[FaultView]:
        found = original(self, source, target)
        return found if source.startswith("broker-") and target.startswith("broker-") else []

    patch.setattr(links.Links, "faults", faults)


def a_process_has_the_faults_that_begin_at_it(patch: Patch) -> None:
    """Of a link's two ends only the first is looked at."""
    original = links.Links.of_process

    def of_process(self: links.Links, name: str) -> list[FaultView]:
        return [fault for fault in original(self, name) if fault.targets[0] == name]

    patch.setattr(links.Links, "of_process", of_process)


FALSE_TOPOLOGY = {
    every_leader_is_up: ("coordinator-failover", 125),
    replicas_are_all_in_sync: ("coordinator-failover", 125),
    offsets_are_rounded: ("stuck-last-stable-offset", 110),
    load_is_counted_by_offsets: ("stuck-last-stable-offset", 75),
    a_rate_is_the_whole_flights: ("first-flight", 40),
    partitions_keep_their_former_owner: ("eager-vs-cooperative", 45),
    kafkas_defaults_are_in_force: ("first-flight", 40),
    brokers_are_in_their_state_since_the_flight_began: ("coordinator-failover", 125),
    faults_of_brokers_are_not_named: ("slow-follower", 60),
    the_place_of_a_broker_names_its_newest_fault_only: ("asymmetric-partition", 45),
    fenced_brokers_are_starting: ("asymmetric-partition", 45),
    coordinators_stay_where_they_were: ("first-flight", 40),
    a_death_hits_leaders_only: ("below-min-isr", 45),
    the_next_leader_is_the_first_replica: ("first-flight", 40),
    a_cut_is_always_both_ways: ("asymmetric-partition", 45),
    a_process_has_the_faults_that_begin_at_it: ("asymmetric-partition", 45),
    links_have_one_latency: ("slow-follower", 60),
    links_of_clients_are_always_whole: ("at-least-once", 30),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""
