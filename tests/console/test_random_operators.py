"""Live flights under a random operator: whatever is done to a cluster and to time, a rerun tells the same events."""

import random
import time
from pathlib import Path

import pytest

from cluster.commands import parse
from cluster.view import ClusterView
from console.bridge import Bridge
from console.flight_clock import ENDED, FAILED
from console.refused_commands import RefusedCommands
from recordings.flights.rerun import rerun
from recordings.journal.format import JournaledCommand
from recordings.journal.reader import Recording
from tests.support.slow_cases import partly_campaign

PROCESSES = ("billing-1", "billing-2", "billing-3", "audit-1", "checkout-1", "broker-2", "broker-3")
MEMBERS = ("billing-1", "billing-2", "billing-3", "billing-4", "audit-1", "audit-2")
SPEEDS = (5.0, 20.0, 60.0, 200.0, float("inf"))
UNTIL_US = 90_000_000
WALL_SECONDS = 60.0


def random_command(draws: random.Random) -> str:
    """A command in its text form; some are impossible when their turn comes, and refused."""
    member, process = draws.choice(MEMBERS), draws.choice(PROCESSES)
    return draws.choice([
        f"kill {process} for {draws.randint(1, 20)}s",
        f"stall {member} for {draws.randint(1, 30)}s",
        f"pause {process} for {draws.randint(1, 15)}s",
        f"pause heartbeats of {member} for {draws.randint(1, 50)}s",
        f"restart {member}",
        f"scale billing to {draws.randint(1, 6)}",
        f"cut broker-1 -> {draws.choice(['broker-2', member])} for {draws.randint(1, 12)}s",
        f"slow {member} to {draws.randint(1, 50)}ms for 10s",
    ])  # fmt: skip


def operate(bridge: Bridge, draws: random.Random) -> None:
    """Commands and controls at random moments, until the flight has ended."""
    view, refused_commands = ClusterView(), RefusedCommands()
    bridge.start(lambda: None)
    deadline = time.monotonic() + WALL_SECONDS
    while bridge.clock.phase != ENDED:
        assert bridge.clock.phase != FAILED, bridge.failure
        assert time.monotonic() < deadline, bridge.clock
        bridge.drain(view, refused_commands, 0.02)
        bridge.request_clock()
        action = draws.random()
        if action < 0.10:
            bridge.submit(parse(random_command(draws)))
        elif action < 0.15:
            bridge.set_speed(draws.choice(SPEEDS))
        elif action < 0.18:
            bridge.pause(True)
            bridge.step(None)
            bridge.pause(False)
        time.sleep(draws.random() * 0.02)


@pytest.mark.parametrize("seed", partly_campaign(range(20), 8))
def test_a_flight_under_a_random_operator_is_rerun_exactly(seed: int, tmp_path: Path) -> None:
    draws = random.Random(seed)
    path = tmp_path / "live.flight"
    bridge = Bridge("first-flight", speed=20.0, until_us=UNTIL_US, record=path)
    try:
        operate(bridge, draws)
    finally:
        bridge.stop()
    survey = Recording(path).survey()
    result = rerun(path)
    assert result.matches, result.first_divergence
    assert result.compared_events == survey.totals.events
    entries = Recording(path).entries()
    assert any(isinstance(entry, JournaledCommand) and entry.source == "operator" for entry in entries)
