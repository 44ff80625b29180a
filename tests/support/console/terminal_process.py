"""The console as a process on a pseudo-terminal: keys in, a screen out."""

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.support.console.terminal_emulator import Terminal
from tests.support.repository import ROOT

FULL_LOOKS = 30  # as many frames as Textual queues before its loop waits, and more
PROGRAM = """
import sys
from console.app import FlightdeckApp
app = FlightdeckApp({scenario!r}, speed={speed}, until_us={until_us}, record={record!r})
app.run()
sys.exit(app.return_code or 0)
"""


class Process:
    """The console on a pseudo-terminal of 120×40, or of `size`; (0, 0) is what no size was ever given to.

    `command`: what is started instead of a console of this scenario.
    """

    def __init__(
        self,
        scenario: str = "first-flight",
        speed: str = "1.0",
        record: Path | None = None,
        size: tuple[int, int] = (120, 40),
        environment: Mapping[str, str] = MappingProxyType({}),
        until_us: int | None = None,
        *,
        command: Sequence[str] = (),
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
            words = list(command) or [sys.executable, "-c", program]
            os.execve(words[0], words, {**kept, **told})
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
