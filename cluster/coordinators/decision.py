"""The result of a coordinator's handler, and the coordinator's deadlines.

A coordinator is sans-IO: a handler gets a request and the time and returns a `Decision`. The driver (a broker) executes
the decision in this order:

1. append every record to the coordinator's partition and pass each to `replay` at once, in order; call `appended`;
2. send every reply (a reply belongs to the call of its request, which the coordinator may have parked long before);
3. emit every event;
4. wait until all records are below the high watermark (acks=all), the leader has resigned, or the append has timed out.
   A decision without records does not wait. Then execute the decision that `then` returns.

An answer that depends on committed records (a commit's answer, an assignment) is therefore in `then`.
Source: Kafka's `CoordinatorResult` (records, response, append future) and `CoordinatorRuntime`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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

Deadlines at the same instant are due in the order of their names."""


Record = GroupRecord | TransactionRecord
"""A record that a coordinator writes to its partition of an internal topic."""


class Markers(msgspec.Struct, frozen=True):
    """WriteTxnMarkers: one end of a transaction for its partitions; the driver reports each partition that has it."""

    transactional_id: str
    producer_id: int
    epoch: int
    committed: bool
    partitions: tuple[str, ...]
    version: int = 1


class Decision(msgspec.Struct):
    """Records to append and replay, replies and events to send now, and the decision that follows the append.

    `markers`: the driver sends them to the partitions' leaders, and repeats until each leader has appended its marker.

    `then(error, now_us)` is called once: with `ErrorCode.NONE` when the records are committed, with the error of the
    append otherwise (`NOT_LEADER_OR_FOLLOWER` after a resignation, `REQUEST_TIMED_OUT`, `NOT_ENOUGH_REPLICAS`).
    After `unload` a call changes no state and only answers the requests that are still open.
    `late()` is called when records are committed after their append had timed out.

    `appended()` is called once the records are appended and replayed, and returns the events that are true then.
    `after_log`: without records, `then` waits until the log so far is committed; if it waits, `waiting` is emitted.
    """

    records: tuple[Record, ...] = ()
    replies: list[tuple[Call, Response]] = []
    events: list[Event] = []
    then: Callable[[ErrorCode, int], Decision] | None = None
    late: Callable[[], Decision] | None = None
    markers: list[Markers] = []
    appended: Callable[[], list[Event]] | None = None
    after_log: bool = False
    waiting: list[Event] = []


class Draft:
    """A decision under construction: rules add to it, `decision()` returns it. `now_us`: the request's instant."""

    __slots__ = ("_appended", "_late", "_outcomes", "events", "markers", "now_us", "records", "replies")

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us
        self.records: list[Record] = []
        self.replies: list[tuple[Call, Response]] = []
        self.events: list[Event] = []
        self.markers: list[Markers] = []
        self._outcomes: list[Callable[[ErrorCode, Draft], None]] = []
        self._late: list[Callable[[Draft], None]] = []
        self._appended: list[Callable[[], list[Event]]] = []

    def reply(self, call: Call, response: Response) -> None:
        """Answer a call at once."""
        self.replies.append((call, response))

    def emit(self, event: Event) -> None:
        """Add an event. Events keep the order in which the coordinator adds them."""
        self.events.append(event)

    def when_committed(self, outcome: Callable[[ErrorCode, Draft], None]) -> None:
        """Register a callback for the result of this draft's append. It gets the error (or NONE) and a draft of then.

        Callbacks run in the order of registration.
        """
        self._outcomes.append(outcome)

    def when_appended(self, events: Callable[[], list[Event]]) -> None:
        """Register what returns the events that are true once this draft's records are appended and replayed."""
        self._appended.append(events)

    def when_late(self, outcome: Callable[[Draft], None]) -> None:
        """Register a callback for records that are committed after their append had timed out."""
        self._late.append(outcome)

    def decision(self) -> Decision:
        """The decision with everything added so far."""
        outcomes = self._outcomes
        events = partial(_events_of, self._appended) if self._appended else None
        if not outcomes:
            return Decision(tuple(self.records), self.replies, self.events, markers=self.markers, appended=events)

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
        return Decision(
            tuple(self.records), self.replies, self.events, then, late, markers=self.markers, appended=events
        )


def _events_of(parts: list[Callable[[], list[Event]]]) -> list[Event]:
    return [event for part in parts for event in part()]


class Deadlines:
    """Named instants, each replaceable; reading the earliest is cheap.

    Every heartbeat moves a deadline to a later instant. That only updates a dictionary: the heap entry stays and is
    moved when it reaches the top. Cancelling is lazy in the same way. Instants are microseconds of virtual time.
    """

    __slots__ = ("_at_us", "_heap", "_queued_us")

    def __init__(self) -> None:
        self._at_us: dict[DeadlineName, int] = {}  # the deadlines in force
        self._queued_us: dict[DeadlineName, int] = {}  # the instant of each name's one valid heap entry
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
        """Remove a deadline. A name without a deadline has no effect."""
        self._at_us.pop(name, None)

    def get(self, name: DeadlineName) -> int | None:
        """The instant of this deadline, or None if it is not set."""
        return self._at_us.get(name)

    def next_us(self) -> int | None:
        """The instant of the earliest deadline, or None if none is set."""
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
        """Remove and return the earliest deadline not after `now_us`; at equal instants, the first name."""
        next_us = self.next_us()
        if next_us is None or next_us > now_us:
            return None
        _, name = heappop(self._heap)
        del self._queued_us[name], self._at_us[name]
        return name

    def clear(self) -> None:
        """Remove every deadline."""
        self._at_us.clear()
        self._queued_us.clear()
        self._heap.clear()

    def _compact(self) -> None:
        """Drop cancelled and replaced entries: without it the heap grows without bound."""
        self._heap = [(at_us, name) for name, at_us in self._at_us.items()]
        heapify(self._heap)
        self._queued_us = dict(self._at_us)


def coordinator_error(error: ErrorCode) -> ErrorCode:
    """The error that a client gets for a failed append to the coordinator's own partition; NONE stays NONE.

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
