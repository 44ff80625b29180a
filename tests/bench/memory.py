"""How much memory a long flight takes, hour by virtual hour: headless, or with the console that watches it.

What an hour takes is the median of its minutes: a retention check, a keyframe or a frame under way adds some megabytes
for a moment, which the highest sample of the hour and the process' peak tell.

    python -m tests.bench.memory reference-s 24h --set retention.ms=3600000 --set segment.ms=600000
    python -m tests.bench.memory reference-s 6h
    python -m tests.bench.memory reference-s 4h --console

Recorded, with invariants on; prints each hour's resident memory and the process' peak, and says whether it is flat.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from cluster.config import parse_duration
from recordings.scenarios.overrides import parse_setting

HOUR_US, MINUTE_US = 3_600_000_000, 60_000_000
SETTLED_HOURS = 3


def resident_mb(field: str = "VmRSS") -> float:
    """This process' resident memory, or its peak (VmHWM), in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) * 1024 / 1e6


class Samples:
    """Resident memory by stretches of virtual time, each the median of its minutes."""

    def __init__(self, every_us: int) -> None:
        self.every_us, self.next_us, self.look_us = every_us, every_us, 0
        self.found: list[tuple[float, float]] = []
        self._minutes: list[float] = []

    def at(self, now_us: int) -> None:
        """It is so late."""
        if now_us >= self.look_us:
            self.look_us = now_us + MINUTE_US
            self._minutes.append(resident_mb())
        if now_us >= self.next_us:
            self.next_us += self.every_us
            hours, minutes, self._minutes = now_us / HOUR_US, self._minutes, []
            self.found.append((hours, statistics.median(minutes)))
            words = f"{hours:5.2f} h  {self.found[-1][1]:6.1f} MB, at most {max(minutes):6.1f}"
            sys.stdout.write(f"{words}  {time.process_time():6.0f} s of CPU\n")
            sys.stdout.flush()

    def verdict(self) -> str:
        """The peak, and how far memory strays from its mean once the flight has settled."""
        settled = [size for hours, size in self.found if hours >= SETTLED_HOURS]
        words = f"peak {resident_mb('VmHWM'):.1f} MB"
        if settled:
            mean = sum(settled) / len(settled)
            low, high = min(settled) / mean - 1, max(settled) / mean - 1
            words += f"; from hour {SETTLED_HOURS} on {mean:.1f} MB, {low:+.1%} … {high:+.1%}"
        return words


def headless(options: argparse.Namespace, record: Path, samples: Samples) -> str:
    """Fly without a console, as `flightdeck run --record` does; returns what was flown."""
    from recordings.flights.runner import fly, make_plan  # noqa: PLC0415 - the console's process has none of it at first
    from recordings.scenarios.loader import load  # noqa: PLC0415

    plan = make_plan(load(options.scenario), until_us=options.until_us, settings=options.settings)
    result = fly(plan, record=record, progress=samples.at)
    batches = sum(partition["log_end"] for partition in result.view["partitions"].values())
    return f"{result.events} events, {batches} records in logs, {result.journal_sha256[:12]}"


def watched(options: argparse.Namespace, record: Path, samples: Samples) -> str:
    """Fly flat out below the console, on the screen of the group; returns what was flown."""
    from console.app import FlightdeckApp  # noqa: PLC0415

    app = FlightdeckApp(
        options.scenario,
        until_us=options.until_us,
        settings=options.settings,
        record=record,
        speed=float("inf"),
    )

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            while not app.flight.clock.over:
                await pilot.pause(0.1)
                samples.at(app.flight.view.at_us)
                if not app.flight.names().groups:
                    continue
                group = next(iter(app.flight.names().groups))
                if app.place() != group:
                    app.go(group)

    asyncio.run(run())
    return f"{app.flight.view.seq} events seen"


def main() -> None:
    """Fly and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario")
    parser.add_argument("until")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--every", default="1h")
    parser.add_argument("--console", action="store_true")
    options = parser.parse_args()
    options.until_us = parse_duration(options.until)
    options.settings = [parse_setting(text) for text in options.set]
    samples = Samples(parse_duration(options.every))
    with tempfile.TemporaryDirectory() as directory:
        flown = (watched if options.console else headless)(options, Path(directory) / "flight", samples)
    sys.stdout.write(f"{samples.verdict()}; {flown}\n")


if __name__ == "__main__":
    main()
