"""What a coordinator answers to its driver, and the deadlines it wants to be woken for.

A coordinator is sans-IO: it is handed a request and the time, and gives back a `Decision`. The driver (a broker)
runs it in this order:

1. append every record to the coordinator's partition and hand each back to `replay` at once, in order;
2. send every reply (a reply is for the call that the request came with, which may have been parked long before);
3. tell every event;
4. if there are records, wait until all of them are below the high watermark (acks=all), or the leader has resigned,
   or their time is up; if there are none, do not wait. Then run what `then` answers.

Whatever must not be said before its records are safe (a commit's answer, an assignment) is therefore in `then`.
Source: Kafka's `CoordinatorResult` (records, response, append future) and `CoordinatorRuntime`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace

import msgspec

from cluster.coordinators.records import GroupRecord, TransactionRecord
from cluster.events import Event
from cluster.protocol.api import Response
from cluster.protocol.errors import ErrorCode

Call = object
"""A request's return address: opaque to the coordinator, compared only for identity."""

DeadlineName = tuple[int, str, str]
"""Kind (a coordinator's own small number), group or transactional id, member id or "".

Equal instants are due in the order of their names."""


Record = GroupRecord | TransactionRecord
"""What a coordinator writes to its partition of an internal topic."""


class Markers(msgspec.Struct, frozen=True):
    """WriteTxnMarkers: one end of a transaction for its partitions; the coordinator hears of each that has it."""

    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    partitions: tuple[str, ...]
    version: int = 1


class Decision(msgspec.Struct):
    """Records to append and replay, replies and events for now, and what follows once the fate of the records is known.

    `markers` are to be brought to the partitions' leaders, again and again until each has its own.

    `then(error, now_us)` is called once: with `ErrorCode.NONE` when the records are committed, with the error of the
    append otherwise (`NOT_LEADER_OR_FOLLOWER` after a resignation, `REQUEST_TIMED_OUT`, `NOT_ENOUGH_REPLICAS`).
    It may be called after `unload`; it then changes nothing and only answers what is still open.
    `late()` is called when records that had timed out are committed after all.
    """

    records: tuple[Record, ...] = ()
    replies: list[tuple[Call, Response]] = []
    events: list[Event] = []
    then: Callable[[ErrorCode, int], Decision] | None = None
    late: Callable[[], Decision] | None = None
    markers: list[Markers] = []


class Draft:
    """A decision being written: the rules add to it; `decision()` closes it. `now_us` is the instant of the request."""

    __slots__ = ("_late", "_outcomes", "events", "markers", "now_us", "records", "replies")

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us
        self.records: list[Record] = []
        self.replies: list[tuple[Call, Response]] = []
        self.events: list[Event] = []
        self.markers: list[Markers] = []
        self._outcomes: list[Callable[[ErrorCode, Draft], None]] = []
        self._late: list[Callable[[Draft], None]] = []

    def reply(self, call: Call, response: Response) -> None:
        """Answer a call at once."""
        self.replies.append((call, response))

    def emit(self, event: Event) -> None:
        """Add a fact, in the order in which it became true."""
        self.events.append(event)

    def when_committed(self, outcome: Callable[[ErrorCode, Draft], None]) -> None:
        """Go on, in a draft of that time, when the fate of this draft's records is known; in the order of the calls."""
        self._outcomes.append(outcome)

    def when_late(self, outcome: Callable[[Draft], None]) -> None:
        """Go on when this draft's records are committed after all, although they had timed out before."""
        self._late.append(outcome)

    def decision(self) -> Decision:
        """Everything written so far."""
        outcomes = self._outcomes
        if not outcomes:
            return Decision(tuple(self.records), self.replies, self.events, markers=self.markers)

        def then(error: ErrorCode, now_us: int) -> Decision:
            draft = Draft(now_us)
            for outcome in outcomes:
                outcome(error, draft)
            return draft.decision()

        def committed_late() -> Decision:
            draft = Draft(self.now_us)
            for outcome in lates:
                outcome(draft)
            return draft.decision()

        lates = self._late
        late = committed_late if lates else None
        return Decision(tuple(self.records), self.replies, self.events, then, late, markers=self.markers)


class Deadlines:
    """Named instants, each replaceable; the earliest is cheap to ask for.

    Renewing a deadline to a later instant (every heartbeat does) only notes it: the entry in the heap stays where it is
    and is moved when it comes up. Cancelling is lazy in the same way. Instants are microseconds of virtual time.
    """

    __slots__ = ("_at_us", "_heap", "_queued_us")

    def __init__(self) -> None:
        self._at_us: dict[DeadlineName, int] = {}  # what counts
        self._queued_us: dict[DeadlineName, int] = {}  # where the one valid heap entry of each name stands
        self._heap: list[tuple[int, DeadlineName]] = []

    def __len__(self) -> int:
        return len(self._at_us)

    def set(self, name: DeadlineName, at_us: int) -> None:
        """Set or replace a deadline."""
        self._at_us[name] = at_us
        queued_us = self._queued_us.get(name)
        if queued_us is None or queued_us > at_us:
            self._queued_us[name] = at_us
            heappush(self._heap, (at_us, name))
            if len(self._heap) > 64 and len(self._heap) > 4 * len(self._at_us):
                self._compact()

    def cancel(self, name: DeadlineName) -> None:
        """Forget a deadline; one that is not set is forgotten already."""
        self._at_us.pop(name, None)

    def get(self, name: DeadlineName) -> int | None:
        """When this deadline is, or None when it is not set."""
        return self._at_us.get(name)

    def next_us(self) -> int | None:
        """The earliest deadline, or None when there is none."""
        heap, at_us, queued_us = self._heap, self._at_us, self._queued_us
        while heap:
            entry_us, name = heap[0]
            if queued_us.get(name) != entry_us:  # an earlier entry of this name replaced it
                heappop(heap)
                continue
            real_us = at_us.get(name)
            if real_us == entry_us:
                return entry_us
            if real_us is None:
                heappop(heap)
                del queued_us[name]
            else:
                queued_us[name] = real_us
                heapreplace(heap, (real_us, name))
        return None

    def pop_due(self, now_us: int) -> DeadlineName | None:
        """Take out the earliest deadline that is not after `now_us`; equal instants in the order of their names."""
        next_us = self.next_us()
        if next_us is None or next_us > now_us:
            return None
        _, name = heappop(self._heap)
        del self._queued_us[name], self._at_us[name]
        return name

    def clear(self) -> None:
        """Forget every deadline."""
        self._at_us.clear()
        self._queued_us.clear()
        self._heap.clear()

    def _compact(self) -> None:
        """Drop what was cancelled or replaced: a heap of mostly dead entries would grow without bound."""
        self._heap = [(at_us, name) for name, at_us in self._at_us.items()]
        heapify(self._heap)
        self._queued_us = dict(self._at_us)


def coordinator_error(error: ErrorCode) -> ErrorCode:
    """How a failed append to a coordinator's own partition is told to a client; NONE stays NONE.

    Source: `CoordinatorOperationExceptionHelper`, `TransactionStateManager.appendTransactionToLog`.
    """
    match error:
        case (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            | ErrorCode.NOT_ENOUGH_REPLICAS
            | ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            | ErrorCode.REQUEST_TIMED_OUT
        ):
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        case ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return ErrorCode.NOT_COORDINATOR
        case _:
            return error
