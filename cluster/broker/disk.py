"""A broker's disk: a queue of writes. It may be slow or full.

A healthy disk takes an append in no time (the page cache does), and no part asks it. On a slow disk each append takes
its time, one after the other: a request is handled, a fetched batch is appended, after its writes. A full disk fails
the first append, and with its only log directory the broker halts.
Source: `LogManager.handleLogDirFailure`; reading is from the page cache and waits for nothing.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from cluster.protocol.api import Request
from cluster.protocol.messages import InitProducerIdRequest, OffsetCommitRequest, ProduceRequest, SyncGroupRequest
from cluster.protocol.transaction_messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from cluster.virtual_time import Timeline

Action = Callable[[Any], object]
_WRITE_ONE = (
    OffsetCommitRequest,
    SyncGroupRequest,
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)


def appends_of(request: Request) -> int:
    """How many appends a request makes at most."""
    match request:
        case ProduceRequest():
            return len(request.batches)
        case WriteTxnMarkersRequest():
            return len(request.partitions)
        case InitProducerIdRequest():
            return int(request.transactional_id is not None)  # a non-transactional producer id comes from a block
        case AddPartitionsToTxnRequest():
            return int(not request.verify_only)
        case _:
            return int(isinstance(request, _WRITE_ONE))


class Write(NamedTuple):
    """A queued write: the number of its appends, and the action after them."""

    appends: int
    action: Action
    argument: Any


class Disk:
    """One broker's disk. `bad`: slow, full, or with a queue left; `failed` is called when a write fails."""

    def __init__(self, timeline: Timeline, failed: Callable[[], object]) -> None:
        self._timeline, self._failed = timeline, failed
        self._append_us = 0
        self._free_us = 0
        self._queue: deque[Write] = deque()
        self._schedule = 0  # writes that were posted under an earlier schedule are void
        self.bad = self.full = False

    def slow_down(self, append_us: int) -> None:
        """Let each append take this long from now on, queued ones too; 0: no time."""
        self._append_us = append_us
        self._schedule += 1
        self._free_us = self._timeline.now_us
        for write in self._queue:
            self._post(write)
        self._update_bad()

    def fill(self, *, full: bool) -> None:
        """Set whether the disk has no room for another append."""
        self.full = full
        self._update_bad()

    def _update_bad(self) -> None:
        self.bad = self.full or self._append_us > 0 or bool(self._queue)

    def append(self, appends: int, action: Action, argument: object) -> None:
        """Run an action after so many appends, behind the queued writes; a full disk fails instead."""
        if self.full and appends:
            self._failed()
            return
        self._free_us = max(self._free_us, self._timeline.now_us)
        write = Write(appends, action, argument)
        self._queue.append(write)
        self._post(write)

    def _post(self, write: Write) -> None:
        self._free_us += write.appends * self._append_us
        self._timeline.post(self._free_us, self._done, (self._schedule, write))

    def _done(self, posted: tuple[int, Write]) -> None:
        schedule, write = posted
        if schedule != self._schedule:
            return
        self._queue.popleft()
        if not self._queue:
            self._update_bad()
        write.action(write.argument)

    def on_process_ended(self, action: Action) -> list[Any]:
        """The process ended: drop the queue; returns the arguments of its writes with this action."""
        self._schedule += 1
        waiting = [write.argument for write in self._queue if write.action == action]
        self._queue.clear()
        self._free_us = 0
        self._update_bad()
        return waiting
