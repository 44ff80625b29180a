"""What becomes of a stop or restart when its process is frozen before it, or dies of something else meanwhile."""

import pytest

from cluster import events as e
from cluster.broker.broker import Broker
from cluster.clients.process import Process
from tests.support.broker_flights import MS, SECOND_US, STOPPING, cluster, flown, refusals, stop_lasts_us
from tests.support.completed_flight import Flown

PAUSED = (10.0, "pause broker-2"), (12.0, "stop broker-2")


def ends_of(flight: Flown, broker: int) -> list[tuple[str, int]]:
    """How and when the process ended."""
    return [(event.how, event.at_us) for event in flight.all(e.BrokerStopped, broker=broker)]


def starts_of(flight: Flown, broker: int) -> list[int]:
    """When the process was started again."""
    return [event.at_us for event in flight.all(e.BrokerStarted, SECOND_US, broker=broker)]


# --- a frozen process has not got its signal --------------------------------------------------------------------------


def test_a_frozen_broker_does_nothing_about_a_stop_and_is_missed_after_its_session() -> None:
    flight = flown(cluster(*PAUSED, until_s=30))
    (fenced,) = flight.all(e.BrokerFenced, broker=2)
    assert fenced.reason == "session expired"
    assert 10_000 * MS < fenced.at_us <= 19_010 * MS  # its last heartbeat came before it froze
    assert not flight.all(e.BrokerStateChanged, broker=2)
    assert not flight.all(e.LeaderElected, 10 * SECOND_US, reason="controlled shutdown")
    assert ends_of(flight, 2) == []


@pytest.mark.parametrize("resumed_s", [13.0, 25.0])
def test_it_stops_when_it_thaws(resumed_s: float) -> None:
    flight = flown(cluster(*PAUSED, (resumed_s, "resume broker-2"), until_s=40))
    (asked,) = flight.all(e.BrokerStateChanged, broker=2)
    assert (asked.state, asked.at_us) == (STOPPING, int(resumed_s * SECOND_US))
    assert [how for how, _ in ends_of(flight, 2)] == ["stop"]
    assert stop_lasts_us(flight, 2) <= (2_100 * MS if resumed_s < 19 else 5 * MS)  # one that is fenced may go at once
    assert starts_of(flight, 2) == []
    assert refusals(flight) == []


def test_a_frozen_broker_is_restarted_when_it_thaws() -> None:
    flight = flown(cluster((10.0, "pause broker-2 for 15s"), (12.0, "restart broker-2"), until_s=45))
    ((how, ended_us),) = ends_of(flight, 2)
    assert how == "stop"
    assert ended_us >= 25 * SECOND_US
    assert starts_of(flight, 2) == [ended_us]
    assert flight.document["brokers"]["2"]["state"] == "Running"


def test_a_kill_does_not_wait_for_a_pending_stop() -> None:
    flight = flown(cluster(*PAUSED, (14.0, "kill broker-2"), until_s=30))
    assert ends_of(flight, 2) == [("kill", 14 * SECOND_US)]
    assert not flight.all(e.BrokerStateChanged, broker=2)


def test_a_pending_stop_is_gone_with_the_process() -> None:
    again = (14.0, "kill broker-2"), (16.0, "start broker-2")
    flight = flown(cluster(*PAUSED, *again, until_s=45))
    assert ends_of(flight, 2) == [("kill", 14 * SECOND_US)]
    assert flight.document["brokers"]["2"]["state"] == "Running"


def test_two_pending_stops_of_a_broker_that_is_starting_end_it_once() -> None:
    steps = (5.0, "kill broker-2"), (6.0, "start broker-2"), (7.0, "pause broker-2"), (8.0, "stop broker-2")
    flight = flown(cluster(*steps, (9.0, "stop broker-2"), (10.0, "resume broker-2"), until_s=30))
    assert ends_of(flight, 2) == [("kill", 5 * SECOND_US), ("stop", 10 * SECOND_US)]
    assert not flight.all(e.BrokerStateChanged, broker=2)


def test_a_second_stop_of_one_that_was_frozen_while_it_stops_changes_nothing() -> None:
    steps = (10.0, "stop broker-2"), (10.1, "pause broker-2"), (11.0, "stop broker-2"), (25.0, "resume broker-2")
    flight = flown(cluster(*steps, until_s=35))
    assert [event.at_us for event in flight.all(e.BrokerStateChanged, broker=2)] == [10 * SECOND_US]
    assert [how for how, _ in ends_of(flight, 2)] == ["stop"]


# --- only a clean stop is followed by a start -------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["restart broker-2", "restart broker-2 for 5s", "stop broker-2 for 5s"])
@pytest.mark.parametrize("death", ["kill", "crash"])
def test_a_broker_that_dies_during_a_restart_stays_down(asked: str, death: str) -> None:
    flight = flown(cluster((10.0, asked), (10.5, f"{death} broker-2"), until_s=30))
    assert ends_of(flight, 2) == [(death, 10_500 * MS)]
    assert starts_of(flight, 2) == []
    assert not flight.document["brokers"]["2"]["up"]


@pytest.mark.parametrize("death", ["kill", "crash"])
def test_it_comes_back_when_the_fault_is_over(death: str) -> None:
    flight = flown(cluster((10.0, "restart broker-2"), (10.5, f"{death} broker-2 for 10s"), until_s=35))
    assert starts_of(flight, 2) == [20_500 * MS]
    (ended,) = flight.all(e.FaultEnded)
    assert ended.at_us == 20_500 * MS


@pytest.mark.slow
def test_a_broker_that_halts_during_a_restart_stays_down() -> None:
    """It follows orders-0: the fetch that is on its way brings records for which its disk has no room."""
    steps = (10.0, "restart broker-3"), (10.0, "fill disk of broker-3")
    flight = flown(cluster(*steps, until_s=15, rate=1_000, reads=False))
    ((how, ended_us),) = ends_of(flight, 3)
    assert (how, ended_us <= 10_010 * MS) == ("disk", True)
    assert [event.at_us for event in flight.all(e.BrokerStateChanged, broker=3, state=STOPPING)] == [10 * SECOND_US]
    assert starts_of(flight, 3) == []


@pytest.mark.parametrize("target", ["g-1", "p-1"])
def test_a_client_that_is_killed_during_a_restart_stays_down(target: str) -> None:
    """What holds its close() up: a member finishes its records, a producer waits for its last batch."""
    held = (9.9, "cut g-1 broker-2"), (9.9, "cut p-1 broker-1"), (10.0, f"restart {target}"), (10.1, f"kill {target}")
    flight = flown(cluster(*held, until_s=30))
    started = [
        *flight.all(e.MemberStarted, 10 * SECOND_US),
        *flight.all(e.ProducerStateChanged, 10 * SECOND_US, state="Running"),
    ]
    assert started == []
    assert refusals(flight) == []
    process = flight.simulation.process(target)
    assert process is not None
    assert not process.alive


def test_a_client_that_is_killed_during_a_restart_comes_back_when_the_fault_is_over() -> None:
    held = (9.9, "cut g-1 broker-2 for 1s"), (10.0, "restart g-1"), (10.1, "kill g-1 for 5s")
    flight = flown(cluster(*held, until_s=30))
    assert [event.at_us for event in flight.all(e.MemberStarted, 10 * SECOND_US)] == [15_100 * MS]


# --- mutants ----------------------------------------------------------------------------------------------------------


def test_a_frozen_broker_that_gets_its_signal_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broker, "stop", lambda self: self.lifecycle.stop())
    with pytest.raises((AssertionError, ValueError)):
        test_a_frozen_broker_does_nothing_about_a_stop_and_is_missed_after_its_session()


def test_a_start_that_follows_any_death_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def follows(self: Process, *, cleanly: bool) -> None:
        on_stopped, self.on_stopped = self.on_stopped, None
        if on_stopped is not None:
            on_stopped()

    monkeypatch.setattr(Process, "notify_stopped", follows)
    with pytest.raises(AssertionError):
        test_a_client_that_is_killed_during_a_restart_comes_back_when_the_fault_is_over()
