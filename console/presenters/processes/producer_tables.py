"""The panels of a producer's place: its clocks, its partitions, its errors, its last transactions."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from cluster.view.document import partition_order
from cluster.view.lives.batches import RETRIES, UNSENT
from cluster.view.lives.lives import FinishedTransaction, TransactionLife
from cluster.view.state import NEVER, ClusterView, ProducerView
from console.presenters import states
from console.presenters.formatting import UNKNOWN, bar, count, duration, memory, moment, ranges, setting
from console.presenters.list_view import CONTINUED, Listing, WorstFirstListing
from console.presenters.overview import broker_state
from console.presenters.processes.producer_facts import life_of
from console.presenters.producers.limits import ProducerConfigs, ProducerLimits, limits_of
from console.presenters.producers.table import CLOCKED
from console.presenters.styled_text import (
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    OK,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    line,
    middle,
)
from console.presenters.table import TableColumn, for_names, layout

BAR = 12
CLOCK_COLUMNS = (
    TableColumn("clock", 14),
    TableColumn("", BAR),
    TableColumn("now", 20),
    TableColumn("limit", 41, rank=1, grow=1),
)


class Clock(NamedTuple):
    """The share of a limit that is used, whether that is much, the value and the limit in words."""

    share: float
    late: bool
    words: str
    limit: str


class ClocksListing(Listing):
    """Requests in flight, the oldest request, the oldest batch, the buffer, each against its limit."""

    title = "clocks"

    def __init__(
        self, view: ClusterView, producer: ProducerView, now_us: int, width: int, configs: ProducerConfigs
    ) -> None:
        super().__init__(width)
        self.now_us = now_us
        self.vacant = line((f"it is {producer.state}: no clock runs", MUTED))
        self.layout = layout(CLOCK_COLUMNS, width)
        limits = limits_of(view, configs, producer)
        self.clocks = self._clocks(producer, limits) if producer.state in CLOCKED else {}

    def row_keys(self) -> Sequence[str]:
        """Four clocks while its process runs; none can be selected."""
        return [f"{CONTINUED}{name}" for name in self.clocks]

    def rows(self, key: str) -> tuple[Line]:
        """One clock."""
        name = key.removeprefix(CONTINUED)
        share, late, words, limit = self.clocks[name]
        tone = WARN if late else OK
        cells: list[Line | Span | str] = [
            line((name, MUTED)),
            line((bar(share, BAR), tone)),
            line((words, WARN if late else PLAIN)),
            line((limit, MUTED)),
        ]
        return (self.layout.row(cells),)

    def _clocks(self, producer: ProducerView, limits: ProducerLimits | None) -> dict[str, Clock]:
        """Each clock by its name."""
        brokers = Counter(one.broker for one in producer.in_flight.values())
        most = max(brokers.values(), default=0)
        request = min(producer.in_flight.values(), key=lambda one: one.sent_us, default=None)
        batches = [(one.opened_us, name) for name, each in producer.open_batches.items() for one in each]
        batch = min(batches, default=None)
        asked_us, delivery_us, slots, room = 0, 0, 0, 0
        if limits is not None:
            asked_us, delivery_us = limits.request_us, limits.delivery_us
            slots, room = limits.in_flight, limits.buffer_bytes
        to = ", ".join(f"{number} to broker-{broker}" for broker, number in sorted(brokers.items()))
        return {
            "in flight": Clock(
                most / slots if slots else 0.0,
                slots > 1 and most >= slots,
                to or "none",
                _of("max.in.flight.requests.per.connection", str(slots), slots),
            ),
            "oldest request": self._age(
                request.sent_us if request is not None else NEVER,
                f"to broker-{request.broker}" if request is not None else "",
                ("request.timeout.ms", asked_us),
            ),
            "oldest batch": self._age(
                batch[0] if batch is not None else NEVER,
                f"of {batch[1]}" if batch is not None else "",
                ("delivery.timeout.ms", delivery_us),
            ),
            "buffer": Clock(
                producer.buffered_bytes / room if room else 0.0,
                0 < room < 2 * producer.buffered_bytes,
                memory(producer.buffered_bytes),
                _of("buffer.memory", memory(room), room),
            ),
        }

    def _age(self, since_us: int, what: str, limit: tuple[str, int]) -> Clock:
        key, limit_us = limit
        words = _of(key, setting(limit_us // 1_000), limit_us)
        if since_us == NEVER:
            return Clock(0.0, False, "none", words)
        age_us = self.now_us - since_us
        share = age_us / limit_us if limit_us else 0.0
        return Clock(share, 0 < limit_us <= 2 * age_us, f"{duration(age_us)} {what}", words)


def _of(key: str, value: str, known: int) -> str:
    """`of 30 s (request.timeout.ms)`."""
    return f"of {value} ({key})" if known else key


PARTITION_COLUMNS = (
    TableColumn("partition", 14, grow=1, most=28),
    TableColumn("unsent", 6, right=True),
    TableColumn("in flight", 9, right=True),
    TableColumn("to retry", 13, right=True),
    TableColumn("oldest batch", 12, right=True),
    TableColumn("leader", 16, rank=2, grow=1, most=30),
    TableColumn("in sync", 7, right=True, rank=3),
)


class WrittenListing(WorstFirstListing):
    """The partitions of its topics: its batches without an outcome, and the leader that is to take them."""

    title = "partitions"
    vacant = line(("it has written to none yet", MUTED))

    def __init__(self, view: ClusterView, producer: ProducerView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.producer, self.now_us = view, producer, now_us
        names = [name for topic in producer.topics for name in view.partitions_by_topic.get(topic, ())]
        self.layout = layout(for_names(PARTITION_COLUMNS, names), width)
        known = dict.fromkeys([*names, *producer.open_batches])
        self.order(sorted((name for name in known if name in view.partitions), key=partition_order))

    def rank(self, key: str) -> int | None:
        """Partitions that refuse its batches, then those with batches to retry."""
        if not self._takes(key):
            return 0
        again = any(one.request == RETRIES for one in self.producer.open_batches.get(key, ()))
        return 1 if again else None

    def _takes(self, key: str) -> bool:
        partition = self.view.partitions[key]
        least = self.view.topics[partition.topic].min_insync_replicas
        short = len(partition.isr) < min(least, len(partition.replicas))
        led = partition.leader >= 0 and broker_state(self.view.brokers[partition.leader]) in {"up", "stopping"}
        return led and not short

    def header(self) -> Line:
        """The columns' titles, if there is a row."""
        return self.layout.header() if self.keys else ()

    def note(self) -> Line:
        """What the numbers count."""
        return line(("numbers of batches", FAINT))

    def rows(self, key: str) -> tuple[Line]:
        """One partition."""
        partition = self.view.partitions[key]
        batches = self.producer.open_batches.get(key, ())
        unsent = sum(one.request == UNSENT for one in batches)
        again = sum(one.request == RETRIES for one in batches)
        oldest_us = min((one.opened_us for one in batches), default=NEVER)
        least = min(self.view.topics[partition.topic].min_insync_replicas, len(partition.replicas))
        short = len(partition.isr) < least
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            _number(unsent, PLAIN),
            _number(len(batches) - unsent - again, PLAIN),
            _number(again, WARN),
            duration(self.now_us - oldest_us) if oldest_us != NEVER else ((UNKNOWN, FAINT),),
            self._leader(partition.leader),
            line((f"{len(partition.isr)}/{len(partition.replicas)}", ERROR if short else PLAIN)),
        ]
        return (self.layout.row(cells),)

    def _leader(self, broker: int) -> Line:
        if broker < 0:
            return line(("✖ no leader", ERROR))
        state = broker_state(self.view.brokers[broker])
        sign = states.BROKER[state]
        return line(f"broker-{broker}") if state == "up" else line((f"{sign.glyph} broker-{broker} {state}", sign.tone))


def _number(number: int, tone: str) -> Line:
    return line((str(number), tone if number else FAINT))


ERROR_COLUMNS = (
    TableColumn("error", 22, grow=1, most=60),
    TableColumn("batches to retry", 21, right=True),
    TableColumn("records failed", 14, right=True),
)


class ErrorsListing(Listing):
    """The errors that it was told: how many batches it sends again for each, how many records failed for good."""

    title = "errors"
    vacant = line(("none: no batch was retried, no record failed", MUTED))

    def __init__(self, view: ClusterView, producer: ProducerView, width: int) -> None:
        super().__init__(width)
        self.failed, self.retried = producer.failures, life_of(view, producer).retried
        self.layout = layout(ERROR_COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles, if there is a row."""
        return self.layout.header() if self.failed or self.retried else ()

    def row_keys(self) -> Sequence[str]:
        """Errors that made records fail first. None can be selected."""
        return [f"{CONTINUED}{error}" for error in dict.fromkeys((*self.failed, *self.retried))]

    def rows(self, key: str) -> tuple[Line]:
        """One error."""
        error = key.removeprefix(CONTINUED)
        again, failed = self.retried.get(error, 0), self.failed.get(error, 0)
        cells: list[Line | Span | str] = [
            line((error, ERROR if failed else WARN)),
            line((count(again), WARN if again else FAINT)),
            line((count(failed), ERROR if failed else FAINT)),
        ]
        return (self.layout.row(cells),)


TRANSACTION_COLUMNS = (
    TableColumn("began", 8, right=True),
    TableColumn("epoch", 5, right=True, rank=1),
    TableColumn("outcome", 11),
    TableColumn("open for", 8, right=True),
    TableColumn("markers took", 12, right=True, rank=2),
    TableColumn("partitions", 12, rank=3, grow=1, most=44),
    TableColumn("fenced because", 22, grow=2),
)
FENCED = {
    "timeout": "transaction.timeout.ms passed",
    "InitProducerId": "another InitProducerId",
}


class LastTransactionsListing(Listing):
    """The transactions of a transactional id, newest first: how each ended, and how long it took."""

    title = "transactions"
    vacant = line(("none has begun", MUTED))

    def __init__(self, view: ClusterView, producer: ProducerView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.now_us = now_us
        name = life_of(view, producer).transactional_id
        life = view.lives.transactions.get(name, TransactionLife())
        shown = [*([life.under_way] if life.under_way is not None else []), *reversed(life.finished)]
        self.shown = {f"{CONTINUED}{number}": one for number, one in enumerate(shown)}
        self.ids = view.transactions.get(name)
        self.layout = layout(TRANSACTION_COLUMNS, width)
        if not name:
            self.vacant = line(("it has no transactional.id", MUTED))

    def note(self) -> Line:
        """How many of the id's there were."""
        one = self.ids
        if one is None:
            return ()
        return line((f"{one.begun} begun, {one.committed} committed, {one.aborted} aborted", MUTED))

    def header(self) -> Line:
        """The columns' titles, if there is a row."""
        return self.layout.header() if self.shown else ()

    def row_keys(self) -> Sequence[str]:
        """The one under way, then the last ones; none can be selected."""
        return list(self.shown)

    def rows(self, key: str) -> tuple[Line]:
        """One transaction."""
        one = self.shown[key]
        ended_us = one.ended_us if one.ended_us != NEVER else self.now_us
        closed_us = one.decided_us if one.decided_us != NEVER else ended_us
        marked = one.decided_us != NEVER and not one.lost
        known = one.start_us != NEVER
        cells: list[Line | Span | str] = [
            moment(one.start_us) if known else ((UNKNOWN, FAINT),),
            str(one.epoch),
            _outcome(one),
            duration(closed_us - one.start_us) if known else ((UNKNOWN, FAINT),),
            duration(ended_us - one.decided_us) if marked else ((UNKNOWN, FAINT),),
            line((ranges(list(one.partitions)) or UNKNOWN, MUTED)),
            line((FENCED.get(one.fenced_for, ""), WARN)),
        ]
        return (self.layout.row(cells),)


def _outcome(one: FinishedTransaction) -> Line:
    if one.lost:
        return line(("✖ lost", ERROR))
    if one.decided_us == NEVER and one.ended_us == NEVER:
        return line(("▶ open", MOVING))
    if one.ended_us == NEVER:
        return line(("↻ commits" if one.committed else "↻ aborts", MOVING))
    return line(("● committed", OK)) if one.committed else line(("✖ aborted", WARN))
