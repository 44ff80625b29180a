"""The read model: the state of a cluster after the events so far.

Each reader has one mutable `ClusterView`, written by `fold` only. It stores instants, never ages, because the fold has
no clock. Everything is plain data that msgspec can encode: a keyframe of a recording is this object.
"""

from typing import Final

import msgspec

from cluster.storage.offset_ranges import IntervalSet
from cluster.view.brokers import BrokerView
from cluster.view.committed import CommittedStepBack
from cluster.view.lives.batches import FetchedView, OpenBatch, RequestInFlight
from cluster.view.lives.lives import Lives
from cluster.view.logged.state import LogsView
from cluster.view.ownership.history import OwnershipHistory
from cluster.view.placements import Placements, ReplicaGaps, Run, Serials
from cluster.view.rebalances import ConsumerGroupView, OpenRebalance, RebalanceView
from cluster.view.rolling.state import RollingRestartView, RolloutView
from cluster.view.transactions import PartitionTransactions, TransactionView
from cluster.view.votes import AssignorVote

NEVER: Final = -1
ACTIVITY_US: Final = 120_000_000  # the kept history of a member's activity and heartbeats


class Series(msgspec.Struct, gc=False):
    """The last `limit` samples of a number, one per virtual second, for trends and sparklines."""

    first_second: int = 0
    values: list[int] = []

    def push(self, second: int, value: int, limit: int = 120) -> None:
        """Add the value at a whole second. Earlier seconds without a sample had the same value: no event came."""
        values = self.values
        if not values:
            self.first_second = second
        gap = second - (self.first_second + len(values))
        if gap > 0:
            values.extend([value] * min(gap, limit))
            self.first_second = second - len(values)
        values.append(value)
        if len(values) > limit:
            self.first_second += len(values) - limit
            del values[: len(values) - limit]


class TopicView(msgspec.Struct, gc=False):
    """A topic and its number of partitions; `end_series` has the sum of its log ends at each whole second."""

    topic: str
    partitions: int
    replication_factor: int
    min_insync_replicas: int
    internal: bool
    end_series: Series = msgspec.field(default_factory=Series)


class PartitionView(msgspec.Struct, gc=False):
    """A partition's leadership and offsets; `append_ends`/`append_times_us` date the records for time lag.

    `adding` and `removing`: those of `replicas` that a reassignment in progress adds and removes. The offsets are
    those of the last leader that took over (`taken_by`, in epoch `taken_epoch`). `appended` counts the records that
    its log has appended and not truncated; `placements` maps its offsets to producers' records. By serial numbers:
    `acked_serials` are acknowledged records, `lost_serials` records that no log holds any more, `aborted_serials`
    records of aborted transactions, `deleted_serials` deleted ones that `placements` has dropped,
    `compacted_serials` what compaction has taken from a leader's log; `gaps`: from each broker's. `deleted_before`:
    the log start before its last advance, and that instant. `tails`: broker → records of its log beyond its
    successor's, until it truncates. `crashed`: for each crash, newest first, the records that the last leader's log
    lost and followers may have. `led`: broker → the epoch in which it last led; deposed, it may go on appending.
    """

    partition: str
    topic: str
    number: int
    leader: int = -1
    leader_epoch: int = 0
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    log_start: int = 0
    high_watermark: int = 0
    log_end: int = 0
    bytes: int = 0
    taken_epoch: int = -1
    taken_by: int = -1
    led: dict[int, int] = {}
    appended: int = 0
    produced: int = 0
    acked: int = 0
    placements: Placements = msgspec.field(default_factory=Placements)
    tails: dict[int, list[Run]] = {}
    crashed: list[list[Run]] = []
    acked_serials: Serials = {}
    lost_serials: Serials = {}
    aborted_serials: Serials = {}
    deleted_serials: Serials = {}
    compacted_serials: Serials = {}
    gaps: dict[int, ReplicaGaps] = {}
    deleted_before: tuple[int, int] = (0, 0)
    append_ends: list[int] = []
    append_times_us: list[int] = []
    transactions: PartitionTransactions | None = None
    end_series: Series | None = (
        None  # of a user's topic: log ends at the last whole seconds; None: zeros, as its topic's
    )

    @property
    def replication_factor(self) -> int:
        """Its replicas without those that a reassignment in progress adds. Source: `OngoingReassignmentState`."""
        return len(self.replicas) - len(self.adding)

    @property
    def last_stable_offset(self) -> int:
        """The last stable offset: the end for read_committed consumers."""
        if self.transactions is None:
            return self.high_watermark
        return self.transactions.index.last_stable_offset(self.high_watermark, self.log_start)


class ProducerView(msgspec.Struct, gc=False):
    """A producer instance; `sent`, `acked` and `failed` count records, `retries` batches.

    `failures`: error → records that failed for it. `waits_since_us`: since then a batch waits and none was
    acknowledged; NEVER while no batch waits. `open_batches`: partition → its batches in the order of sending.
    `in_flight`: number of the request → the request, oldest first. `settings`: keys that `set` has changed and that
    its process has read; `next_settings`: all that `set` has changed.
    """

    producer: str
    topics: tuple[str, ...]
    rate_per_second: float
    state: str = "Stopped"
    reason: str = ""
    producer_id: int = -1
    epoch: int = -1
    sent: int = 0
    acked: int = 0
    failed: int = 0
    failures: dict[str, int] = {}
    retries: int = 0
    requests: int = 0
    batches: int = 0
    buffered_bytes: int = 0
    last_error: str = ""
    acked_series: Series = msgspec.field(default_factory=Series)
    waits_since_us: int = NEVER
    open_batches: dict[str, list[OpenBatch]] = {}
    in_flight: dict[int, RequestInFlight] = {}
    settings: dict[str, str] = {}
    next_settings: dict[str, str] = {}


class ActivitySpan(msgspec.Struct, gc=False):
    """A phase of a member's poll loop or process, from `from_us` until the next span."""

    from_us: int
    phase: str


class Heartbeat(msgspec.Struct, gc=False):
    """An answered heartbeat and the error code of its answer (`NONE` for success)."""

    at_us: int
    error: str


class MemberView(msgspec.Struct, gc=False):
    """A consumer's own state, and its heartbeats as the coordinator answered them.

    `heartbeats_from_us`: the last restart of its heartbeat thread, by a JoinGroup response. `polling`: a poll() (or a
    series of empty polls) is running and the application processes no record. `last_poll_us`: when poll() last returned
    records, or the process started. `assignors`: what its last process offers; `next_assignors`: the next one.
    `removed_us`, `removed_for`: when and why a coordinator removed it last.
    """

    member: str
    group: str
    instance_id: str
    topics: tuple[str, ...]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    state: str = "Left"
    reason: str = ""
    generation: int = -1
    member_id: str = ""
    alive: bool = False
    paused: bool = False
    fenced: int = 0
    crashes: int = 0
    last_crash: str = ""
    stalled_until_us: int | None = None
    starting_until_us: int = NEVER  # while its application starts up
    heartbeats_paused: bool = False
    heartbeats_from_us: int = NEVER
    coordinator: int = -1
    owned: dict[str, int] = {}  # partition → when it was assigned
    paused_partitions: dict[str, int] = {}  # pause() was called for them, in µs of the flight
    read_from: dict[str, int] = {}  # partition → the follower that it is fetched from
    positions: dict[str, int] = {}
    buffered: dict[str, FetchedView] = {}  # fetched, and not returned by poll() yet
    processed: int = 0
    polling: bool = False
    last_poll_us: int = NEVER
    polls: int = 0
    last_heartbeat_us: int = NEVER
    last_heartbeat_error: str = ""
    activity: list[ActivitySpan] = []
    heartbeats: list[Heartbeat] = []
    assignors: tuple[str, ...] = ()
    next_assignors: tuple[str, ...] = ()
    removed_us: int = NEVER
    removed_for: str = ""


class ReaderView(msgspec.Struct, gc=False):
    """One group's progress in one partition: its first position, its committed offset, its finished records.

    A `start` beyond the log end is a first position only if the log reaches it before the group gets another one;
    `end_at_start` is the log end at that instant. `finished` has offsets of the current leader's log.

    By producers' serial numbers: `finished_serials` are the finished records, also truncated ones. `copies`: those of
    them written for an input whose record the group had finished before. `before_start`: records before its first
    position. `passed`: unfinished records below the committed offset when they were deleted or truncated (while they
    are in the log, `committed` shows it). `truncated`: records that applications are about to finish although the log
    has truncated them. `moved_by`: how the position was set since the last commit, if not by reading. `step_back`: the
    last one of the committed offset, until a commit is as high again. `replicas`: followers that members fetched from.
    """

    start: int = NEVER
    end_at_start: int = NEVER
    committed: int = NEVER
    highest_position: int = NEVER
    finished: IntervalSet = msgspec.field(default_factory=IntervalSet)
    finished_serials: Serials = {}
    copies: Serials = {}
    before_start: Serials = {}
    passed: Serials = {}
    truncated: list[Run] = []
    moved_by: str = ""
    step_back: CommittedStepBack | None = None
    replicas: tuple[int, ...] = ()


class GroupView(msgspec.Struct, gc=False):
    """A consumer group at its coordinator, and the delivery to its applications.

    `members` and `pending` map member id → client id; `assignment` maps member id → partitions. `coordinated_by` is the
    broker whose coordinator last loaded the group, or began to rebalance it. `barriers_completed` continues to count
    when the group is deleted and created again.
    By the clients' events: `owners` maps partition → the member that it was assigned to last and that reads it now,
    `other_holders` → earlier owners that still read it, the latest one last: removed members that do not know it yet.
    `unowned_since_us` has the partitions that had an owner and have none. `previous_owners`: partition → its last
    assigned member. `last_given`: member → the generation of its last partitions, in this life of the group: after a
    deletion generations begin anew. `given_in`: partition → the generation that assigned it, until its owner has a
    position. `vote`: the generation's, if not all offered the same.
    `first_number`: its members', which grows when a Deployment replaces them.
    """

    group: str
    topics: tuple[str, ...]
    assignors: tuple[str, ...]
    offset_reset: str
    read_committed: bool
    coordinator_partition: str
    sink: str = ""
    coordinated_by: int = NEVER
    state: str = "Empty"
    assignor: str = ""
    generation: int = 0
    leader: str = ""
    members: dict[str, str] = {}
    session_deadlines_us: dict[str, int] = {}
    pending: dict[str, str] = {}
    assignment: dict[str, tuple[str, ...]] = {}
    open_rebalance: OpenRebalance | None = None
    rebalances: list[RebalanceView] = []
    barriers_completed: int = 0
    owners: dict[str, str] = {}
    other_holders: dict[str, list[str]] = {}
    unowned_since_us: dict[str, int] = {}
    stopped_partition_us: int = 0
    delivered: int = 0
    duplicated: int = 0
    skipped: int = 0
    out_of_order_keys: int = 0
    readers: dict[str, ReaderView] = {}
    previous_owners: dict[str, str] = {}
    last_given: dict[str, int] = {}
    given_in: dict[str, int] = {}
    vote: AssignorVote | None = None
    consumer: ConsumerGroupView | None = None  # of a group of the new protocol
    steps_back: list[CommittedStepBack] = []
    first_number: int = 1
    lag_series: Series = msgspec.field(default_factory=Series)
    history: OwnershipHistory = msgspec.field(default_factory=OwnershipHistory)

    @property
    def rebalance_count(self) -> int:
        """Completed join barriers after the first one."""
        return max(0, self.barriers_completed - 1)

    @property
    def under_way(self) -> OpenRebalance | None:
        """The open rebalance, of either protocol."""
        return self.open_rebalance if self.consumer is None else self.consumer.rebalance

    def owner_found(self, since_us: int, now_us: int) -> None:
        """Charge the time of a partition without an owner to the rebalance that gives it one."""
        opened = None if self.consumer is None else self.consumer.rebalance
        if opened is not None:  # members of the new protocol take partitions over while the rebalance goes on
            opened.stopped_partition_us += now_us - max(since_us, opened.started_us)
        # else a static member's absence explains it
        elif self.rebalances and since_us <= self.rebalances[-1].stable_us:
            self.rebalances[-1].stopped_partition_us += now_us - max(since_us, self.rebalances[-1].started_us)

    def read_again(self, generation: int, records: int) -> None:
        """Charge records to the rebalance that assigned their partition; `generation` may be one of its epochs."""
        opened = None if self.consumer is None else self.consumer.rebalance
        if opened is not None and generation > opened.generation:
            opened.reread += records
            return
        for one in reversed(self.rebalances):
            if one.generation == generation or (self.consumer is not None and one.before < generation < one.generation):
                one.reread += records
                return


class FaultView(msgspec.Struct, gc=False):
    """A fault in force; `ends_at_us` is NEVER for a fault that lasts until a command ends it.

    `kind` and `targets` are those of `fault_started`: what was done, and to which processes, groups, topics.
    """

    fault: int
    text: str
    since_us: int
    ends_at_us: int
    kind: str
    targets: tuple[str, ...]


class LogEntry(msgspec.Struct, gc=False):
    """A line of the event log; `kind`: rebalance, stable, fault, recovery, offset, election, member or
    transaction.

    `event` is the kind of the event. `text` is shown and never parsed: `predicate` is the text after the subject, empty
    for a text that does not begin with its subject; `targets` are the further names that the line is about.
    `elected_for`: why a partition has a new leader; empty for all else, also where a partition has lost its leader.
    """

    at_us: int
    kind: str
    subject: str
    text: str
    event: str
    predicate: str = ""
    targets: tuple[str, ...] = ()
    elected_for: str = ""


class ClusterView(msgspec.Struct):
    """The whole state that screens, expectations and invariants read.

    With `logs`, only what their lines tell is known: groups, their members' names, rebalances and the log entries.
    """

    seq: int = 0
    at_us: int = 0
    controller: int = -1
    brokers: dict[int, BrokerView] = {}
    topics: dict[str, TopicView] = {}
    partitions: dict[str, PartitionView] = {}
    groups: dict[str, GroupView] = {}
    members: dict[str, MemberView] = {}
    producers: dict[str, ProducerView] = {}
    faults: dict[int, FaultView] = {}
    transactions: dict[str, TransactionView] = {}
    rollouts: dict[str, RolloutView] = {}  # group or `brokers` → its rollout under way
    rolling_restarts: list[RollingRestartView] = []  # oldest first; one that is over stays until the next one
    settings: dict[str, dict[str, str]] = {}  # topic, broker or `cluster` → keys that `set` has changed at once
    log_entries: list[LogEntry] = []
    lives: Lives = msgspec.field(default_factory=Lives)
    next_sample_us: int = 0
    partitions_by_topic: dict[str, list[str]] = {}
    topic_readers: dict[str, list[str]] = {}  # topic → groups that read it, in the order of `groups`
    logs: LogsView | None = None  # None: a flight
    topology_changes: int = 0  # events after which brokers, replicas, leaders or coordinators may stand otherwise

    def reads(self, group: GroupView, topics: tuple[str, ...]) -> None:
        """A group reads these topics, too; one subscribed to once keeps its offsets, and so stays."""
        for topic in topics:
            if topic not in group.topics:
                group.topics = (*group.topics, topic)
                self.topic_readers[topic] = [name for name, one in self.groups.items() if topic in one.topics]
