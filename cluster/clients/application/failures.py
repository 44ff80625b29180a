"""Which records an application fails on, at how many attempts, and how long it waits before the next one.

Theory of operation. A record fails because its key is the poison, or because its identity is in the failing share: so a
record that is read again fails again. The application tries it `retries.times` times more, in its own thread: later
records of the partition wait, and poll() is not called. After the last attempt the record goes to the dead-letter
topic; without one the process crashes or skips the record. Source: Spring Kafka's `DefaultErrorHandler` with an
`ExponentialBackOff` and a `DeadLetterPublishingRecoverer`.
"""

from collections.abc import Iterator
from typing import Final

from cluster.clients.delivery_ledger import origins_of
from cluster.protocol.record_batch import RecordBatch, Slice
from cluster.random_streams import NumberedDraws
from cluster.spec import LONGEST_FLIGHT_US, ApplicationSpec

ALWAYS: Final = 1 << 30
"""Attempts that fail of a record that never succeeds."""


class Failures:
    """The failing records of one group's applications."""

    def __init__(self, spec: ApplicationSpec, seed: int, group: str) -> None:
        self._poison = None if spec.poison is None else int(spec.poison.key)
        self._fail, self._retries = spec.fail, spec.retries
        self._poison_crashes = spec.poison is not None and spec.poison.crashes
        self.possible = spec.poison is not None or spec.fail is not None
        self.attempted = spec.fail is not None or spec.retries is not None or spec.dead_letter is not None
        self._draws = NumberedDraws(seed, f"failures/{group}")

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
            at = first
            for offset in self._failing(batch, first, end):
                if at < offset:
                    healthy.append(Slice(batch, at, offset))
                yield healthy, Slice(batch, offset, offset + 1)
                healthy, at = [], offset + 1
            if at < end:
                healthy.append(Slice(batch, at, end))
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

    def attempts_failing(self, batch: RecordBatch, offset: int) -> int:
        """How many attempts at a failing record fail; a poison record always does."""
        if self._poison is not None and _key(batch, offset) == self._poison:
            return ALWAYS
        return ALWAYS if self._fail is None or self._fail.times is None else self._fail.times

    def crashes_at(self, batch: RecordBatch, offset: int) -> bool:
        """Whether the process crashes at a record that failed for good, and has no dead-letter topic."""
        if self._poison is not None and _key(batch, offset) == self._poison:
            return self._poison_crashes
        return self._fail is not None and self._fail.crashes

    def reason(self, batch: RecordBatch, offset: int) -> str:
        """What the application says of a failing record."""
        where = f"in {batch.partition} at offset {offset}"
        if self._poison is not None and _key(batch, offset) == self._poison:
            return f"poison record: key {self._poison} {where}"
        return f"a record that cannot be processed {where}"


def _key(batch: RecordBatch, offset: int) -> int:
    return batch.keys[offset - batch.base_offset] if batch.keys else -1
