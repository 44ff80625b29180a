"""What the fold makes of a recording, second by second: the answer that Spark's must equal."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cluster.view import ClusterView, document, fold
from cluster.view.document import group_partitions, partition_time_lag_us, read_up_to
from cluster.view.rebalances import RebalanceView
from cluster.view.state import NEVER
from recordings.journal.reader import Recording

SECOND_US = 1_000_000


class Lag(NamedTuple):
    """A group and partition at a second."""

    high_watermark: int
    committed: int
    read_up_to: int
    lag: int
    time_lag_us: int


class Folded(msgspec.Struct):
    """A recording folded: at each second (the last one is the flight's end, rounded up), and in the end."""

    run_id: str
    virtual_us: int = 0
    lag: dict[tuple[str, str, int], Lag] = {}
    owners: dict[tuple[str, str, int], str] = {}
    groups: dict[tuple[str, int], tuple[int, str]] = {}
    rebalances: dict[str, list[RebalanceView]] = {}
    view: ClusterView = msgspec.field(default_factory=ClusterView)

    @property
    def last_second(self) -> int:
        return -(-self.virtual_us // SECOND_US)


def folded(path: Path) -> Folded:
    """Fold a recording, looking at it at the end of every second."""
    recording = Recording(path)
    totals = recording.survey().totals
    result = Folded(recording.header.run_id, totals.virtual_us)
    second = 0
    for event in recording.events():
        while event.at_us > second * SECOND_US:
            _look(result, second)
            second += 1
        fold(result.view, event)
    for rest in range(second, result.last_second + 1):
        _look(result, rest)
    result.rebalances = {name: list(group.rebalances) for name, group in result.view.groups.items()}
    return result


def _look(result: Folded, second: int) -> None:
    view, now_us = result.view, min(second * SECOND_US, result.virtual_us)
    for name, group in view.groups.items():
        result.groups[name, second] = group.generation, group.state
        for partition in group_partitions(view, group):
            reader = group.readers.get(partition)
            high_watermark = view.partitions[partition].high_watermark
            start = read_up_to(view, group, partition)
            result.lag[name, partition, second] = Lag(
                high_watermark,
                reader.committed if reader is not None else NEVER,
                start,
                max(0, high_watermark - start),
                partition_time_lag_us(view, group, partition, now_us),
            )
        for partition, owner in group.owners.items():
            result.owners[name, partition, second] = owner


def final(result: Folded) -> dict[str, Any]:
    """The view document at the flight's end."""
    return document(result.view, result.virtual_us)
