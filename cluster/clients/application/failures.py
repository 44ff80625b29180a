"""Which records an application fails on, at how many attempts, and how long it waits before the next one.

Theory of operation. A record fails because its key is the poison, or because its identity is in the failing share: so a
record that is read again fails again. The application tries it `retries.times` times more, in its own thread: later
records of the partition wait, and poll() is not called. While the dependency of the group answers with errors, every
attempt at any record fails that begins meanwhile. After the last attempt the record goes to the dead-letter
topic; without one the process crashes or skips the record. Source: Spring Kafka's `DefaultErrorHandler` with an
`ExponentialBackOff` and a `DeadLetterPublishingRecoverer`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cluster.clients.application.dependency import Dependency
from cluster.clients.delivery_ledger import origins_of
from cluster.protocol.record_batch import RecordBatch, Slice
from cluster.random_streams import NumberedDraws
from cluster.spec import LONGEST_FLIGHT_US, ApplicationSpec


class FailedAttempt(NamedTuple):
    """A failed attempt: what the application says of it, and whether it ends the process after the last one."""

    reason: str
    crashes: bool


class Failures:
    """The failing records of one group's applications."""

    def __init__(self, spec: ApplicationSpec, seed: int, group: str, dependency: Dependency) -> None:
        self._dependency = dependency
        self._poison = None if spec.poison is None else int(spec.poison.key)
        self._fail, self._retries = spec.fail, spec.retries
        self._poison_crashes = spec.poison is not None and spec.poison.crashes
        self._declared = spec.poison is not None or spec.fail is not None
        self._attempted = spec.fail is not None or spec.retries is not None or spec.dead_letter is not None
        self._draws = NumberedDraws(seed, f"failures/{group}")

    @property
    def possible(self) -> bool:
        """Whether any record may fail now."""
        return self._declared or self._dependency.failing

    @property
    def every(self) -> bool:
        """Whether each record fails now: the dependency answers with errors."""
        return self._dependency.failing

    @property
    def attempted(self) -> bool:
        """Whether attempts are told of: they can be repeated, or the record itself is not to blame."""
        return self._attempted or self._dependency.failing

    @property
    def most_attempts(self) -> int:
        """How often the application tries a record."""
        return 1 if self._retries is None else 1 + self._retries.times

    def backoff_us(self, attempt: int) -> int:
        """How long the application waits after this failed attempt, counted from 1."""
        retries = self._retries
        assert retries is not None
        return int(min(retries.backoff_us * retries.multiplier ** (attempt - 1), LONGEST_FLIGHT_US))

    def split(self, slices: list[Slice]) -> Iterator[tuple[list[Slice], Slice | None]]:
        """Cut the records at each failing one: the records before it, and that record (None at the end)."""
        healthy: list[Slice] = []
        for batch, first, end in slices:
            at, failing = first, self._failing(batch, first, end)
            while at < end:
                offset = at if self._dependency.failing else next((one for one in failing if one >= at), end)
                if at < offset:
                    healthy.append(Slice(batch, at, offset))
                if offset < end:
                    yield healthy, Slice(batch, offset, offset + 1)
                    healthy = []
                at = offset + 1
        yield healthy, None

    def _failing(self, batch: RecordBatch, first: int, end: int) -> list[int]:
        poison = self._poison
        failing = {offset for offset in range(first, end) if poison is not None and _key(batch, offset) == poison}
        if self._fail is not None:
            offset, share = first, self._fail.share
            for producer, partition, serial, count in origins_of(batch, first, end):
                for number in range(count):
                    if self._draws.draw((producer, partition), serial + number) < share:
                        failing.add(offset + number)
                offset += count
        return sorted(failing)

    def failure(self, batch: RecordBatch, offset: int, attempt: int) -> FailedAttempt | None:
        """Why an attempt at a record, counted from 1, fails now; None if it succeeds."""
        where, poison, fail = f"in {batch.partition} at offset {offset}", self._poison, self._fail
        if poison is not None and _key(batch, offset) == poison:
            return FailedAttempt(f"poison record: key {poison} {where}", self._poison_crashes)
        drawn = fail is not None and (fail.times is None or attempt <= fail.times)
        if fail is not None and drawn and self._failing(batch, offset, offset + 1):
            return FailedAttempt(f"a record that cannot be processed {where}", fail.crashes)
        if self._dependency.failing:
            crashes = self._poison_crashes if fail is None and poison is not None else fail is None or fail.crashes
            return FailedAttempt(f"its dependency answers with an error {where}", crashes)
        return None


def _key(batch: RecordBatch, offset: int) -> int:
    return batch.keys[offset - batch.base_offset] if batch.keys else -1
