"""What a turn and an event cost as the cluster grows under constant traffic: `python -m tests.bench.scale`.

20 producers write 4,000 records/s and 40 members read them, whatever the number of brokers and partitions. The figure
is steady state: user CPU of a long flight minus that of a short one, by the code of `flightdeck bench`. Sizes take
turns, and the median of the rounds counts, beside its ratio to the smallest size.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from console.bench.measurement import MeasuredFlight, measure_flight

SIZES = ((3, 120), (3, 2_000), (10, 1_000), (30, 2_000), (100, 2_000), (100, 10_000))
"""Numbers of brokers and partitions; the first is what the others are compared with."""

SHORT, LONG = "10s", "40s"

SCENARIO = """title = "{brokers} brokers, {partitions} partitions, constant traffic"
seed = 1
until = "1m"
[cluster]
brokers = {brokers}
[[topic]]
name = "orders"
partitions = {partitions}
replication = 3
[[producer]]
name = "checkout"
topics = ["orders"]
count = 20
rate = "200/s"
keys = {{ kind = "none" }}
config = {{ "linger.ms" = 100 }}
[[group]]
name = "billing"
topics = ["orders"]
members = 40
assignors = ["range"]
[group.application]
per_record = "100us"
"""


def steady(short: MeasuredFlight, long: MeasuredFlight) -> tuple[float, float]:
    """µs of user CPU for each turn and for each event between the ends of the two flights."""
    used_us = (long.user_s - short.user_s) * 1e6
    return used_us / (long.turns - short.turns), used_us / (long.events - short.events)


def table(rounds: int, folder: Path) -> list[str]:
    """One line for each size."""
    found: dict[tuple[int, int], list[tuple[float, float, float]]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for brokers, partitions in SIZES:
            path = folder / f"{brokers}-{partitions}.toml"
            path.write_text(SCENARIO.format(brokers=brokers, partitions=partitions), encoding="utf-8")
            short, long = (measure_flight(str(path), until) for until in (SHORT, LONG))
            found[brokers, partitions].append((*steady(short, long), long.peak_rss_mb))
    figures = {size: [statistics.median(column) for column in zip(*each, strict=True)] for size, each in found.items()}
    first_turn, first_event, _ = figures[SIZES[0]]
    lines = ["brokers  partitions  µs a turn      ×  µs an event      ×  peak MB"]
    for (brokers, partitions), (turn, event, rss_mb) in figures.items():
        costs = f"{turn:9.1f}  {turn / first_turn:5.2f}  {event:11.1f}  {event / first_event:5.2f}"
        lines.append(f"{brokers:7}  {partitions:10,}  {costs}  {rss_mb:7.0f}")
    return lines


def main() -> None:
    """Fly every size, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write("\n".join(table(parser.parse_args().rounds, Path(folder))) + "\n")


if __name__ == "__main__":
    main()
