"""New partitions are found out by the periodic refresh of metadata, and it is the leader who rejoins for them."""

import pytest

from cluster import events as e
from cluster.config import Value
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import SECOND_US, group_of

OFTEN: dict[str, Value] = {"metadata.max.age.ms": 10_000}
MORE = (15.0, "add partitions orders to 8")


def later(flight: Flown) -> list[e.RebalanceStarted]:
    return [fact for fact in flight.all(e.RebalanceStarted) if not fact.initial]


def test_the_leader_rejoins_when_its_metadata_has_changed() -> None:
    flight = flown(group_of(MORE, consumer=OFTEN, assignors=("range",)))
    (started,) = later(flight)
    assert (started.cause, started.trigger) == ("metadata changed", flight.document["groups"]["g"]["leader"])
    assert 15 * SECOND_US < started.at_us <= 25.1 * SECOND_US, "at the latest metadata.max.age.ms after the change"
    owned = [name for member in flight.document["members"].values() for name in member["owned"]]
    assert sorted(owned) == [f"orders-{number}" for number in range(8)]
    assert flight.document["groups"]["g"]["last_rebalance"]["cause"] == "metadata changed"


def test_a_cooperative_group_takes_new_partitions_in_without_giving_any_up() -> None:
    flight = flown(group_of(MORE, consumer=OFTEN))
    assert [fact.cause for fact in later(flight)] == ["metadata changed"]
    assert not flight.all(e.PartitionsRevoked)
    assert sorted(len(member["owned"]) for member in flight.document["members"].values()) == [4, 4]


@pytest.mark.slow
def test_kafkas_five_minutes_are_kafkas_five_minutes() -> None:
    flight = flown(group_of(MORE, until_s=310, assignors=("range",)))
    (started,) = later(flight)
    assert 300 * SECOND_US <= started.at_us < 301 * SECOND_US


def test_a_refresh_that_is_too_early_is_made_again() -> None:
    """The leader asks a broker that has not heard of it yet, for it is cut off from the controller just then.

    What it asks waits behind its parked Fetch, for fetch.max.wait.ms (500) at most.
    """
    cuts = [(19.0, f"cut broker-1 broker-{other} for 3s") for other in (2, 3)]
    more = (19.5, "add partitions orders to 8")
    flight = flown(group_of(*cuts, more, until_s=40, members=1, consumer=OFTEN, assignors=("range",)))
    (started,) = later(flight)
    assert started.cause == "metadata changed"
    assert 30 * SECOND_US <= started.at_us < 30.55 * SECOND_US


ZOMBIE = [(15.0, f"cut broker-{other} broker-2") for other in (1, 3)]
"""broker-2 leads orders-1 and orders-4 no more from about 24 s on, and cannot know."""


def test_a_reader_of_a_leader_that_was_deposed_finds_out_when_its_metadata_is_old() -> None:
    flight = flown(group_of(*ZOMBIE, until_s=70, members=1, consumer=OFTEN))
    moved = [fact.at_us for fact in flight.all(e.LeaderElected, 15 * SECOND_US, partition="orders-1", leader=3)]
    read = flight.all(e.RecordsProcessed, moved[0], partition="orders-1")
    assert read[0].at_us <= moved[0] + 31 * SECOND_US, "three brokers, one of which knows no better"
    assert flight.document["members"]["g-1"]["lag"] <= 20


def test_a_coordinator_that_was_deposed_is_not_believed_for_ever() -> None:
    """Its commits fail, and who named it is not asked first again: the group goes on without a rebalance."""
    cuts = [(15.0, f"cut broker-{other} broker-3") for other in (1, 2)]
    flight = flown(group_of(*cuts, until_s=70, members=1, consumer={"session.timeout.ms": 45_000}))
    found = [fact.broker for fact in flight.all(e.CoordinatorFound)]
    assert found[0] == 3
    assert found[-1] == flight.document["groups"]["g"]["coordinator"] != 3
    assert flight.document["groups"]["g"]["generation"] == 1
    assert flight.document["groups"]["g"]["state"] == "Stable"


def test_a_commit_that_timed_out_counts_when_its_records_are_safe_after_all() -> None:
    """broker-1 is gone and still in sync until its session ends: commits wait, time out, and get safe at 15 s."""
    steps = ((6.0, "kill broker-1 for 300ms"), (7.0, "restart g-1"))
    flight = flown(group_of(*steps, members=1, until_s=25))
    refused = flight.all(e.OffsetCommitRefused)
    assert refused
    assert {fact.error for fact in refused} == {"COORDINATOR_NOT_AVAILABLE"}
    positions = flight.all(e.PositionsReset, after_us=8 * SECOND_US)
    found = {name: offset for fact in positions for name, offset in fact.positions.items()}
    assert len(found) == 6
    committed = flight.all(e.OffsetsCommitted, after_us=15 * SECOND_US)
    assert committed
