"""The rolling restart of brokers: its order, its pace, its gate."""

import pytest
import trio

from cluster import events as e
from cluster.invariants import Invariants, InvariantViolated
from cluster.simulation import Simulation
from cluster.simulation.broker_roll import BrokerRoll
from cluster.spec import ScenarioSpec
from tests.support.broker_flights import SECOND_US, cluster, flown, refusals
from tests.support.completed_flight import Flown

SLOW_FETCH = (9, "slow broker-1 broker-2 to 4s for 60s")


def stops(flight: Flown) -> list[tuple[int, str]]:
    return [(one.at_us // SECOND_US, one.stops[0]) for one in flight.all(e.RolloutAdvanced)]


def test_brokers_restart_in_turn_the_active_controller_last() -> None:
    flight = flown(cluster((10, "rolling restart brokers"), until_s=60))
    assert [name for _, name in stops(flight)] == ["broker-2", "broker-3", "broker-1"]
    back = {event.broker: event.at_us for event in flight.all(e.BrokerUnfenced, after_us=10 * SECOND_US)}
    times = [one.at_us for one in flight.all(e.RolloutAdvanced)]
    assert back[2] <= times[1]
    assert back[3] <= times[2]
    assert [event.how for event in flight.all(e.RolloutEnded)] == ["complete"]


@pytest.mark.slow
def test_they_stay_down_as_long_as_asked_and_follow_no_faster_than_asked() -> None:
    flight = flown(cluster((10, "rolling restart brokers every 30s down 5s"), until_s=120))
    assert [at_s for at_s, _ in stops(flight)] == [10, 40, 70]
    began = [event for event in flight.all(e.BrokerStarted, after_us=10 * SECOND_US) if event.broker == 2]
    assert 15 <= began[0].at_us / SECOND_US < 19


def test_the_gate_waits_for_every_replica() -> None:
    plain = flown(cluster(SLOW_FETCH, (40, "rolling restart brokers"), until_s=120, brokers=QUICK, rate=2.0))
    gated = flown(
        cluster(SLOW_FETCH, (40, "rolling restart brokers wait for isr"), until_s=160, brokers=QUICK, rate=2.0)
    )
    assert stops(plain)[0][0] == 40
    assert stops(gated)[0][0] >= 69
    assert [event.how for event in gated.all(e.RolloutEnded)] == ["complete"]


QUICK: dict[str, int | float | bool | str | tuple[str, ...] | None] = {"replica.lag.time.max.ms": 5_000}


def test_who_does_not_run_is_left_alone_and_two_rolls_are_not_mixed() -> None:
    flight = flown(
        cluster((9, "kill broker-3"), (10, "rolling restart brokers"), (11, "rolling restart brokers"), until_s=60)
    )
    assert [name for _, name in stops(flight)] == ["broker-2", "broker-1"]
    assert refusals(flight) == ["a rolling restart of the brokers is under way"]


def test_a_roll_that_is_ended_stops_no_further_broker() -> None:
    flight = flown(cluster((10, "rolling restart brokers"), (11, "end rollout of brokers"), until_s=60))
    assert [name for _, name in stops(flight)] == ["broker-2"]
    assert [event.how for event in flight.all(e.RolloutEnded)] == ["ended"]


def judged(spec: ScenarioSpec) -> None:
    """Fly with the invariants."""
    simulation = Simulation(spec, 1)
    simulation.sinks.append(Invariants(spec, simulation.view))

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(spec.until_us)

    try:
        trio.run(main, clock=simulation.timeline)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


def test_a_gate_that_does_not_look_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = cluster(SLOW_FETCH, (40, "rolling restart brokers wait for isr"), until_s=160, brokers=QUICK, rate=2.0)
    judged(spec)
    monkeypatch.setattr(BrokerRoll, "_under_replicated", lambda _: False)
    with pytest.raises(InvariantViolated, match="K3 IsrGate"):
        judged(spec)
