"""ISR shrink and expand, leader epochs and truncation, stale leaders and fetchers: on flights."""

import pytest

from cluster import events as e
from cluster.broker.replica import Replica
from cluster.config import Value
from tests.support.broker_flights import MS, SECOND_US, cluster, flown, log_of, partition

AWAY = [(5.0, "fail over controller"), (10.0, "cut broker-3 broker-1"), (40.0, "heal")]
"""broker-1 leads and broker-2 is the controller: broker-3 cannot follow, and is not fenced for it."""


@pytest.mark.parametrize(("lag_ms", "latest_s"), [(10_000, 15), (20_000, 30)])
def test_a_follower_that_lacks_something_leaves_the_isr_between_one_lag_and_one_and_a_half(
    lag_ms: int, latest_s: int
) -> None:
    flight = flown(cluster(*AWAY[:2], until_s=60, brokers={"replica.lag.time.max.ms": lag_ms}))
    shrunk = flight.all(e.IsrChanged, partition="orders-0")[0]
    assert shrunk.isr == (1, 2)
    assert 10 * SECOND_US + lag_ms * MS <= shrunk.at_us <= (10 + latest_s) * SECOND_US + 10 * MS


def test_a_follower_that_has_all_there_is_stays_however_long_it_is_silent() -> None:
    """Kafka's `isCaughtUp`: the log ends are equal; the leader does not know that it could not follow."""
    flight = flown(cluster((4, "stop p-1"), *AWAY, until_s=39, brokers={"replica.lag.time.max.ms": 10_000}))
    assert not flight.all(e.IsrChanged, partition="orders-0")


def test_nobody_is_let_in_who_does_not_fetch() -> None:
    """Under min ISR the high watermark stands still, so a silent follower has everything below it all the time."""
    topic: dict[str, Value] = {"min.insync.replicas": 3}
    flight = flown(cluster(*AWAY[:2], until_s=80, topic=topic, brokers={"replica.lag.time.max.ms": 10_000}))
    assert [event.isr for event in flight.all(e.IsrChanged, partition="orders-0")] == [(1, 2)]


def test_a_follower_comes_back_once_it_has_everything_below_the_high_watermark() -> None:
    flight = flown(cluster(*AWAY, until_s=60, brokers={"replica.lag.time.max.ms": 10_000}))
    assert [event.isr for event in flight.all(e.IsrChanged, partition="orders-0")] == [(1, 2), (1, 2, 3)]
    assert flight.all(e.IsrChanged, 40 * SECOND_US, partition="orders-0")[0].at_us < 42 * SECOND_US
    assert log_of(flight, 1) == log_of(flight, 3)


@pytest.mark.slow
def test_the_high_watermark_waits_for_a_follower_that_is_about_to_join() -> None:
    """broker-3 follows again, over a slow link: two fetches prove that it keeps up, if the log end stands still."""
    held_back: list[int] = []
    with_those = Replica._with_those_about_to_join

    def notes(replica: Replica, offset: int) -> int:
        answer = with_those(replica, offset)
        if answer < offset and replica.partition == "orders-0":
            held_back.append(replica.host.now_us)
        return answer

    steps = [*AWAY[:2], (31.0, "heal"), (31.0, "slow broker-3 broker-1 to 300ms")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replica, "_with_those_about_to_join", notes)
        flight = flown(cluster(*steps, until_s=60, rate=200, brokers={"replica.lag.time.max.ms": 10_000}))
    back = flight.all(e.IsrChanged, partition="orders-0", isr=(1, 2, 3))[0]
    assert held_back
    assert min(held_back) >= 31 * SECOND_US
    assert max(held_back) <= back.at_us


def test_a_deposed_leader_truncates_what_it_wrote_alone_and_keeps_what_all_had() -> None:
    steps = [(10.0, "cut broker-1 broker-2"), (10.0, "cut broker-1 broker-3"), (12.0, "kill broker-1")]
    flight = flown(cluster(*steps, (29, "heal"), (30, "start broker-1"), until_s=60))
    (cut,) = flight.all(e.LogTruncated, broker=1, partition="orders-0")
    first_of_next = flight.all(e.LeadershipTaken, SECOND_US, partition="orders-0")[0]
    assert cut.offset == first_of_next.log_end
    epochs = [broker.replicas["orders-0"].log.epochs.entries for broker in flight.simulation.brokers.values()]
    assert epochs[0] == epochs[1] == epochs[2]
    assert log_of(flight, 1) == log_of(flight, 2) == log_of(flight, 3)


def test_a_leader_that_the_controller_deposed_cannot_commit_any_more() -> None:
    """broker-1 is cut off from controller and followers, but not from its producer: what acks=all sends it waits."""
    steps = [(5.0, "fail over controller"), (10.0, "cut broker-1 broker-2"), (10.0, "cut broker-1 broker-3")]
    flight = flown(cluster(*steps, until_s=60, producer={"request.timeout.ms": 30_000}))
    assert flight.all(e.LeaderElected, 10 * SECOND_US, partition="orders-0")[0].leader == 2
    stale = flight.all(e.RecordsAppended, 20 * SECOND_US, partition="orders-0", leader_epoch=0)
    assert not flight.all(e.HighWatermarkAdvanced, 20 * SECOND_US, partition="orders-0", leader_epoch=0)
    assert flight.document["delivery"]["lost"] == 0
    assert isinstance(stale, list)


def test_leaderships_that_go_to_and_fro_faster_than_words_travel_lose_nobody() -> None:
    """A fetch or question of another epoch is refused, and asked again: no follower is left behind."""
    steps: list[tuple[float, str]] = [(9, "slow broker-1 broker-3 to 400ms"), (9, "slow broker-2 broker-3 to 250ms")]
    for second in range(10, 30):
        steps += [(second, "kill broker-1 for 50ms")] if second % 10 == 0 else [(second, "elect preferred orders-0")]
        steps += [(second + 0.3, "move coordinator of g")]
    flight = flown(cluster(*steps, (40, "heal"), until_s=80))
    assert partition(flight)["isr"] == [1, 2, 3]
    assert log_of(flight, 1) == log_of(flight, 2) == log_of(flight, 3)
    assert flight.document["groups"]["g"]["state"] == "Stable"


def test_a_follower_refused_for_its_epoch_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[int] = []
    refuse = Replica._refuse

    def notes(replica: Replica, broker: int, session: int, leader_epoch: int) -> None:
        refused.append(leader_epoch)
        refuse(replica, broker, session, leader_epoch)

    monkeypatch.setattr(Replica, "_refuse", notes)
    steps = [
        (9.0, "slow broker-2 broker-3 to 300ms"),
        (10.0, "kill broker-1"),
        (40.0, "heal"),
        (40.5, "start broker-1"),
    ]
    flight = flown(cluster(*steps, (60, "elect preferred orders-0"), until_s=90))
    assert partition(flight)["isr"] == [1, 2, 3]
    assert log_of(flight, 1) == log_of(flight, 2) == log_of(flight, 3)


def test_a_fetch_of_a_followers_former_life_lets_nobody_in_and_is_answered_no_more() -> None:
    """broker-3 lost its records; it is back before its session is over, and registers after that (KIP-903)."""
    flight = flown(cluster((4.0, "stop p-1"), (10.0, "crash broker-3 for 300ms"), (40.0, "start p-1"), until_s=60))
    away = flight.all(e.LogTruncated, partition="orders-0", broker=3)[0]
    assert (away.reason, away.offset) == ("crash", 0)
    back_us = flight.all(e.BrokerUnfenced, 10 * SECOND_US, broker=3)[0].at_us
    (joined,) = flight.all(e.IsrChanged, 10 * SECOND_US, partition="orders-0", isr=(1, 2, 3))
    assert joined.at_us >= back_us + 5 * MS  # registered, epochs compared, fetched, asked the controller
    assert log_of(flight, 1) == log_of(flight, 3)


def test_a_former_controllers_late_answer_does_not_undo_what_its_successor_said() -> None:
    """Seed 13223: broker-1 hears that broker-3 left the ISR, and then of the former controller's answer from before."""
    steps = [(5.0, "fail over controller"), (10.0, "slow broker-1 broker-2 to 600ms"), (14.0, "stop broker-3 for 10s")]
    steps += [(27.5, "fail over controller"), (27.6, "stop broker-3 for 2s"), (29.0, "heal")]
    flight = flown(cluster(*steps, until_s=40))
    changes = [event.isr for event in flight.all(e.IsrChanged, 14 * SECOND_US, partition="orders-0")]
    assert changes == [(1, 2), (1, 2, 3), (1, 2), (1, 2, 3)]
