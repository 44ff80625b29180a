"""Producers as their applications' logs would have them: records by outcome, batches and requests without an answer."""

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from cluster import events as e
from cluster.config import Value, resolve
from cluster.spec import ScenarioSpec

NEW, SENT, AGAIN = "new", "sent", "to be sent again"


class Batch:
    """A batch until its outcome."""

    def __init__(self, opened_us: int, held: int = 0) -> None:
        self.opened_us, self.stage, self.records, self.held = opened_us, NEW, 0, held


class Request:
    """A Produce request: its batches without an outcome, by partition."""

    def __init__(self, broker: int, sent_us: int) -> None:
        self.broker, self.sent_us = broker, sent_us
        self.carries: dict[str, Batch] = {}


class ProducerBook:
    """Record counts by their outcome; the bytes of batches that are not done, and the last one's progress."""

    EVENTS: ClassVar = (e.ProducerStateChanged, e.ProducerIdAssigned, e.BatchOpened, e.ProduceSent,
                        e.BatchAcknowledged, e.BatchRetried, e.BatchSplit, e.BatchFailed, e.SendRefused)  # fmt: skip

    def __init__(self) -> None:
        self.state, self.error, self.numbers_batches = "Stopped", "", False
        self.acked = self.failed = self.retries = self.held = 0
        self.waiting_us = -1
        self.failures: Counter[str] = Counter()
        self.batches: dict[str, list[Batch]] = {}
        self.requests: list[Request] = []
        self.read: dict[str, int] = {}
        self.told: dict[str, int] = {}

    @property
    def waits(self) -> bool:
        """Whether it runs and has a batch that nothing was heard of."""
        return self.state == "Running" and self.held > 0

    @property
    def most_in_flight(self) -> int:
        """The requests in flight on the connection that has most."""
        return max(Counter(one.broker for one in self.requests).values(), default=0)

    @property
    def oldest_us(self) -> int | None:
        """When the oldest batch was opened."""
        return min((one.opened_us for each in self.batches.values() for one in each), default=None)

    def limit(self, declared: dict[str, Value], key: str) -> int:
        """The value of a key that the process has read."""
        value = self.read.get(key, resolve("producer", declared)[key])
        assert isinstance(value, int)
        if key == "delivery.timeout.ms" and key not in self.read and key not in declared:
            value = max(120_000, self.limit(declared, "linger.ms") + self.limit(declared, "request.timeout.ms"))
        return value

    def set(self, event: e.SettingChanged, *, member: bool) -> None:
        """A key was set: it is read now, or by the next process. For a member it is its consumer's, if both have it."""
        if event.value.isdecimal() and not (member and event.key == "request.timeout.ms"):
            self.told[event.key] = int(event.value)
            if event.effect == "now":
                self.read[event.key] = int(event.value)

    def note(self, event: e.Event) -> None:
        """Record one event of this producer."""
        match event:
            case e.ProducerStateChanged():
                self._lives(event)
            case e.ProducerIdAssigned():
                self.numbers_batches = True
            case e.BatchOpened():
                self.waiting_us = self.waiting_us if self.held else event.at_us
                self.held += event.bytes
                self.batches.setdefault(event.partition, []).append(Batch(event.at_us, event.bytes))
            case e.ProduceSent():
                self.retries += len(event.retried)
                self._send(event)
            case e.BatchAcknowledged():
                self.acked += event.records
                self.held -= event.freed_bytes
                self.waiting_us = event.at_us
                opened_us = event.at_us - event.latency_us
                self._done(event.partition, self._answered(event.partition, opened_us=opened_us))
            case e.BatchRetried():
                self.error = event.error
                batch = self._answered(event.partition, broker=event.disconnected_from)
                batch.stage = AGAIN
                self._replace(event.partition, batch, [batch])
            case e.BatchSplit():
                self.error = event.error
                self.held -= event.freed_bytes
                self._split(event)
            case e.BatchFailed():
                self.failed += event.records
                self.failures[event.error] += event.records
                self.held -= event.freed_bytes
                self.error = event.error
                self._fail(event)
            case e.SendRefused():
                self.failed += event.records
                self.failures[event.error] += event.records
                self.error = event.error

    def _lives(self, event: e.ProducerStateChanged) -> None:
        begins = event.state == "Running" and self.state != "Paused"
        if begins:
            self.read = dict(self.told)
        self.state = event.state
        if begins or event.state in {"Dead", "Stopped"}:
            self.held, self.batches, self.requests, self.numbers_batches = 0, {}, [], False

    def _send(self, event: e.ProduceSent) -> None:
        request = Request(event.broker, event.at_us)
        self.requests.append(request)
        for stage, partitions in ((NEW, event.records), (AGAIN, event.retried)):
            for name, records in partitions.items():
                request.carries[name] = batch = next(one for one in self.batches[name] if one.stage == stage)
                batch.stage, batch.records = SENT, records

    def _answered(self, partition: str, *, broker: int = -1, opened_us: int | None = None) -> Batch:
        """Take a partition's batch out of the first request that fits."""
        for request in self.requests:
            batch = request.carries.get(partition)
            if batch is None or broker not in {-1, request.broker} or opened_us not in {None, batch.opened_us}:
                continue
            del request.carries[partition]
            self.requests = [one for one in self.requests if one.carries]
            return batch
        raise AssertionError(f"nothing of {partition} is in flight")

    def _done(self, partition: str, batch: Batch) -> None:
        self.batches[partition].remove(batch)
        if not self.batches[partition]:
            del self.batches[partition]

    def _split(self, event: e.BatchSplit) -> None:
        batch = self._answered(event.partition)
        pieces = [Batch(batch.opened_us) for _ in range(event.pieces)]
        for piece in pieces:
            piece.stage = AGAIN
        self._replace(event.partition, batch, pieces)

    def _replace(self, partition: str, batch: Batch, by: list[Batch]) -> None:
        """Batches without sequence numbers overtake all that wait: the last one that was refused is sent first."""
        mine = self.batches[partition]
        place = mine.index(batch)
        mine[place : place + 1] = by if self.numbers_batches else []
        if not self.numbers_batches:
            self.batches[partition] = [*by, *mine]

    def _fail(self, event: e.BatchFailed) -> None:
        mine = self.batches[event.partition]
        if not event.sent:
            found = next(one for one in mine if one.stage == NEW)
        elif event.error == "TransactionAbortedException":
            found = next(one for one in mine if one.stage == AGAIN)
        elif event.error == "TimeoutException":
            alike = [one for one in mine if one.stage != NEW and one.records in {event.records, 0}]
            found = min(alike, key=lambda one: one.opened_us)
            if found.stage == SENT:
                self._answered(event.partition, opened_us=found.opened_us)
        else:
            found = self._answered(event.partition, broker=event.disconnected_from)
        self._done(event.partition, found)


def declared_configs(spec: ScenarioSpec, books: Iterable[str]) -> dict[str, dict[str, Value]]:
    """What the scenario declares for each producer, for those of members: their group."""
    found = {}
    for name in books:
        producer = next((one for one in spec.producers if name in one.instances()), None)
        group = next((one for one in spec.groups if name.rpartition("-")[0] == one.name), None)
        if producer is not None:
            found[name] = producer.config
        elif group is not None:
            found[name] = group.application.producer
    return found
