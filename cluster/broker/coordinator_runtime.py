"""The coordinators of one kind that one broker hosts: one for each partition of their internal topic that it leads.

The driver of `GroupCoordinator` and `TransactionCoordinator`: it appends what a decision records to the real partition,
replays it, answers, tells, and goes on with the decision's `then` once the records are committed. All rules are the
coordinator's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, cast

from cluster.broker.metadata_cache import MetadataCache
from cluster.broker.purgatory import Timeouts
from cluster.broker.replica import Host, Replica
from cluster.coordinators.decision import Decision, Markers, Record
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
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
from cluster.virtual_time import Timeline, Timer

LOAD_US = 20_000  # a new leader reads its partition before it coordinates
LOAD_US_FOR_EACH_RECORD = 1


class CoordinatorHost(Host, Protocol):
    """The broker that coordinators live on."""

    timeline: Timeline
    timeouts: Timeouts
    metadata: MetadataCache

    def newest_leader_epoch(self, partition: str) -> int:
        """The leader epoch of a partition as the controller has it, whether or not this broker has heard of it."""


class Coordinator(Protocol):
    """What the driver needs of a coordinator, whatever it coordinates; `loading` until `loaded`."""

    loading: bool

    def handle(self, request: m.Request, call: object, now_us: int) -> Decision:
        """Answer, park or refuse a request."""

    def next_deadline_us(self) -> int | None:
        """When it wants to be woken."""

    def on_deadline(self, now_us: int) -> Decision:
        """Do what is due."""

    def loaded(self, now_us: int) -> Decision:
        """The partition is replayed."""

    def unload(self, now_us: int) -> Decision:
        """The broker leads the partition no more."""


Kind = TypeVar("Kind", bound=Coordinator)


class Hosted(Generic[Kind]):
    """A coordinator on this broker, elected in `epoch`; `over`: it leads no more, or its process ended."""

    __slots__ = ("coordinator", "epoch", "over", "replica", "timer")

    def __init__(self, coordinator: Kind, replica: Replica) -> None:
        self.coordinator, self.replica = coordinator, replica
        self.epoch = replica.metadata.leader_epoch
        self.over = False
        self.timer: Timer | None = None


class DelayedDecision:
    """The rest of a decision, which waits for its records: goes on once, with their fate."""

    __slots__ = ("_go_on", "over")

    def __init__(self, go_on: Callable[[ErrorCode], None]) -> None:
        self._go_on, self.over = go_on, False

    def settle(self, error: ErrorCode) -> None:
        """The fate of the records is known."""
        if not self.over:
            self.over = True
            self._go_on(error)

    def expire(self) -> None:
        """They were not committed in time."""
        self.settle(ErrorCode.REQUEST_TIMED_OUT)


class Coordination(ABC, Generic[Kind]):
    """Every coordinator of one kind on one broker. `hosted` maps a partition of `topic` to its coordinator here."""

    topic: str
    record_bytes = 120

    def __init__(self, broker: CoordinatorHost, partitions: int) -> None:
        self._broker, self.partitions = broker, partitions
        self.hosted: dict[str, Hosted[Kind]] = {}
        self._names: dict[str, str] = {}

    def partition_of(self, key: str) -> str:
        """The partition whose leader coordinates this group or transactional id."""
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"{self.topic}-{coordinator_partition(key, self.partitions)}"
        return name

    # --- what a kind of coordinator has of its own ------------------------------------------------------------------

    @abstractmethod
    def _new(self) -> Kind:
        """A coordinator that has loaded nothing yet."""

    @abstractmethod
    def _replay(self, coordinator: Kind, batch: RecordBatch) -> None:
        """A batch of the partition, as it stands in the log, is done."""

    def _batch(self, partition: str, records: tuple[Record, ...], now_us: int) -> RecordBatch:
        """The batch that holds a decision's records."""
        size = RECORD_BATCH_OVERHEAD_BYTES + self.record_bytes * len(records)
        return RecordBatch(
            partition, "", NO_PRODUCER_ID, NO_EPOCH, NO_SEQUENCE, -1, len(records), size, now_us, payload=records
        )

    def _append_error(self, error: ErrorCode) -> ErrorCode:
        """How the coordinator is told that its records could not be written."""
        return error

    @abstractmethod
    def _append_timeout_us(self, records: tuple[Record, ...]) -> int:
        """How long a decision waits for its records to be committed."""

    def _send_markers(self, hosted: "Hosted[Kind]", markers: list[Markers]) -> None:
        """Bring transaction markers to their partitions."""
        raise AssertionError(f"the coordinator of {hosted.replica.partition} ends no transactions: {markers}")

    # --- requests -------------------------------------------------------------------------------------------------

    def find(self, key: str) -> m.FindCoordinatorResponse:
        """FindCoordinator (API 10): the leader of the key's partition, as this broker's metadata has it."""
        leader = self._broker.metadata.image[self.partition_of(key)].leader
        error = ErrorCode.NONE if leader >= 0 else ErrorCode.COORDINATOR_NOT_AVAILABLE
        return m.FindCoordinatorResponse(error, leader)

    def for_key(self, key: str, call: InFlightRequest, refused: m.Response) -> None:
        """A request for the coordinator of this key, which is here, or refused."""
        hosted = self.hosted.get(self.partition_of(key))
        if hosted is None:
            call.reply(refused)
        else:  # also while it loads: then it says so
            self._run(hosted, hosted.coordinator.handle(call.request, call, self._broker.now_us))

    # --- decisions ------------------------------------------------------------------------------------------------

    def _run(self, hosted: Hosted[Kind], decision: Decision) -> None:
        """Append, replay, reply, tell; then wait for the records to be committed."""
        placed = self._append(hosted, decision.records) if decision.records else ErrorCode.NONE
        for call, response in decision.replies:
            cast(InFlightRequest, call).reply(response)
        if decision.events and not self._deposed(hosted):
            self._tell(decision)
        if decision.markers:
            self._send_markers(hosted, decision.markers)
        if decision.then is not None:
            if not decision.records:
                self._then(hosted, decision.then, ErrorCode.NONE)
            elif isinstance(placed, ErrorCode):
                self._then(hosted, decision.then, placed)
            else:
                self._wait(hosted, decision.then, placed, decision)
        self._arm(hosted)

    def _tell(self, decision: Decision) -> None:
        tell = self._broker.tell
        for event in decision.events:
            tell(event)

    def _deposed(self, hosted: Hosted[Kind]) -> bool:
        """Whether the partition has been given to another leader, which this broker need not have heard yet.

        What it goes on deciding is answered to whoever still asks it, but it is not the group's story any more.
        """
        return self._broker.newest_leader_epoch(hosted.replica.partition) > hosted.epoch

    def _append(self, hosted: Hosted[Kind], records: tuple[Record, ...]) -> RecordBatch | ErrorCode:
        """Append a decision's records; a producer's old epoch is refused by the log, whoever verified it before."""
        replica = hosted.replica
        if len(replica.metadata.isr) < replica.min_insync_replicas or self._broker.buggify.refuses_append():
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
        hosted: Hosted[Kind],
        then: Callable[[ErrorCode, int], Decision],
        placed: RecordBatch,
        decision: Decision,
    ) -> None:
        wait = DelayedDecision(lambda error: self._then(hosted, then, error))

        def known(error: ErrorCode) -> None:
            if wait.over and decision.late is not None and error is ErrorCode.NONE:
                self._run(hosted, decision.late())
            wait.settle(error)

        hosted.replica.when_committed(placed.next_offset, known)
        if not wait.over:
            deadline_us = self._broker.now_us + self._broker.buggify.append_timeout_us(
                self._append_timeout_us(decision.records)
            )
            self._broker.timeouts.give_up_at(deadline_us, wait)

    def _then(self, hosted: Hosted[Kind], then: Callable[[ErrorCode, int], Decision], error: ErrorCode) -> None:
        self._run(hosted, then(self._append_error(error), self._broker.now_us))

    # --- deadlines ------------------------------------------------------------------------------------------------

    def _arm(self, hosted: Hosted[Kind]) -> None:
        """One timer for each coordinator, at its next deadline or before it (a heartbeat only moves it later)."""
        if hosted.over:
            return
        next_us = hosted.coordinator.next_deadline_us()
        timer = hosted.timer
        if next_us is None or (timer is not None and timer.pending and timer.at_us <= next_us):
            return
        if timer is not None:
            timer.cancel()
        hosted.timer = self._broker.timeline.call_at(next_us, self._due, hosted)

    def _due(self, hosted: Hosted[Kind]) -> None:
        if hosted.over:
            return
        if not self._broker.running:
            self._broker.later(self._due, hosted)
            return
        next_us = hosted.coordinator.next_deadline_us()
        if next_us is not None and next_us <= self._broker.now_us:
            self._run(hosted, hosted.coordinator.on_deadline(self._broker.now_us))
        else:
            self._arm(hosted)

    # --- leadership of the internal topic ---------------------------------------------------------------------------

    def elected(self, replica: Replica, *, at_creation: bool) -> None:
        """This broker leads a partition of the topic now: load it. A new cluster has nothing to load."""
        hosted = self.hosted[replica.partition] = Hosted(self._new(), replica)
        if at_creation:
            self._load(hosted)
            return
        records = replica.log.log_end - replica.log.log_start
        self._broker.after(
            self._broker.buggify.load_us(LOAD_US + LOAD_US_FOR_EACH_RECORD * records), self._load, hosted
        )

    def _load(self, hosted: Hosted[Kind]) -> None:
        if hosted.over:
            return
        for batch in hosted.replica.log.batches:
            self._replay(hosted.coordinator, batch)
        self._run(hosted, hosted.coordinator.loaded(self._broker.now_us))

    def resigned(self, replica: Replica) -> None:
        """This broker leads the partition no more: parked joins and syncs learn it, memory is dropped."""
        hosted = self.hosted.pop(replica.partition, None)
        if hosted is not None:
            self._end(hosted)
            if not hosted.coordinator.loading:
                decision = hosted.coordinator.unload(self._broker.now_us)
                self._tell(decision)
                decision.events.clear()
                self._run(hosted, decision)

    def died(self) -> None:
        """The broker's process ended: all of this was memory."""
        for hosted in self.hosted.values():
            self._end(hosted)
        self.hosted = {}

    def _end(self, hosted: Hosted[Kind]) -> None:
        hosted.over = True
        if hosted.timer is not None:
            hosted.timer.cancel()
            hosted.timer = None  # it knows its coordinator: a circle
