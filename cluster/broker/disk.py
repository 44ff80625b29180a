"""A broker's disk: a queue of writes. It may be slow, and it may be full.

A healthy disk takes what is appended in no time (the page cache does), and nobody asks it. While it is slow each append
takes its time, one after the other, and whoever appends waits: a request is handled, a fetched batch is kept, when its
turn is over. A full disk fails the first append, and with its only log directory the broker halts.
Source: `LogManager.handleLogDirFailure`; reading is from the page cache and waits for nothing.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from cluster.protocol.messages import (
    InitProducerIdRequest,
    OffsetCommitRequest,
    ProduceRequest,
    Request,
    SyncGroupRequest,
)
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
            return int(request.transactional_id is not None)  # a plain producer's id comes out of a block
        case AddPartitionsToTxnRequest():
            return int(not request.verify_only)
        case _:
            return int(isinstance(request, _WRITE_ONE))


class Write(NamedTuple):
    """Something that waits for the disk: how many appends it is, and what is done after them."""

    appends: int
    action: Action
    argument: object


class Disk:
    """One broker's disk. `bad`: it is slow, or full, or still has a queue; `failed` is called when a write fails."""

    def __init__(self, timeline: Timeline, failed: Callable[[], object]) -> None:
        self._timeline, self._failed = timeline, failed
        self._append_us = 0
        self._free_us = 0
        self._queue: deque[Write] = deque()
        self._life = 0  # what was posted in an earlier one is void
        self.bad = self.full = False

    def slow_down(self, append_us: int) -> None:
        """Each append takes this long from now on, also those that wait; 0: none takes any."""
        self._append_us = append_us
        self._life += 1
        self._free_us = self._timeline.now_us
        for write in self._queue:
            self._post(write)
        self._judge()

    def fill(self, *, full: bool) -> None:
        """Whether there is no room for another append."""
        self.full = full
        self._judge()

    def _judge(self) -> None:
        self.bad = self.full or self._append_us > 0 or bool(self._queue)

    def append(self, appends: int, action: Action, argument: object) -> None:
        """Do this when so many appends are done, after everything that waits already."""
        if self.full and appends:
            self._failed()
            return
        self._free_us = max(self._free_us, self._timeline.now_us)
        write = Write(appends, action, argument)
        self._queue.append(write)
        self._post(write)

    def _post(self, write: Write) -> None:
        self._free_us += write.appends * self._append_us
        self._timeline.post(self._free_us, self._done, (self._life, write))

    def _done(self, posted: tuple[int, Write]) -> None:
        life, write = posted
        if life != self._life:
            return
        self._queue.popleft()
        if not self._queue:
            self._judge()
        write.action(write.argument)

    def host_process_died(self, action: Action) -> list[Any]:
        """The process is gone, with everything it waited for; returns what this action was to be done with."""
        self._life += 1
        waiting = [write.argument for write in self._queue if write.action == action]
        self._queue.clear()
        self._free_us = 0
        self._judge()
        return waiting
