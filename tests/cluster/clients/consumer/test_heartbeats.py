"""The heartbeat thread's clocks, in the order in which Kafka's looks at them."""

from cluster import events as e
from cluster.config import Value
from tests.support.broker_flights import MS, SECOND_US, cluster, flown


def test_a_heartbeat_does_not_wait_for_the_answer_to_the_last_one() -> None:
    """An answer takes 5 s: the coordinator hears of the member every second all the same."""
    flight = flown(cluster((10.0, "slow g-1 broker-2 to 2500ms"), until_s=60))
    assert flight.document["groups"]["g"]["coordinator"] == 2
    assert flight.document["groups"]["g"]["generation"] == 1
    beats = flight.all(e.HeartbeatAnswered, 30 * SECOND_US, member="g-1")
    assert len(beats) >= 25


def test_a_heartbeat_that_failed_is_sent_again_after_a_backoff() -> None:
    """`Heartbeat.failHeartbeat`: not after `heartbeat.interval.ms`."""
    config: dict[str, Value] = {"heartbeat.interval.ms": 5_000, "session.timeout.ms": 20_000}
    config["enable.auto.commit"] = False
    flight = flown(cluster((10.0, "move coordinator of g"), until_s=40, consumer=config))
    found = flight.all(e.CoordinatorFound, 10 * SECOND_US, member="g-1")
    assert len(found) == 1
    following = flight.all(e.HeartbeatAnswered, found[0].at_us, member="g-1")
    assert following[0].at_us - found[0].at_us < 300 * MS
    assert following[1].at_us - following[0].at_us == 5_000 * MS


def test_a_busy_application_does_not_keep_the_heartbeat_thread_from_finding_the_coordinator() -> None:
    config: dict[str, Value] = {"heartbeat.interval.ms": 2_000, "session.timeout.ms": 10_000}
    steps = [(10.0, "stall g-1 for 40s"), (12.0, "kill broker-2")]
    flight = flown(cluster(*steps, until_s=45, consumer=config))
    assert flight.document["groups"]["g"]["generation"] == 1
    lost, found = (flight.all(kind, 12 * SECOND_US, member="g-1") for kind in (e.CoordinatorLost, e.CoordinatorFound))
    assert lost
    assert found
    assert flight.all(e.HeartbeatAnswered, found[-1].at_us, member="g-1")


def test_who_does_not_know_its_coordinator_leaves_for_a_slow_poll_only_when_it_does() -> None:
    """First the coordinator, then the session, then the poll interval (`AbstractCoordinator.HeartbeatThread.run`)."""
    cuts = [(10.0, f"cut g-1 broker-{broker} for 20s") for broker in (1, 2, 3)]
    steps = [(9.0, "stall g-1 for 60s"), *cuts]
    flight = flown(cluster(*steps, until_s=60, consumer={"max.poll.interval.ms": 15_000}))
    left = flight.all(e.MemberStateChanged, 9 * SECOND_US, member="g-1", state="Left")
    assert len(left) == 1
    assert 30 * SECOND_US < left[0].at_us < 42 * SECOND_US
