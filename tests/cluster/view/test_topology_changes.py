"""The frequent events leave brokers, replicas and coordinators as they are: what screens remember of them is true."""

from functools import cache

import msgspec
import pytest

from cluster import events as e
from cluster.view import ClusterView, fold
from cluster.view.fold import OF_RECORDS
from console.presenters.topology.standing import UntilTopologyChanges
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load

SCENARIOS = (
    "add-partitions",
    "broker-rolling-restart",
    "coordinator-failover",
    "read-process-write",
    "unclean-election",
)
MODULE = "cluster.view.fold"


@cache
def events_of(scenario: str) -> list[e.Event]:
    events: list[e.Event] = []
    fly(make_plan(load(scenario), until_us=40_000_000), log=events.append)
    return events


def topology(view: ClusterView) -> list[object]:
    """What the memory of screens may rest on."""
    brokers = [msgspec.structs.astuple(one) for one in view.brokers.values()]
    partitions = [(one.partition, one.leader, one.replicas, one.isr) for one in view.partitions.values()]
    topics = [(one.topic, one.internal, one.partitions, one.min_insync_replicas) for one in view.topics.values()]
    groups = [
        (one.coordinator_partition, one.state, dict(one.members), dict(one.owners), dict(one.unowned_since_us))
        for one in view.groups.values()
    ]
    assigned = [{name: tuple(names) for name, names in one.assignment.items()} for one in view.groups.values()]
    members = [(one.member, one.group, one.alive, one.paused) for one in view.members.values()]
    named = [list(view.transactions), list(view.faults), view.settings.copy()]
    return [view.controller, brokers, partitions, topics, groups, assigned, members, *named]


def changed_unnoticed(events: list[e.Event], uncounted: frozenset[type[e.Event]]) -> set[str]:
    """The uncounted kinds of events after which the topology is another one."""
    view, found = ClusterView(), set[str]()
    before = topology(view)
    for event in events:
        fold(view, event)
        after = topology(view)
        if type(event) in uncounted and after != before:
            found.add(type(event).__name__)
        before = after
    assert view.topology_changes == sum(type(event) not in OF_RECORDS for event in events)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_not_counted_changes_nothing(scenario: str) -> None:
    events = events_of(scenario)
    assert {type(event) for event in events} > {e.RecordsAppended, e.HighWatermarkAdvanced}
    assert changed_unnoticed(events, OF_RECORDS) == set()


@pytest.mark.parametrize("kind", [e.LeaderElected, e.IsrChanged, e.BrokerStopped, e.BrokerFenced])
def test_a_kind_that_should_be_counted_is_found(kind: type[e.Event]) -> None:
    assert changed_unnoticed(events_of("unclean-election"), OF_RECORDS | {kind}) == {kind.__name__}


def test_it_asks_again_after_a_change_and_for_another_view() -> None:
    asked: list[tuple[int, int]] = []

    def leads(view: ClusterView, broker: int) -> int:
        asked.append((view.seq, broker))
        return sum(one.leader == broker for one in view.partitions.values())

    remembered, view = UntilTopologyChanges(leads), ClusterView()
    for event in events_of("broker-rolling-restart"):
        fold(view, event)
        assert [remembered(view, broker) for broker in (1, 2)] == [
            sum(one.leader == broker for one in view.partitions.values()) for broker in (1, 2)
        ]
    assert len(asked) == 2 * view.topology_changes
    other = ClusterView(topology_changes=view.topology_changes)
    assert remembered(other, 1) == 0
