"""The group coordinators that one broker hosts: one for each partition of `__consumer_offsets` that it leads.

The driver of `GroupCoordinator`: it appends what a decision records to the real partition, replays it, answers, tells,
and goes on with the decision's `then` once the records are committed. All rules are the coordinator's.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from cluster.broker.purgatory import Timeouts
from cluster.broker.replica import Host, Replica
from cluster.connection import Call
from cluster.coordinators.decision import Decision
from cluster.coordinators.group_coordinator import GroupCoordinator, refusal
from cluster.coordinators.group_records import GroupRecord
from cluster.protocol import messages as m
from cluster.protocol.errors import ErrorCode
from cluster.protocol.names import coordinator_partition
from cluster.protocol.record_batch import RECORD_BATCH_OVERHEAD_BYTES, RecordBatch
from cluster.timeline import Timeline, Timer

OFFSETS_TOPIC = "__consumer_offsets"
LOAD_US = 20_000  # a new leader reads its partition before it coordinates
LOAD_US_FOR_EACH_RECORD = 1
RECORD_BYTES = 120  # a typical offset commit record
NO_PRODUCER = -1


class CoordinatorHost(Host, Protocol):
    """The broker that coordinators live on."""

    timeline: Timeline
    timeouts: Timeouts
    image: dict[str, m.PartitionMetadata]

    def newest_leader_epoch(self, partition: str) -> int:
        """The leader epoch of a partition as the controller has it, whether or not this broker has heard of it."""


class Hosted:
    """A coordinator on this broker, elected in `epoch`; `loading` until its partition was replayed."""

    __slots__ = ("coordinator", "epoch", "loading", "over", "replica", "timer")

    def __init__(self, coordinator: GroupCoordinator, replica: Replica) -> None:
        self.coordinator, self.replica = coordinator, replica
        self.epoch = replica.metadata.leader_epoch
        self.loading, self.over = True, False
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
        """They were not committed within `offsets.commit.timeout.ms`."""
        self.settle(ErrorCode.REQUEST_TIMED_OUT)


class Coordination:
    """Every group coordinator of one broker."""

    def __init__(self, broker: CoordinatorHost, config: Mapping[str, object], new_uuid: Callable[[], str]) -> None:
        self._broker, self._config, self._new_uuid = broker, config, new_uuid
        self._commit_timeout_us = cast(int, config.get("offsets.commit.timeout.ms", 5_000)) * 1000
        self.partitions = cast(int, config["offsets.topic.num.partitions"])
        self.hosted: dict[str, Hosted] = {}
        self._names: dict[str, str] = {}

    def partition_of(self, group: str) -> str:
        """The partition of `__consumer_offsets` that coordinates this group."""
        name = self._names.get(group)
        if name is None:
            name = f"{OFFSETS_TOPIC}-{coordinator_partition(group, self.partitions)}"
            self._names[group] = name
        return name

    # --- requests -------------------------------------------------------------------------------------------------

    def handlers(self) -> dict[type[m.Request], Callable[[Call], None]]:
        """Which requests are for a coordinator."""
        of_a_group: tuple[type[m.Request], ...] = (
            m.OffsetCommitRequest,
            m.OffsetFetchRequest,
            m.JoinGroupRequest,
            m.HeartbeatRequest,
            m.LeaveGroupRequest,
            m.SyncGroupRequest,
            m.DescribeGroupRequest,
        )
        return {m.FindCoordinatorRequest: self.find, **dict.fromkeys(of_a_group, self.handle)}

    def find(self, call: Call) -> None:
        """FindCoordinator (API 10): the leader of the group's partition, as this broker's metadata has it."""
        request: m.FindCoordinatorRequest = call.request
        leader = self._broker.image[self.partition_of(request.key)].leader
        error = ErrorCode.NONE if leader >= 0 else ErrorCode.COORDINATOR_NOT_AVAILABLE
        call.reply(m.FindCoordinatorResponse(error, leader))

    def handle(self, call: Call) -> None:
        """A group's request: for its coordinator here, or NOT_COORDINATOR."""
        request = call.request
        hosted = self.hosted.get(self.partition_of(request.group))
        if hosted is None:
            call.reply(refusal(request, ErrorCode.NOT_COORDINATOR))
        else:  # also while it loads: then it says so
            self._run(hosted, hosted.coordinator.handle(request, call, self._broker.now_us))

    # --- decisions ------------------------------------------------------------------------------------------------

    def _run(self, hosted: Hosted, decision: Decision) -> None:
        """Append, replay, reply, tell; then wait for the records to be committed."""
        placed = self._append(hosted, decision.records) if decision.records else None
        for call, response in decision.replies:
            cast(Call, call).reply(response)
        if decision.events and not self._deposed(hosted):
            self._tell(decision)
        if decision.then is not None:
            if not decision.records:
                self._then(hosted, decision.then, ErrorCode.NONE)
            elif placed is None:
                self._then(hosted, decision.then, ErrorCode.NOT_ENOUGH_REPLICAS)
            else:
                self._wait(hosted, decision.then, placed)
        self._arm(hosted)

    def _tell(self, decision: Decision) -> None:
        tell = self._broker.tell
        for event in decision.events:
            tell(event)

    def _deposed(self, hosted: Hosted) -> bool:
        """Whether the partition has been given to another leader, which this broker need not have heard yet.

        What it goes on deciding is answered to whoever still asks it, but it is not the group's story any more.
        """
        return self._broker.newest_leader_epoch(hosted.replica.partition) > hosted.epoch

    def _append(self, hosted: Hosted, records: tuple[GroupRecord, ...]) -> RecordBatch | None:
        replica = hosted.replica
        if len(replica.metadata.isr) < replica.min_insync_replicas:
            return None
        now_us = self._broker.now_us
        size = RECORD_BATCH_OVERHEAD_BYTES + RECORD_BYTES * len(records)
        batch = RecordBatch(replica.partition, "", NO_PRODUCER, -1, -1, -1, len(records), size, now_us, payload=records)
        placed = replica.append(batch, now_us)
        for record in records:
            hosted.coordinator.replay(record)
        return placed

    def _wait(self, hosted: Hosted, then: Callable[[ErrorCode, int], Decision], placed: RecordBatch) -> None:
        wait = DelayedDecision(lambda error: self._then(hosted, then, error))
        hosted.replica.when_committed(placed.next_offset, wait.settle)
        if not wait.over:
            self._broker.timeouts.give_up_at(self._broker.now_us + self._commit_timeout_us, wait)

    def _then(self, hosted: Hosted, then: Callable[[ErrorCode, int], Decision], error: ErrorCode) -> None:
        self._run(hosted, then(error, self._broker.now_us))

    # --- deadlines ------------------------------------------------------------------------------------------------

    def _arm(self, hosted: Hosted) -> None:
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

    def _due(self, hosted: Hosted) -> None:
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
        """This broker leads a partition of `__consumer_offsets` now: load it. A new cluster has nothing to load."""
        coordinator = GroupCoordinator(self._broker.id, self._config, self._new_uuid)
        hosted = self.hosted[replica.partition] = Hosted(coordinator, replica)
        if at_creation:
            self._load(hosted)
            return
        records = replica.log.log_end - replica.log.log_start
        self._broker.after(LOAD_US + LOAD_US_FOR_EACH_RECORD * records, self._load, hosted)

    def _load(self, hosted: Hosted) -> None:
        if hosted.over:
            return
        for batch in hosted.replica.log.batches:
            for record in batch.payload:
                hosted.coordinator.replay(cast(GroupRecord, record))
        hosted.loading = False
        self._run(hosted, hosted.coordinator.loaded(self._broker.now_us))

    def resigned(self, replica: Replica) -> None:
        """This broker leads the partition no more: parked joins and syncs learn it, memory is dropped."""
        hosted = self.hosted.pop(replica.partition, None)
        if hosted is not None:
            self._end(hosted)
            if not hosted.loading:
                decision = hosted.coordinator.unload(self._broker.now_us)
                self._tell(decision)
                decision.events.clear()
                self._run(hosted, decision)

    def died(self) -> None:
        """The broker's process ended: all of this was memory."""
        for hosted in self.hosted.values():
            self._end(hosted)
        self.hosted = {}

    def _end(self, hosted: Hosted) -> None:
        hosted.over = True
        if hosted.timer is not None:
            hosted.timer.cancel()
