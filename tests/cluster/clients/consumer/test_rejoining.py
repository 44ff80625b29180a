"""How a member joins its group again: what stops meanwhile, what goes on, and whose answers count."""

from itertools import pairwise

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.heartbeat_thread import HeartbeatThread
from cluster.config import Value
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, HeartbeatResponse
from cluster.spec import TopicSpec
from tests.support.completed_flight import flown
from tests.support.scenario_builders import MS, SECOND_US, spec


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_an_answer_to_somebody_who_is_no_more_does_not_count(error: ErrorCode) -> None:
    flight = flown(spec(until_s=10, members=1))
    member = flight.simulation.consumers["g-1"]
    assert isinstance(member, Consumer)
    old = HeartbeatRequest("g", member.generation - 1, member.member_id)
    assert isinstance(member.heartbeats, HeartbeatThread)
    member.heartbeats._answered(old, HeartbeatResponse(error))
    assert member.generation == 1
    assert member.state == "Stable"


def test_giving_the_coordinator_up_ends_what_is_under_way_there() -> None:
    """A late answer of the old coordinator finds no call that waits for it."""
    flight = flown(spec(until_s=10, members=1))
    member = flight.simulation.consumers["g-1"]
    ended: list[object] = []
    member.send_to_coordinator(HeartbeatRequest("g", 1, member.member_id), ended.append)
    member.coordinator_unknown()
    assert ended == [None]
    assert member.coordinator == -1


def test_a_member_asked_to_stop_while_it_joins_leaves_at_once_and_ends_with_the_barrier() -> None:
    """Its LeaveGroup waits behind its own JoinGroup, and close() for the answers (`awaitPendingRequests`)."""
    flight = flown(spec((10, "kill g-2"), (11, "start g-2"), (13, "stop g-1"), until_s=30, members=2))
    (left,) = flight.all(e.MemberStateChanged, member="g-1", state="Left")
    assert left.at_us == 13 * SECOND_US
    barrier = flight.all(e.JoinBarrierCompleted, 13 * SECOND_US)[0]
    (stopped,) = flight.all(e.MemberStopped, member="g-1")
    assert 13.1 * SECOND_US < barrier.at_us < stopped.at_us < barrier.at_us + 10 * MS


def test_reading_goes_on_while_the_coordinator_is_gone() -> None:
    scenario = spec((10, "kill broker-2"), until_s=16, members=1, rate=50.0)
    only_broker_1 = (TopicSpec("orders", partitions=1, replication=1),)
    flight = flown(msgspec.structs.replace(scenario, topics=only_broker_1))
    polls = [fact.at_us for fact in flight.all(e.PollReturned, after_us=10_500_000)]
    assert len(polls) > 50
    assert max(later - earlier for earlier, later in pairwise(polls)) < SECOND_US


def test_join_group_waits_for_the_rebalance_timeout_and_five_seconds() -> None:
    """The answer to a parked JoinGroup cannot come: the member gives its coordinator up after 15 + 5 s, not 30."""
    consumer: dict[str, Value] = {"max.poll.interval.ms": 15_000, "request.timeout.ms": 10_000}
    steps = ((10.0, "kill g-2"), (11.0, "start g-2"), (13.0, "cut broker-2 -> g-1"))
    flight = flown(spec(*steps, until_s=60, members=2, consumer=consumer))
    joined = flight.all(e.MemberStateChanged, member="g-1", state="Joining", after_us=5 * SECOND_US)
    first = next(fact for fact in joined if fact.at_us < 13 * SECOND_US)
    found = flight.all(e.CoordinatorFound, member="g-1", after_us=13 * SECOND_US)
    lost_us = first.at_us + 20 * SECOND_US
    assert not [fact for fact in found if fact.at_us < lost_us]
    assert not [fact for fact in joined if first.at_us < fact.at_us < lost_us]
