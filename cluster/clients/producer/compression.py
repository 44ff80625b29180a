"""How large batches become when a producer compresses them, and how large it thinks they will.

Records here have no payload, so that a codec shrinks every batch by the same share of its records' size: that of the
Silesia corpus, as the README of Zstandard tells it (zstd -1, zlib -1, lz4, snappy). A producer learns such a share
batch by batch, for each topic: it begins at 1, sinks slowly and rises at once; a batch that a broker refuses as too
large takes it back to 1. Source: `CompressionRatioEstimator`, `MemoryRecordsBuilder`.
"""

import math

from cluster.protocol.record_batch import RECORD_BATCH_OVERHEAD_BYTES

RATIOS = {"none": 1.0, "gzip": 0.365, "snappy": 0.482, "lz4": 0.476, "zstd": 0.347}
"""`compression.type` → the size of compressed records as a share of what they were."""

ESTIMATION_FACTOR = 1.05  # MemoryRecordsBuilder.COMPRESSION_RATE_ESTIMATION_FACTOR
IMPROVING_STEP, DETERIORATE_STEP = 0.005, 0.05  # CompressionRatioEstimator.COMPRESSION_RATIO_…


class Compression:
    """One producer's codec: what it really does, and what the producer expects of it, topic by topic."""

    def __init__(self, codec: str) -> None:
        self._ratio = RATIOS[codec]
        self.compresses = codec != "none"
        self._estimates: dict[str, float] = {}

    def estimate(self, topic: str) -> float:
        """What share of their size the next batch's records are expected to take, the factor of caution included."""
        return self._estimates.get(topic, 1.0) * ESTIMATION_FACTOR if self.compresses else 1.0

    def compressed(self, record_bytes: int) -> int:
        """The size of a batch whose records have so many bytes."""
        return RECORD_BATCH_OVERHEAD_BYTES + math.ceil(record_bytes * self._ratio)

    def learn(self, topic: str) -> None:
        """A batch was closed: the producer compares what came out with what it expected."""
        estimate = self._estimates.get(topic, 1.0)
        if self._ratio > estimate:
            self._estimates[topic] = max(estimate + DETERIORATE_STEP, self._ratio)
        else:
            self._estimates[topic] = max(estimate - IMPROVING_STEP, self._ratio)

    def doubt(self, topic: str) -> None:
        """A batch was too large: expect nothing of compression, so that it does not happen too often."""
        self._estimates[topic] = max(1.0, self._ratio)


def capacity(limit: int, record_bytes: int, estimate: float) -> int:
    """How many records of this size a batch takes, at least one: the next one is counted as it is, those in it as the
    estimate says. Source: `MemoryRecordsBuilder.hasRoomFor`.
    """
    room = limit - RECORD_BATCH_OVERHEAD_BYTES - record_bytes
    if room < 0:
        return 1
    before = math.ceil((room + 1) / (record_bytes * estimate)) - 1  # the largest with int(before × …) <= room
    return before + 1
