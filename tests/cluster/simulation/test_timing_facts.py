"""Kafka's timings, to the microsecond where Kafka's rules say so: each is a tiny flight of one fact.

Latency is one millisecond without jitter, so that every instant can be told from the rules.
"""

import pytest

from cluster import events as e
from tests.support.completed_flight import flown, last_heartbeat_us
from tests.support.scenario_builders import MS, SECOND_US, spec

SESSION_US = 6 * SECOND_US


# --- the join barrier -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay_ms", [500, 3_000])
def test_a_lone_member_waits_the_initial_delay_once(delay_ms: int) -> None:
    flight = flown(spec(until_s=10, initial_delay_ms=delay_ms))
    (began,) = flight.all(e.RebalanceStarted)
    (closed,) = flight.all(e.JoinBarrierCompleted)
    assert closed.at_us - began.at_us == delay_ms * MS
    assert (closed.generation, began.initial, began.cause) == (1, True, "member joined")


def test_several_staggered_members_wait_the_initial_delay_twice_and_rebalance_once() -> None:
    flight = flown(spec(until_s=12, members=3, stagger_us=SECOND_US))
    (began,) = flight.all(e.RebalanceStarted)
    (closed,) = flight.all(e.JoinBarrierCompleted)
    assert closed.at_us - began.at_us == 6 * SECOND_US
    assert len(closed.members) == 3


# --- members come and go ----------------------------------------------------------------------------------------------


def test_a_killed_member_is_removed_one_session_after_its_last_heartbeat() -> None:
    flight = flown(spec((12.5, "kill g-2"), until_s=25, members=2))
    (removed,) = flight.all(e.MemberRemoved)
    assert (removed.member, removed.reason) == ("g-2", "session expired")
    assert removed.at_us == last_heartbeat_us(flight, "g-2", removed.at_us) + SESSION_US
    assert len(flight.all(e.JoinBarrierCompleted)) == 2


def test_a_clean_close_is_one_rebalance_at_once() -> None:
    flight = flown(spec((12.5, "stop g-2"), until_s=25, members=2))
    (removed,) = flight.all(e.MemberRemoved)
    assert removed.reason == "member left"
    assert removed.at_us - 12_500 * MS < 20 * MS
    first, second = flight.all(e.JoinBarrierCompleted)
    assert second.at_us - removed.at_us < SECOND_US + 20 * MS  # the other hears of it with its next heartbeat
    assert (first.generation, second.generation) == (1, 2)


def test_a_pause_longer_than_the_session_expires_it() -> None:
    flight = flown(spec((12.5, "pause g-2 for 8s"), until_s=40, members=2))
    (removed,) = flight.all(e.MemberRemoved)
    assert removed.reason == "session expired"
    assert removed.at_us == last_heartbeat_us(flight, "g-2", 12_600 * MS) + SESSION_US
    assert flight.simulation.view.groups["g"].generation == 3  # without it, and with it again
    assert flight.simulation.consumers["g-2"].state == "Stable"


def test_a_pause_shorter_than_the_session_is_no_rebalance() -> None:
    flight = flown(spec((12.5, "pause g-2 for 4s"), until_s=40, members=2))
    assert not flight.all(e.MemberRemoved)
    assert len(flight.all(e.RebalanceStarted)) == 1


def test_a_stalled_poll_leaves_by_itself_and_loses_its_partitions() -> None:
    flight = flown(spec((12.5, "stall g-2 for 9s"), until_s=40, members=2, consumer={"max.poll.interval.ms": 5_000}))
    (removed,) = flight.all(e.MemberRemoved)
    (stalled,) = flight.all(e.ApplicationStalled)
    assert removed.reason == "poll interval exceeded"
    assert removed.at_us == stalled.at_us + 5 * SECOND_US + MS  # and the LeaveGroup travelled
    assert flight.all(e.PartitionsRevoked, member="g-2", lost=True)
    assert flight.simulation.consumers["g-2"].state == "Stable"


def test_work_that_outlasts_the_poll_interval_is_not_committed_but_done_again() -> None:
    flight = flown(
        spec(
            (12.5, "slow g-2 to 7s for 1s"),
            until_s=60,
            members=2,
            consumer={"max.poll.interval.ms": 5_000},
            commit="after-each-poll",
        )
    )
    removed = flight.all(e.MemberRemoved, member="g-2")[0]
    assert removed.reason == "poll interval exceeded"
    assert flight.all(e.RecordsProcessed, removed.at_us, member="g-2")  # it finishes what others work on again
    assert not flight.all(e.OffsetsCommitted, removed.at_us, member="g-2", generation=1)
    assert flight.all(e.OffsetCommitRefused, removed.at_us, member="g-2")[0].error == "CommitFailedException"
    assert flight.document["delivery"]["duplicated"] > 0
    assert flight.document["delivery"]["lost"] == 0


# --- brokers ----------------------------------------------------------------------------------------------------------


def test_a_killed_broker_is_fenced_nine_seconds_after_its_last_heartbeat() -> None:
    flight = flown(spec((10.5, "kill broker-2"), until_s=25))
    (fenced,) = flight.all(e.BrokerFenced)
    # broker-2 of 3 beats every 2 s from 1.333333 s on; the controller hears it 1 ms later
    assert (fenced.broker, fenced.at_us) == (2, 1_333_333 + 4 * 2 * SECOND_US + MS + 9 * SECOND_US)
    elected = flight.all(e.LeaderElected, fenced.at_us)
    assert elected
    assert all(one.at_us == fenced.at_us and one.leader in {1, 3} for one in elected)


def test_a_broker_that_restarts_within_its_session_is_let_in_when_that_ends() -> None:
    flight = flown(spec((10.5, "kill broker-2 for 1s"), until_s=25))
    (fenced,) = flight.all(e.BrokerFenced)
    (let_in,) = flight.all(e.BrokerUnfenced, SECOND_US)
    assert fenced.at_us == 1_333_333 + 4 * 2 * SECOND_US + MS + 9 * SECOND_US
    assert 0 < let_in.at_us - fenced.at_us <= 2 * SECOND_US + 2 * MS  # it asks as often as it would beat


def test_a_stable_group_does_not_notice_that_its_coordinator_moves() -> None:
    flight = flown(spec((12.5, "kill broker-2"), until_s=40, members=2))
    (loaded,) = flight.all(e.GroupLoaded, SECOND_US)
    assert loaded.broker != 2
    assert (loaded.state, loaded.generation) == ("Stable", 1)
    assert len(flight.all(e.RebalanceStarted)) == 1
    assert flight.simulation.view.groups["g"].generation == 1


def test_too_few_in_sync_replicas_refuse_acks_all_until_one_is_back() -> None:
    steps = (
        (10.45, "pause p-1 for 10s"),  # nothing is in flight that would hold later requests back
        (10.5, "kill broker-2"),
        (10.5, "kill broker-3"),
        (30, "start broker-2"),
    )
    flight = flown(spec(*steps, until_s=45, min_insync=2))
    fenced_us = flight.all(e.BrokerFenced)[-1].at_us
    (back,) = flight.all(e.IsrChanged, fenced_us + 1, partition="orders-0")
    assert back.isr == (1, 2)
    assert flight.all(e.BatchRetried, fenced_us, error="NOT_ENOUGH_REPLICAS", partition="orders-0")
    acknowledged = flight.all(e.BatchAcknowledged, fenced_us + 2 * MS, partition="orders-0")
    assert acknowledged
    assert acknowledged[0].at_us >= back.at_us
    assert flight.document["delivery"]["lost"] == 0
