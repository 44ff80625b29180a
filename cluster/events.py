"""The catalogue of events: every fact that a simulation emits.

Events are the only way out of the simulation: the view, the journal, Spark's tables and Kafka-phrased log lines
derive from these structs alone. The component that changes a state creates the event, without a stamp; the
pipeline (`cluster.event_pipeline`) gives it `seq` and `at_us` once, and from then on it is shared and never changed.

Conventions: a partition is named as Kafka prints it (`orders-0`); a broker is its id; members and producers are
named by their client id (`billing-1`); `member_id` is the coordinator's id of a member. Instants and durations are
microseconds of virtual time (`_us`), offsets are positions (next to read or write). Maps are `partition -> number`.
"""

import msgspec


def _snake(name: str) -> str:
    """`RecordsAppended` → `records_appended`: the `kind` of an event in journals and tables."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag=_snake):
    """One fact. `seq` counts events from 1; `at_us` is the instant; both are 0 until the pipeline stamps them."""

    seq: int = 0
    at_us: int = 0


# --- the fleet as declared -------------------------------------------------------------------------------------


class TopicCreated(Event, frozen=True, kw_only=True):
    """A topic exists; its partitions follow as `leader_elected`. `internal`: `__consumer_offsets` and its like."""

    topic: str
    partitions: int
    replication_factor: int
    min_insync_replicas: int
    internal: bool


class GroupDeclared(Event, frozen=True, kw_only=True):
    """A consumer group of the scenario; `coordinator_partition` is its partition of `__consumer_offsets`.

    `sink` is the outside store that its applications write each finished record to ("" for none).
    """

    group: str
    topics: tuple[str, ...]
    assignors: tuple[str, ...]
    offset_reset: str
    read_committed: bool
    coordinator_partition: str
    sink: str = ""


class MemberDeclared(Event, frozen=True, kw_only=True):
    """A consumer of a group, with the timeouts (milliseconds) that its three clocks count against."""

    group: str
    member: str
    instance_id: str
    topics: tuple[str, ...]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int


class MemberAssignorsDeclared(Event, frozen=True, kw_only=True):
    """From its next start on a member offers these assignors, in its order of preference.

    Without this event it offers those of `group_declared`.
    """

    group: str
    member: str
    assignors: tuple[str, ...]


class ProducerDeclared(Event, frozen=True, kw_only=True):
    """A producer instance of the scenario; `rate_per_second` is its total over its topics at the start."""

    producer: str
    topics: tuple[str, ...]
    rate_per_second: float
    transactional_id: str


class PartitionsAdded(Event, frozen=True, kw_only=True):
    """A topic has `partitions` partitions now; the new ones follow as `leader_elected`."""

    topic: str
    partitions: int


# --- brokers, controller, partitions ---------------------------------------------------------------------------


class BrokerStarted(Event, frozen=True, kw_only=True):
    """A broker's process runs; it is not yet registered with the controller.

    One that `serves` takes connections already, as all do at t = 0. Else it loads its logs and registers, and
    `broker_state_changed` tells when it is `Running`.
    """

    broker: int
    rack: str
    serves: bool = True


class BrokerStopped(Event, frozen=True, kw_only=True):
    """A broker's process ended; `how`: `stop` (controlled shutdown done), `kill`, `crash` (the host), `disk` (full)."""

    broker: int
    how: str


class BrokerStateChanged(Event, frozen=True, kw_only=True):
    """A broker's process is in another of Kafka's `BrokerState`s.

    `Running`: it was started, the controller has let it in, and it takes connections from now on.
    `PendingControlledShutdown`: it was asked to stop, and answers on until the controller lets it go:
    NOT_LEADER_OR_FOLLOWER and NOT_COORDINATOR for what has moved.
    """

    broker: int
    state: str


class BrokerPaused(Event, frozen=True, kw_only=True):
    """A broker's process froze (a long GC, SIGSTOP): it neither sends nor handles anything."""

    broker: int


class BrokerResumed(Event, frozen=True, kw_only=True):
    """A frozen broker goes on, with whatever reached its sockets meanwhile."""

    broker: int


class BrokerUnfenced(Event, frozen=True, kw_only=True):
    """The controller registered the broker (again) with a new `broker_epoch`: it may lead and be in ISRs."""

    broker: int
    broker_epoch: int


class BrokerFenced(Event, frozen=True, kw_only=True):
    """The controller took the broker out; `reason`: `session expired`, `controlled shutdown` (it may end now).

    One that has stopped cleanly is fenced once more when its session is over, unless another controller took over.
    """

    broker: int
    reason: str


class ControllerElected(Event, frozen=True, kw_only=True):
    """This broker is the active controller; -1 when no live broker is left."""

    broker: int


class LeaderElected(Event, frozen=True, kw_only=True):
    """The controller gave a partition's leadership (or took it: `leader` is -1 when there is none).

    `reason`: `created`, `broker fenced`, `controlled shutdown`, `broker returned`, `preferred`, `unclean`, `moved`.
    """

    partition: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    reason: str


class LeadershipTaken(Event, frozen=True, kw_only=True):
    """The elected broker learned of it and leads: from now on the partition's offsets are those of its own log.

    `appended`: how many records producers ever added to that log and no truncation took again. Deleted ones count, and
    those that compaction removed, also from the log of the leader that this one was copied from.
    """

    partition: str
    broker: int
    leader_epoch: int
    log_start: int
    high_watermark: int
    log_end: int
    bytes: int
    appended: int = 0


class IsrChanged(Event, frozen=True, kw_only=True):
    """The in-sync replicas changed without a change of leader; `reason`: `shrink` or `expand` and why."""

    partition: str
    isr: tuple[int, ...]
    reason: str


class RecordsAppended(Event, frozen=True, kw_only=True):
    """The leader appended one batch; its log now ends at `base_offset + count`.

    A `marker` ("COMMIT" or "ABORT") is a control record that ends the transaction of its producer id here.
    """

    partition: str
    base_offset: int
    count: int
    bytes: int
    producer: str
    producer_id: int
    epoch: int
    base_sequence: int
    first_serial: int
    leader_epoch: int
    transactional: bool = False
    marker: str = ""


class HighWatermarkAdvanced(Event, frozen=True, kw_only=True):
    """Everything below `offset` is on all in-sync replicas: readers may see it, acks=all may be answered.

    Said by the leader of `leader_epoch`, which may have been deposed without knowing it yet.
    """

    partition: str
    leader_epoch: int = 0
    offset: int


class LogTruncated(Event, frozen=True, kw_only=True):
    """A replica dropped its records from `offset` up to `log_end`, and has `bytes` left.

    `appended`: as in `LeadershipTaken`.
    `reason`: `diverged`, to agree with its leader (KIP-101), or `crash`: its host had not flushed them.
    """

    partition: str
    broker: int
    offset: int
    log_end: int
    reason: str = "diverged"
    bytes: int = 0
    appended: int = 0


class LogStartAdvanced(Event, frozen=True, kw_only=True):
    """The leader of `leader_epoch` serves no fetch below `log_start` any more; its log has `bytes` now.

    `reason`: `delete records`, or `retention` (whole segments, by age or size).
    """

    partition: str
    broker: int
    leader_epoch: int
    log_start: int
    bytes: int
    reason: str


class LogCompacted(Event, frozen=True, kw_only=True):
    """The log cleaner of `broker` cleaned its replica's log from its beginning to `end`; dirty was `first_dirty` on.

    `records` were removed, at the offsets removed_from[i] … removed_to[i] - 1: later records have their keys, they are
    tombstones whose time is over, or of aborted transactions, or markers of transactions without records. The log has
    `bytes` now.
    """

    partition: str
    broker: int
    first_dirty: int
    end: int
    records: int
    removed_from: tuple[int, ...]
    removed_to: tuple[int, ...]
    bytes: int


class RecordsLost(Event, frozen=True, kw_only=True):
    """Ground truth: with what happened at `broker`, no replica's log holds these records (any more).

    `producer` and `first_serial` name them, whatever their offsets; those that are sent again live again. With acks=0
    they may never have had an offset (-1): their request found no leader.
    """

    partition: str
    broker: int
    first_offset: int
    records: int
    leader_epoch: int
    producer: str
    first_serial: int


class RecordsRecovered(Event, frozen=True, kw_only=True, tag="records_survived"):
    """Ground truth: records that `RecordsLost` named are in `broker`'s log after all, at `first_offset`.

    Their leader's disk lost them while they were on their way to this follower, which had not heard of it yet.
    """

    partition: str
    broker: int
    first_offset: int
    records: int
    leader_epoch: int
    producer: str
    first_serial: int


# --- producers -------------------------------------------------------------------------------------------------


class ProducerStateChanged(Event, frozen=True, kw_only=True):
    """A producer's application is now `Running`, `Paused`, `Fenced`, `Stopped` or `Dead`; `reason` says why."""

    producer: str
    state: str
    reason: str


class ProducerIdAssigned(Event, frozen=True, kw_only=True):
    """InitProducerId was answered: the idempotent producer's identity from now on."""

    producer: str
    producer_id: int
    epoch: int


class ProducerCoordinatorFound(Event, frozen=True, kw_only=True):
    """FindCoordinator was answered with a broker. `of`: "transaction", or "group" for offsets of a transaction."""

    producer: str
    of: str
    broker: int


class SequenceInDoubt(Event, frozen=True, kw_only=True):
    """Nothing of a partition is in flight, and a batch that was given up may be missing: the epoch is to be raised.

    `acknowledged`: the last sequence number that is in the log for certain, -1 for none; `following`: the next one.
    """

    producer: str
    partition: str
    acknowledged: int
    following: int


class BatchOpened(Event, frozen=True, kw_only=True):
    """The accumulator took `bytes` of `buffer.memory` for a new batch of this partition."""

    producer: str
    partition: str
    bytes: int


class ProduceSent(Event, frozen=True, kw_only=True):
    """A Produce request left. `records`: partition → records sent for the first time; `retried`: … sent again."""

    producer: str
    broker: int
    records: dict[str, int]
    retried: dict[str, int]
    bytes: int


class BatchAcknowledged(Event, frozen=True, kw_only=True):
    """The leader confirmed a batch; `duplicate`: it had it already, nothing was appended twice.

    `freed_bytes` go back to `buffer.memory`; `latency_us` counts from the batch's first record. With acks=0 it is the
    client's own word, given when the request was written, and `base_offset` is -1.
    """

    producer: str
    partition: str
    base_offset: int
    records: int
    freed_bytes: int
    latency_us: int
    duplicate: bool
    first_serial: int = -1


class BatchRetried(Event, frozen=True, kw_only=True):
    """A batch failed with a retriable error and will be sent again after its backoff.

    `disconnected_from`: the broker whose connection ended before it answered (NETWORK_EXCEPTION), or because it did not
    answer in time (REQUEST_TIMED_OUT); -1 when it answered.
    """

    producer: str
    partition: str
    records: int
    error: str
    attempt: int
    disconnected_from: int = -1


class BatchSplit(Event, frozen=True, kw_only=True):
    """A leader refused a batch as larger than `max.message.bytes`: its records go again at once, in `pieces` batches.

    The pieces are no part of `buffer.memory`, to which `freed_bytes` go back.
    """

    producer: str
    partition: str
    records: int
    pieces: int
    freed_bytes: int
    error: str


class BatchFailed(Event, frozen=True, kw_only=True):
    """The application was told that a batch failed for good; `sent`: it had been on the wire at least once.

    `disconnected_from`: as of `batch_retried`.
    """

    producer: str
    partition: str
    records: int
    freed_bytes: int
    error: str
    sent: bool
    disconnected_from: int = -1


class SendRefused(Event, frozen=True, kw_only=True):
    """send() failed before any batch took the record: it had waited `max.block.ms`, or the record is too large.

    `waited_for`: "memory" or "metadata"; "" when it is larger than `max.request.size` or `buffer.memory`, or when the
    producer knows that its epoch is old.
    """

    producer: str
    topic: str
    records: int
    waited_for: str
    error: str


# --- the group coordinator -------------------------------------------------------------------------------------


class MemberIdAssigned(Event, frozen=True, kw_only=True):
    """A first JoinGroup was answered MEMBER_ID_REQUIRED: the id is pending until the member joins with it.

    At `expires_at_us` the coordinator forgets it.
    """

    group: str
    member: str
    member_id: str
    broker: int
    expires_at_us: int = -1


class RebalanceStarted(Event, frozen=True, kw_only=True):
    """The group went to PreparingRebalance: the join barrier is open until `closes_at_us` at the latest.

    `cause` in the words of the scenario format (`member joined`, `session expired`…), `trigger` and `member_id` the
    member that set it off ("" for none), `detail` the coordinator's reason as Kafka logs it. `initial`: the barrier of
    a group that was Empty, which closes by time only.
    `session_deadlines_us`: members whose parked SyncGroup was answered by it, and until when their sessions run.
    """

    group: str
    generation: int
    cause: str
    trigger: str
    initial: bool
    closes_at_us: int
    broker: int
    session_deadlines_us: dict[str, int] = {}
    member_id: str = ""
    detail: str = ""


class JoinBarrierExtended(Event, frozen=True, kw_only=True):
    """The barrier stays open until `closes_at_us`: members joined in the last window, or no member rejoined."""

    group: str
    closes_at_us: int
    reason: str


class JoinReceived(Event, frozen=True, kw_only=True):
    """A member's JoinGroup is parked at the barrier. `newcomer`: the coordinator did not hold this id before.

    `session_deadline_us` is -1: a parked member cannot expire. A newcomer's parked join fails at that instant.
    `leader` is the client id of the group's leader from now on (the first member to come, until it goes).
    """

    group: str
    member: str
    member_id: str
    newcomer: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    session_deadline_us: int = -1
    leader: str = ""


class StaticMemberReplaced(Event, frozen=True, kw_only=True):
    """A static member came back: `member_id` has taken the place, assignment and leadership of `old_member_id`.

    `leader` is the client id of the group's leader now. What was parked under the old id is fenced. `goes_on`: the
    group is Stable and stays so; else the next events say that it rebalances, or that it does so already.
    """

    group: str
    member: str
    old_member_id: str
    member_id: str
    session_deadline_us: int
    goes_on: bool = False
    leader: str = ""


class JoinBarrierCompleted(Event, frozen=True, kw_only=True):
    """The barrier closed: a new generation, CompletingRebalance (or Empty when no member is left).

    `members` maps member id → client id; `leader` is the leader's client id, `last_joined` the client id the barrier
    waited for longest. Every member's session runs until its value in `session_deadlines_us` (member id → instant).
    """

    group: str
    generation: int
    protocol: str
    leader: str
    members: dict[str, str]
    session_deadlines_us: dict[str, int]
    last_joined: str
    waited_us: int


class ProtocolElected(Event, frozen=True, kw_only=True):
    """The vote for the assignor of the generation that `join_barrier_completed` began, if the offers were not alike.

    `offers`: member id → its protocols, in its order of preference; `votes`: member id → its first that all support.
    """

    group: str
    generation: int
    protocol: str
    offers: dict[str, tuple[str, ...]]
    votes: dict[str, str]


class AssignmentMade(Event, frozen=True, kw_only=True):
    """The leader of a generation has assigned the partitions: member id → partitions. Its SyncGroup may be refused."""

    group: str
    member: str
    generation: int
    assignments: dict[str, tuple[str, ...]]


class SyncReceived(Event, frozen=True, kw_only=True):
    """A member's SyncGroup reached the coordinator; the leader's brings the assignment: member id → partitions.

    `session_deadline_us` is -1 while the request is parked: the member cannot expire until it is answered.
    """

    group: str
    member: str
    member_id: str
    leader: bool
    session_deadline_us: int = -1
    assignments: dict[str, tuple[str, ...]] = {}


class GroupStabilized(Event, frozen=True, kw_only=True):
    """The leader's assignment is stored and distributed: Stable. `assignment`: member id → partitions."""

    group: str
    generation: int
    assignment: dict[str, tuple[str, ...]]
    session_deadlines_us: dict[str, int]


class MemberRemoved(Event, frozen=True, kw_only=True):
    """The coordinator dropped a member, or an id that was still pending.

    `reason` in the words of the scenario format (`session expired`…), or `group full`; `leader` is the client id of the
    group's leader after it ("" for an empty group); `client_reason` is what a LeaveGroup said (KIP-800).
    """

    group: str
    member: str
    member_id: str
    reason: str
    leader: str = ""
    client_reason: str = ""


class HeartbeatAnswered(Event, frozen=True, kw_only=True):
    """The coordinator answered a heartbeat; `session_deadline_us` is when the session ends without another one.

    -1 when the answer did not renew a session.
    """

    group: str
    member: str
    member_id: str
    error: str
    session_deadline_us: int


class SessionRenewed(Event, frozen=True, kw_only=True):
    """A member's OffsetCommit reached the coordinator: its session begins anew, whatever becomes of the commit."""

    group: str
    member: str
    member_id: str
    session_deadline_us: int


class OffsetsCommitted(Event, frozen=True, kw_only=True):
    """Offsets of the group are safe in the log. `session_deadline_us`: as in `HeartbeatAnswered`."""

    group: str
    member: str
    generation: int
    offsets: dict[str, int]
    session_deadline_us: int
    member_id: str = ""


class OffsetCommitRefused(Event, frozen=True, kw_only=True):
    """An OffsetCommit (partition → next offset) was refused: nothing was stored.

    `session_deadline_us`: as in `HeartbeatAnswered`.

    `error` CommitFailedException: the client knows that it is in no group (any more), and sent none.
    After COORDINATOR_NOT_AVAILABLE it may be told as committed yet: the append timed out, which does not undo it.
    """

    group: str
    member: str
    generation: int
    error: str
    session_deadline_us: int = -1
    member_id: str = ""
    offsets: dict[str, int] = {}


class AutoCommitFailed(Event, frozen=True, kw_only=True):
    """A commit of the consumer's own (partition → next offset) failed for good, and it goes on.

    `during`: `poll` (`auto.commit.interval.ms`), `rejoin` (before it gives up partitions) or `close`.

    `error`: of the answer; CommitFailedException or RebalanceInProgressException when it sent none, being in no group
    (any more), or in none yet. A retriable one: no answer came in the time that it has before it must rejoin.
    """

    group: str
    member: str
    during: str
    error: str
    offsets: dict[str, int]


class OffsetsExpired(Event, frozen=True, kw_only=True):
    """Offsets that the group had kept for offsets.retention.minutes are dropped."""

    group: str
    partitions: tuple[str, ...]


class GroupDeleted(Event, frozen=True, kw_only=True):
    """The group is no more, nor are its offsets: deleted, nothing left to keep, or not in its new coordinator's log."""

    group: str
    broker: int


class GroupLoaded(Event, frozen=True, kw_only=True):
    """A new coordinator replayed the group's partition: `state`, members, assignment, offsets as the log has them."""

    group: str
    broker: int
    state: str
    generation: int
    protocol: str
    leader: str
    members: dict[str, str]
    assignment: dict[str, tuple[str, ...]]
    session_deadlines_us: dict[str, int]
    offsets: dict[str, int] = {}


class GroupUnloaded(Event, frozen=True, kw_only=True):
    """The coordinator resigned: parked joins and syncs were answered NOT_COORDINATOR, memory is gone."""

    group: str
    broker: int


# --- the coordinator of groups of the new protocol (KIP-848) -----------------------------------------------------


class GroupProtocolDeclared(Event, frozen=True, kw_only=True):
    """The members of a group speak the new protocol: `protocol` is `consumer`. Classic groups do not say theirs.

    `topic_regex`: what its members subscribe to instead of topics, "" for none.
    """

    group: str
    protocol: str
    topic_regex: str = ""


class GroupProtocolConverted(Event, frozen=True, kw_only=True):
    """The coordinator keeps the group as one of another protocol from now on: `consumer` or `classic`."""

    group: str
    protocol: str
    broker: int


class ClassicGroupUpgraded(Event, frozen=True, kw_only=True):
    """A classic group with members became a consumer group: a member of the new protocol joined it (online upgrade).

    `epoch`: the group's, the assignment's and each member's, the last generation. Maps are member id → value; members
    own what their last assignment gave them. `topics`: what they subscribe to.
    """

    group: str
    broker: int
    epoch: int
    members: dict[str, str]
    instance_ids: dict[str, str]
    topics: dict[str, tuple[str, ...]]
    assigned: dict[str, tuple[str, ...]]
    session_deadlines_us: dict[str, int]


class ConsumerGroupDowngraded(Event, frozen=True, kw_only=True):
    """A consumer group became a classic one, since only members of the classic protocol are left (online downgrade).

    `generation`: the group epoch. `assignment`: the targets that the members had.
    """

    group: str
    broker: int
    generation: int
    protocol: str
    leader: str
    members: dict[str, str]
    assignment: dict[str, tuple[str, ...]]
    session_deadlines_us: dict[str, int]


class GroupConversionRefused(Event, frozen=True, kw_only=True):
    """The coordinator did not convert a group to `protocol`, or let no classic member join; `reason` in Kafka's words.

    `member`: the client id of the member that joins; "" when a member left.
    """

    group: str
    broker: int
    protocol: str
    reason: str
    member: str = ""


class MemberProtocolChanged(Event, frozen=True, kw_only=True):
    """A member of a consumer group speaks another protocol than before: `classic`, or `consumer` again.

    A member speaks the new protocol until this event says otherwise.
    """

    group: str
    member: str
    member_id: str
    protocol: str


class ClassicMemberIdAssigned(Event, frozen=True, kw_only=True):
    """A classic member without an id wants to join a consumer group: it is to join again with this one."""

    group: str
    member: str
    member_id: str
    broker: int


class ClassicMemberAwaited(Event, frozen=True, kw_only=True):
    """The coordinator awaits a request of a classic member of a consumer group, and removes the member without it.

    `request`: JoinGroup (the member was told to rejoin) or SyncGroup (it has joined). `until_us`: when the wait ends;
    -1 when the request has come.
    """

    group: str
    member: str
    member_id: str
    request: str
    until_us: int


class ConsumerMemberSubscribed(Event, frozen=True, kw_only=True):
    """A member joined a group of the new protocol, or its heartbeat brought another subscription or timeout.

    `epoch` is the member epoch that it sent: 0 when it joins. `session_deadline_us`: as in `HeartbeatAnswered`.
    """

    group: str
    member: str
    member_id: str
    instance_id: str
    epoch: int
    topics: tuple[str, ...]
    topic_regex: str
    assignor: str
    rebalance_timeout_ms: int
    session_deadline_us: int = -1


class ConsumerGroupEpochBumped(Event, frozen=True, kw_only=True):
    """The group epoch rose: the target assignment is out of date. `cause` in the words of the scenario format.

    `members` and `member_ids`: who set it off, client ids and the coordinator's ids; empty for a change of metadata.
    `metadata_hash`: of the subscribed topics and their numbers of partitions.
    """

    group: str
    epoch: int
    cause: str
    broker: int
    metadata_hash: int
    members: tuple[str, ...] = ()
    member_ids: tuple[str, ...] = ()


class TargetAssignmentComputed(Event, frozen=True, kw_only=True):
    """The broker's assignor computed the target for a group epoch. `target`: member id → partitions, where changed."""

    group: str
    epoch: int
    assignor: str
    target: dict[str, tuple[str, ...]]


class MemberAssignmentChanged(Event, frozen=True, kw_only=True):
    """The coordinator moved a member towards its target.

    `state`: STABLE, UNREVOKED_PARTITIONS (it must give up `pending_revocation` first; its epoch stays) or
    UNRELEASED_PARTITIONS (partitions of its target belong to other members yet). `fenced_at_us`: when a member that
    still has partitions to give up is removed (its rebalance timeout), else -1.
    """

    group: str
    member: str
    member_id: str
    state: str
    epoch: int
    previous_epoch: int
    assigned: tuple[str, ...]
    pending_revocation: tuple[str, ...] = ()
    fenced_at_us: int = -1


class StaticMemberLeft(Event, frozen=True, kw_only=True):
    """A static member left with epoch -2: the coordinator keeps its partitions for it until its session ends."""

    group: str
    member: str
    member_id: str
    instance_id: str
    session_deadline_us: int


class TopicRegexResolved(Event, frozen=True, kw_only=True):
    """The coordinator matched the regular expression of a subscription with `scanned` topics; `topics` fit."""

    group: str
    regex: str
    topics: tuple[str, ...]
    scanned: int


class ConsumerGroupStateChanged(Event, frozen=True, kw_only=True):
    """The state of a group of the new protocol: Empty, Assigning, Reconciling, Stable or Dead."""

    group: str
    state: str
    broker: int


class ConsumerGroupLoaded(Event, frozen=True, kw_only=True):
    """A coordinator replayed a group of the new protocol, with every member's epoch and assignment.

    Maps are member id → value; `members` has the client ids. Every member gets a new session.
    """

    group: str
    broker: int
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor: str
    members: dict[str, str]
    states: dict[str, str]
    epochs: dict[str, int]
    previous_epochs: dict[str, int]
    assigned: dict[str, tuple[str, ...]]
    pending_revocation: dict[str, tuple[str, ...]]
    target: dict[str, tuple[str, ...]]
    fenced_at_us: dict[str, int]
    session_deadlines_us: dict[str, int]
    offsets: dict[str, int]


# --- consumers -------------------------------------------------------------------------------------------------


class MemberStarted(Event, frozen=True, kw_only=True):
    """A consumer's process runs and begins to look for its coordinator."""

    group: str
    member: str


class MemberStartingUp(Event, frozen=True, kw_only=True):
    """A consumer's process loads its application (`startup` of its group): it calls its first poll() at `until_us`."""

    group: str
    member: str
    until_us: int


class MemberReady(Event, frozen=True, kw_only=True):
    """A consumer is ready, as a readiness probe sees it: it polls, or has its first assignment (`ready`)."""

    group: str
    member: str


class MemberStopped(Event, frozen=True, kw_only=True):
    """A consumer's process ended; no consumer reads the partitions that it owned.

    `how`: `stop` (close()), `kill`, `crash` (its application died on a record, or ended on an error and closed the
    consumer); `reason`: what made it crash, in words ("" otherwise).
    """

    group: str
    member: str
    how: str
    reason: str = ""


class MemberPaused(Event, frozen=True, kw_only=True):
    """A consumer's whole process froze: poll loop and heartbeat thread."""

    group: str
    member: str


class MemberResumed(Event, frozen=True, kw_only=True):
    """A frozen consumer goes on."""

    group: str
    member: str


class MemberStateChanged(Event, frozen=True, kw_only=True):
    """The client's own state: Joining, Syncing, Stable, Revoking, Fenced, Left or Dead; `reason` says why."""

    group: str
    member: str
    member_id: str
    generation: int
    state: str
    reason: str


class MemberEpochChanged(Event, frozen=True, kw_only=True):
    """The client of the new protocol has another member epoch: from the coordinator; 0: it joins; -1, -2: it leaves."""

    group: str
    member: str
    member_id: str
    epoch: int


class ConsumerFenced(Event, frozen=True, kw_only=True):
    """FencedInstanceIdException: another process joined with this member's `group.instance.id`; this one stops."""

    group: str
    member: str
    member_id: str
    instance_id: str
    reason: str


class ApplicationFailed(Event, frozen=True, kw_only=True):
    """poll() threw something that the application does not survive: it closes its consumer and ends."""

    group: str
    member: str
    reason: str


class SubscriptionChanged(Event, frozen=True, kw_only=True):
    """A member wants exactly these topics from its next poll() on, or from its next start."""

    group: str
    member: str
    topics: tuple[str, ...]


class CoordinatorFound(Event, frozen=True, kw_only=True):
    """FindCoordinator was answered with a broker."""

    group: str
    member: str
    broker: int


class CoordinatorLost(Event, frozen=True, kw_only=True):
    """A consumer gave its coordinator up and looks for it again; `cause` in Kafka's words.

    `disconnected`: the connection had ended before, else the consumer ends it.
    """

    group: str
    member: str
    broker: int
    cause: str
    disconnected: bool


class PartitionsAssigned(Event, frozen=True, kw_only=True):
    """onPartitionsAssigned, or assign() (generation -1): the consumer holds these, beside what it kept."""

    group: str
    member: str
    generation: int
    partitions: tuple[str, ...]


class PartitionsRevoked(Event, frozen=True, kw_only=True):
    """onPartitionsRevoked, or onPartitionsLost when `lost`: the consumer no longer holds these."""

    group: str
    member: str
    partitions: tuple[str, ...]
    lost: bool


class RebalanceListenerCalled(Event, frozen=True, kw_only=True):
    """onPartitionsRevoked of the rebalance listener begins; the partitions are given up when it returns."""

    group: str
    member: str
    partitions: tuple[str, ...]


class RebalanceListenerReturned(Event, frozen=True, kw_only=True):
    """onPartitionsRevoked has returned. `commit`: `stored`, `failed`, or nothing for a listener without commitSync.

    `offsets`: what it stored for these partitions (partition → next offset).
    """

    group: str
    member: str
    partitions: tuple[str, ...]
    commit: str
    offsets: dict[str, int] = {}


class PositionsReset(Event, frozen=True, kw_only=True):
    """Positions were set other than by reading.

    `reason`: `committed`, `earliest`, `latest`, `by_duration`, `seek`, `truncated`.
    """

    group: str
    member: str
    positions: dict[str, int]
    reason: str


class PositionsRolledBack(Event, frozen=True, kw_only=True, tag="positions_given_up"):
    """The application aborted its transaction for `reason` and goes back to what its group has committed.

    It has no positions in `partitions` until its coordinator has said where that is.
    """

    group: str
    member: str
    partitions: tuple[str, ...]
    reason: str


class PositionOutOfRange(Event, frozen=True, kw_only=True):
    """The log does not reach the consumer's position (any more): it has none until `reset` has found another one.

    `reset` is `auto.offset.reset`; with `none` the application is told and ends.
    """

    group: str
    member: str
    partition: str
    position: int
    reset: str


class PositionTruncated(Event, frozen=True, kw_only=True):
    """The leader of `leader_epoch` says that its log parts, at `diverging`, from what a consumer has read.

    The consumer stood at `position`, behind a record of `offset_epoch`. In the leader's log the largest epoch up to
    that one is `diverging_epoch`, and ends at `diverging`; -1 and -1: it knows none. The consumer goes on there, or
    where `reset` (`auto.offset.reset`) says; with `none` the application is told and ends.
    """

    group: str
    member: str
    partition: str
    position: int
    offset_epoch: int
    leader_epoch: int
    diverging: int
    diverging_epoch: int
    reset: str


class PartitionsPaused(Event, frozen=True, kw_only=True):
    """pause(): poll() returns no records of these from now on, and fetches none; what is fetched is kept."""

    group: str
    member: str
    partitions: tuple[str, ...]


class PartitionsResumed(Event, frozen=True, kw_only=True):
    """resume(): poll() returns records of these partitions again."""

    group: str
    member: str
    partitions: tuple[str, ...]


class PreferredReadReplicaChanged(Event, frozen=True, kw_only=True):
    """A consumer fetches a partition from `broker` from now on (KIP-392); -1: from the leader again.

    `reason`: `selected` by the leader's replica selector, `expired` after metadata.max.age.ms, `disconnected`,
    `offline` in metadata, `leader changed`, or the error that a fetch was answered with.
    """

    group: str
    member: str
    partition: str
    broker: int
    reason: str


class PollReturned(Event, frozen=True, kw_only=True):
    """poll() returned `records` records; `positions`: where each partition that gave some stands now.

    `fetches` counts Fetch requests answered since the last one, idle long polls that were sent again included.
    """

    group: str
    member: str
    records: int
    positions: dict[str, int]
    fetches: int


class PollStarted(Event, frozen=True, kw_only=True):
    """The application called poll() again, after its records or after it was held up (`stalled`)."""

    group: str
    member: str


class RecordsProcessed(Event, frozen=True, kw_only=True):
    """The application finished records `first_offset` … `next_offset - 1` of one partition.

    `repeated` (ground truth): how many of them its group had finished before, by identity and not by offset.
    """

    group: str
    member: str
    partition: str
    first_offset: int
    next_offset: int
    repeated: int = 0


class TruncatedRecordsProcessed(Event, frozen=True, kw_only=True):
    """Ground truth: the application worked on records that were truncated since they were fetched.

    The last leader's log does not have them: it ends before their offsets, or other records stand there. `producer` and
    `first_serial` name them; the next `records_processed` of this member and partition has their offsets.
    """

    group: str
    member: str
    partition: str
    first_offset: int
    records: int
    leader_epoch: int
    producer: str
    first_serial: int


class RecordSkipped(Event, frozen=True, kw_only=True):
    """The application gave up on one record and goes on behind it; `reason` in words."""

    group: str
    member: str
    partition: str
    offset: int
    reason: str


class RecordFailed(Event, frozen=True, kw_only=True):
    """An attempt of the application at a record failed; it tries again in `retry_us`, or not at all (-1)."""

    group: str
    member: str
    partition: str
    offset: int
    attempt: int
    retry_us: int
    reason: str


class RecordDeadLettered(Event, frozen=True, kw_only=True):
    """The application gave up on one record, and sent it to its dead-letter topic: it has finished the record."""

    group: str
    member: str
    partition: str
    offset: int
    topic: str


class KeyOrderBroken(Event, frozen=True, kw_only=True):
    """Ground truth: for the first time a group finished records of this key in another order than produced."""

    group: str
    topic: str
    key: int


class ApplicationStalled(Event, frozen=True, kw_only=True):
    """The application stopped calling poll() (a slow call, a deadlock); `until_us` is -1 for a stall without an end."""

    group: str
    member: str
    until_us: int


class HeartbeatsPaused(Event, frozen=True, kw_only=True):
    """Only the heartbeat thread of a consumer stands still (`paused`), or goes on again."""

    group: str
    member: str
    paused: bool


class PositionsMovedOn(Event, frozen=True, kw_only=True):
    """A consumer's positions passed offsets that no application gets: markers, or records of aborted transactions."""

    group: str
    member: str
    positions: dict[str, int]


# --- transactions ------------------------------------------------------------------------------------------------


class TransactionStateChanged(Event, frozen=True, kw_only=True):
    """A transactional id's new state is committed in `__transaction_state`; `loaded`: its coordinator read it there.

    `start_us` is -1 while there is no transaction; `partitions` are those of the transaction under way.
    """

    transactional_id: str
    broker: int
    state: str
    producer_id: int
    epoch: int
    timeout_ms: int
    start_us: int
    partitions: tuple[str, ...]
    loaded: bool = False


class ProducerEpochRefused(Event, frozen=True, kw_only=True):
    """A transactional producer's request came with an epoch that is not the newest: it is fenced.

    `partition` is the one whose leader refused (INVALID_PRODUCER_EPOCH), "" when the coordinator did (PRODUCER_FENCED).
    """

    transactional_id: str
    producer_id: int
    epoch: int
    partition: str = ""


class TransactionFenced(Event, frozen=True, kw_only=True):
    """A coordinator raises the epoch of an ongoing transaction (PrepareEpochFence) to abort it; its producer is fenced.

    `epoch` counts from now on, and no producer has it. `reason`: `timeout` (open for longer than
    transaction.timeout.ms) or `InitProducerId` (a producer with the same transactional id begins).
    """

    transactional_id: str
    broker: int
    producer_id: int
    epoch: int
    reason: str


class TransactionOffsetsRefused(Event, frozen=True, kw_only=True):
    """The group's coordinator refuses a TxnOffsetCommit: the transaction can only be aborted.

    `error` as Kafka names it: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID (KIP-447); or
    INVALID_PRODUCER_EPOCH, when the log knows a newer epoch of the producer.
    """

    transactional_id: str
    group: str
    member_id: str
    generation: int
    error: str


class TransactionMarkerRefused(Event, frozen=True, kw_only=True):
    """A partition's leader knows a newer epoch than a marker bears: of the producer, or of its coordinator.

    `error`: INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED (its sender is not the coordinator any more).
    """

    partition: str
    producer_id: int
    epoch: int
    coordinator_epoch: int
    error: str


class HangingTransactionAborted(Event, frozen=True, kw_only=True):
    """An administrator ends a producer's open transaction in one partition; an ABORT marker follows."""

    partition: str
    producer_id: int
    epoch: int


# --- rollouts ----------------------------------------------------------------------------------------------------


class RolloutStarted(Event, frozen=True, kw_only=True):
    """The members of a group, or the brokers, begin to be replaced; the limits are numbers of processes.

    `workload`: `deployment`, `statefulset` or `brokers`; `target`: the group, or `brokers`. `replaced`: who is to be
    replaced; `ready`: who of them is ready now; `names`: the processes that are there in the end.
    """

    target: str
    workload: str
    max_unavailable: int
    max_surge: int
    replaced: tuple[str, ...]
    ready: tuple[str, ...]
    names: tuple[str, ...]


class RolloutAdvanced(Event, frozen=True, kw_only=True):
    """A rollout asks processes to stop, and starts others; of one name in both it starts when it has stopped.

    `replicas` and the limits as they are now: a group can be scaled meanwhile. `awaits_isr`: with a replica out of sync
    it would not have gone on.
    """

    target: str
    workload: str
    stops: tuple[str, ...]
    starts: tuple[str, ...]
    replicas: int
    max_unavailable: int
    max_surge: int
    awaits_isr: bool = False


class GroupAutoscaled(Event, frozen=True, kw_only=True):
    """A group's autoscaler gives the command to scale it; `desired`: what its lag asks for, `to`: what it may have."""

    group: str
    lag: int
    desired: int
    members: int
    to: int


class RolloutEnded(Event, frozen=True, kw_only=True):
    """A rollout is over; `how`: `complete` (all are replaced and ready), `ended` (a command), `superseded`."""

    target: str
    workload: str
    how: str


# --- faults ----------------------------------------------------------------------------------------------------


class FaultStarted(Event, frozen=True, kw_only=True):
    """A command started a fault; `ends_at_us` is -1 for a fault that lasts until a command ends it.

    `fault_kind` is the kind of the command by `cluster.commands.kind_of`, e.g. `kill` or `cut_one_way`; `targets` are
    the processes, groups, topics and partitions that the command names, in the order of its text.
    """

    fault: int
    text: str
    ends_at_us: int
    fault_kind: str = ""
    targets: tuple[str, ...] = ()


class FaultEnded(Event, frozen=True, kw_only=True):
    """A fault ended: its time was over, a command ended it, or its process started again."""

    fault: int


class SettingChanged(Event, frozen=True, kw_only=True):
    """A configuration key or scenario field of a scope was set in the running cluster, or put back.

    `value` and `before` as a person writes them; `effect`: `now`, or `at the next start` of each of the `processes`.
    """

    scope: str
    key: str
    value: str
    before: str
    processes: tuple[str, ...]
    effect: str


class CommandRefused(Event, frozen=True, kw_only=True):
    """A command could not be carried out as things stood when its turn came; nothing was changed."""

    text: str
    reason: str


def kind_of(event: Event | type[Event]) -> str:
    """The `kind` under which an event is journaled, e.g. `records_appended`."""
    tag = event.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


EVENT_KINDS: dict[str, type[Event]] = {kind_of(cls): cls for cls in Event.__subclasses__()}
