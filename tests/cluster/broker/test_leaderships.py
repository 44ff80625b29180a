"""Elections in flight: preferred, unclean, balanced; controllers and coordinators that move; what crashes cost."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster import events as e
from cluster.broker.broker_lifecycle import BrokerLifecycle
from cluster.config import Value
from tests.support.broker_flights import SECOND_US, cluster, flown, log_of, partition, refusals

LAST_ONE = [(10, "kill broker-2"), (10, "kill broker-3"), (30, "kill broker-1"), (40, "start broker-2")]
"""broker-1 is the last in sync and dies; broker-2 comes back without what it missed."""


# --- elections --------------------------------------------------------------------------------------------------------


def test_preferred_gives_the_leadership_back() -> None:
    flight = flown(cluster((10, "kill broker-1 for 12s"), (40, "elect preferred orders-0"), until_s=50))
    before, *_, after = flight.all(e.LeaderElected, SECOND_US, partition="orders-0")
    assert (before.leader, before.reason) == (2, "broker fenced")
    assert (after.leader, after.leader_epoch, after.reason) == (1, 2, "preferred")
    assert flight.all(e.RecordsAppended, 42 * SECOND_US, partition="orders-0", leader_epoch=2)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([(10, "elect preferred orders-0")], "ELECTION_NOT_NEEDED"),
        ([(10, "elect unclean orders-0")], "ELECTION_NOT_NEEDED"),
        ([(10, "kill broker-1"), (30, "elect preferred orders-0")], "PREFERRED_LEADER_NOT_AVAILABLE"),
        ([*LAST_ONE[:3], (45, "elect unclean orders-0")], "there is no active controller"),
    ],
)
def test_elections_that_change_nothing_are_refused_in_kafkas_words(steps: list[tuple[float, str]], reason: str) -> None:
    assert refusals(flown(cluster(*steps, until_s=50)))[0].startswith(reason)


def test_without_unclean_elections_the_partition_waits_for_its_last_in_sync_replica() -> None:
    flight = flown(cluster(*LAST_ONE, (60, "start broker-1"), until_s=85))
    assert flight.all(e.LeaderElected, partition="orders-0", leader=-1)[0].isr == (1,)
    (back,) = flight.all(e.LeaderElected, 41 * SECOND_US, partition="orders-0", leader=1)
    assert (back.leader, back.reason) == (1, "broker returned")
    assert flight.document["delivery"]["lost"] == 0


@pytest.mark.parametrize("by", ["configuration", "command", "set"])
def test_an_unclean_election_loses_what_only_the_last_in_sync_replica_had(by: str) -> None:
    steps = [*LAST_ONE, (60, "start broker-1")]
    topic: dict[str, Value] = {}
    if by == "configuration":
        topic = {"unclean.leader.election.enable": True}
    elif by == "set":
        steps.append((50, "set orders unclean.leader.election.enable true"))
    else:
        steps.append((50, "elect unclean orders-0"))
    flight = flown(cluster(*steps, until_s=85, topic=topic, reads=False, producer={"acks": "1"}))
    (unclean,) = flight.all(e.LeaderElected, partition="orders-0", reason="unclean")
    assert (unclean.leader, unclean.isr) == (2, (2,))
    (cut,) = flight.all(e.LogTruncated, partition="orders-0", broker=1)
    lost = flight.all(e.RecordsLost, partition="orders-0")
    assert sum(event.records for event in lost) == cut.log_end - cut.offset > 0
    assert {event.producer for event in lost} == {"p-1"}
    assert log_of(flight, 1) == log_of(flight, 2)


def test_leaderships_go_back_by_themselves_when_more_than_a_tenth_is_away() -> None:
    steps = [(10, "kill broker-1 for 12s")]
    flight = flown(cluster(*steps, until_s=310, rate=1, reads=False))
    (given_back,) = flight.all(e.LeaderElected, 60 * SECOND_US, partition="orders-0")
    assert (given_back.leader, given_back.reason) == (1, "preferred")
    assert given_back.at_us == 310 * SECOND_US  # broker-2 has been the controller since broker-1 died at 10 s
    never: dict[str, Value] = {"auto.leader.rebalance.enable": False}
    assert not flown(cluster(*steps, until_s=330, rate=1, brokers=never, reads=False)).all(
        e.LeaderElected, 60 * SECOND_US
    )
    tolerant: dict[str, Value] = {"leader.imbalance.per.broker.percentage": 100}
    assert not flown(cluster(*steps, until_s=330, rate=1, brokers=tolerant, reads=False)).all(
        e.LeaderElected, 60 * SECOND_US
    )


def test_a_controlled_shutdown_moves_leaders_first_and_without_it_the_session_has_to_end() -> None:
    def leaderless_us(enabled: bool) -> int:
        scenario = cluster((10, "stop broker-1"), until_s=30, brokers={"controlled.shutdown.enable": enabled})
        flight = flown(scenario)
        stopped = flight.all(e.BrokerStopped, broker=1)[0].at_us
        return flight.all(e.LeaderElected, SECOND_US, partition="orders-0")[0].at_us - stopped

    assert leaderless_us(enabled=True) <= 0
    assert 5 * SECOND_US < leaderless_us(enabled=False) <= 9 * SECOND_US


# --- controller and coordinator ---------------------------------------------------------------------------------------


def test_the_controller_fails_over_and_stays_there() -> None:
    flight = flown(cluster((10, "fail over controller"), (20, "fail over controller"), until_s=25))
    assert [event.broker for event in flight.all(e.ControllerElected, SECOND_US)] == [2, 3]
    assert [name for name, broker in flight.document["brokers"].items() if broker["controller"]] == ["3"]
    assert not flight.all(e.BrokerFenced)


def test_a_controller_that_is_cut_off_is_followed_by_one_that_reaches_most_and_is_fenced() -> None:
    steps = [(10, "isolate broker-1"), (40, "heal")]
    flight = flown(cluster(*steps, until_s=60))
    (elected,) = flight.all(e.ControllerElected, SECOND_US)
    assert (elected.broker, elected.at_us) == (2, 12 * SECOND_US)
    assert [event.broker for event in flight.all(e.BrokerFenced)] == [1]
    assert flight.all(e.LeaderElected, SECOND_US, partition="orders-0")[0].leader == 2
    assert partition(flight)["isr"] == [1, 2, 3]
    assert flight.document["delivery"]["lost"] == 0


@pytest.mark.parametrize(
    "steps",
    [
        [(10, "isolate broker-1 for 1500ms")],  # shorter than voters wait
        [(10, "cut broker-1 broker-2")],  # it still has two of three
        [(5, "kill broker-3"), (10, "cut broker-1 broker-2")],  # no broker has more than half of two
        [(10, "isolate broker-1"), (10, "isolate broker-2"), (10, "isolate broker-3")],
    ],
)
def test_a_controller_stays_while_it_is_heard_or_nobody_else_would_be(steps: list[tuple[float, str]]) -> None:
    assert not flown(cluster(*steps, until_s=30)).all(e.ControllerElected, SECOND_US)


def test_a_broker_that_is_cut_off_does_not_stay_controller_after_another_one_died() -> None:
    flight = flown(cluster((5, "fail over controller"), (10, "isolate broker-1"), (15, "kill broker-2"), until_s=30))
    assert [event.broker for event in flight.all(e.ControllerElected, SECOND_US)] == [2, 1]


def test_a_silent_broker_gets_a_fresh_session_from_a_new_controller() -> None:
    def fenced_us(*steps: tuple[float, str]) -> int:
        flight = flown(cluster((10, "kill broker-3"), *steps, until_s=40))
        return flight.all(e.BrokerFenced)[0].at_us

    assert fenced_us() < 19 * SECOND_US
    assert fenced_us((15, "fail over controller")) == 24 * SECOND_US


def test_a_moved_coordinator_is_not_noticed_by_a_stable_group() -> None:
    flight = flown(cluster((10.2, "move coordinator of g"), until_s=30))
    before, after = flight.all(e.LeaderElected, partition="__consumer_offsets-0")
    assert (after.reason, after.isr) == ("moved", before.isr)
    assert after.leader != before.leader
    assert flight.document["groups"]["g"]["coordinator"] == after.leader
    assert flight.document["groups"]["g"]["generation"] == 1
    assert len(flight.all(e.RebalanceStarted)) == 1
    assert flight.document["delivery"]["duplicated"] == 0


# --- crashes ----------------------------------------------------------------------------------------------------------


def test_a_crash_loses_what_is_not_yet_on_disk_and_a_kill_nothing() -> None:
    def log_end_after(step: str) -> tuple[int, int]:
        flight = flown(cluster((60.5, step), until_s=61, reads=False))
        replica = flight.simulation.brokers[3].replicas["orders-0"]
        return replica.log.log_end, flight.simulation.brokers[1].replicas["orders-0"].log.log_end

    killed, of_leader = log_end_after("kill broker-3")
    assert of_leader - killed <= 20  # what was appended in the last half second
    crashed, of_leader = log_end_after("crash broker-3")
    assert 0 < crashed < of_leader
    assert 30 * 20 <= of_leader - crashed <= 36 * 20  # thirty to thirty-five seconds


def test_flush_messages_leaves_less_to_lose() -> None:
    flight = flown(cluster((60.5, "crash broker-3"), until_s=61, topic={"flush.messages": 5}, reads=False))
    assert all(cut.log_end - cut.offset < 5 for cut in flight.all(e.LogTruncated, broker=3, partition="orders-0"))
    assert flight.simulation.brokers[3].replicas["orders-0"].log.log_end > 1_000


def test_a_crashed_follower_fetches_again_what_it_lost() -> None:
    flight = flown(cluster((20.5, "crash broker-2 for 15s"), until_s=60))
    assert flight.all(e.LogTruncated, broker=2, reason="crash", partition="orders-0")
    assert partition(flight)["isr"] == [1, 2, 3]
    assert log_of(flight, 1) == log_of(flight, 2)
    assert flight.document["delivery"]["lost"] == 0
    assert not flight.all(e.RecordsLost)


def test_a_crashed_follower_of_an_idle_partition_fetches_again_what_it_lost() -> None:
    steps = [(8, "stop p-1"), (10, "crash broker-2 for 5s"), (40, "start p-1")]
    flight = flown(cluster(*steps, until_s=50))
    assert partition(flight)["leader_epoch"] == 0  # no other broker led meanwhile: the leader knows its follower of old
    assert flight.all(e.LogTruncated, broker=2, reason="crash", partition="orders-0")[0].offset == 0
    (back, *_) = flight.all(e.IsrChanged, 12 * SECOND_US, partition="orders-0", isr=(1, 2, 3))
    assert back.at_us < 40 * SECOND_US
    assert log_of(flight, 1) == log_of(flight, 2)


def test_a_crashed_leader_costs_nothing_that_was_acknowledged_by_all() -> None:
    flight = flown(cluster((20.5, "crash broker-1 for 15s"), until_s=60))
    assert flight.document["delivery"]["lost"] == 0
    assert log_of(flight, 1) == log_of(flight, 2) == log_of(flight, 3)


def test_when_the_last_in_sync_replica_crashes_its_unflushed_records_are_gone_and_listed() -> None:
    steps = [(10, "kill broker-2"), (10, "kill broker-3"), (40.5, "crash broker-1 for 15s")]
    flight = flown(cluster(*steps, until_s=80, reads=False))
    (cut,) = flight.all(e.LogTruncated, broker=1, reason="crash", partition="orders-0")
    lost = flight.all(e.RecordsLost, partition="orders-0")
    on_followers = flight.simulation.brokers[2].replicas["orders-0"].log.log_end
    assert lost[0].first_offset == max(cut.offset, on_followers)
    assert sum(event.records for event in lost) == cut.log_end - lost[0].first_offset
    assert flight.all(e.LeaderElected, 41 * SECOND_US, partition="orders-0", reason="broker returned")


def test_losing_all_hosts_at_once_loses_even_what_acks_all_confirmed() -> None:
    steps = [(40.5, f"crash broker-{number} for 5s") for number in (1, 2, 3)]
    flight = flown(cluster(*steps, until_s=90, reads=False))
    lost = sum(event.records for event in flight.all(e.RecordsLost, partition="orders-0"))
    assert lost > 0
    assert flight.simulation.view.partitions["orders-0"].lost_serials["p-1"].size > 500


def test_records_on_their_way_to_a_paused_follower_outlive_the_crash_of_their_leader() -> None:
    steps = [(10, "kill broker-3"), (10, "pause broker-2 for 3s"), (11, "crash broker-1 for 15s")]
    flight = flown(cluster(*steps, until_s=60, producer={"acks": "1"}))
    lost = flight.all(e.RecordsLost, partition="orders-0")
    survived = flight.all(e.RecordsRecovered, partition="orders-0")
    assert [(event.broker, event.at_us // SECOND_US, event.records) for event in survived] == [(2, 13, 1)]
    assert survived[0].first_serial == lost[0].first_serial  # the first that came after the pause
    assert flight.document["delivery"]["lost"] == sum(event.records for event in lost) - 1 > 0


@pytest.mark.parametrize(
    ("session_us", "reached", "again_us"), [(9, True, 4_500_000), (90, True, 30_000_000), (9, False, 1_000_000)]
)
def test_a_registration_that_nobody_answers_is_sent_again(session_us: int, reached: bool, again_us: int) -> None:
    """After half a session, or `controller.socket.timeout.ms` (KAFKA-14392); its answer may have died with a broker."""
    sent: list[object] = []
    delays: list[int] = []
    link = SimpleNamespace(send=lambda _, what: sent.append(what)) if reached else None
    control = SimpleNamespace(
        register=None,
        link_from=lambda _: link,
        controller=SimpleNamespace(session_timeout_us=session_us * SECOND_US),
        timeline=SimpleNamespace(call_later=lambda delay_us, *_: delays.append(delay_us)),
    )
    broker = SimpleNamespace(running=True, incarnation=1)
    BrokerLifecycle(cast(Any, broker), cast(Any, control), heartbeat_us=2 * SECOND_US).register(1)
    assert (len(sent), delays) == (int(reached), [again_us])


def test_a_restarted_broker_leads_nothing_before_it_is_registered() -> None:
    """Seed 14928: elected while its former life's session was valid, it hears of that from the next controller."""
    steps = [(10.0, "kill broker-1 for 3s"), (11.0, "stop broker-3 for 1s"), (14.0, "fail over controller")]
    flight = flown(cluster(*steps, (30.0, "elect preferred orders-0"), partitions=3, until_s=32))
    (started,) = flight.all(e.BrokerStarted, SECOND_US, broker=1)
    assert flight.all(e.LeaderElected, 10 * SECOND_US, partition="orders-2", leader=1)[0].at_us < started.at_us
    (registered,) = flight.all(e.BrokerUnfenced, started.at_us, broker=1)
    assert registered.at_us >= 23 * SECOND_US  # nine seconds after the last controller began to count
    taken = flight.all(e.LeadershipTaken, started.at_us, broker=1)
    assert [one.partition for one in taken if one.at_us < registered.at_us] == []
    assert "orders-0" in [one.partition for one in taken]
