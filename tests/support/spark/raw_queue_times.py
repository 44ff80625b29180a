"""How long batches waited in their producers, from the raw lines of a journal: a queue for each partition."""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple


class Left(NamedTuple):
    """A batch that left its producer's queue: when, after how long, and whether it failed without a request."""

    at_us: int
    us: int
    unsent: bool


def raw_queue_times(lines: Iterable[dict[str, Any]]) -> dict[str, list[Left]]:
    """Each producer's batches in the order in which they left. Queues of a process that ended are empty."""
    queues: dict[str, defaultdict[str, deque[int]]] = {}
    found: dict[str, list[Left]] = {}

    def leave(line: dict[str, Any], partition: str, *, unsent: bool) -> None:
        opened_us = queues[line["producer"]][partition].popleft()
        found.setdefault(line["producer"], []).append(Left(line["at_us"], line["at_us"] - opened_us, unsent))

    for line in lines:
        match line["kind"]:
            case "producer_state_changed" if line["state"] in {"Dead", "Stopped"}:
                queues.pop(line["producer"], None)
            case "batch_opened":
                queues.setdefault(line["producer"], defaultdict(deque))[line["partition"]].append(line["at_us"])
            case "produce_sent":
                for partition in line["records"]:
                    leave(line, partition, unsent=False)
            case "batch_failed" if not line["sent"]:
                leave(line, line["partition"], unsent=True)
    return found
