"""The console as a process in a real terminal: the first screen, a live flight, leaving cleanly in every way."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from recordings.journal.reader import Recording
from tests.support.console.terminal_process import Process

RESTORED = (b"\x1b[?1049l", b"\x1b[?25h")
SHORT = """
title = "Short"
until = "3s"
[[topic]]
name = "orders"
[[group]]
name = "g"
topics = ["orders"]
"""


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    started: list[Process] = []
    yield started
    for process in started:
        process.end()


def start(
    processes: list[Process],
    scenario: str = "first-flight",
    speed: str = "1.0",
    record: Path | None = None,
    size: tuple[int, int] = (120, 40),
    **env: str,
) -> Process:
    processes.append(Process(scenario, speed, record, size, env))
    return processes[-1]


def test_first_flight_is_flown_live_and_left(processes: list[Process]) -> None:
    process = start(processes, speed="20.0")
    process.until("building the cluster")
    process.until("billing")
    process.until("● Stable")
    process.press("\r")
    process.until("4 members own 12 of 12 partitions")
    process.until("5 members own 12 of 12 partitions")  # no step scales the group in the next minutes
    process.press(":speed 1\r")  # in which the group misses it for ten seconds, however busy the machine is
    process.until("×1 ")
    process.press(":kill billing-4\r")
    process.until("billing-4 died")  # its own row says so in one line or in two
    process.press(" ")
    process.until("PAUSED")
    process.press("q")
    assert process.wait() == 0
    assert all(sequence in process.output for sequence in RESTORED)
    assert b"Traceback" not in process.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_a_clean_terminal(number: signal.Signals, processes: list[Process]) -> None:
    process = start(processes)
    process.until("● up")
    os.kill(process.pid, number)
    assert process.wait() == 0
    assert all(sequence in process.output for sequence in RESTORED)
    assert b"Traceback" not in process.output


def test_ctrl_c_leaves_even_while_typing(processes: list[Process]) -> None:
    process = start(processes, speed="float('inf')")
    process.until("● up")
    process.press(":kill bil")
    process.until("kill bil")
    process.press("\x03")
    assert process.wait() == 0
    assert all(sequence in process.output for sequence in RESTORED)


def test_a_wrong_name_ends_with_two_and_one_message(processes: list[Process]) -> None:
    process = start(processes, scenario="first-fligth")
    assert process.wait() == 2
    assert b"first-flight" in process.output.rpartition(RESTORED[0])[2]
    assert b"Traceback" not in process.output


@pytest.mark.slow
def test_no_color_writes_no_colour_at_all(processes: list[Process]) -> None:
    process = start(processes, NO_COLOR="1")
    process.until("● up")
    process.press("j")  # selects a row
    process.press("T")  # other themes do not paint either
    process.until("theme: the terminal's own colours")
    process.press("T")
    process.until("theme: dark")
    process.press("?")
    process.until("states of a broker")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == 0
    assert colour_codes(process.output) == set()
    attributes = {look for row in process.terminal.cells for cell in row for look in cell[1]}
    assert "7" in attributes  # what a theme marks by its background


def test_colours_are_written_without_no_color(processes: list[Process]) -> None:
    process = start(processes)
    process.until("● up")
    process.press("q")
    assert process.wait() == 0
    assert colour_codes(process.output)


def colour_codes(output: bytes) -> set[bytes]:
    """The SGR sequences that choose a colour: 30–49, 90–107, and the long forms behind 38 and 48."""
    sequences = re.findall(rb"\x1b\[([0-9;:]*)m", output)
    return {
        one
        for one in sequences
        if any(re.fullmatch(rb"[34]\d|9[0-7]|10[0-7]", code) for code in re.split(rb"[;:]", one))
    }


@pytest.mark.slow
def test_the_end_of_a_flight_stays_on_screen(processes: list[Process], tmp_path: Path) -> None:
    short = tmp_path / "short.toml"
    short.write_text(SHORT)
    process = start(processes, scenario=str(short), speed="float('inf')")
    process.until("■ ENDED")
    process.press(":kill g-1\r")
    process.until("the flight has ended")
    process.press("\x1b")  # a refused line stays open to be corrected
    process.until("? help")
    process.press("q")
    assert process.wait() == 0


@pytest.mark.slow
def test_a_terminal_that_reads_nothing_is_left_all_the_same(processes: list[Process], tmp_path: Path) -> None:
    recording = tmp_path / "a.flight"
    process = start(processes, speed="float('inf')", record=recording)
    process.until("● up")
    process.fill()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(reading=False) == 0
    footer = Recording(recording).footer
    assert footer is not None
    assert not footer.complete


@pytest.mark.parametrize(
    ("size", "ended_by"),
    [
        ((0, 0), signal.SIGTERM),
        pytest.param((0, 0), "q", marks=pytest.mark.slow),
        pytest.param((0, 0), signal.SIGHUP, marks=pytest.mark.slow),
        pytest.param((80, 0), signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param((0, 24), "q", marks=pytest.mark.slow),
    ],
)
def test_a_terminal_without_a_size_shows_the_flight(
    size: tuple[int, int], ended_by: str | int, processes: list[Process], tmp_path: Path
) -> None:
    recording = tmp_path / "a.flight"
    process = start(processes, record=recording, size=size)
    process.until("● up")  # painted for 80×24
    process.resize(120, 40)
    process.until("● up")
    if isinstance(ended_by, str):
        process.press(ended_by)
        process.until("still recording to")  # the path is long: the rest is on the next line
        process.press(ended_by)
    else:
        os.kill(process.pid, ended_by)
    assert process.wait() == 0
    footer = Recording(recording).footer
    assert footer is not None
    assert not footer.complete
