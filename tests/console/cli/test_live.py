"""The console as a process in a real terminal: the first screen, a live flight, leaving cleanly in every way."""

import array
import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from recordings.journal.reader import Recording
from tests.support.console.terminal_emulator import Terminal

ROOT = Path(__file__).parents[3]
FULL_LOOKS = 30  # as many frames as Textual queues before its loop waits, and more
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h")
PROGRAM = """
import sys
from console.app import FlightdeckApp
app = FlightdeckApp({scenario!r}, speed={speed}, until_us={until_us}, record={record!r})
app.run()
sys.exit(app.return_code or 0)
"""
SHORT = """
title = "Short"
until = "3s"
[[topic]]
name = "orders"
[[group]]
name = "g"
topics = ["orders"]
"""


class Process:
    """The console on a pseudo-terminal of 120×40, or of `size`; (0, 0) is what no size was ever given to."""

    def __init__(
        self,
        scenario: str = "first-flight",
        speed: str = "1.0",
        record: Path | None = None,
        size: tuple[int, int] = (120, 40),
        environment: Mapping[str, str] = MappingProxyType({}),
        until_us: int | None = None,
    ) -> None:
        self.began = time.monotonic()
        self.output = b""
        self.terminal = Terminal(*(size if all(size) else (80, 24)))
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:  # pragma: no cover - the other process
            os.chdir(ROOT)
            told = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
            recorded = str(record) if record is not None else None
            program = PROGRAM.format(scenario=scenario, speed=speed, until_us=until_us, record=recorded)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
            os.execve(sys.executable, [sys.executable, "-c", program], {**kept, **told})
        self.status: int | None = None

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size; the console hears of it by a signal."""
        self.terminal = Terminal(width, height)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def until(self, words: str, seconds: float = 20.0) -> float:
        """Read until the screen shows something; seconds since the process began."""
        deadline = time.monotonic() + seconds
        while words not in self.terminal.text():
            assert self.read(0.05) or time.monotonic() < deadline, self.terminal.text()
            assert time.monotonic() < deadline, self.terminal.text()
        return time.monotonic() - self.began

    def read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65_536)
        except OSError:
            return False
        self.output += data
        self.terminal.write(self.decoder.decode(data))
        return bool(data)

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def fill(self) -> None:
        """Read nothing until the terminal takes nothing any more: what waits to be read does not grow."""
        waiting = array.array("i", [-1])
        before, stands = -2, 0
        while stands < FULL_LOOKS:
            select.select([], [], [], 0.1)
            fcntl.ioctl(self.fd, termios.FIONREAD, waiting)
            stands = stands + 1 if waiting[0] == before else 0
            before = waiting[0]

    def wait(self, seconds: float = 10.0, *, reading: bool = True) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            if reading:
                self.read(0.05)
            else:
                select.select([], [], [], 0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, self.terminal.text()
        while self.read(0.05):
            pass
        return self.status

    def end(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


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
    process.until("5 members own 12 of 12 partitions")  # nobody scales the group in the next minutes
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


def test_no_color_is_honoured(processes: list[Process]) -> None:
    process = start(processes, NO_COLOR="1")
    process.until("● up")
    process.press("q")
    assert process.wait() == 0
    looks = {look for row in process.terminal.cells for cell in row for look in cell[1] if look.startswith("38;2;")}
    assert looks
    assert all(len(set(look.split(";")[2:])) == 1 for look in looks)  # greys only


def test_the_end_of_a_flight_stays_on_screen(processes: list[Process], tmp_path: Path) -> None:
    short = tmp_path / "short.toml"
    short.write_text(SHORT)
    process = start(processes, scenario=str(short), speed="float('inf')")
    process.until("■ ENDED")
    process.press(":kill g-1\r")
    process.until("the flight has ended")
    process.press("q")
    assert process.wait() == 0


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
        process.until(f"{ended_by} again ends the flight here")
        process.press(ended_by)
    else:
        os.kill(process.pid, ended_by)
    assert process.wait() == 0
    footer = Recording(recording).footer
    assert footer is not None
    assert not footer.complete
