"""The coordinators of one kind on one broker: one for each partition of their internal topic that the broker leads.

Drives `GroupCoordinator` and `TransactionCoordinator`. It appends a decision's records to the partition, replays them,
sends the responses and emits the events. It runs the decision's `then` once the records are committed. All rules belong
to the coordinators. Source: Kafka's `CoordinatorRuntime`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from cluster.broker.host import BrokerHost
from cluster.broker.replica import Replica
from cluster.coordinators.decision import Decision, Markers, Record
from cluster.events import Event
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol.api import Request, Response
from cluster.protocol.api_table import error_response
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import coordinator_partition
from cluster.protocol.record_batch import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD_BYTES,
    RecordBatch,
)
from cluster.reach import reached
from cluster.virtual_time import Timer

LOAD_US = 20_000  # a new leader reads its partition before it coordinates
LOAD_US_FOR_EACH_RECORD: Final = 1


class CoordinatorRules(Protocol):
    """A coordinator as the runtime drives it, of groups or of transactions; `loading` until `loaded` is called."""

    loading: bool

    def handle(self, request: Request, call: object, now_us: int) -> Decision:
        """Answer, park or refuse a request."""

    def next_deadline_us(self) -> int | None:
        """When `on_deadline` is due; None for never."""

    def on_deadline(self, now_us: int) -> Decision:
        """Decide everything that is due."""

    def loaded(self, now_us: int) -> Decision:
        """The partition is replayed."""

    def unload(self, now_us: int) -> Decision:
        """The broker no longer leads the partition."""


CoordinatorT = TypeVar("CoordinatorT", bound=CoordinatorRules)


class AdminCall:
    """A request of an administrator: no link carries it. `answered` gets the coordinator's response."""

    def __init__(self, request: Request, answered: Callable[[Response], None]) -> None:
        self.request: Any = request
        self._answered = answered

    def reply(self, response: Response) -> None:
        """Take the answer."""
        self._answered(response)


class HostedCoordinator(Generic[CoordinatorT]):
    """A coordinator on this broker, elected in `epoch`; `closed`: its broker resigned, or the process ended."""

    __slots__ = ("closed", "coordinator", "epoch", "replica", "timer")

    def __init__(self, coordinator: CoordinatorT, replica: Replica) -> None:
        self.coordinator, self.replica = coordinator, replica
        self.epoch = replica.metadata.leader_epoch
        self.closed = False
        self.timer: Timer | None = None


class DelayedDecision:
    """A decision's `then`, which waits for the records to be committed; runs once, with their error code."""

    __slots__ = ("_run_then", "completed")

    def __init__(self, run_then: Callable[[ErrorCode], None]) -> None:
        self._run_then, self.completed = run_then, False

    def complete(self, error: ErrorCode) -> None:
        """The records were committed (NONE) or not."""
        if not self.completed:
            self.completed = True
            self._run_then(error)

    def expire(self) -> None:
        """The records were not committed in time."""
        self.complete(ErrorCode.REQUEST_TIMED_OUT)


class CoordinatorRuntime(ABC, Generic[CoordinatorT]):
    """Every coordinator of one kind on one broker. `hosted` maps a partition of `topic` to its coordinator here."""

    topic: str
    record_bytes = 120

    def __init__(self, broker: BrokerHost[Replica], partitions: int) -> None:
        self._broker, self.partitions = broker, partitions
        self.hosted: dict[str, HostedCoordinator[CoordinatorT]] = {}
        self._names: dict[str, str] = {}

    def partition_of(self, key: str) -> str:
        """The partition whose leader coordinates this group or transactional id."""
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"{self.topic}-{coordinator_partition(key, self.partitions)}"
        return name

    # --- defined by each kind of coordinator ------------------------------------------------------------------------

    @abstractmethod
    def _new(self) -> CoordinatorT:
        """A coordinator that has loaded nothing yet."""

    @abstractmethod
    def _replay(self, coordinator: CoordinatorT, batch: RecordBatch) -> None:
        """Replay a batch of the partition's log into the coordinator."""

    def _batch(self, partition: str, records: tuple[Record, ...], now_us: int) -> RecordBatch:
        """The batch that holds a decision's records."""
        size = RECORD_BATCH_OVERHEAD_BYTES + self.record_bytes * len(records)
        return RecordBatch(
            partition, "", NO_PRODUCER_ID, NO_EPOCH, NO_SEQUENCE, -1, len(records), size, now_us, payload=records
        )

    def _append_error(self, error: ErrorCode) -> ErrorCode:
        """The error that the coordinator gets when its records were not appended."""
        return error

    @abstractmethod
    def _append_timeout_us(self, records: tuple[Record, ...]) -> int:
        """How long a decision waits for its records to be committed."""

    def _send_markers(self, hosted: HostedCoordinator[CoordinatorT], markers: list[Markers]) -> None:
        """Send transaction markers to the leaders of their partitions."""
        raise AssertionError(f"the coordinator of {hosted.replica.partition} ends no transactions: {markers}")

    # --- requests -------------------------------------------------------------------------------------------------

    def find(self, key: str) -> m.FindCoordinatorResponse:
        """FindCoordinator (API 10): the leader of the key's partition in this broker's metadata."""
        leader = self._broker.metadata.image[self.partition_of(key)].leader
        error = ErrorCode.NONE if leader >= 0 else ErrorCode.COORDINATOR_NOT_AVAILABLE
        return m.FindCoordinatorResponse(error, leader)

    def for_key(self, key: str, call: InFlightRequest | AdminCall) -> None:
        """Pass a request to the coordinator of this key; answer NOT_COORDINATOR when it is not here."""
        hosted = self.hosted.get(self.partition_of(key))
        if hosted is None:
            call.reply(error_response(call.request, ErrorCode.NOT_COORDINATOR))
        else:  # also while it loads: then it answers so
            self._run(hosted, hosted.coordinator.handle(call.request, call, self._broker.now_us))

    # --- decisions ------------------------------------------------------------------------------------------------

    def _run(self, hosted: HostedCoordinator[CoordinatorT], decision: Decision) -> None:
        """Append, replay, respond, emit; then wait for the records to be committed."""
        placed = self._append(hosted, decision.records) if decision.records else ErrorCode.NONE
        for call, response in decision.replies:
            cast(InFlightRequest | AdminCall, call).reply(response)
        if decision.events and not self._superseded(hosted):
            self._emit(decision.events)
        if decision.appended is not None and not isinstance(placed, ErrorCode):
            events = decision.appended()
            if not self._superseded(hosted):
                self._emit(events)
        if decision.markers:
            self._send_markers(hosted, decision.markers)
        if decision.then is not None:
            if not isinstance(placed, ErrorCode):
                self._wait(hosted, decision.then, placed.next_offset, decision)
            elif decision.after_log:
                self._wait(hosted, decision.then, hosted.replica.log.log_end, decision)
            else:
                self._then(hosted, decision.then, placed)
        self._arm(hosted)

    def _emit(self, events: list[Event]) -> None:
        emit = self._broker.emit
        for event in events:
            emit(event)

    def _superseded(self, hosted: HostedCoordinator[CoordinatorT]) -> bool:
        """Whether the controller elected a newer leader of the partition; this broker may not know it yet.

        The decisions of a superseded coordinator are answered but not emitted: the newer leader owns the group.
        """
        return self._broker.leader_since(hosted.replica.partition) > hosted.epoch

    def _append(self, hosted: HostedCoordinator[CoordinatorT], records: tuple[Record, ...]) -> RecordBatch | ErrorCode:
        """Append a decision's records; the log refuses a producer's old epoch, also a verified one."""
        replica = hosted.replica
        if not replica.has_min_isr or self._broker.buggify.refuses_append():
            return ErrorCode.NOT_ENOUGH_REPLICAS
        now_us = self._broker.now_us
        batch = self._batch(replica.partition, records, now_us)
        if batch.producer_id != NO_PRODUCER_ID and replica.log.producers.fences(batch):
            reached("append: offsets of an old epoch")
            return ErrorCode.INVALID_PRODUCER_EPOCH
        placed = replica.append(batch, now_us)
        self._replay(hosted.coordinator, placed)
        return placed

    def _wait(
        self,
        hosted: HostedCoordinator[CoordinatorT],
        then: Callable[[ErrorCode, int], Decision],
        until_offset: int,
        decision: Decision,
    ) -> None:
        """Run `then` when the log is committed up to this offset, or with an error."""
        wait = DelayedDecision(lambda error: self._then(hosted, then, error))

        def on_committed(error: ErrorCode) -> None:
            if wait.completed and decision.late is not None and error is ErrorCode.NONE:
                self._run(hosted, decision.late())
            wait.complete(error)

        hosted.replica.when_committed(until_offset, on_committed)
        if not wait.completed:
            if decision.waiting and not self._superseded(hosted):
                self._emit(decision.waiting)
            deadline_us = self._broker.now_us + self._broker.buggify.append_timeout_us(
                self._append_timeout_us(decision.records)
            )
            self._broker.timeouts.expire_at(deadline_us, wait)

    def _then(
        self, hosted: HostedCoordinator[CoordinatorT], then: Callable[[ErrorCode, int], Decision], error: ErrorCode
    ) -> None:
        self._run(hosted, then(self._append_error(error), self._broker.now_us))

    # --- deadlines ------------------------------------------------------------------------------------------------

    def _arm(self, hosted: HostedCoordinator[CoordinatorT]) -> None:
        """Keep one timer for each coordinator, at its next deadline or earlier (a heartbeat only moves it later)."""
        if hosted.closed:
            return
        next_us = hosted.coordinator.next_deadline_us()
        timer = hosted.timer
        if next_us is None or (timer is not None and timer.pending and timer.at_us <= next_us):
            return
        if timer is not None:
            timer.cancel()
        hosted.timer = self._broker.timeline.call_at(next_us, self._on_timer, hosted)

    def _on_timer(self, hosted: HostedCoordinator[CoordinatorT]) -> None:
        if hosted.closed:
            return
        if not self._broker.running:
            self._broker.defer(self._on_timer, hosted)
            return
        next_us = hosted.coordinator.next_deadline_us()
        if next_us is not None and next_us <= self._broker.now_us:
            self._run(hosted, hosted.coordinator.on_deadline(self._broker.now_us))
        else:
            self._arm(hosted)

    # --- leadership of the internal topic ---------------------------------------------------------------------------

    def on_elected(self, replica: Replica, *, at_creation: bool) -> None:
        """This broker became leader of a partition of the topic: load it. A new cluster has nothing to load."""
        hosted = self.hosted[replica.partition] = HostedCoordinator(self._new(), replica)
        if at_creation:
            self._load(hosted)
            return
        records = replica.log.log_end - replica.log.log_start
        self._broker.after(
            self._broker.buggify.load_us(LOAD_US + LOAD_US_FOR_EACH_RECORD * records), self._load, hosted
        )

    def goes_on(self, replica: Replica) -> bool:
        """Whether the coordinator of a partition stays: this broker leads it in a new epoch, and no other has led.

        Source: `CoordinatorRuntime.scheduleLoadOperation`: an active coordinator takes the epoch.
        """
        hosted = self.hosted.get(replica.partition)
        return hosted is not None and hosted.epoch >= replica.metadata.led_since

    def _load(self, hosted: HostedCoordinator[CoordinatorT]) -> None:
        if hosted.closed:
            return
        for batch in hosted.replica.log.batches:
            self._replay(hosted.coordinator, batch)
        self._run(hosted, hosted.coordinator.loaded(self._broker.now_us))

    def on_resigned(self, replica: Replica) -> None:
        """This broker no longer leads the partition: answer parked joins and syncs, and drop the coordinator."""
        hosted = self.hosted.pop(replica.partition, None)
        if hosted is not None:
            self._close(hosted)
            if not hosted.coordinator.loading:
                decision = hosted.coordinator.unload(self._broker.now_us)
                self._emit(decision.events)
                decision.events.clear()
                self._run(hosted, decision)

    def on_shutdown(self) -> None:
        """The broker's process ended: every coordinator is lost."""
        for hosted in self.hosted.values():
            self._close(hosted)
        self.hosted = {}

    def _close(self, hosted: HostedCoordinator[CoordinatorT]) -> None:
        hosted.closed = True
        if hosted.timer is not None:
            hosted.timer.cancel()
            hosted.timer = None  # the timer refers to its coordinator: a reference cycle
