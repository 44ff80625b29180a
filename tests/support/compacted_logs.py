"""A compacted log made by hand, with the words of Kafka's LogCleanerTest."""

from collections import Counter

from cluster.protocol.record_batch import ABORT, COMMIT, NO_PRODUCER_ID, NO_SEQUENCE, RecordBatch
from cluster.storage.compaction import Compaction
from cluster.storage.log_config import CompactionConfig, Retention
from cluster.storage.partition_log import PartitionLog
from cluster.storage.segment_list import SegmentList
from cluster.storage.transaction_index import AbortedTransaction

DAY_US = 86_400_000_000
LARGE_US = 1 << 55
"""`largeTimestamp`: beyond every batch."""
SEGMENTS = Retention(-1, -1, 2_048, 1 << 60)
COMPACTION = CompactionConfig(0.5, 0, 1 << 62, DAY_US)


class CompactedLog:
    """A log with keyed records of idempotent, transactional and plain producers."""

    def __init__(self, retention: Retention = SEGMENTS, config: CompactionConfig = COMPACTION) -> None:
        self.log, self.retention = PartitionLog("t-0"), retention
        self.log.segments = SegmentList(config)
        self.values: dict[int, tuple[int, bool]] = {}  # offset → key, and whether it has a value
        self._sequences: Counter[int] = Counter()
        self._serials: Counter[str] = Counter()

    # --- appending ----------------------------------------------------------------------------------------------------

    def append(self, producer_id: int, *keys: int, transactional: bool = False, created_us: int = 0) -> None:
        """One batch of an idempotent producer; a negative key −k − 1 is a tombstone of k."""
        producer, sequence = f"p-{producer_id}", NO_SEQUENCE
        if producer_id != NO_PRODUCER_ID:
            sequence = self._sequences[producer_id]
            self._sequences[producer_id] += len(keys)
        plain = tuple(key if key >= 0 else -key - 1 for key in keys)
        batch = RecordBatch(
            "t-0", producer, producer_id, 0 if producer_id >= 0 else -1, sequence, self._serials[producer], len(keys),
            61 + 20 * len(keys), created_us, plain, transactional=transactional,
            tombstones=tuple(place for place, key in enumerate(keys) if key < 0),
        )  # fmt: skip
        self._serials[producer] += len(keys)
        for place, key in enumerate(keys):
            self.values[self.log.log_end + place] = plain[place], key >= 0
        self.log.append_as_leader(batch.placed(self.log.log_end, 0, created_us))

    def in_transaction(self, producer_id: int, *keys: int) -> None:
        """One batch of a transaction."""
        self.append(producer_id, *keys, transactional=True)

    def commit(self, producer_id: int) -> None:
        """A COMMIT marker."""
        self._mark(producer_id, COMMIT)

    def abort(self, producer_id: int) -> None:
        """An ABORT marker."""
        self._mark(producer_id, ABORT)

    def _mark(self, producer_id: int, marker: str) -> None:
        batch = RecordBatch("t-0", "", producer_id, 0, -1, -1, 1, 78, 0, (), transactional=True, marker=marker)
        self.log.append_as_leader(batch.placed(self.log.log_end, 0, 0))

    def roll(self) -> None:
        """Begin a new active segment."""
        self.segments.read_on(self.log.batches, self.log.log_end, self.retention)
        self.segments.roll(self.log.log_end)

    # --- cleaning -----------------------------------------------------------------------------------------------------

    @property
    def segments(self) -> SegmentList:
        """The log's segments."""
        assert self.log.segments is not None
        return self.log.segments

    def clean(self, dirty: int = 0, now_us: int = LARGE_US, end: int = -1) -> Compaction:
        """Clean from `dirty` up to the active segment."""
        self.segments.first_dirty = dirty
        end = self.segments.active.base_offset if end < 0 else end
        return self.log.compact(end, self.retention, now_us)

    def clean_twice(self, dirty: int = 0) -> None:
        """`runTwoPassClean`: the second pass comes after the delete horizons that the first one sets."""
        self.clean(dirty)
        self.clean(dirty, LARGE_US + DAY_US + 1_000)

    # --- reading ------------------------------------------------------------------------------------------------------

    def offsets(self) -> list[int]:
        """Of the records with a value, markers included (`offsetsInLog`)."""
        return [
            batch.base_offset + place
            for batch in self.log.batches
            for place in batch.places
            if place not in batch.tombstones
        ]

    def keys(self) -> list[int]:
        """Of the records with a value, without markers (`keysInLog`)."""
        batches = [batch for batch in self.log.batches if not batch.marker]
        return [batch.keys[place] for batch in batches for place in batch.places if place not in batch.tombstones]

    def last_offsets(self) -> list[int]:
        """Of each batch (`lastOffsetsPerBatchInLog`)."""
        return [batch.next_offset - 1 for batch in self.log.batches]

    def last_sequences(self) -> dict[int, int]:
        """Of each producer (`lastSequencesInLog`)."""
        return {batch.producer_id: batch.last_sequence for batch in self.log.batches if not batch.marker}

    def aborted(self) -> list[AbortedTransaction]:
        """The aborted transactions that the log's index has."""
        return list(self.log.transactions.collect(0, self.log.log_end)[0])
