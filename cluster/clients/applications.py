"""What an application does with the records that poll() returned: it takes its time, finishes them, commits.

Records are worked on in order. What is finished is told when the work on a poll's records ends, after each second of
it, or at the moment a kill interrupts it, so that a crash in the middle counts exactly what was done.
"""

from collections.abc import Callable
from random import Random

from cluster import events as e
from cluster.clients.fetcher import Slice
from cluster.clients.member import Member
from cluster.intervals import IntervalSet
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import ApplicationSpec

CHUNK_US = 1_000_000

Stretch = list[tuple[str, int, int]]  # partition, first offset, next offset


class KeyOrder:
    """Ground truth of a whole group: per key, the last record that was finished for the first time.

    A record's number is its producer's for that partition. Adding partitions moves keys: a later issue's business.
    """

    def __init__(self, group: str, tell: Callable[[e.Event], None]) -> None:
        self._group, self._tell = group, tell
        self._finished: dict[tuple[str, str, int], int] = {}
        self._broken: dict[tuple[str, int], None] = {}
        self._first_times: dict[str, IntervalSet] = {}

    def finished(self, piece: Slice, end: int) -> None:
        """Records of a slice were finished, up to offset `end`."""
        batch = piece.batch
        if not batch.keys:
            return
        known = self._first_times.setdefault(batch.partition, IntervalSet())
        for first, stop in list(known.gaps(piece.first_offset, end)):
            for offset in range(first, stop):
                self._first_time(batch, offset - batch.base_offset)
        known.add(piece.first_offset, end)

    def _first_time(self, batch: RecordBatch, place: int) -> None:
        key, serial = batch.keys[place], batch.first_serial + place
        who = (batch.producer, batch.partition, key)
        topic = batch.partition.rpartition("-")[0]
        if self._finished.get(who, -1) > serial and (topic, key) not in self._broken:
            self._broken[topic, key] = None
            self._tell(e.KeyOrderBroken(group=self._group, topic=topic, key=key))
        self._finished[who] = serial


class Application:
    """The application of one member. `random` draws how long a stretch of records takes, when that varies."""

    def __init__(self, spec: ApplicationSpec, random: Random, order: KeyOrder) -> None:
        self.spec, self._random, self._order = spec, random, order
        self.per_record_us = spec.per_record_us
        self._work: list[Slice] = []
        self._since_us = 0
        self._cost_us = 0.0

    def normal_speed(self) -> None:
        """Records take as long as the scenario says again."""
        self.per_record_us = self.spec.per_record_us

    async def work(self, consumer: Member, slices: list[Slice]) -> None:
        """Work on the records of one poll(), and commit as the scenario says."""
        commit = self.spec.commit
        if commit == "before-processing":
            await consumer.commit_sync()
        cost_us = float(self.per_record_us)
        if self.spec.jitter:
            cost_us *= 1 + self.spec.jitter * (2 * self._random.random() - 1)
        for chunk in self._chunks(slices, cost_us):
            records = sum(end - first for _, first, end in chunk)
            self._work, self._cost_us, self._since_us = chunk, cost_us, consumer.timeline.now_us
            duration_us = round(cost_us * records)
            if duration_us:
                await consumer.sleep(duration_us)
            self._work = []
            self._finished(consumer, chunk, records)
        if commit == "after-each-poll":
            await consumer.commit_sync()
        elif commit == "async":
            consumer.commit_async()

    def _chunks(self, slices: list[Slice], cost_us: float) -> list[list[Slice]]:
        """Cut the work so that no stretch lasts much longer than a second."""
        if cost_us * sum(end - first for _, first, end in slices) <= CHUNK_US:
            return [slices]
        room = max(1, int(CHUNK_US / cost_us))
        chunks: list[list[Slice]] = []
        for batch, first, end in slices:
            chunks.extend([Slice(batch, at, min(at + room, end))] for at in range(first, end, room))
        return chunks

    def interrupt(self, consumer: Member) -> None:
        """The process dies now: records that were finished in the stretch under way count."""
        if self._work and self._cost_us > 0:
            done = int((consumer.timeline.now_us - self._since_us) / self._cost_us)
            self._finished(consumer, self._work, done)
        self._work = []

    def _finished(self, consumer: Member, slices: list[Slice], records: int) -> None:
        """Tell the first `records` of these as finished, contiguous ones together."""
        stretches: Stretch = []
        for piece in slices:
            if records <= 0:
                break
            batch, first, end = piece
            end = min(end, first + records)
            records -= end - first
            if batch.keys:
                self._order.finished(piece, end)
            if stretches and stretches[-1][0] == batch.partition and stretches[-1][2] == first:
                stretches[-1] = (batch.partition, stretches[-1][1], end)
            else:
                stretches.append((batch.partition, first, end))
        for partition, first, end in stretches:
            consumer.processed += end - first
            consumer.tell(
                e.RecordsProcessed(
                    group=consumer.group,
                    member=consumer.name,
                    partition=partition,
                    first_offset=first,
                    next_offset=end,
                )
            )
