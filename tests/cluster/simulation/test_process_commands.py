"""Each command of the console on a small cluster: what it does, what it refuses, and what `for` undoes."""

import msgspec
import pytest

from cluster import events as e
from cluster.simulation import Simulation
from cluster.spec import ApplicationSpec, KeysSpec, PoisonSpec
from tests.support.broker_flights import refusals
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import SECOND_US, spec


def fly(*steps: tuple[float, str], until_s: float = 30) -> Flown:
    return flown(spec(*steps, until_s=until_s, members=2, initial_delay_ms=500))


def alive(simulation: Simulation, name: str) -> bool:
    process = simulation.process(name)
    return process is not None and process.alive


@pytest.mark.parametrize("name", ["broker-2", "g-2", "p-1"])
@pytest.mark.parametrize("word", ["kill", "stop"])
def test_whoever_is_killed_or_stopped_is_gone_and_for_brings_it_back(word: str, name: str) -> None:
    assert not alive(fly((10, f"{word} {name}")).simulation, name)
    back = fly((10, f"{word} {name} for 5s"))
    assert alive(back.simulation, name)
    assert not back.simulation._executor.faults


@pytest.mark.parametrize("command", ["start g-2", "scale g to 2"])
def test_a_member_that_a_command_starts_before_its_own_start_is_one_process(command: str) -> None:
    flight = flown(spec((1, command), until_s=12, members=2, stagger_us=5 * SECOND_US))
    assert len(flight.all(e.MemberStarted, member="g-2")) == 1
    assert alive(flight.simulation, "g-2")


@pytest.mark.parametrize("name", ["broker-2", "g-2", "p-1"])
def test_start_and_restart(name: str) -> None:
    flight = fly((10, f"kill {name}"), (12, f"start {name}"), (20, f"restart {name}"))
    assert alive(flight.simulation, name)
    assert not refusals(flight)
    assert not flight.simulation._executor.faults
    assert alive(fly((10, f"kill {name}"), (12, f"restart {name}")).simulation, name)


@pytest.mark.parametrize("name", ["broker-2", "g-2", "p-1"])
def test_pause_resume_and_pause_for(name: str) -> None:
    frozen, resumed, thawed = (
        fly((10, f"pause {name}")),
        fly((10, f"pause {name}"), (11, f"resume {name}")),
        fly((10, f"pause {name} for 2s")),
    )
    running = [flight.simulation.process(name).running for flight in (frozen, resumed, thawed)]  # type: ignore[union-attr]
    assert running == [False, True, True]
    assert [len(flight.simulation._executor.faults) for flight in (frozen, resumed, thawed)] == [1, 0, 0]


def test_a_fault_is_told_when_it_begins_and_when_it_ends() -> None:
    flight = fly((10, "stall g-2 for 3s"), (10, "pause heartbeats of g-1 for 2s"))
    assert [(fault.text, fault.ends_at_us) for fault in flight.all(e.FaultStarted)] == [
        ("stall g-2 for 3s", 13 * SECOND_US),
        ("pause heartbeats of g-1 for 2s", 12 * SECOND_US),
    ]
    assert [(fault.fault, fault.at_us) for fault in flight.all(e.FaultEnded)] == [
        (2, 12 * SECOND_US),
        (1, 13 * SECOND_US),
    ]


def test_slow_members_and_links_are_as_before_when_their_time_is_up() -> None:
    slow = fly((10, "slow g-2 to 50ms"), (10, "slow broker-1 broker-2 to 80ms"))
    assert slow.simulation.consumers["g-2"].application.per_record_us == 50_000
    assert slow.simulation.network.link("broker-2", "broker-1").latency_us == 80_000
    over = fly((10, "slow g-2 to 50ms for 1s"), (10, "slow broker-1 broker-2 to 80ms for 1s"))
    assert over.simulation.consumers["g-2"].application.per_record_us == 0
    assert over.simulation.network.link("broker-2", "broker-1").latency_us == 1_000


def test_cut_one_way_both_ways_and_heal() -> None:
    def cut(flight: Flown) -> list[bool]:
        network = flight.simulation.network
        ends = (("broker-1", "broker-2"), ("broker-2", "broker-1"))
        return [network.link(*one).cut_since_us is not None for one in ends]

    assert cut(fly((10, "cut broker-1 -> broker-2"), until_s=11)) == [True, False]
    assert cut(fly((10, "cut broker-1 broker-2"), until_s=11)) == [True, True]
    assert cut(fly((10, "cut broker-1 broker-2"), (10.5, "heal broker-1 broker-2"), until_s=11)) == [False, False]
    assert cut(fly((10, "cut broker-1 broker-2 for 500ms"), until_s=11)) == [False, False]
    assert cut(fly((10, "cut broker-1 broker-2"), (10.5, "heal"), until_s=11)) == [False, False]


@pytest.mark.parametrize(
    "under_way", ["kill g-2 for 5s", "stop g-2 for 5s", "restart g-2 for 5s", "rolling restart g every 1s down 5s"]
)
def test_who_is_scaled_away_does_not_come_back(under_way: str) -> None:
    flight = fly((10, under_way), (12, "scale g to 1"))
    assert not alive(flight.simulation, "g-2")
    assert flight.simulation._executor.faults == {}
    assert alive(fly((10, under_way), (12, "scale g to 1"), (20, "scale g to 2")).simulation, "g-2")


@pytest.mark.parametrize(("last", "lives"), [("stop g-2", False), ("stop g-2 for 2s", True), ("restart g-2", True)])
def test_a_stop_ends_a_restart_that_is_under_way(last: str, *, lives: bool) -> None:
    flight = fly((10, "pause g-2"), (10.5, "restart g-2"), (11, last), (12, "resume g-2"))
    assert not refusals(flight)
    assert alive(flight.simulation, "g-2") is lives


def test_who_is_scaled_away_while_it_closes_to_be_restarted_stays_away() -> None:
    flight = fly((10, "pause g-2"), (10.5, "restart g-2"), (11, "scale g to 1"), (12, "resume g-2"))
    assert [stopped.member for stopped in flight.all(e.MemberStopped)] == ["g-2"]
    assert not alive(flight.simulation, "g-2")


def test_who_is_scaled_away_and_wanted_again_before_it_is_gone_comes_back() -> None:
    steps = ((10, "pause g-2"), (10.5, "scale g to 1"), (11, "scale g to 2"), (12, "resume g-2"))
    flight = fly(*steps)
    assert len(flight.all(e.MemberStopped)) == 1
    assert alive(flight.simulation, "g-2")
    assert not alive(fly(*steps, (11.5, "scale g to 1")).simulation, "g-2")


def test_a_rolling_restart_leaves_who_is_scaled_away_alone() -> None:
    steps = ((10, "pause g-2"), (10.1, "rolling restart g every 2s"), (11, "scale g to 1"), (13, "resume g-2"))
    assert not alive(fly(*steps).simulation, "g-2")


def test_who_dies_while_it_is_to_end_does_not_come_back() -> None:
    """The record that it works on when it is told to stop is followed by one that it chokes on."""
    base = spec((9, "stop g-1"), members=1, initial_delay_ms=500, until_s=20)
    application = ApplicationSpec(400_000, poison=PoisonSpec("0"), restart_after_us=100_000)
    keyed = msgspec.structs.replace(base.producers[0], keys=KeysSpec("uniform", distinct=3))
    group = msgspec.structs.replace(base.groups[0], application=application)
    flight = flown(msgspec.structs.replace(base, producers=(keyed,), groups=(group,)))
    last = flight.all(e.MemberStopped)[-1]
    assert last.how == "crash"
    assert last.at_us > 9 * SECOND_US
    assert not alive(flight.simulation, "g-1")


def test_scale_starts_new_members_and_stops_the_highest() -> None:
    more = fly((10, "scale g to 4"))
    assert [name for name in more.simulation.consumers if alive(more.simulation, name)] == ["g-1", "g-2", "g-3", "g-4"]
    fewer = fly((10, "scale g to 4"), (15, "scale g to 1"))
    assert [name for name in fewer.simulation.consumers if alive(fewer.simulation, name)] == ["g-1"]
    assert {stopped.how for stopped in fewer.all(e.MemberStopped)} == {"stop"}


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (((10.0, "start g-1"),), "g-1 is running already"),
        (((10.0, "kill g-1"), (11.0, "kill g-1")), "g-1 is not running: start it first"),
        (((10.0, "resume g-1"),), "g-1 is not paused"),
        (((10.0, "pause g-1"), (11.0, "pause g-1")), "g-1 is paused already"),
        (((10.0, "heal"),), "no such link fault is in force"),
        (((10.0, "kill g-9"),), "no broker, member or producer is named g-9 (did you mean g-1?)"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(steps: tuple[tuple[float, str], ...], reason: str) -> None:
    assert refusals(fly(*steps, until_s=13)) == [reason]
