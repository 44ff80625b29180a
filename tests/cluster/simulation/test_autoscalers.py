"""Autoscalers: KEDA's and the HorizontalPodAutoscaler's formulas, their bounds, and commands that a rerun repeats."""

from pathlib import Path

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.invariants import Invariants, InvariantViolated
from cluster.simulation import Simulation
from cluster.simulation.autoscalers import Autoscaler
from cluster.spec import ApplicationSpec, AutoscalerSpec, ScenarioSpec
from recordings.flights.rerun import rerun
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario
from recordings.scenarios.writer import write_scenario
from tests.support.broker_flights import SECOND_US, flown
from tests.support.scenario_builders import group_of

HUNDRED = AutoscalerSpec(100, least=2, most=10)


@pytest.mark.parametrize(
    ("lag", "members", "partitions", "desired"),
    [
        (0, 2, 12, 0), (1, 2, 12, 1), (100, 4, 12, 1), (101, 4, 12, 2), (950, 4, 12, 10),
        (450, 4, 12, 5), (439, 4, 12, 4), (361, 4, 12, 4), (300, 4, 12, 3),  # within a tenth: no change
        (99_999, 4, 6, 6),  # never more than partitions
    ],
)  # fmt: skip
def test_the_lag_asks_for_members(lag: int, members: int, partitions: int, desired: int) -> None:
    assert Autoscaler(HUNDRED).desired(lag, members, partitions) == desired


def test_a_scale_up_doubles_or_adds_four_in_fifteen_seconds() -> None:
    scaler = Autoscaler(AutoscalerSpec(100, least=1, most=100))
    assert scaler.decide(0, 50, 1) == 5
    assert scaler.decide(5 * SECOND_US, 50, 5) == 5
    assert scaler.decide(20 * SECOND_US, 50, 5) == 10
    assert scaler.decide(40 * SECOND_US, 50, 10) == 20


def test_a_scale_down_takes_the_highest_recommendation_of_its_window() -> None:
    scaler = Autoscaler(AutoscalerSpec(100, least=1, most=10, stabilization_us=60 * SECOND_US))
    assert scaler.decide(0, 8, 8) == 8
    assert scaler.decide(30 * SECOND_US, 3, 8) == 8
    assert scaler.decide(45 * SECOND_US, 2, 8) == 8
    assert scaler.decide(61 * SECOND_US, 1, 8) == 3
    assert scaler.decide(200 * SECOND_US, 0, 3) == 1


def test_bounds_hold_whatever_the_lag_asks_for() -> None:
    assert Autoscaler(HUNDRED).decide(0, 0, 5) == 2
    assert Autoscaler(HUNDRED).decide(0, 99, 9) == 10


def autoscaled(*steps: tuple[float, str], until_s: float = 60) -> ScenarioSpec:
    """Two members that take 200 ms for each of 20 records a second, of six partitions."""
    scaler = AutoscalerSpec(20, least=2, most=5, every_us=5 * SECOND_US, stabilization_us=20 * SECOND_US)
    slow = ApplicationSpec(per_record_us=200_000)
    spec = group_of(*steps, until_s=until_s, members=2, autoscaler=scaler, application=slow)
    producers = tuple(msgspec.structs.replace(each, rate_per_second=20.0) for each in spec.producers)
    return msgspec.structs.replace(spec, producers=producers)


def test_a_group_that_falls_behind_gets_members_up_to_its_most() -> None:
    flight = flown(autoscaled())
    changes = [(one.members, one.to) for one in flight.all(e.GroupAutoscaled)]
    assert changes[0][0] == 2
    assert changes[-1][1] == 5
    assert flight.document["groups"]["g"]["members"] == 5


def test_a_group_that_was_scaled_to_nothing_is_left_alone() -> None:
    flight = flown(autoscaled((1, "scale g to 0"), until_s=40))
    assert not flight.all(e.GroupAutoscaled)
    assert flight.document["groups"]["g"]["members"] == 0


def test_a_rollout_takes_the_autoscalers_number() -> None:
    flight = flown(autoscaled((4, "rollout deployment g"), until_s=60), truthful=False)
    assert [event.how for event in flight.all(e.RolloutEnded)] == ["complete"]
    alive = [name for name, member in flight.document["members"].items() if member["alive"]]
    assert alive == ["g-3", "g-4", "g-5", "g-6", "g-7"]


def test_its_commands_are_journaled_as_its_own_and_a_rerun_repeats_them(tmp_path: Path) -> None:
    scenario = parse_scenario(write_scenario(autoscaled(until_s=30)), "scaled.toml")
    result = fly(make_plan(scenario), record=tmp_path / "scaled.flight")
    commands = Recording(tmp_path / "scaled.flight").survey().commands
    sources = {(each.source, each.command) for each in commands}
    assert ("autoscaler", "scale g to 5") in sources
    again = rerun(tmp_path / "scaled.flight")
    assert again.exact
    assert again.matches
    assert again.flight.journal_sha256 == result.journal_sha256


def test_an_autoscaler_that_leaves_its_bounds_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = autoscaled(until_s=20)

    def judged() -> None:
        simulation = Simulation(spec, 1)
        simulation.sinks.append(Invariants(spec, simulation.view))

        async def main() -> None:
            async with simulation.running():
                await simulation.timeline.fly(spec.until_us)

        try:
            trio.run(main, clock=simulation.timeline)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    judged()
    monkeypatch.setattr(Autoscaler, "decide", lambda _, now_us, desired, members: members + 4)
    with pytest.raises(InvariantViolated, match="K4 AutoscalerBounds"):
        judged()
