"""How long a broker takes to stop and to start, and what it answers meanwhile."""

from collections.abc import Callable

import msgspec
import pytest

from cluster import events as e
from cluster.broker.broker_lifecycle import BrokerLifecycle
from cluster.controller.controller import Controller
from cluster.spec import BrokerSpec, ScenarioSpec
from tests.support.broker_flights import MS, SECOND_US, STOPPING, cluster, flown, refusals, stop_lasts_us
from tests.support.completed_flight import Flown

BEAT_US = 2 * SECOND_US  # broker.heartbeat.interval.ms


def starting_within(startup_s: float, *steps: tuple[float, str], until_s: float) -> ScenarioSpec:
    """A cluster whose brokers take so long to start."""
    return msgspec.structs.replace(cluster(*steps, until_s=until_s), startup_us=int(startup_s * SECOND_US))


def one_broker(*steps: tuple[float, str], until_s: float) -> ScenarioSpec:
    """A cluster of one broker."""
    spec = cluster(*steps, until_s=until_s, replication=1)
    return msgspec.structs.replace(spec, brokers=(BrokerSpec(1),))


def start_lasts_us(flight: Flown, broker: int) -> int:
    """From the start of the process until it takes connections."""
    (started,) = flight.all(e.BrokerStarted, SECOND_US, broker=broker)
    (serves,) = flight.all(e.BrokerStateChanged, started.at_us, broker=broker, state="Running")
    return serves.at_us - started.at_us


@pytest.mark.parametrize("first", [0, 1, 101, 1_000_001])
def test_brokers_of_any_number_stay_registered(first: int) -> None:
    """The first heartbeats are spread over an interval by the brokers' places, not by their numbers."""
    spec = cluster((10.3, f"stop broker-{first}"), until_s=20)
    numbered = msgspec.structs.replace(spec, brokers=tuple(BrokerSpec(first + place) for place in range(3)))
    flight = flown(numbered)
    assert [(fact.broker, fact.reason) for fact in flight.all(e.BrokerFenced)] == [(first, "controlled shutdown")]
    assert BEAT_US <= stop_lasts_us(flight, first) <= BEAT_US + 100 * MS
    assert flight.document["delivery"]["lost"] == 0


# --- stopping ---------------------------------------------------------------------------------------------------------


def test_a_clean_stop_moves_leaderships_at_once_and_ends_when_the_others_know_of_it() -> None:
    flight = flown(cluster((10.3, "stop broker-1"), until_s=20))
    moved = flight.all(e.LeaderElected, 10 * SECOND_US, partition="orders-0", reason="controlled shutdown")
    assert [event.at_us for event in moved] == [10_300 * MS]
    assert BEAT_US <= stop_lasts_us(flight, 1) <= BEAT_US + 100 * MS
    (fenced,) = flight.all(e.BrokerFenced, broker=1)
    (stopped,) = flight.all(e.BrokerStopped, broker=1)
    assert fenced.reason == "controlled shutdown"
    assert 0 <= stopped.at_us - fenced.at_us <= 5 * MS


def test_it_answers_meanwhile_that_it_leads_nothing() -> None:
    flight = flown(cluster((10.3, "stop broker-1"), until_s=20, rate=200))
    retried = flight.all(e.BatchRetried, 10 * SECOND_US)
    assert {event.error for event in retried} == {"NOT_LEADER_OR_FOLLOWER"}
    assert max(event.at_us for event in retried) < 10_600 * MS
    assert flight.document["delivery"]["lost"] == 0


def test_it_answers_meanwhile_that_it_coordinates_nothing() -> None:
    flight = flown(cluster((10.3, "stop broker-2"), until_s=20))
    (lost,) = flight.all(e.CoordinatorLost, 10 * SECOND_US)
    assert (lost.cause, lost.disconnected) == ("error response NOT_COORDINATOR", False)
    assert lost.at_us < flight.all(e.BrokerStopped, broker=2)[0].at_us
    assert not flight.all(e.MemberRemoved)


def test_it_fetches_no_more_of_what_it_does_not_lead() -> None:
    flight = flown(cluster((10.3, "stop broker-1"), until_s=13))
    (taken,) = flight.all(e.LeadershipTaken, 10 * SECOND_US, partition="orders-0")
    assert flight.simulation.brokers[1].replicas["orders-0"].log.log_end <= taken.log_end + 2
    assert flight.simulation.brokers[2].replicas["orders-0"].log.log_end > taken.log_end + 20
    assert not any(1 in event.isr for event in flight.all(e.IsrChanged, taken.at_us, partition="orders-0"))


def test_a_heartbeat_interval_of_its_own_makes_it_quicker() -> None:
    flight = flown(cluster((10.3, "stop broker-1"), until_s=20, brokers={"broker.heartbeat.interval.ms": 300}))
    assert 300 * MS <= stop_lasts_us(flight, 1) <= 400 * MS


def test_it_waits_for_a_frozen_broker_until_that_is_fenced() -> None:
    flight = flown(cluster((10.0, "pause broker-3"), (10.3, "stop broker-1"), until_s=30))
    (fenced,) = flight.all(e.BrokerFenced, broker=3)
    (stopped,) = flight.all(e.BrokerStopped, broker=1)
    assert 0 < stopped.at_us - fenced.at_us <= BEAT_US + 5 * MS


def test_a_broker_without_leaderships_or_without_others_does_not_wait() -> None:
    alone = flown(one_broker((10.3, "stop broker-1"), until_s=15))
    assert stop_lasts_us(alone, 1) <= 60 * MS
    leads_nothing = (10.0, "stop broker-3"), (22.0, "start broker-3"), (25.0, "stop broker-3")
    flight = flown(cluster(*leads_nothing, until_s=30))
    (_, asked), (_, ended) = (
        flight.all(e.BrokerStateChanged, broker=3, state=STOPPING),
        flight.all(e.BrokerStopped, broker=3),
    )
    assert ended.at_us - asked.at_us <= 5 * MS


def test_it_ends_after_five_minutes_without_an_answer() -> None:
    cut_off = (5.0, "cut broker-3 broker-1"), (10.0, "stop broker-3"), (20.0, "start broker-3")
    flight = flown(cluster(*cut_off, until_s=315, rate=0.1, reads=False))
    assert stop_lasts_us(flight, 3) == 300 * SECOND_US
    assert refusals(flight) == ["broker-3 has not stopped yet: restart it instead"]


def test_without_controlled_shutdown_it_stops_at_once() -> None:
    flight = flown(cluster((10.3, "stop broker-1"), until_s=25, brokers={"controlled.shutdown.enable": False}))
    assert flight.all(e.BrokerStopped, broker=1)[0].at_us == 10_300 * MS
    assert [event.reason for event in flight.all(e.BrokerFenced, broker=1)] == ["session expired"]


def test_a_second_stop_is_refused_and_a_kill_ends_it() -> None:
    flight = flown(cluster((10.3, "stop broker-1"), (11.0, "stop broker-1"), until_s=20))
    assert refusals(flight) == ["broker-1 is stopping already"]
    assert BEAT_US <= stop_lasts_us(flight, 1) <= BEAT_US + 100 * MS
    flight = flown(cluster((10.3, "stop broker-1"), (11.0, "kill broker-1"), until_s=30))
    (stopped,) = flight.all(e.BrokerStopped, broker=1)
    assert (stopped.how, stopped.at_us) == ("kill", 11 * SECOND_US)
    assert [event.reason for event in flight.all(e.BrokerFenced, broker=1)] == ["session expired"]


# --- starting ---------------------------------------------------------------------------------------------------------


def test_a_started_broker_serves_when_it_has_loaded_its_logs_and_is_registered() -> None:
    flight = flown(starting_within(5, (10.3, "kill broker-1"), (30.0, "start broker-1"), until_s=40))
    assert 5 * SECOND_US <= start_lasts_us(flight, 1) <= 5 * SECOND_US + 5 * MS
    (registered,) = flight.all(e.BrokerUnfenced, SECOND_US, broker=1)
    assert registered.at_us >= 35 * SECOND_US
    assert flight.document["brokers"]["1"]["state"] == "Running"


def test_nobody_gets_a_connection_to_a_broker_that_is_starting() -> None:
    flight = flown(starting_within(5, (10.3, "kill broker-1"), (30.0, "start broker-1"), until_s=34))
    broker = flight.simulation.brokers[1]
    assert (broker.alive, broker.running, broker.lifecycle.starting) == (True, False, True)
    assert flight.document["brokers"]["1"] | {"leaders": 0} == {
        "up": False, "state": "Starting", "controller": False, "leaders": 0, "coordinator_of": [],
    }  # fmt: skip
    assert not broker.sockets._connections


def test_one_that_is_still_thought_alive_serves_when_its_former_session_is_over() -> None:
    flight = flown(starting_within(2, (10.3, "kill broker-1 for 1s"), until_s=30))
    (fenced,) = flight.all(e.BrokerFenced, broker=1)
    (serves,) = flight.all(e.BrokerStateChanged, broker=1, state="Running")
    assert fenced.at_us < serves.at_us < fenced.at_us + 1_100 * MS


def test_a_restart_takes_both() -> None:
    flight = flown(starting_within(10, (10.3, "restart broker-1"), until_s=30))
    assert BEAT_US <= stop_lasts_us(flight, 1) <= BEAT_US + 100 * MS
    assert 10 * SECOND_US <= start_lasts_us(flight, 1) <= 10 * SECOND_US + 5 * MS
    (stopped,) = flight.all(e.BrokerStopped, broker=1)
    assert flight.all(e.BrokerStarted, SECOND_US, broker=1)[0].at_us == stopped.at_us


def test_a_clean_stop_ends_no_session_so_that_a_quick_restart_waits_for_its_end() -> None:
    """`ClusterControlManager.registerBroker`: DUPLICATE_BROKER_REGISTRATION, asked again at each heartbeat interval."""
    flight = flown(starting_within(4, (10.3, "restart broker-3"), until_s=40))
    (stopped,) = flight.all(e.BrokerStopped, broker=3)
    (serves,) = flight.all(e.BrokerStateChanged, broker=3, state="Running")
    assert serves.at_us - stopped.at_us == pytest.approx((4 + 3 * 2) * SECOND_US, abs=9 * MS)
    first, second = flight.all(e.BrokerFenced, broker=3)
    assert (first.reason, second.reason) == ("controlled shutdown", "session expired")
    assert second.at_us - first.at_us == pytest.approx(9 * SECOND_US, abs=5 * MS)


def test_another_controller_knows_of_no_session_of_a_broker_that_has_stopped() -> None:
    flight = flown(starting_within(3, (10.3, "restart broker-3"), (14.0, "fail over controller"), until_s=40))
    (stopped,) = flight.all(e.BrokerStopped, broker=3)
    (serves,) = flight.all(e.BrokerStateChanged, broker=3, state="Running")
    assert serves.at_us - stopped.at_us == pytest.approx(3 * SECOND_US, abs=5 * MS)
    assert [event.reason for event in flight.all(e.BrokerFenced, broker=3)] == ["controlled shutdown"]


def test_a_broker_can_be_killed_stopped_and_frozen_while_it_starts() -> None:
    down = (10.3, "kill broker-1"), (30.0, "start broker-1")
    killed = flown(starting_within(5, *down, (32.0, "kill broker-1"), until_s=40))
    assert [event.how for event in killed.all(e.BrokerStopped, broker=1)] == ["kill", "kill"]
    assert not killed.all(e.BrokerStateChanged, broker=1)
    stopped = flown(starting_within(5, *down, (32.0, "stop broker-1"), until_s=40))
    assert [event.at_us for event in stopped.all(e.BrokerStopped, broker=1, how="stop")] == [32 * SECOND_US]
    assert not stopped.all(e.BrokerStateChanged, broker=1)
    frozen = flown(starting_within(5, *down, (32.0, "pause broker-1 for 6s"), until_s=45))
    (serves,) = frozen.all(e.BrokerStateChanged, broker=1, state="Running")
    assert 41 * SECOND_US <= serves.at_us <= 41 * SECOND_US + 5 * MS  # it loads nothing while it is frozen
    short = flown(starting_within(5, *down, (32.0, "pause broker-1 for 1s"), until_s=45))
    (serves,) = short.all(e.BrokerStateChanged, broker=1, state="Running")
    assert 36 * SECOND_US <= serves.at_us <= 36 * SECOND_US + 5 * MS
    assert refusals(killed) == refusals(stopped) == refusals(frozen) == refusals(short) == []


def test_a_late_heartbeat_of_the_former_life_does_not_disturb_a_start() -> None:
    """It is held until the session is over and the next life loads its logs: the answer asks that one to register."""
    steps = (5.5, "hold broker-3 broker-1 for 20s"), (15.0, "kill broker-3"), (24.0, "start broker-3")
    flight = flown(starting_within(4, *steps, until_s=35))
    (serves,) = flight.all(e.BrokerStateChanged, broker=3, state="Running")
    assert 28 * SECOND_US <= serves.at_us <= 28 * SECOND_US + 5 * MS


def test_a_broker_that_is_starting_hosts_no_controller() -> None:
    steps = [(10.0 + number, f"kill broker-{number}") for number in (1, 2, 3)]
    flight = flown(starting_within(4, *steps, (20.0, "start broker-2"), until_s=40))
    elected = flight.all(e.ControllerElected, 13 * SECOND_US)
    assert [(event.broker, event.at_us) for event in elected] == [(-1, 13 * SECOND_US), (2, 24 * SECOND_US)]


# --- mutants ----------------------------------------------------------------------------------------------------------


def stops_at_once(patch: pytest.MonkeyPatch) -> None:
    """The controller lets a broker go before any broker has heard of the new leaders."""
    patch.setattr(Controller, "leads", lambda *_: False)


def asks_no_other_broker(patch: pytest.MonkeyPatch) -> None:
    """The second question is answered with yes."""
    patch.setattr(Controller, "may_stop", lambda *_: True)


def ends_the_session(patch: pytest.MonkeyPatch) -> None:
    """A clean stop is all that the controller needs to let the next process in."""
    complete_shutdown = Controller.complete_shutdown

    def forgets(self: Controller, broker: int) -> list[str]:
        self.brokers[broker].in_session = False
        return complete_shutdown(self, broker)

    patch.setattr(Controller, "complete_shutdown", forgets)


def starts_at_once(patch: pytest.MonkeyPatch) -> None:
    """Logs take no time to load."""
    made = BrokerLifecycle.__init__
    patch.setattr(
        BrokerLifecycle, "__init__", lambda self, broker, control, beat_us, _: made(self, broker, control, beat_us)
    )


@pytest.mark.parametrize("mutant", [stops_at_once, asks_no_other_broker, starts_at_once])
def test_a_broker_that_takes_no_time_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        test_a_restart_takes_both()


def test_a_clean_stop_that_ends_the_session_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_the_session(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        test_a_clean_stop_ends_no_session_so_that_a_quick_restart_waits_for_its_end()
