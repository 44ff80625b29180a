"""What waits at a broker: produce requests for the high watermark, and the timeouts of whatever waits.

Fetches wait too, but at the replicas they want to read (see `Requests.fetch`), and without a timeout as long as nothing
waits for their end: an idle long poll that times out and is sent again changes nothing, so it is not simulated.
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
    """A Produce request with acks=all: answered when each of its batches is settled, or when its time is up."""

    __slots__ = ("_waiting", "call", "left", "over", "results")

    def __init__(self, call: InFlightRequest, results: list[ProduceResult]) -> None:
        self.call, self.results = call, results
        self._waiting: dict[int, None] = {}
        self.left, self.over = 0, False

    def waits_for(self, index: int) -> Callable[[ErrorCode], None]:
        """One more batch to wait for: the function that settles it."""
        self.left += 1
        self._waiting[index] = None
        return partial(self._settle, index)

    def _settle(self, index: int, error: ErrorCode) -> None:
        if self.over:
            return
        del self._waiting[index]
        if error is not ErrorCode.NONE:
            self.results[index].error, self.results[index].base_offset = error, -1
        self.left -= 1
        if self.left == 0:
            self.answer()

    def answer(self) -> None:
        """Send the response as it stands."""
        self.over = True
        self.call.reply(ProduceResponse(self.results))

    def expire(self) -> None:
        """Time is up: REQUEST_TIMED_OUT for the batches that nobody settled; they may or may not survive."""
        if self.over:
            return
        for index in self._waiting:
            self.results[index].error, self.results[index].base_offset = ErrorCode.REQUEST_TIMED_OUT, -1
        self.answer()


class Wait(Protocol):
    """Something that waits and may be over before its time is."""

    @property
    def over(self) -> bool:
        """Whether nobody waits any more."""

    def expire(self) -> None:
        """Its time is up. Does nothing when it is over."""


class Timeouts:
    """Many waits, one timer: each expires at its deadline unless it is over by then.

    Waits mostly end long before their deadline and in the order of their beginning: those are forgotten as soon as
    another one begins, so that a busy broker does not drag half a minute of finished requests along.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._heap: list[tuple[int, int, Wait]] = []
        self._order = count()
        self._timer: Timer | None = None

    def give_up_at(self, deadline_us: int, wait: Wait) -> None:
        """Expire `wait` at the deadline."""
        heap = self._heap
        while heap and heap[0][2].over:
            heappop(heap)
        heappush(heap, (deadline_us, next(self._order), wait))
        if self._timer is None or self._timer.at_us > deadline_us:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._timeline.call_at(deadline_us, self._look)

    def _look(self) -> None:
        self._timer = None
        now_us = self._timeline.now_us
        while self._heap and self._heap[0][0] <= now_us:
            heappop(self._heap)[2].expire()
        if self._heap and self._timer is None:
            self._timer = self._timeline.call_at(self._heap[0][0], self._look)

    def clear(self) -> None:
        """The process ended: nothing waits any more."""
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
