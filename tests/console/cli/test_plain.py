"""The flight in lines: what is told, what is obeyed, how it ends."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.bridge import Bridge
from console.cli.errors import UsageError
from console.cli.plain import Lines, fly_in_lines, state_words
from console.flight import Flight
from console.presenters.exceptions.headline import in_force
from tests.mutants import MUTANTS
from tests.support.console import synthetic, synthetic_producers
from tests.support.console.stopped_clock import StillFlight

SMALL = """
title = "Small"
until = "8s"
[[topic]]
name = "orders"
partitions = 4
[[group]]
name = "billing"
topics = ["orders"]
members = 2
"""


@pytest.fixture
def typed() -> Iterator[tuple[int, int]]:
    """Where lines are read from, and where they are typed."""
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def test_a_flight_is_told_in_lines_and_ends(small: str) -> None:
    lines: list[str] = []
    assert fly_in_lines(Bridge(small, speed=float("inf")), lines.append) == 0
    assert any("  rebalance: billing rebalances: member joined (billing-" in line for line in lines)
    assert any(line.endswith("stable: billing is Stable in generation 1") for line in lines)
    assert any("  billing Stable, 2 members, generation 1, lag 0 | brokers 3 of 3" in line for line in lines)
    assert lines[-1] == "00:00:08.000  the flight has ended"
    assert not any("\x1b" in line for line in lines)


def test_a_broker_that_stops_and_starts_is_told_in_lines(tmp_path: Path) -> None:
    path = tmp_path / "restart.toml"
    path.write_text(SMALL.replace('"8s"', '"20s"') + '[[at]]\ntime = "1s"\ndo = "restart broker-2"\n')
    lines: list[str] = []
    assert fly_in_lines(Bridge(str(path), speed=float("inf")), lines.append) == 0
    told = [line.partition("  ")[2] for line in lines if "  recovery: " in line]
    assert told == ["recovery: broker-2 started", "recovery: broker-2 serves again"]
    assert any(line.endswith("  fault: broker-2 is shutting down") for line in lines)


def test_lines_are_obeyed_as_on_the_consoles_own_line(small: str, typed: tuple[int, int]) -> None:
    lines: list[str] = []
    os.write(typed[1], b"kil billing-1\ngo billing\nwhy\nwhy billing\nkey 5 orders\n\nkill billing-2\nq\n")
    assert fly_in_lines(Bridge(small), lines.append, typed[0]) == 0
    assert any(line.startswith("kil billing-1: `kil` ") and line.endswith("(did you mean kill?)") for line in lines)
    assert "go billing: there are no places without screens" in lines
    for line in ("why", "why billing", "key 5 orders"):
        word = line.partition(" ")[0]
        assert any(one.startswith(f"{line}: `{word}` is answered on the console's screens") for one in lines), line
    assert "kill billing-2: done" in lines
    assert lines[-1].endswith("  quit")


REASSIGN = "kafka-reassign-partitions.sh --execute --reassignment-json-file"


def test_a_tools_line_is_answered_with_what_the_tool_prints(small: str, typed: tuple[int, int]) -> None:
    lines: list[str] = []
    target = '{"partitions":[{"topic":"orders","partition":0,"replicas":[3]}]}'
    os.write(typed[1], f"{REASSIGN} '{target}'\n{REASSIGN} '{target.replace('3', '9')}'\nq\n".encode())
    assert fly_in_lines(Bridge(small), lines.append, typed[0]) == 0
    at = lines.index(f"{REASSIGN} '{target}': done")
    assert lines[at + 1] == "Current partition replica assignment"
    assert lines[at + 3].startswith('{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[')
    assert lines[at + 6] == "Successfully started partition reassignment for orders-0"
    assert any(line.endswith(": Error: Unknown broker id 9") for line in lines)
    assert sum("Current partition replica assignment" in line for line in lines) == 1


def test_each_second_is_told_once_and_each_moment_once() -> None:
    lines: list[str] = []
    flight = Flight(StillFlight(20.0))
    told = Lines(flight, lines.append)
    flight.advance(1.0)
    told.frame()
    told.frame()
    assert sum(line.startswith("00:00:20  ") for line in lines) == 1
    assert len(lines) == len(set(lines))


def words_at(seconds: float) -> str:
    view = synthetic.view_at(seconds)
    return state_words(view, in_force(view, synthetic.us(seconds), None))


def test_what_is_wrong_is_in_the_line() -> None:
    words = words_at(100.0)
    assert "brokers 2 of 3" in words
    assert " no live leader" in words
    assert "faults: kill billing-2, kill broker-3, stall audit-1 for 5m" in words


def test_the_awaited_member_and_the_limit_of_the_wait_are_in_the_line() -> None:
    words = words_at(20.0)
    assert " | billing waits for billing-3, stalled 5.8 s · barrier closes within 4:54" in words
    assert words.endswith(" | fault in force: stall billing-3 for 10s")


def test_a_producer_that_stands_still_is_in_the_line() -> None:
    lines: list[str] = []
    source = StillFlight(24.0, events=tuple(synthetic_producers.events(24.0)))
    source.producer_configs = synthetic_producers.CONFIGS
    told = Lines(Flight(source), lines.append)
    told.flight.advance(1.0)
    told.frame()
    assert any("make no progress: no acknowledgement for" in line for line in lines)


def test_bad_input_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="did you mean first-flight"):
        fly_in_lines(Bridge("first-fligth"), print)


def test_a_broken_invariant_ends_it_with_the_last_events_and_where_they_are_recorded(
    small: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    MUTANTS["deals_every_partition_to_everybody"].breaks(monkeypatch)
    lines: list[str] = []
    assert fly_in_lines(Bridge(small, speed=float("inf")), lines.append) == 1
    broken = next(place for place, line in enumerate(lines) if line.startswith("an invariant does not hold: G1"))
    assert "it is recorded in violation-small-1.flight" in lines[broken]
    assert lines[broken + 1] == "the last events:"
    assert len(lines[broken + 2 :]) == 50
    assert '"kind"' in lines[-1]
    assert fly_in_lines(Bridge(small, speed=float("inf"), invariants=False), lines.append) == 0
