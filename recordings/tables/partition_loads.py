"""The rows of a summary about load: what was written to each partition of each topic, and how unevenly."""

from typing import Final

import msgspec

from cluster.events import Event, RecordsAppended
from cluster.view import ClusterView

SECOND_US: Final = 1_000_000


class TopicLoadRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was written to a topic; `skew`: the heaviest partition's records, as a multiple of the mean.

    1 is perfectly even; as many as there are partitions, when one of them gets everything.
    """

    topic: str
    partitions: int
    records: int
    bytes: int
    per_s: float
    skew: float
    heaviest: str


class PartitionLoadRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was written to a partition, heaviest first in its topic; `share`: of its topic's records, from 0 to 1.

    Records and bytes of batches that its leaders appended, markers of transactions excluded. `per_s`: records a second
    of the whole flight.
    """

    topic: str
    partition: str
    records: int
    bytes: int
    per_s: float
    share: float


class PartitionLoads:
    """Counts what leaders append."""

    def __init__(self) -> None:
        self._written: dict[str, tuple[int, int]] = {}

    def note(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, RecordsAppended) and not event.marker:
            records, size = self._written.get(event.partition, (0, 0))
            self._written[event.partition] = records + event.count, size + event.bytes

    def topics(self, view: ClusterView, now_us: int) -> list[TopicLoadRow]:
        """The topics that are written to, the most uneven first."""
        rows: list[TopicLoadRow] = []
        for topic, partitions in self._by_topic(view, now_us).items():
            records = sum(row.records for row in partitions)
            if not records:
                continue
            heaviest = partitions[0]
            rows.append(
                TopicLoadRow(
                    topic=topic,
                    partitions=len(partitions),
                    records=records,
                    bytes=sum(row.bytes for row in partitions),
                    per_s=_rate(records, now_us),
                    skew=heaviest.records * len(partitions) / records,
                    heaviest=heaviest.partition,
                )
            )
        return sorted(rows, key=lambda row: -row.skew)

    def partitions(self, view: ClusterView, now_us: int) -> list[PartitionLoadRow]:
        """The partitions of these topics: topics in the same order, the heaviest partition of each first."""
        by_topic = self._by_topic(view, now_us)
        return [row for topic in self.topics(view, now_us) for row in by_topic[topic.topic]]

    def _by_topic(self, view: ClusterView, now_us: int) -> dict[str, list[PartitionLoadRow]]:
        found: dict[str, list[PartitionLoadRow]] = {}
        for topic, names in view.partitions_by_topic.items():
            if view.topics[topic].internal:
                continue
            written = {name: self._written.get(name, (0, 0)) for name in names}
            total = sum(records for records, _ in written.values())
            rows = [
                PartitionLoadRow(
                    topic=topic,
                    partition=name,
                    records=records,
                    bytes=size,
                    per_s=_rate(records, now_us),
                    share=records / total if total else 0.0,
                )
                for name, (records, size) in written.items()
            ]
            found[topic] = sorted(rows, key=lambda row: -row.records)
        return found


def _rate(records: int, now_us: int) -> float:
    return records * SECOND_US / now_us if now_us else 0.0
