"""Reassignments that wait, arrive and are cancelled: each claim of the screens is what the event log says."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster import events as e
from cluster.view.fold import HANDLERS
from cluster.view.state import ClusterView, PartitionView
from console.presenters import overview
from console.presenters.exceptions import cluster_conditions
from console.presenters.partitions import tables
from console.presenters.styled_text import line
from console.presenters.topology import broker, brokers, topics
from console.presenters.topology.standing import ReplicaCounts, reassigned_partitions, replica_counts
from console.presenters.why import brokers as why_brokers
from console.presenters.why import questions
from tests.console.judge.bench import SECOND_US, false_claims, flown
from tests.support.reassignment_scenario import waiting
from tests.support.slow_cases import mostly_slow

Patch = pytest.MonkeyPatch


def said() -> list[str]:
    return false_claims(flown(waiting(), 1, 40 * SECOND_US), waiting(), 40)


@pytest.mark.slow
def test_nothing_false_is_said_of_reassignments() -> None:
    assert said() == []


def added_replicas_are_missed(patch: Patch) -> None:
    """A partition is under-replicated until its new replicas are in sync."""
    patch.setattr(PartitionView, "replication_factor", property(lambda one: len(one.replicas)))


def _with_added_ones_out(view: ClusterView) -> ReplicaCounts:
    counts = replica_counts(view)
    out = dict(counts.out)
    for one in view.partitions.values():
        for number in set(one.adding) - set(one.isr):
            out[number] += 1
    return counts._replace(out=out)


def added_replicas_are_out_on_the_overview(patch: Patch) -> None:
    """The overview counts a replica that is being added under "ISR out"."""
    patch.setattr(overview, "replica_counts", _with_added_ones_out)


def added_replicas_are_out_in_the_places_of_brokers(patch: Patch) -> None:
    """The table of brokers and a broker's place do so."""
    patch.setattr(brokers, "replica_counts", _with_added_ones_out)


def added_replicas_stand_before_those_out_of_sync(patch: Patch) -> None:
    """A broker's place begins with what it is being given."""
    original = broker._replicas

    def adding_first(view: ClusterView, number: int) -> tuple[list[str], int, Any]:
        names, out, columns = original(view, number)
        names.sort(key=lambda name: number not in view.partitions[name].adding)
        return names, out, columns

    patch.setattr(broker, "_replicas", adding_first)


def no_reassignment_is_shown(patch: Patch) -> None:
    """The ISR stands alone, as if nothing were added or removed."""
    patch.setattr(topics, "reassigned_words", lambda partition: "")


def the_place_shows_none(patch: Patch) -> None:
    """The partition's place leaves out what is added and removed."""
    patch.setattr(tables, "_reassignment", lambda one: "")


def a_new_replica_is_in_sync(patch: Patch) -> None:
    """A replica that is being added has the role of one in sync."""
    patch.setattr(tables, "_role", lambda one, broker: line("leader" if broker == one.leader else "in sync"))


def one_more_is_reassigned(patch: Patch) -> None:
    """The headline counts one partition too many."""
    patch.setattr(
        cluster_conditions,
        "reassigned_partitions",
        lambda view: [*reassigned_partitions(view), *reassigned_partitions(view)[:1]],
    )


def a_broker_that_copies_has_all_in_sync(patch: Patch) -> None:
    """`w` on a broker says nothing of the replicas that are being added to it."""
    asked = tuple(one for one in questions.QUESTIONS["broker"].asked if one is not why_brokers.copies_replicas)
    patch.setitem(questions.QUESTIONS, "broker", questions.QUESTIONS["broker"]._replace(asked=asked))


def every_step_completes(patch: Patch) -> None:
    """The event log tells of a reassignment that begins as of one that is complete."""
    original: Callable[[ClusterView, Any], None] = HANDLERS[e.PartitionReassigned]

    def complete(view: ClusterView, event: e.PartitionReassigned) -> None:
        original(view, event)
        entry = view.log_entries[-1]
        entry.text = entry.text.replace("moves to", "has") + ": its reassignment is complete"

    patch.setitem(HANDLERS, e.PartitionReassigned, complete)  # type: ignore[misc]


@pytest.mark.parametrize(
    "lie",
    mostly_slow(
        [
            added_replicas_are_missed,
            added_replicas_are_out_on_the_overview,
            added_replicas_are_out_in_the_places_of_brokers,
            added_replicas_stand_before_those_out_of_sync,
            no_reassignment_is_shown,
            the_place_shows_none,
            a_new_replica_is_in_sync,
            one_more_is_reassigned,
            a_broker_that_copies_has_all_in_sync,
            every_step_completes,
        ],
        quick=[added_replicas_are_missed, a_new_replica_is_in_sync, every_step_completes],
    ),
)
def test_a_false_presenter_is_caught(lie: Callable[[Patch], None], monkeypatch: Patch) -> None:
    lie(monkeypatch)
    assert said()
