"""What is measured: one flight by the command `flightdeck run` in a process of its own, and the calibration.

A process of its own has its own heap, start and peak of memory. The calibration is a fixed loop of plain Python that
uses a heap, a dictionary and small objects as a simulation does, and no code of the cluster. It is the same in every
release and in every build, so that its speed stands for the machine and the interpreter alone.
"""

import heapq
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from recordings.version import ROOT

CALIBRATION_STEPS = 150_000
_CLOCKS, _ENTRIES = 1_000, 8_192


class FlightFailed(Exception):  # noqa: N818 - what happened to the flight
    """A measured flight printed no result; the text is its message."""


class MeasuredFlight(msgspec.Struct, frozen=True, kw_only=True):
    """One flight: its result, and the cost of its whole process.

    `wall_s` is the flight alone, `process_s` the wall time from before the start of the process to after its end.
    `user_s` is the process's user CPU, `peak_rss_mb` its largest resident memory in MB.
    """

    virtual_s: float
    wall_s: float
    process_s: float
    user_s: float
    peak_rss_mb: float
    events: int
    turns: int
    journal_sha256: str


def measure_flight(scenario: str, until: str, *, record: bool = True, checkout: Path = ROOT) -> MeasuredFlight:
    """Fly in a new process, invariants on, recorded in a temporary directory if `record`.

    `checkout` is the directory of another release to measure. An interruption ends the process. Raises FlightFailed.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [scenario, "--until", until, "--json", *(("--record", f"{folder}/bench.flight") if record else ())]
        result, error = Path(folder, "result"), Path(folder, "error")
        with result.open("wb") as out, error.open("wb") as errors:
            began = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "console.cli", "run", *words],
                env=environment_of(checkout),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )
            usage = _wait(process)
            process_s = time.perf_counter() - began
        text = result.read_bytes()
        if not text:
            reason = error.read_text(encoding="utf-8", errors="replace").strip().removeprefix("flightdeck: ")
            raise FlightFailed(reason or f"the flight of {scenario} ended with exit code {process.returncode}")
    flown: dict[str, Any] = msgspec.json.decode(text)
    named = {name: flown[name] for name in MeasuredFlight.__struct_fields__ if name in flown}
    unit_bytes = 1 if sys.platform == "darwin" else 1_024
    peak_rss_mb = usage.ru_maxrss * unit_bytes / 1e6
    return MeasuredFlight(process_s=process_s, user_s=usage.ru_utime, peak_rss_mb=peak_rss_mb, **named)


def environment_of(checkout: Path) -> dict[str, str]:
    """The environment in which Python imports the code of a checkout, or of this installation.

    Python finds the installation without help; on PYTHONPATH all installed packages would precede the standard library.
    """
    environment = dict(os.environ)
    if (checkout / "pyproject.toml").is_file():
        inherited = os.environ.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join([str(checkout), inherited] if inherited else [str(checkout)])
    return environment


def _wait(process: "subprocess.Popen[bytes]") -> resource.struct_rusage:
    """Wait for the process's end and return its use of resources; an interruption kills it."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def calibrate() -> float:
    """Run the calibration loop; returns its steps per second of wall time."""
    clocks = [(number * 7_919 % 10_007, number, number % _ENTRIES) for number in range(_CLOCKS)]
    heapq.heapify(clocks)
    books: dict[int, list[int]] = {number: [number, 0, 0] for number in range(_ENTRIES)}
    began = time.perf_counter()
    for number in range(_CLOCKS, _CLOCKS + CALIBRATION_STEPS):
        now, order, entry = heapq.heappop(clocks)
        book = books[entry]
        book[1] += 1
        book[2] = now
        draw = (order * 48_271 + entry) % 2_147_483_647
        if draw % 8 == 0:
            books[entry] = [draw, book[1], now]
        heapq.heappush(clocks, (now + 1 + draw % 10_007, number, draw % _ENTRIES))
    return CALIBRATION_STEPS / (time.perf_counter() - began)
