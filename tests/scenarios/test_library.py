"""Every scenario of the library, flown headless: the truth at each checkpoint, its expectations, its golden hash."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from cluster.simulation import Simulation
from cluster.view import document
from recordings.flights.runner import fly, make_plan
from recordings.journal.writer import JournalHash
from recordings.scenarios.expectations import Expectations
from recordings.scenarios.loader import load
from tests.support.expected_document import Truth, differences
from tests.support.independent_recorder import watching
from tests.support.library import GOLDEN, LIBRARY
from tests.support.scheduler_instruments import OneActorAtATime

SECOND_US = 1_000_000
SHORTER_S = {  # of those that cost most; in the slow run they are flown to their end
    "add-partitions": 90, "assigned-by-hand": 45, "autoscaler-chases-its-lag": 60, "broker-down": 50,
    "compacted-topic": 70, "consumer-static-restart": 45, "dead-letters": 60, "deploy-storm": 60,
    "deployment-or-statefulset": 70, "eager-cooperative-consumer": 45, "failing-dependency": 75, "fan-out": 45,
    "first-flight": 70, "hot-key": 60, "idle-consumer": 62, "migration-back": 75, "migration-rolling": 80,
    "one-slow-pod": 60, "output-acks": 65, "paused-by-hand": 60, "poll-too-slow": 60, "rack-aware-assignment": 60,
    "read-process-write": 60, "reference-l": 5, "reference-m": 12, "reference-s": 30, "reference-xl": 7,
    "scale-out": 65, "session-expired": 110, "slow-dependency": 70, "slow-follower": 60, "slow-start": 60,
    "stuck-last-stable-offset": 80,
}  # fmt: skip
LARGE = "reference-xl"  # building it and joining its groups takes seconds
WHOLE_ALONE = (
    "assignor-upgrade", "consumer-epoch-fenced", "consumer-session-expired", "deploy-storm",
    "eager-cooperative-consumer", "eager-vs-cooperative", "failing-dependency", "fan-out", "fetch-from-follower",
    "migration-back", "migration-rolling", "network-flap", "one-slow-member", "output-acks", "partition-load",
    "pause-and-resume", "paused-by-hand", "poison-pill", "rack-aware-assignment", "read-process-write", "reference-l",
    "regex-subscription", "rolling-restart-static", "scale-out", "slow-dependency", "two-groups",
)  # fmt: skip
"""Half of the time that the default run would take: the slow run has them, to their end."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Of a flight that is cut short."""
    return [pytest.mark.campaign] if name in WHOLE_ALONE else [pytest.mark.slow] if name == LARGE else []


SHORT = [
    pytest.param(name, SHORTER_S.get(name), id=name, marks=_marks(name))
    for name in LIBRARY
    if name in SHORTER_S or name not in WHOLE_ALONE
]
FULL = [
    pytest.param(name, None, id=name, marks=[pytest.mark.campaign if name == LARGE else pytest.mark.slow])
    for name in LIBRARY
    if name in SHORTER_S or name in WHOLE_ALONE  # the default run flies all others to their end
]


def fly_beside_the_truth(name: str, seconds: int | None) -> dict[str, Any]:
    """Fly a scenario; at each checkpoint the view must be the truth, at the end its expectations must hold.

    And none of them by accident: what holds `by` an instant does not hold yet where its window begins.
    """
    spec = load(name).spec
    until_us = spec.until_us if seconds is None else seconds * SECOND_US
    expectations, journal = Expectations(spec), JournalHash()
    with watching() as recorder:
        simulation = Simulation(spec, spec.seed, sinks=[journal, expectations.see])
        instrument = OneActorAtATime(simulation.timeline)

        async def main() -> None:
            async with simulation.running():
                truth = Truth(simulation, recorder)
                for now_us in expectations.checkpoints(until_us):
                    await simulation.timeline.fly(now_us)
                    seen = document(simulation.view, now_us)
                    wrong = differences(seen, truth.document())
                    assert not wrong, f"at {now_us / SECOND_US} s:\n" + "\n".join(wrong)
                    expectations.judge(seen, now_us)
                journal.flush()

        trio.run(main, clock=simulation.timeline, instruments=[instrument])
    instrument.check()
    results = expectations.results(until_us, shortened=seconds is not None)
    failed = [each for each in results if each["ok"] is False or "already" in each]  # as `run --strict` has it
    assert not failed, failed
    return {"sha256": journal.sha256, "events": journal.events, "turns": simulation.timeline.turn}


def check_golden(key: str, flown: dict[str, Any], rewrite: bool) -> None:
    """Compare with what the flight was when it was last looked at, or note what it is now."""
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if rewrite:
        known[key] = flown
        GOLDEN.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    assert known.get(key) == flown, "the flight is another one: look at it, then run with --rewrite-golden"


@pytest.mark.parametrize(("name", "seconds"), SHORT)
def test_the_view_is_the_truth_and_the_flight_is_golden(
    name: str, seconds: int | None, request: pytest.FixtureRequest
) -> None:
    flown = fly_beside_the_truth(name, seconds)
    check_golden(f"{name} {seconds or 'full'}", flown, request.config.getoption("--rewrite-golden"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "seconds"), FULL)
def test_the_whole_flight(name: str, seconds: int | None, request: pytest.FixtureRequest) -> None:
    flown = fly_beside_the_truth(name, seconds)
    check_golden(f"{name} {seconds or 'full'}", flown, request.config.getoption("--rewrite-golden"))


@pytest.mark.golden
@pytest.mark.campaign
@pytest.mark.parametrize("name", WHOLE_ALONE)
def test_the_flight_of_a_compiled_cluster_is_golden(name: str) -> None:
    """Those that the compiled build does not fly beside the truth, whose code is as slow there as here."""
    spec, journal = load(name).spec, JournalHash()
    simulation = Simulation(spec, spec.seed, sinks=[journal])

    async def main() -> None:
        async with simulation.running():
            for now_us in Expectations(spec).checkpoints(spec.until_us):
                await simulation.timeline.fly(now_us)
            journal.flush()

    trio.run(main, clock=simulation.timeline)
    check_golden(
        f"{name} full",
        {"sha256": journal.sha256, "events": journal.events, "turns": simulation.timeline.turn},
        rewrite=False,
    )


@pytest.mark.parametrize(("hash_seed", "seconds"), [("0", 30), pytest.param("4711", 130, marks=pytest.mark.slow)])
def test_a_flight_is_the_same_in_every_process(hash_seed: str, seconds: int) -> None:
    program = (
        "from recordings.flights.runner import fly, make_plan; from recordings.scenarios.loader import load;"
        f"print(fly(make_plan(load('first-flight'), until_us={seconds * SECOND_US})).journal_sha256)"
    )
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    here = fly(make_plan(load("first-flight"), until_us=seconds * SECOND_US)).journal_sha256
    assert there == here
