"""How large batches are when a producer compresses them, and how large it expects them to be.

Records have no payload here, so a codec shrinks every batch by the same ratio: that of the Silesia corpus, from the
README of Zstandard (zstd -1, zlib -1, lz4, snappy). A producer estimates the ratio batch by batch, for each topic. The
estimate starts at 1, falls slowly and rises at once. A batch that a broker refuses as too large resets it to 1.
Source: `CompressionRatioEstimator`, `MemoryRecordsBuilder`.
"""

import math
from typing import Final

from cluster.protocol.record_batch import RECORD_BATCH_OVERHEAD_BYTES

RATIOS = {"none": 1.0, "gzip": 0.365, "snappy": 0.482, "lz4": 0.476, "zstd": 0.347}
"""`compression.type` → the size of compressed records as a share of their uncompressed size."""

ESTIMATION_FACTOR: Final = 1.05  # MemoryRecordsBuilder.COMPRESSION_RATE_ESTIMATION_FACTOR
IMPROVING_STEP, DETERIORATE_STEP = 0.005, 0.05  # CompressionRatioEstimator.COMPRESSION_RATIO_…


class Compression:
    """One producer's codec: its actual ratio, and the producer's estimate of it for each topic."""

    def __init__(self, codec: str) -> None:
        self._ratio = RATIOS[codec]
        self.compresses = codec != "none"
        self._estimates: dict[str, float] = {}

    def estimate(self, topic: str) -> float:
        """The expected ratio of the topic's next batch, with Kafka's safety factor."""
        return self._estimates.get(topic, 1.0) * ESTIMATION_FACTOR if self.compresses else 1.0

    def compressed(self, record_bytes: int) -> int:
        """The size of a batch whose records have this many bytes uncompressed."""
        return RECORD_BATCH_OVERHEAD_BYTES + math.ceil(record_bytes * self._ratio)

    def learn(self, topic: str) -> None:
        """Move the estimate towards the ratio of a batch that was compressed."""
        estimate = self._estimates.get(topic, 1.0)
        if self._ratio > estimate:
            self._estimates[topic] = max(estimate + DETERIORATE_STEP, self._ratio)
        else:
            self._estimates[topic] = max(estimate - IMPROVING_STEP, self._ratio)

    def doubt(self, topic: str) -> None:
        """Reset the estimate after a batch was too large, so that this does not repeat."""
        self._estimates[topic] = max(1.0, self._ratio)


def capacity(limit: int, record_bytes: int, estimate: float) -> int:
    """How many records of this size a batch takes, at least one.

    The next record counts with its full size, those in the batch with the estimate.
    Source: `MemoryRecordsBuilder.hasRoomFor`.
    """
    room = limit - RECORD_BATCH_OVERHEAD_BYTES - record_bytes
    if room < 0:
        return 1
    before = math.ceil((room + 1) / (record_bytes * estimate)) - 1  # the largest with int(before × …) <= room
    return before + 1
