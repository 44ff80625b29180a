"""assign(): a consumer that reads what it names, joins no group, and commits while its group is Empty."""

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.spec import ApplicationSpec, CommitPolicy, ScenarioSpec
from tests.support.completed_flight import flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import SECOND_US, spec

ONE: dict[str, tuple[str, ...]] = {"g-1": ("orders-0",), "g-2": ("orders-1",)}


def assigned(
    *steps: tuple[float, str],
    until_s: float = 20,
    assign: dict[str, tuple[str, ...]] = ONE,
    topics: tuple[str, ...] = (),
    commit: CommitPolicy = "after-each-poll",
    consumer: dict[str, Value] | None = None,
) -> ScenarioSpec:
    given = spec(*steps, until_s=until_s, members=2, consumer={"auto.offset.reset": "earliest", **(consumer or {})})
    group = msgspec.structs.replace(
        given.groups[0], topics=topics, assign=assign, application=ApplicationSpec(commit=commit)
    )
    return msgspec.structs.replace(given, groups=(group,))


@pytest.mark.parametrize("commit", ["after-each-poll", "auto", "async"])
def test_offsets_are_committed_in_no_generation_by_no_member(commit: CommitPolicy) -> None:
    flight = flown(assigned(commit=commit))
    assert flight.all(e.JoinReceived) == []
    assert flight.all(e.HeartbeatAnswered) == []
    commits = flight.all(e.OffsetsCommitted)
    assert {(one.generation, one.member_id) for one in commits} == {(-1, "")}
    assert {one.member: set(one.offsets) for one in commits} == {"g-1": {"orders-0"}, "g-2": {"orders-1"}}
    group = flight.document["groups"]["g"]
    assert (group["state"], group["members"], group["generation"]) == ("Empty", 0, 0)
    assert flight.document["members"]["g-1"]["state"] == "Assigned"
    assert flight.document["members"]["g-1"]["owned"] == ["orders-0"]


def test_a_killed_consumer_is_replaced_by_no_other_and_goes_on_at_its_commit() -> None:
    flight = flown(assigned((8, "kill g-1 for 6s")))
    assert {one.member for one in flight.all(e.PollReturned, 8 * SECOND_US) if "orders-0" in one.positions} == {"g-1"}
    assert not [one for one in flight.all(e.RecordsProcessed, 8 * SECOND_US, partition="orders-0") if one.at_us < 14e6]
    (found,) = flight.all(e.PositionsReset, 14 * SECOND_US)
    assert (found.member, found.reason) == ("g-1", "committed")
    assert flight.document["delivery"]["duplicated"] == 0


def test_a_silent_application_is_thrown_out_of_nothing() -> None:
    """There is no heartbeat thread that could leave a group."""
    flight = flown(assigned((5, "stall g-1 for 10s"), consumer={"max.poll.interval.ms": 2_000}))
    assert flight.all(e.MemberRemoved) == []
    assert flight.document["members"]["g-1"]["state"] == "Assigned"
    assert flight.document["groups"]["g"]["lag"] <= 2


def test_a_group_with_members_refuses_the_commits_of_a_stranger() -> None:
    flight = flown(assigned((12, "stop g-2"), assign={"g-1": ("orders-0",)}, topics=("orders",)))
    refused = flight.all(e.OffsetCommitRefused)
    assert {(one.member, one.error, one.generation) for one in refused} == {("g-1", "UNKNOWN_MEMBER_ID", -1)}
    assert flight.document["groups"]["g"]["rebalances"] == 1  # g-2 has left
    accepted = [one.at_us for one in flight.all(e.OffsetsCommitted, member="g-1")]
    assert accepted
    assert min(accepted) > 12 * SECOND_US > max(one.at_us for one in refused) - SECOND_US


def test_another_coordinator_is_looked_up_for_the_next_commit() -> None:
    flight = flown(assigned((6, "kill broker-2 for 8s"), until_s=40))
    found = flight.all(e.CoordinatorFound, 6 * SECOND_US)
    assert {one.member for one in found} == {"g-1", "g-2"}
    assert flight.document["groups"]["g"]["lag"] <= 2
    assert lies(assigned((6, "kill broker-2 for 8s"), until_s=40)) == []


def test_a_clean_stop_commits_and_leaves_nothing() -> None:
    flight = flown(assigned((10, "stop g-1"), commit="auto", consumer={"auto.commit.interval.ms": 60_000}))
    (last,) = flight.all(e.OffsetsCommitted, member="g-1")
    assert last.at_us > 10 * SECOND_US
    assert flight.all(e.PartitionsRevoked) == []
    assert flight.document["members"]["g-1"]["state"] == "Left"


@pytest.mark.parametrize(
    "step", [(8.0, "restart g-1"), (8.0, "pause g-2 for 3s"), (8.0, "kill g-1"), (8.0, "seek g orders-0 to 3")]
)
def test_the_truth_agrees(step: tuple[float, str]) -> None:
    assert lies(assigned(step)) == []
    assert lies(assigned(step, assign={"g-1": ("orders-0",)}, topics=("orders",))) == []


def test_a_consumer_that_assigned_cannot_subscribe() -> None:
    (refused,) = flown(assigned((8, "subscribe g-1 to orders"))).all(e.CommandRefused)
    assert refused.reason == "g-1 has called assign(): a consumer cannot also subscribe()"


def test_a_consumer_with_neither_topics_nor_partitions_ends_as_its_poll_throws() -> None:
    flight = flown(assigned((8, "scale g to 3")))
    (failed,) = flight.all(e.ApplicationFailed)
    assert (failed.member, failed.reason) == (
        "g-3", "IllegalStateException: Consumer is not subscribed to any topics or assigned any partitions",
    )  # fmt: skip
