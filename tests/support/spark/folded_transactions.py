"""Open transactions of each partition as the fold has them after each event of a recording, which Spark never reads.

The fold's partitions equal the simulator's logs at every checkpoint of other tests.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cluster.events import Event, RecordsAppended
from cluster.view import ClusterView, fold
from recordings.journal.reader import Recording


class Opened(NamedTuple):
    """A transaction in a partition: when it began, its first offset, its producer."""

    from_us: int
    first_offset: int
    producer: str


class Ended(NamedTuple):
    """How one ended, how many offsets were behind it then, and since when it held the last stable offset."""

    partition: str
    producer: str
    from_us: int
    until_us: int | None
    outcome: str | None
    first_offset: int
    waiting: int
    held_from_us: int | None


class FoldedTransactions:
    """Watches the fold; `ended` has every transaction of users' topics."""

    def __init__(self, recording: Recording) -> None:
        self.view = ClusterView()
        self.open: dict[str, dict[int, Opened]] = {}
        self.held: dict[tuple[str, int], int] = {}
        self.names: dict[int, str] = {}
        self.ended: list[Ended] = []
        for event in recording.events():
            self._take(event)
        for name, opened in self.open.items():
            for producer_id, one in opened.items():
                mark = self.view.partitions[name].high_watermark
                self._end(name, producer_id, one, None, None, mark)

    def _take(self, event: Event) -> None:
        name = getattr(event, "partition", "")
        before = self.view.partitions.get(name)
        mark = before.high_watermark if before is not None else 0
        fold(self.view, event)
        partition = self.view.partitions.get(name)
        if partition is None or partition.transactions is None or self.view.topics[partition.topic].internal:
            return
        known = self.open.setdefault(name, {})
        now = partition.transactions.index.open
        for producer_id in [each for each, one in known.items() if now.get(each) != one.first_offset]:
            marker = event.marker if isinstance(event, RecordsAppended) and event.producer_id == producer_id else ""
            self._end(name, producer_id, known.pop(producer_id), event.at_us, marker or "truncated", mark)
        for producer_id in now.keys() - known.keys():
            producer = event.producer if isinstance(event, RecordsAppended) else self.names.get(producer_id, "")
            self.names[producer_id] = producer
            known[producer_id] = Opened(event.at_us, now[producer_id], producer)
        if now:
            self.held.setdefault((name, min(now, key=lambda each: now[each])), event.at_us)

    def _end(
        self, name: str, producer_id: int, one: Opened, until_us: int | None, outcome: str | None, mark: int
    ) -> None:
        waiting = max(0, mark - one.first_offset)
        held = self.held.pop((name, producer_id), None)
        self.ended.append(Ended(name, one.producer, one.from_us, until_us, outcome, one.first_offset, waiting, held))


def folded_transactions(recording: Recording) -> Iterator[Ended]:
    """Every transaction in every partition of a user's topic."""
    yield from FoldedTransactions(recording).ended
