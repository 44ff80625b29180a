"""Purgatory: delayed produce requests, and the timeouts of all delayed operations of a broker.

Fetches are parked at their replicas (see `BrokerRequests.fetch`), without a timeout while no request waits behind them.
An idle long poll that times out and is sent again changes nothing, so it is not simulated.
Source: `DelayedOperationPurgatory`, `DelayedProduce`.
"""

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

from cluster.network import InFlightRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import ProduceResponse, ProduceResult
from cluster.virtual_time import Timeline, Timer


class DelayedProduce:
    """A Produce request with acks=all: answered when each batch is committed or refused, or at its timeout."""

    __slots__ = ("_waiting", "call", "completed", "left", "results")

    def __init__(self, call: InFlightRequest, results: list[ProduceResult]) -> None:
        self.call, self.results = call, results
        self._waiting: dict[int, None] = {}
        self.left, self.completed = 0, False

    def waits_for(self, index: int) -> Callable[[ErrorCode], None]:
        """Wait for one more batch; returns the function that settles it."""
        self.left += 1
        self._waiting[index] = None
        return partial(self._settle, index)

    def _settle(self, index: int, error: ErrorCode) -> None:
        if self.completed:
            return
        del self._waiting[index]
        if error is not ErrorCode.NONE:
            self.results[index].error, self.results[index].base_offset = error, -1
        self.left -= 1
        if self.left == 0:
            self.answer()

    def answer(self) -> None:
        """Send the response with the present results."""
        self.completed = True
        self.call.reply(ProduceResponse(self.results))

    def expire(self) -> None:
        """Answer REQUEST_TIMED_OUT for the batches that are not committed; they may or may not survive."""
        if self.completed:
            return
        for index in self._waiting:
            self.results[index].error, self.results[index].base_offset = ErrorCode.REQUEST_TIMED_OUT, -1
        self.answer()


class DelayedOperation(Protocol):
    """An operation with a timeout (a delayed produce, a delayed decision, markers), which may complete before it."""

    @property
    def completed(self) -> bool:
        """Whether the operation was answered."""

    def expire(self) -> None:
        """The timeout is reached; no effect on a completed operation."""


class Timeouts:
    """Many delayed operations, one timer: each expires at its deadline unless it is completed by then.

    Operations mostly complete long before their deadline and in the order of their beginning. Completed ones are
    dropped when the next one is added. So a busy broker does not keep finished requests for half a minute.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._heap: list[tuple[int, int, DelayedOperation]] = []
        self._order = count()
        self._timer: Timer | None = None

    def expire_at(self, deadline_us: int, operation: DelayedOperation) -> None:
        """Expire `operation` at the deadline."""
        heap = self._heap
        while heap and heap[0][2].completed:
            heappop(heap)
        heappush(heap, (deadline_us, next(self._order), operation))
        if self._timer is None or self._timer.at_us > deadline_us:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._timeline.call_at(deadline_us, self._expire_due)

    def _expire_due(self) -> None:
        self._timer = None
        now_us = self._timeline.now_us
        while self._heap and self._heap[0][0] <= now_us:
            heappop(self._heap)[2].expire()
        if self._heap and self._timer is None:
            self._timer = self._timeline.call_at(self._heap[0][0], self._expire_due)

    def clear(self) -> None:
        """The process ended: drop every operation."""
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
