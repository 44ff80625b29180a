"""Budgets of the console: a frame's CPU time, keys while flat out, bytes to the terminal, memory of a day.

    pytest tests/bench/test_bench_console.py -s

Frames are measured in thread CPU time, from the folding of events to the escape sequences, with all that Textual does
in between; wall figures stand beside them.
"""

import asyncio
import gc
import pickle
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console
from textual._compositor import ChopsUpdate

from cluster import events as e
from cluster.view import ClusterView, fold
from console.app import FlightdeckApp
from console.bridge import collect_frames
from console.presenters.conversations.messages import KEPT
from console.refused_commands import RefusedCommands
from console.screens.comparison import ComparisonScreen
from console.terminal_output import TightUpdate
from recordings.flights.beside import FlightsBeside, fork_beside
from recordings.flights.fork import ForkPoint
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario
from tests.support.console import synthetic
from tests.support.console.pilot import Seat, sit
from tests.support.console.places import LARGE, PLACES, look
from tests.support.console.stopped_clock import StillFlight
from tests.support.console.terminal_process import Process
from tests.support.repository import ROOT

FRAMES = 120
PAINTED_SECONDS = 0.2
KEY_ROUNDS = 25
RETENTION = ("retention.ms=3600000", "segment.ms=600000")  # a log that keeps everything grows, as it has to
DAY = """
title = "A day"
until = "24h"
[[topic]]
name = "orders"
partitions = 6
[[producer]]
name = "checkout"
topics = ["orders"]
rate = "2/s"
[[group]]
name = "billing"
topics = ["orders"]
members = 3
"""
PROMISED_PARTITIONS, PROMISED_MS = 2_000, 16
OBJECTS = {"group": "workers", "member": "worker-7", "topic": "topic-3", "partition": "topic-3-7", "broker": "broker-2"}
PLACED = {place.name: place for place in PLACES if "{producer}" not in place.go}  # the large view has no producer
TWENTY_THOUSAND = ("overview", "group", "transactions", "raster", "partition of the group", "conversation")
TERMINAL = Console(width=200, height=60, force_terminal=True, color_system="truecolor")


class Busy(StillFlight):
    """A large group that reads, lags and heartbeats: every frame has another tenth of a second to show."""

    def __init__(self, partitions: int, members: int) -> None:
        super().__init__(20.0)
        self._view = synthetic.large_view(partitions, members)
        self._names = [f"worker-{number}" for number in range(1, members + 1)]
        self._partitions = list(self._view.partitions)[: partitions + 1]
        self._seq, self._tick = self._view.seq, 0
        for number in range(KEPT):
            member = self._names[number % members]
            self.noted.observe(
                e.JoinReceived(
                    seq=number,
                    at_us=number,
                    group="workers",
                    member=member,
                    member_id=synthetic.member_id(member),
                    newcomer=True,
                    session_timeout_ms=45_000,
                    rebalance_timeout_ms=300_000,
                )
            )
        self.clock = self.clock._replace(now_us=self._view.at_us, until_us=600_000_000)

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        if not view.brokers:
            for field in view.__struct_fields__:
                setattr(view, field, getattr(self._view, field))
        self._tick += 1
        now_us = self.clock.now_us + 100_000
        self.clock = self.clock._replace(now_us=now_us)
        for place, name in enumerate(self._partitions):
            if (place + self._tick) % 7 == 0:
                self._seq += 1
                offset = view.partitions[name].high_watermark + 25
                fold(view, e.HighWatermarkAdvanced(seq=self._seq, at_us=now_us, partition=name, offset=offset))
        for place, member in enumerate(self._names):
            if (place + self._tick) % 30 == 0:
                event = e.HeartbeatAnswered(
                    seq=self._seq,
                    at_us=now_us,
                    group="workers",
                    member=member,
                    member_id=synthetic.member_id(member),
                    error="NONE",
                    session_deadline_us=now_us + 45_000_000,
                )
                fold(view, event)
                refused_commands.observe(event)
                self.noted.observe(event)
        return False


class Rebalancing(Busy):
    """Every second all members of the large group lose their partitions, or get others: an eager deploy storm."""

    def drain(self, view: ClusterView, refused_commands: RefusedCommands, seconds: float) -> bool:
        super().drain(view, refused_commands, seconds)
        at_us, turn = self.clock.now_us, self._tick // 10
        if self._tick % 10 == 0:
            for number, member in enumerate(self._names):
                if turn % 2 == 0:
                    names = tuple(self._partitions[(number + turn) % len(self._names) :: len(self._names)])
                    names = tuple(name for name in names if name.startswith("topic-"))
                    event: e.Event = e.PartitionsAssigned(
                        seq=self._seq, at_us=at_us, group="workers", member=member, generation=turn, partitions=names
                    )
                else:
                    names = tuple(view.members[member].owned)
                    event = e.PartitionsRevoked(
                        seq=self._seq, at_us=at_us, group="workers", member=member, partitions=names, lost=False
                    )
                fold(view, event)
        return False


def frames(
    source: StillFlight, place: str, size: tuple[int, int], beside: FlightsBeside | None = None
) -> tuple[list[float], list[float], float]:
    """CPU and wall milliseconds of each frame, sorted; and bytes a frame. In a comparison the cursor moves."""
    cpu: list[float] = []
    wall: list[float] = []
    written = 0
    app = FlightdeckApp(source=source)
    app.forking.beside = beside
    app._tick = lambda: None  # type: ignore[method-assign]  # a frame is drawn when it is measured, and only then
    display, painted = app._display, asyncio.Event()

    def encode(screen: object, renderable: object) -> None:
        nonlocal written
        if isinstance(renderable, ChopsUpdate):
            written += len(TightUpdate(renderable).render_segments(TERMINAL).encode())
        display(screen, renderable)  # type: ignore[arg-type]
        painted.set()

    async def script(seat: Seat) -> None:
        nonlocal written
        await look(seat, OBJECTS, PLACED[place])
        collect_frames()  # as the console's process does
        app._display = encode  # type: ignore[method-assign]
        written = 0
        for number in range(FRAMES):
            painted.clear()
            began, wall_began = time.thread_time(), time.perf_counter()
            screen = app.screen
            if beside is not None and isinstance(screen, ComparisonScreen):
                screen.choose(number * 150_000)
            else:
                app.flight.advance(PAINTED_SECONDS)
                app.paint_frame()
            with suppress(TimeoutError):  # an unchanged screen is not painted
                await asyncio.wait_for(painted.wait(), PAINTED_SECONDS)
            cpu.append((time.thread_time() - began) * 1e3)
            wall.append((time.perf_counter() - wall_began) * 1e3)
            await seat.pilot.pause(0)

    thresholds = gc.get_threshold()
    try:
        sit(script, app=app, size=size)
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
    return sorted(cpu), sorted(wall), written / FRAMES


def report(words: str) -> None:
    """Say a figure, where `-s` shows it."""
    sys.stderr.write(f"\n{words}")


def p95(values: list[float]) -> float:
    return values[int(len(values) * 0.95)]


@pytest.mark.parametrize(
    ("partitions", "members", "place", "size"),
    [
        (200, 100, "overview", (120, 40)),
        (200, 100, "group", (200, 210)),
        *((2_000, 40, place, size) for place in PLACED for size in ((120, 40), (200, 60))),
        *((20_000, 100, place, (120, 40)) for place in TWENTY_THOUSAND),
    ],
)
def test_a_frame_costs_little(partitions: int, members: int, place: str, size: tuple[int, int]) -> None:
    cpu, wall, written = frames(Busy(partitions, members), place, size)
    report(
        f"{place} {size[0]}×{size[1]}, {partitions} partitions, {members} members:"
        f" CPU p50 {statistics.median(cpu):.1f}, p95 {p95(cpu):.1f}, least {cpu[0]:.1f} ms"
        f" (promised for {PROMISED_PARTITIONS:,}: p95 {PROMISED_MS}); wall p95 {p95(wall):.1f} ms;"
        f" {written:.0f} bytes a frame"
    )
    if partitions <= PROMISED_PARTITIONS:
        assert p95(cpu) <= 2 * PROMISED_MS


def test_a_comparison_of_large_flights_costs_little(tmp_path: Path) -> None:
    fly(make_plan(parse_scenario(LARGE, "large.toml"), until_us=20_000_000), record=tmp_path / "a.flight")
    point = ForkPoint(at_us=8_000_000, commands=("kill billing-1",))
    beside = fork_beside(tmp_path / "a.flight", point, None, tmp_path / "b.flight", bool)
    packed, began = pickle.dumps(beside), time.thread_time()
    pickle.loads(packed)
    taken = (time.thread_time() - began) * 1e3
    for size in ((120, 40), (200, 60)):
        cpu, _, written = frames(StillFlight(20.0), "comparison", size, beside)
        report(
            f"comparison {size[0]}×{size[1]}, 2,000 partitions, the cursor moves: CPU p50 {statistics.median(cpu):.1f},"
            f" p95 {p95(cpu):.1f} ms (promised: p95 {PROMISED_MS}); taken over in {taken:.1f} ms;"
            f" {written:.0f} bytes a frame"
        )
        assert p95(cpu) <= 2 * PROMISED_MS
    assert taken <= 4 * PROMISED_MS


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
def test_a_raster_of_many_rebalances_costs_little(size: tuple[int, int]) -> None:
    cpu, _, written = frames(Rebalancing(2_000, 40), "raster", size)
    report(
        f"raster {size[0]}×{size[1]}, 2,000 partitions, an eager rebalance every two seconds:"
        f" CPU p50 {statistics.median(cpu):.1f}, p95 {p95(cpu):.1f} ms (promised: p95 {PROMISED_MS});"
        f" {written:.0f} bytes a frame"
    )
    assert p95(cpu) <= 2 * PROMISED_MS


def test_keys_take_effect_at_once_while_flat_out() -> None:
    """From a key to the frame that shows its effect, read from the terminal; promised is p99 ≤ 100 ms when idle."""
    process = Process("reference-m", speed="float('inf')", until_us=36_000_000_000)
    process.until("flat out")
    seen: dict[str, list[float]] = {}
    for _ in range(KEY_ROUNDS):
        for key, word in (("?", "help: overview"), ("\x1b", "flat out"), (" ", "PAUSED"), (" ", "flat out")):
            began = time.monotonic()
            process.press(key)
            process.until(word)
            if word != "flat out":  # escape and the second press lead back: of the first, the word is there at once
                seen.setdefault(word, []).append((time.monotonic() - began) * 1e3)
            _read(process, 0.2)
    process.press("q")
    process.wait()
    process.end()
    for word, taken in seen.items():
        taken.sort()
        p99 = taken[int(len(taken) * 0.99)]
        report(
            f"key to {word}, flat out, {len(taken)} times: p50 {statistics.median(taken):.0f}, p95 {p95(taken):.0f},"
            f" p99 {p99:.0f}, worst {taken[-1]:.0f} ms (promised: p99 100)"
        )


def test_memory_is_flat_over_a_virtual_day(tmp_path: Path) -> None:
    """What the console's process holds of a small flight with its past and a recording: some 90 s of CPU."""
    (tmp_path / "day.toml").write_text(DAY)
    command = [sys.executable, "-m", "tests.bench.memory", str(tmp_path / "day.toml"), "24h", "--console"]
    keys = [word for setting in RETENTION for word in ("--set", setting)]
    done = subprocess.run([*command, "--every", "2h", *keys], cwd=ROOT, capture_output=True, text=True, check=True)
    report(done.stdout)


@pytest.mark.parametrize(("speed", "most"), [("1.0", 20_000), ("20.0", 60_000)])
@pytest.mark.parametrize("keys", ["", "\r"])
def test_little_goes_to_the_terminal(keys: str, speed: str, most: int) -> None:
    process = Process(speed=speed)
    process.until("● up")
    process.press(keys)
    _read(process, 3.0)
    before = len(process.output)
    _read(process, 8.0)
    rate = (len(process.output) - before) / 8
    process.press("q")
    process.wait()
    process.end()
    report(f"×{speed} {'group' if keys else 'overview'} 120×40: {rate / 1e3:.1f} kB/s")
    assert rate <= most


def _read(process: Process, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        process.read(0.05)
