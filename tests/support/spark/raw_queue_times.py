"""How long batches waited in their producers, from the raw lines of a journal: a queue for each partition.

That batches leave a queue in order is not only assumed: an acknowledgement says how long ago its batch was opened, and
a batch that was opened then must have left.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from statistics import quantiles
from typing import Any, NamedTuple


class Left(NamedTuple):
    """A batch that left its producer's queue: when, after how long, and whether it failed without a request."""

    at_us: int
    us: int
    unsent: bool


Line = dict[str, Any]


class _Queues:
    """The queues of one producer, and the instants at which batches that left them had been opened."""

    def __init__(self) -> None:
        self.waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        self.opened: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.left: list[Left] = []

    def leave(self, line: Line, partition: str, *, unsent: bool) -> None:
        opened_us = self.waiting[partition].popleft()
        self.opened[partition][opened_us] += 1
        self.left.append(Left(line["at_us"], line["at_us"] - opened_us, unsent))

    def acknowledge(self, line: Line) -> None:
        opened_us = line["at_us"] - line["latency_us"]
        assert self.opened[line["partition"]][opened_us], f"no batch that was opened at {opened_us} had left: {line}"


def raw_queue_times(lines: Iterable[Line]) -> dict[str, list[Left]]:
    """Each producer's batches in the order in which they left. Queues of a process that ended are empty."""
    producers: defaultdict[str, _Queues] = defaultdict(_Queues)
    for line in lines:
        match line["kind"]:
            case "producer_state_changed" if line["state"] in {"Dead", "Stopped"}:
                producers[line["producer"]].waiting.clear()
            case "batch_opened":
                producers[line["producer"]].waiting[line["partition"]].append(line["at_us"])
            case "produce_sent":
                for partition in line["records"]:
                    producers[line["producer"]].leave(line, partition, unsent=False)
            case "batch_failed" if not line["sent"]:
                producers[line["producer"]].leave(line, line["partition"], unsent=True)
            case "batch_acknowledged":
                producers[line["producer"]].acknowledge(line)
    return {name: queues.left for name, queues in producers.items() if queues.left}


def measured(left: list[Left]) -> dict[str, float]:
    """The fields of `QueueTime` of a report: steps of 0.1 ms, interpolated between two batches."""
    steps = [one.us // 100 * 100 for one in left]
    cuts = quantiles(steps, n=100, method="inclusive") if len(steps) > 1 else steps * 99
    longest = max(left, key=lambda one: (one.us, -one.at_us))
    return {
        "batches": len(left),
        "unsent": sum(one.unsent for one in left),
        **{f"p{place}_us": round(cuts[place - 1], 3) for place in (50, 95, 99)},
        "longest_us": longest.us,
        "longest_at_us": longest.at_us,
    }
