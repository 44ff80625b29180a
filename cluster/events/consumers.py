"""Consumers: members as they see themselves, polls, positions and applications."""

from cluster.events.event import Event


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
    """A member wants exactly these topics from its next poll() on, or from its next start; none: unsubscribe()."""

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


class RecordsFetched(Event, frozen=True, kw_only=True):
    """A Fetch brought records that stay in the consumer's buffer: no poll() returns all of them at once.

    Of each partition: the position at which all of them are read (`next_offsets`), the number of `records` from the
    consumer's position on, the `bytes` of their batches. The partition is not fetched before they are read. No event
    tells of records that the poll() which waits for them returns at once. Source: `FetchBuffer`, `CompletedFetch`.
    """

    group: str
    member: str
    broker: int
    next_offsets: dict[str, int]
    records: dict[str, int]
    bytes: dict[str, int]


class FetchedRecordsDropped(Event, frozen=True, kw_only=True):
    """A consumer drops the buffered records of these partitions, which no poll() has returned.

    `reason`: `revoked`, `lost`, `seek`, `out of range`, `transaction aborted` (it goes back to what is committed), or
    `leader changed`: the position awaits validation. What a process holds when it ends goes without an event.
    """

    group: str
    member: str
    partitions: tuple[str, ...]
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
