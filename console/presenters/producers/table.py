"""The overview's table of producers: acknowledged rate, clocks, errors, transaction."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from cluster.view.document import oldest_batch_us
from cluster.view.state import NEVER, ClusterView, ProducerView
from console.presenters import states
from console.presenters.formatting import (
    BYTES,
    SECOND_US,
    UNKNOWN,
    count,
    duration,
    memory,
    rate,
    resampled,
    setting,
    spark,
)
from console.presenters.list_view import BUILDING, RowValue, WorstFirstListing, counted_states
from console.presenters.producers.limits import ProducerConfigs, ProducerLimits, limits_of
from console.presenters.styled_text import ACCENT, ERROR, FAINT, MUTED, PLAIN, STRONG, WARN, Line, Span, line, middle
from console.presenters.table import BEFORE_NAMES, TableColumn, for_names, layout
from console.presenters.transactions import is_long, outdated_producers, shown_state

TREND_SECONDS = 60
STANDS_STILL_US = 5 * SECOND_US  # a running producer stands still when nothing was acknowledged for so long

PRODUCER_COLUMNS = (
    TableColumn("producer", 10, grow=1, most=20),
    TableColumn("state", 9),
    TableColumn("acked/s", 7, rank=1, right=True),
    TableColumn("in flight", 9, rank=2, right=True),
    TableColumn("oldest request", 14, rank=3),
    TableColumn("oldest batch", 13),
    TableColumn("buffer", 11, rank=5, right=True),
    TableColumn("failed", 6, right=True),
    TableColumn("retries", 7, right=True, rank=6),
    TableColumn("last minute", 11, rank=8, grow=1, most=20),
    TableColumn("acked", 6, right=True, rank=7),
    TableColumn("last error", 19, grow=3),
)
"""Batches that wait and what failed stay when the table is narrow; trends and totals go first."""

TRANSACTIONAL_COLUMNS = (
    *PRODUCER_COLUMNS[:-1],
    PRODUCER_COLUMNS[-1]._replace(width=15),
    TableColumn("transaction", 15, rank=4, grow=2, most=22),
)
OLDEST_REQUEST, TREND, ERRORS = 4, 9, 11
CLOCKED = ("Running", "Paused")


class ProducersListing(WorstFirstListing):
    """Every producer instance: its acknowledged rate and its errors."""

    title = "producers"
    vacant = line(("no producers in this scenario", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int, configs: ProducerConfigs | None = None) -> None:
        super().__init__(width)
        self.view = view
        self.configs = configs or {}
        if not view.brokers:
            self.vacant = BUILDING
        self.transactions = {one.producer_id: one for one in view.transactions.values() if one.producer_id >= 0}
        self.newest: dict[int, int] = {}
        for producer in view.producers.values() if self.transactions else ():
            self.newest[producer.producer_id] = max(producer.epoch, self.newest.get(producer.producer_id, -1))
        self.outdated = outdated_producers(view)
        self.now_us = now_us
        self.layout = layout(for_names(self._columns(), view.producers), width)
        self.order(list(view.producers))

    def _columns(self) -> tuple[TableColumn, ...]:
        """With room for the longest error's name; without an error, its column leaves its cells to names."""
        columns = list[TableColumn](TRANSACTIONAL_COLUMNS if self.transactions else PRODUCER_COLUMNS)
        errors = [one.last_error or self._waited(one) for one in self.view.producers.values()]
        if not any(errors):
            columns[ERRORS] = columns[ERRORS]._replace(width=len(columns[ERRORS].title))
            return tuple(columns)
        # the oldest batch is at least as old: its clock tells more than the oldest request's
        columns[OLDEST_REQUEST] = columns[OLDEST_REQUEST]._replace(rank=BEFORE_NAMES)
        return for_names(tuple(columns), errors, ERRORS)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`3 ● Running`."""
        names = [self.view.producers[key].state for key in keys]
        return line((counted_states([f"{states.producer(name).glyph} {name}" for name in names]), MUTED))

    def sortable(self) -> dict[str, RowValue]:
        """By rate, totals and the age of what waits."""
        producers, now_us = self.view.producers, self.now_us

        def sent_us(key: str) -> int:
            return min((one.sent_us for one in producers[key].in_flight.values()), default=NEVER)

        def opened_us(key: str) -> int:
            return oldest_batch_us(producers[key])

        return {
            "acked/s": lambda key: next(reversed(acked_rates(producers[key], now_us)), None),
            "oldest request": lambda key: now_us - sent_us(key) if sent_us(key) != NEVER else None,
            "oldest batch": lambda key: now_us - opened_us(key) if opened_us(key) != NEVER else None,
            "buffer": lambda key: producers[key].buffered_bytes,
            "failed": lambda key: producers[key].failed,
            "retries": lambda key: producers[key].retries,
            "acked": lambda key: producers[key].acked,
            "producer": str,
            "state": lambda key: producers[key].state,
        }

    def rank(self, key: str) -> int | None:
        """Producers that are fenced, stand still, have a dead or frozen process, or a transaction open for long."""
        producer = self.view.producers[key]
        if self._still_us(producer) or key in self.outdated:
            return 1
        one = self.transactions.get(producer.producer_id)
        long = one is not None and is_long(one, self.now_us) and not self._superseded(producer)
        return {"Fenced": 0, "Dead": 2, "Paused": 3}.get(producer.state, 4 if long else None)

    def rows(self, key: str) -> tuple[Line]:
        """One producer."""
        producer = self.view.producers[key]
        state = states.producer(producer.state)
        rates, room = acked_rates(producer, self.now_us), self.layout.width_of(TREND)
        second = self.now_us // SECOND_US - len(rates) + 1
        still = self._still_us(producer)
        alarm = still or key in self.outdated
        limits = limits_of(self.view, self.configs, producer)
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((f"▲ {producer.state}", WARN) if alarm else (f"{state.glyph} {producer.state}", state.tone)),
            line((rate(rates[-1]), WARN if still else PLAIN)) if rates else ((UNKNOWN, FAINT),),
            *clocks(producer, limits, self.now_us),
            line((count(producer.failed), ERROR if producer.failed else FAINT)),
            line((count(producer.retries), WARN if producer.retries else FAINT)),
            line((spark(resampled(second, rates, room), room), ACCENT)),
            count(producer.acked),
            line((self._error(producer), WARN)),
            self._transaction(producer),
        ]
        return (self.layout.row(cells[: len(self.layout.columns)]),)

    def _error(self, producer: ProducerView) -> str:
        """How long nothing was acknowledged, and the last error; the error alone in a narrow column."""
        both = ", ".join(part for part in (self._waited(producer), producer.last_error) if part)
        return both if len(both) <= self.layout.width_of(ERRORS) else producer.last_error

    def _waited(self, producer: ProducerView) -> str:
        """`no ack for 12 s` of a producer that stands still."""
        still = self._still_us(producer)
        return f"no ack for {duration(still)}" if still else ""

    def _still_us(self, producer: ProducerView) -> int:
        limits = limits_of(self.view, self.configs, producer) if producer.waits_since_us != NEVER else None
        return still_us(producer, self.now_us, limits)

    def _superseded(self, producer: ProducerView) -> bool:
        """Whether another process has its producer id at a higher epoch."""
        return producer.epoch < self.newest.get(producer.producer_id, -1)

    def _transaction(self, producer: ProducerView) -> Line:
        """The state of the producer's transactional id and the age of its open transaction; a dash without one.

        Where the producer's epoch is fenced, the transaction is not its own: both epochs.
        """
        one = self.transactions.get(producer.producer_id)
        if one is None or not one.state:
            return line((UNKNOWN, FAINT))
        outdated = producer.producer in self.outdated
        if outdated or self._superseded(producer):
            return line((f"epoch {producer.epoch}, now {one.epoch}", WARN if outdated else MUTED))
        name = shown_state(one)
        state = states.transaction(name)
        open_for = f" {duration(self.now_us - one.start_us)}" if one.start_us != NEVER else ""
        return line((f"{state.glyph} {name}{open_for}", WARN if is_long(one, self.now_us) else state.tone))


def still_us(producer: ProducerView, now_us: int, limits: ProducerLimits | None) -> int:
    """For how long a running producer has had batches and no acknowledgement, in µs; 0 below `STANDS_STILL_US`.

    A batch may wait for linger.ms before it is sent: that time does not count.
    """
    if producer.state != "Running" or producer.waits_since_us == NEVER:
        return 0
    waited_us = now_us - producer.waits_since_us
    return waited_us if waited_us >= STANDS_STILL_US + (limits.linger_us if limits is not None else 0) else 0


def clocks(producer: ProducerView, limits: ProducerLimits | None, now_us: int) -> tuple[Line, Line, Line, Line]:
    """Requests in flight, the oldest of them, the oldest batch, the buffer: each beside its limit if that is known.

    A number is amber from half of a timeout on, and where a limit lets the producer send no more.
    """
    if producer.state not in CLOCKED:
        unknown = line((UNKNOWN, FAINT))
        return unknown, unknown, unknown, unknown
    requests, opened_us = producer.in_flight, oldest_batch_us(producer)
    most = max(Counter(one.broker for one in requests.values()).values(), default=0)
    full = limits is not None and most >= limits.in_flight > 1
    sent_us = min((one.sent_us for one in requests.values()), default=NEVER)
    return (
        line((str(most), WARN if full else PLAIN), (f"/{limits.in_flight}" if limits is not None else "", FAINT)),
        _clock(sent_us, now_us, limits.request_us if limits is not None else 0),
        _clock(opened_us, now_us, limits.delivery_us if limits is not None else 0),
        _buffer(producer.buffered_bytes, limits.buffer_bytes if limits is not None else 0),
    )


def _buffer(held: int, limit: int) -> Line:
    """`4.1/32 MiB`, in the unit of the limit; amber from half of it on."""
    if not limit:
        return line(memory(held))
    words = memory(limit)
    used = held / BYTES[words.split()[-1]]
    return line((f"{math.floor(10 * used) / 10:g}", WARN if 2 * held > limit else PLAIN), (f"/{words}", FAINT))


def _clock(since_us: int, now_us: int, limit_us: int) -> Line:
    """`20 s of 30 s`; a dash while nothing waits."""
    if since_us == NEVER:
        return line((UNKNOWN, FAINT))
    waited_us = now_us - since_us
    late = 0 < limit_us <= 2 * waited_us
    return line(
        (duration(waited_us), WARN if late else PLAIN), (f" of {setting(limit_us // 1_000)}" if limit_us else "", FAINT)
    )


def acked_rates(producer: ProducerView, now_us: int) -> list[int]:
    """Records acknowledged in each of the last virtual seconds, oldest first.

    Seconds that began after the last event have no sample yet: they count 0 records.
    """
    series = producer.acked_series
    values = series.values
    quiet = min(now_us // SECOND_US - (series.first_second + len(values) - 1), TREND_SECONDS) if values else 0
    return [after - before for before, after in pairwise([*values, *[producer.acked] * quiet])]
