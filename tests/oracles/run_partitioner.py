"""partitioner.json: which partitions are drawn, how often, and when the sticky partitioner moves on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from cluster.clients.producer.partitioners import (
    KeyedPartitioner,
    PartitionLoad,
    RoundRobinPartitioner,
    StickyPartitioner,
)
from tests.oracles.outcome import Skip

OTHER_TOPIC_EVERY = 5


class InTurn(Random):
    """A random stream that chooses one partition after the other, as Kafka's test does."""

    def __init__(self, partitions: int) -> None:
        super().__init__(0)
        self._partitions, self._next = partitions, 0

    def random(self) -> float:
        place, self._next = self._next, self._next + 1
        return (place % self._partitions + 0.5) / self._partitions


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    if "queue_sizes" in vector:
        _adaptive(vector)
    elif "appends_bytes" in vector:
        _sticky(vector)
    elif "roundrobin" in vector["id"] or "RoundRobin" in vector.get("origin", ""):
        _counts(vector, _round_robin(vector))
    elif "key" in vector and "draws" not in vector:
        keyed = KeyedPartitioner(_names(vector))
        _counts(vector, [keyed.partition(int(vector["key"])) for _ in range(10)])
    elif "draws" in vector:
        random = Random(1)
        available = _available(vector)
        drawn = [StickyPartitioner(1, random.random, lambda: available).current for _ in range(vector["draws"])]
        _counts(vector, drawn)
    else:
        raise Skip("the vector's kind is not known")


def _names(vector: dict[str, Any]) -> list[str]:
    return [f"orders-{number}" for number in range(vector["partitions"])]


def _available(vector: dict[str, Any]) -> Sequence[str]:
    leaderless = [f"orders-{number}" for number in vector.get("leaderless", [])]
    names = _names(vector)
    return [name for name in names if name not in leaderless] or names


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _round_robin(vector: dict[str, Any]) -> list[str]:
    partitioner = RoundRobinPartitioner(_names(vector), lambda: _available(vector))
    others = ["payments-0", "payments-1"]
    other = RoundRobinPartitioner(others, lambda: others)
    drawn = []
    for send in range(vector["draws"]):
        if "interleaved_other_topic" in vector and send % OTHER_TOPIC_EVERY == 0:
            other.next()
        drawn.append(partitioner.next())
    return drawn


def _counts(vector: dict[str, Any], drawn: list[str]) -> None:
    counts = Counter(_number(name) for name in drawn)
    expect = vector["expect"]
    if isinstance(expect, str):
        _sentence(expect, counts, vector)
        return
    for kind, wanted in expect.items():
        check = COUNTS.get(kind)
        if check is None:
            raise Skip(f"expectation {kind!r} is not known")
        assert check(counts, wanted), f"{kind} {wanted}: drawn {dict(counts)}"


COUNTS: dict[str, Callable[[Counter[int], Any], bool]] = {
    "counts": lambda counts, wanted: counts == Counter({int(number): count for number, count in wanted.items()}),
    "never": lambda counts, wanted: not any(counts[number] for number in wanted),
    "always": lambda counts, wanted: set(counts) == {wanted},
    "at_least_two_of": lambda counts, wanted: sum(counts[number] > 0 for number in wanted) >= 2,
}


def _sentence(expect: str, counts: Counter[int], vector: dict[str, Any]) -> None:
    if expect == "uniform":
        share = sum(counts.values()) / vector["partitions"]
        assert all(0.5 * share < counts[number] < 1.5 * share for number in range(vector["partitions"])), counts
    elif expect.startswith("always partition "):
        assert set(counts) == {int(expect.rpartition(" ")[2])}, counts
    else:
        raise Skip(f"expectation {expect!r} is not known")


def _sticky(vector: dict[str, Any]) -> None:
    """The appends stay on one partition, each in a batch of its own; then a new batch opens on another."""
    names = _names(vector)
    partitioner = StickyPartitioner(vector["sticky_batch_bytes"], InTurn(len(names)).random, lambda: names)
    first = partitioner.current
    for size in vector["appends_bytes"]:
        assert partitioner.for_new_batch() == first
        partitioner.produced(size)
    assert partitioner.for_new_batch() != first


def _adaptive(vector: dict[str, Any]) -> None:
    sizes = vector["queue_sizes"]
    leaderless = vector.get("leaderless", [])
    queues = {f"orders-{number}": size for number, size in enumerate(sizes) if number not in leaderless}
    load = PartitionLoad.of(queues, len(sizes))
    expect = vector["expect"]
    if expect == "uniform":
        assert load is None
        return
    assert load is not None
    cycle = load.cumulative[-1]
    drawn = Counter(_number(load.draw((point + 0.5) / cycle)) for point in range(cycle))
    if isinstance(expect, str):
        _sentence(expect, drawn, vector)
        return
    for kind, wanted in expect.items():
        if kind == "cumulative":
            assert list(load.cumulative) == wanted
        elif kind == "cycle":
            assert cycle == wanted
        elif kind == "frequencies":
            items = wanted.items() if isinstance(wanted, dict) else enumerate(wanted)
            assert drawn == Counter({int(number): count for number, count in items if count})
        else:
            assert COUNTS[kind](drawn, wanted)
