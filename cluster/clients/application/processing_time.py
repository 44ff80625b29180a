"""How long an application works on a record: a distribution, slow keys, and a dependency that answers late.

Theory of operation. Without these every record of a poll() takes the same time, and a run of records is one sum. With
one of them each record draws its own: a log-normal time through the declared p50 and p99 (`ln t` is normal: the mean is
`ln p50`, p99 lies 2.326 standard deviations above it), or the time of a slow key. What a dependency adds comes on top.
"""

import math
from random import Random
from typing import Final

from cluster.clients.application.dependency import Dependency
from cluster.protocol.record_batch import RecordBatch, Slice
from cluster.random_streams import random_stream
from cluster.spec import ApplicationSpec

DEVIATIONS_TO_P99: Final = 2.3263478740408408
"""Standard deviations of a normal distribution from its median to its 99th percentile."""


class ProcessingTimes:
    """The processing times of one member's records."""

    def __init__(self, spec: ApplicationSpec, seed: int, member: str, dependency: Dependency) -> None:
        self._spec, self._seed, self._dependency = spec, seed, dependency
        self._random: Random = random_stream(seed, f"processing/{member}")
        self._group = member.rpartition("-")[0]
        self._mean = self._deviation = 0.0
        if spec.processing is not None:
            self._mean = math.log(spec.processing.p50_us)
            self._deviation = (math.log(spec.processing.p99_us) - self._mean) / DEVIATIONS_TO_P99
        self._slow: dict[int, bool] = {}

    @property
    def delay_us(self) -> int:
        """What the dependency adds to each record now."""
        return self._dependency.delay_us

    @property
    def differ(self) -> bool:
        """Whether each record has a time of its own now."""
        spec = self._spec
        return self._dependency.delay_us > 0 or spec.processing is not None or spec.slow_keys is not None

    def chunk(
        self, slices: list[Slice], usual_us: float, longest_us: int, *, slowed: bool
    ) -> tuple[list[Slice], list[float], list[Slice]]:
        """The first records, until they take `longest_us`; when each of them is finished (µs); the other records.

        `usual_us`: how long a record takes without a distribution. Every record of a `slowed` member takes as long.
        """
        taken: list[Slice] = []
        ends: list[float] = []
        now_us, delay_us = 0.0, self._dependency.delay_us
        for place, (batch, first, stop) in enumerate(slices):
            at = first
            while at < stop and now_us < longest_us:
                now_us += delay_us + (usual_us if slowed else self._time(batch, at, usual_us))
                ends.append(now_us)
                at += 1
            if at > first:
                taken.append(Slice(batch, first, at))
            if at < stop:
                return taken, ends, [Slice(batch, at, stop), *slices[place + 1 :]]
        return taken, ends, []

    def _time(self, batch: RecordBatch, offset: int, usual_us: float) -> float:
        spec = self._spec
        if spec.slow_keys is not None and batch.keys and self._is_slow(batch.keys[offset - batch.base_offset]):
            return spec.slow_keys.per_record_us
        if spec.processing is not None:
            return math.exp(self._mean + self._deviation * self._random.gauss(0.0, 1.0))
        return usual_us

    def _is_slow(self, key: int) -> bool:
        """Whether a key is one of the slow ones; of a share of the keys its number decides."""
        slow = self._slow.get(key)
        if slow is None:
            declared = self._spec.slow_keys
            assert declared is not None
            slow = key >= 0 and str(key) in declared.keys
            if declared.share and key >= 0:
                slow = random_stream(self._seed, f"slow keys/{self._group}/{key}").random() < declared.share
            self._slow[key] = slow
        return slow
