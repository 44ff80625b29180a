"""Rollouts: Kubernetes' limits and order, readiness, new names, pods that do not end, scaling meanwhile."""

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.commands import CommandError
from cluster.commands.pod_limits import deployment_limits, statefulset_limit
from cluster.invariants import Invariants, InvariantViolated
from cluster.simulation import Simulation
from cluster.simulation.rollouts import GRACE_US, GroupRollout, Rollouts
from cluster.spec import ScenarioSpec
from tests.support.broker_flights import SECOND_US, flown, refusals
from tests.support.completed_flight import Flown
from tests.support.scenario_builders import group_of

STARTUP_US = 5 * SECOND_US
AT_US = 20 * SECOND_US


def scenario(*steps: tuple[float, str], until_s: float = 90, members: int = 4, static: bool = False) -> ScenarioSpec:
    spec = group_of(*steps, until_s=until_s, members=members, partitions=4, startup_us=STARTUP_US, static=static)
    producers = tuple(msgspec.structs.replace(each, rate_per_second=2.0) for each in spec.producers)
    return msgspec.structs.replace(spec, producers=producers)


def rolled(text: str, *steps: tuple[float, str], until_s: float = 90, members: int = 4) -> Flown:
    return flown(scenario((20, text), *steps, until_s=until_s, members=members), truthful=False)


def rounds(flight: Flown) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """At which second which pods were stopped and started."""
    return [(one.at_us // SECOND_US, one.stops, one.starts) for one in flight.all(e.RolloutAdvanced)]


def ends(flight: Flown) -> list[str]:
    return [event.how for event in flight.all(e.RolloutEnded)]


def running(flight: Flown) -> list[str]:
    return [name for name, member in flight.document["members"].items() if member["alive"]]


# The cases of Kubernetes' TestResolveFenceposts, and its defaults.
@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "limits"),
    [
        ("0", "0%", 0, None), ("39%", "39%", 10, (4, 3)), ("oops", "oops", 10, None), ("55%", "urg", 10, None),
        ("5", "1", 10, (5, 1)), ("", "", 40, (10, 10)), ("", "", 3, (1, 0)), ("", "", 1, (1, 0)),
        ("0", "10%", 5, (0, 1)), ("1%", "0", 5, (1, 0)), ("0", "100%", 5, (0, 5)), ("0", "9", 5, (0, 5)),
        ("200%", "0", 5, (10, 0)),
    ],
)  # fmt: skip
def test_limits_are_rounded_as_kubernetes_rounds(
    surge: str, unavailable: str, replicas: int, limits: tuple[int, int] | None
) -> None:
    if limits is None:
        with pytest.raises(ValueError if surge.isalpha() or unavailable.isalpha() else CommandError):
            deployment_limits(surge, unavailable, replicas)
    else:
        assert deployment_limits(surge, unavailable, replicas) == limits


@pytest.mark.parametrize(("limit", "allowed"), [("", 1), ("3", 3), ("25%", 1), ("50%", 2), ("10%", 1), ("99%", 3)])
def test_a_statefulset_rounds_down_to_at_least_one(limit: str, allowed: int) -> None:
    assert statefulset_limit(limit, 4) == allowed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rollout deployment g max unavailable 0 max surge 0", "max unavailable may not be 0 when max surge is 0"),
        ("rollout deployment g max unavailable 101%", "max unavailable is at most 100%"),
        ("rollout statefulset g max unavailable 0", "max unavailable of a StatefulSet is at least 1"),
        ("end rollout of g", "no rollout of g is under way"),
        ("end rollout of brokers", "no rolling restart of the brokers is under way"),
    ],
)
def test_what_kubernetes_refuses_is_refused(text: str, reason: str) -> None:
    assert refusals(rolled(text, until_s=21)) == [reason]


def test_a_group_without_a_member_has_no_rollout() -> None:
    flight = rolled("rollout deployment g", (19, "kill g-1"), (19, "kill g-2"), until_s=21, members=2)
    assert refusals(flight) == ["no member of g is running"]


def test_a_deployment_replaces_its_pods_as_they_get_ready() -> None:
    flight = rolled("rollout deployment g")
    assert rounds(flight)[0] == (20, ("g-4",), ("g-5", "g-6"))
    assert [at_s for at_s, _, _ in rounds(flight)] == [20, 25, 30]
    assert ends(flight) == ["complete"]
    assert running(flight) == ["g-5", "g-6", "g-7", "g-8"]
    assert flight.document["groups"]["g"]["members"] == 4


def test_without_surge_pods_go_first_and_without_unavailable_ones_they_come_first() -> None:
    gone_first = rounds(rolled("rollout deployment g max unavailable 2 max surge 0"))
    assert gone_first[0] == (20, ("g-4", "g-3"), ("g-5", "g-6"))
    come_first = rounds(rolled("rollout deployment g max unavailable 0 max surge 2"))
    assert come_first[:2] == [(20, (), ("g-5", "g-6")), (25, ("g-4", "g-3"), ("g-7", "g-8"))]


def test_a_statefulset_restarts_from_the_last_and_waits_for_each() -> None:
    flight = rolled("rollout statefulset g")
    assert [stops for _, stops, _ in rounds(flight)] == [("g-4",), ("g-3",), ("g-2",), ("g-1",)]
    assert [at_s for at_s, _, _ in rounds(flight)] == [20, 25, 30, 35]
    assert running(flight) == ["g-1", "g-2", "g-3", "g-4"]
    assert ends(flight) == ["complete"]


def test_a_statefulset_waits_for_a_pod_that_is_away_by_a_fault() -> None:
    flight = rolled("rollout statefulset g", (19, "kill g-2 for 11s"))
    assert [at_s for at_s, _, _ in rounds(flight)] == [35, 40, 45, 50]
    assert ends(flight) == ["complete"]


def test_unready_pods_of_a_deployment_go_first() -> None:
    flight = rolled("rollout deployment g max unavailable 1 max surge 0", (19, "restart g-2"))
    assert rounds(flight)[0] == (20, ("g-2",), ("g-5",))


def test_a_pod_that_does_not_end_is_killed_after_its_grace_period() -> None:
    flight = rolled("rollout deployment g max surge 1 max unavailable 0", (19, "pause g-4"))
    (killed,) = flight.all(e.MemberStopped, how="kill")
    assert (killed.member, killed.at_us) == ("g-4", AT_US + STARTUP_US + GRACE_US + killed.at_us % SECOND_US)
    again = rolled("rollout statefulset g", (19, "pause g-4"), until_s=80)
    assert [event.member for event in again.all(e.MemberStopped, how="kill")] == ["g-4"]
    assert ends(again) == ["complete"]


def test_scaling_goes_on_from_the_new_names() -> None:
    flight = rolled("rollout deployment g", (50, "scale g to 5"), (70, "scale g to 2"))
    assert flight.all(e.MemberStarted, after_us=50 * SECOND_US)[0].member == "g-9"
    assert running(flight) == ["g-5", "g-6"]


@pytest.mark.parametrize(
    ("workload", "to", "left"),
    [
        ("deployment", 6, ["g-5", "g-6", "g-7", "g-8", "g-9", "g-10"]),
        ("deployment", 2, ["g-5", "g-6"]),
        ("statefulset", 6, ["g-1", "g-2", "g-3", "g-4", "g-5", "g-6"]),
        ("statefulset", 2, ["g-1", "g-2"]),
    ],
)
def test_a_rollout_takes_another_number_of_replicas(workload: str, to: int, left: list[str]) -> None:
    flight = rolled(f"rollout {workload} g", (22, f"scale g to {to}"))
    assert ends(flight) == ["complete"]
    assert running(flight) == left
    assert flight.document["groups"]["g"]["members"] == to


def test_scaling_to_nothing_ends_a_rollout() -> None:
    flight = rolled("rollout deployment g", (22, "scale g to 0"))
    assert ends(flight) == ["ended"]
    assert running(flight) == []


def test_a_second_rollout_replaces_the_pods_of_both() -> None:
    flight = rolled("rollout deployment g", (22, "rollout deployment g"))
    assert ends(flight) == ["superseded", "complete"]
    assert running(flight) == ["g-9", "g-10", "g-11", "g-12"]


def test_an_ended_rollout_stops_and_starts_no_more() -> None:
    flight = rolled("rollout statefulset g", (22, "end rollout of g"))
    assert [stops for _, stops, _ in rounds(flight)] == [("g-4",)]
    assert ends(flight) == ["ended"]
    assert running(flight) == ["g-1", "g-2", "g-3", "g-4"]


def test_static_members_of_a_statefulset_keep_their_places_and_those_of_a_deployment_do_not() -> None:
    kept = flown(scenario((20, "rollout statefulset g"), static=True))
    assert len(kept.all(e.StaticMemberReplaced)) == 4
    left = flown(scenario((20, "rollout deployment g"), static=True))
    assert not left.all(e.StaticMemberReplaced)
    assert len(left.all(e.MemberRemoved, reason="session expired")) == 4


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


def all_at_once(_: Rollouts, rollout: GroupRollout) -> tuple[list[str], list[str]]:
    stops = list(rollout.old)
    rollout.old.clear()
    return stops, stops


def test_a_rollout_that_takes_too_many_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = scenario((20, "rollout statefulset g"), until_s=40)
    judged(spec)
    monkeypatch.setattr(Rollouts, "_restart", all_at_once)
    with pytest.raises(InvariantViolated, match="K1 RolloutAvailability"):
        judged(spec)


@pytest.mark.parametrize("scaled", [[], [(21, "scale g to 6")]], ids=["as declared", "scaled meanwhile"])
def test_a_rollout_that_starts_too_many_is_caught(
    scaled: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = scenario((20, "rollout deployment g"), *scaled, until_s=60)
    judged(spec)
    replace = Rollouts._replace

    def with_more_surge(rollouts: Rollouts, rollout: GroupRollout) -> tuple[list[str], list[str]]:
        extra = 2 if rollouts._cluster.timeline.now_us >= (21_000_000 if scaled else 0) else 0
        rollout.surge += extra
        done = replace(rollouts, rollout)
        rollout.surge -= extra
        return done

    monkeypatch.setattr(Rollouts, "_replace", with_more_surge)
    with pytest.raises(InvariantViolated, match="K2 RolloutSurge"):
        judged(spec)


def test_a_group_whose_scenario_says_nothing_of_pods_reports_readiness_while_it_is_rolled() -> None:
    spec = msgspec.structs.replace(group_of((20, "rollout statefulset g"), until_s=60, members=3))
    assert {event.member for event in flown(spec).all(e.MemberReady)} == {"g-1", "g-2", "g-3"}
