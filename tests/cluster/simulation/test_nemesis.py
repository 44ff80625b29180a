"""The nemesis: the same faults from the same seed, an operator's stay, and none of its own is left at its end."""

from pathlib import Path

import msgspec
import pytest

from cluster import events as e
from cluster.commands import catalogue as c
from cluster.commands import parse, text_of
from cluster.spec import ScenarioSpec, StepSpec
from recordings.flights.rerun import rerun
from recordings.flights.runner import Plan, Replay, fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import parse_scenario
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import SECOND_US, spec, transactional
from tests.support.slow_cases import mostly_slow

SCENARIO = """
title = "a nemesis"
until = "100s"
[[topic]]
name = "orders"
partitions = 3
[[producer]]
name = "checkout"
topics = ["orders"]
[[group]]
name = "billing"
topics = ["orders"]
members = 2
"""


def reign(text: str, *steps: tuple[float, str], until_s: float = 150) -> Flown:
    """A cluster of three brokers with a nemesis from the fifth second on."""
    return flown(spec((5, text), *steps, until_s=until_s, members=3))


def strikes(flight: Flown) -> list[tuple[int, str]]:
    """Which faults were started, and when; the reigns themselves left out."""
    emitted = flight.all(e.FaultStarted)
    return [(fault.at_us, fault.text) for fault in emitted if not fault.text.startswith("nemesis")]


def test_the_same_seed_strikes_alike_and_another_does_not() -> None:
    first, again, other = (reign(f"nemesis on seed {seed} for 1m", until_s=70) for seed in (7, 7, 8))
    assert strikes(first) == strikes(again) != strikes(other)
    assert len(strikes(first)) >= 5
    assert first.document == again.document


def test_without_a_seed_it_is_the_flights_and_a_second_reign_is_another() -> None:
    own = strikes(reign("nemesis on for 1m", until_s=70))
    assert own == strikes(reign("nemesis on seed 1 for 1m", until_s=70))
    twice = strikes(reign("nemesis on for 1m", (70, "nemesis on for 1m")))
    later = [(at_us - 65 * SECOND_US, text) for at_us, text in twice if at_us > 70 * SECOND_US]
    assert later
    assert later != own


@pytest.mark.parametrize("seed", range(1, 7))
def test_it_ends_with_everything_healed_and_running(seed: int) -> None:
    flight = reign(f"nemesis on seed {seed} for 1m")
    ends_us = 65 * SECOND_US
    begun = {fault.fault: fault.ends_at_us for fault in flight.all(e.FaultStarted)}
    assert len(begun) > 4
    assert all(at_us <= ends_us for at_us in begun.values())
    assert {fault.fault for fault in flight.all(e.FaultEnded)} == set(begun)
    assert max(fault.at_us for fault in flight.all(e.FaultEnded)) == ends_us
    assert flight.document["faults"] == []
    assert not flight.simulation.network.has_faults
    simulation = flight.simulation
    processes = [simulation.process(name) for name in simulation.names().processes()]
    assert all(process is not None and process.alive and process.running for process in processes)
    assert flight.document["groups"]["g"]["state"] == "Stable"
    assert not [broker for broker in flight.document["brokers"].values() if not broker["up"]]
    assert all(sorted(one["isr"]) == sorted(one["replicas"]) for one in flight.document["partitions"].values())


def test_it_shows_among_the_faults_while_it_is_on_and_off_ends_all_that_it_did() -> None:
    on = reign("nemesis on seed 3", until_s=60)
    assert "nemesis on seed 3" in [fault["text"] for fault in on.document["faults"]]
    off = reign("nemesis on seed 3", (60, "nemesis off"), until_s=90)
    assert off.document["faults"] == []
    assert [event.at_us for event in off.all(e.FaultEnded)][-1] == 60 * SECOND_US
    assert not [at_us for at_us, _ in strikes(off) if at_us > 60 * SECOND_US]


def test_off_for_a_while_goes_on_after_it_up_to_the_end_that_was_told() -> None:
    flight = reign("nemesis on seed 3 for 100s", (30, "nemesis off for 10s"))
    reigns = [(fault.at_us, fault.ends_at_us) for fault in flight.all(e.FaultStarted) if "nemesis" in fault.text]
    assert reigns == [(5 * SECOND_US, 105 * SECOND_US), (40 * SECOND_US, 105 * SECOND_US)]
    assert not [at_us for at_us, _ in strikes(flight) if 30 * SECOND_US <= at_us < 40 * SECOND_US]
    assert [at_us for at_us, _ in strikes(flight) if at_us >= 40 * SECOND_US]
    over = reign("nemesis on seed 3 for 30s", (30, "nemesis off for 10s"))
    assert len([fault for fault in over.all(e.FaultStarted) if "nemesis" in fault.text]) == 1


def test_it_is_refused_twice_and_when_it_is_not_on() -> None:
    flight = reign("nemesis off", (6, "nemesis on"), (7, "nemesis on seed 9"), until_s=8)
    assert [refused.reason for refused in flight.all(e.CommandRefused)] == [
        "the nemesis is not on",
        "the nemesis is on already: turn it off first",
    ]


@pytest.mark.parametrize("seed", mostly_slow(range(1, 6), quick=[1]))
def test_what_an_operator_injured_stays_injured(seed: int) -> None:
    steps = [(4.0, "pause g-1"), (4.0, "cut broker-1 broker-2"), (4.0, "kill broker-3")]
    flight = flown(spec(*steps, (5, f"nemesis on seed {seed} for 2m"), until_s=130, members=3))
    assert [fault["text"] for fault in flight.document["faults"]] == [text for _, text in steps]
    touched = [text for _, text in strikes(flight)[3:] if "g-1" in text.split() or "broker-3" in text.split()]
    assert not [text for text in touched if text.split()[0] in {"kill", "crash", "pause", "stall", "restart"}]


@pytest.mark.parametrize("seed", mostly_slow(range(1, 9), quick=[2]))
def test_of_three_brokers_one_at_most_is_out(seed: int) -> None:
    out: dict[int, str] = {}
    flight = reign(f"nemesis on seed {seed} for 2m")
    ends = {fault.fault: fault.seq for fault in flight.all(e.FaultEnded)}
    for fault in flight.all(e.FaultStarted):
        out = {number: name for number, name in out.items() if ends[number] > fault.seq}
        match parse(fault.text):
            case c.Kill(target=name) | c.Pause(target=name) if name.startswith("broker"):
                out[fault.fault] = name
            case c.Crash(broker=name) | c.Isolate(broker=name) | c.FillDisk(broker=name):
                out[fault.fault] = name
        assert len(out) <= 1, out


def test_it_strikes_only_what_is_there() -> None:
    alone = spec((5, "nemesis on seed 2 for 2m"), until_s=130)
    alone = msgspec.structs.replace(alone, groups=(), producers=())
    flight = flown(alone)
    assert strikes(flight)
    assert not flight.all(e.CommandRefused)


CLASSES = {
    "kill", "crash", "pause", "pause heartbeats", "stall", "cut", "slow", "slow disk", "hold", "isolate", "lose next",
    "fill disk",
}  # fmt: skip


@pytest.mark.parametrize(("reigns", "least"), [(3, 6), pytest.param(15, 12, marks=pytest.mark.slow)])
def test_every_class_strikes_in_some_reign_and_few_strikes_are_refused(reigns: int, least: int) -> None:
    words: dict[str, None] = {}
    refused = struck = 0
    for seed in range(1, reigns + 1):
        flight = reign(f"nemesis on seed {seed} for 2m", until_s=125)
        words |= {" ".join(word for word in text.split()[:2] if word.isalpha()): None for _, text in strikes(flight)}
        refused += len(flight.all(e.CommandRefused))
        struck += len(strikes(flight))
    assert set(words) <= CLASSES
    assert len(words) >= least
    assert refused * 20 < struck


@pytest.mark.parametrize("seed", mostly_slow((1, 3, 4), quick=[1]))
def test_the_view_and_the_truth_agree_under_it(seed: int) -> None:
    step = StepSpec(5 * SECOND_US, parse(f"nemesis on seed {seed} for 1m"), f"nemesis on seed {seed} for 1m")
    scenario: ScenarioSpec = msgspec.structs.replace(transactional(until_s=90, limit=900), steps=(step,))
    assert lies(scenario, seed) == []


# --- recordings -------------------------------------------------------------------------------------------------------


def plan(step: str = "") -> Plan:
    at = f'[[at]]\ntime = "5s"\ndo = "{step}"\n' if step else ""
    return make_plan(parse_scenario(SCENARIO + at, "nemesis.toml"))


@pytest.mark.parametrize("source", ["scenario", "operator"])
def test_a_recording_has_its_commands_and_a_rerun_brings_them_again(source: str, tmp_path: Path) -> None:
    text = "nemesis on seed 4 for 80s"
    if source == "scenario":
        flown = fly(plan(text), record=tmp_path / "a.flight")
    else:
        given = Replay(by_time=((5 * SECOND_US, parse(text)),))
        flown = fly(plan(), record=tmp_path / "a.flight", replay=given)
    survey = Recording(tmp_path / "a.flight").survey()
    assert next((line.source, line.command) for line in survey.commands) == (source, text)
    own = [line for line in survey.commands if line.source == "nemesis"]
    assert len(own) == len(survey.commands) - 1 >= 5
    assert all(text_of(parse(line.command)) == line.command for line in own)
    again = rerun(tmp_path / "a.flight", record=tmp_path / "b.flight")
    assert again.matches
    assert again.flight.journal_sha256 == flown.journal_sha256
    assert Recording(tmp_path / "b.flight").survey().commands == survey.commands
