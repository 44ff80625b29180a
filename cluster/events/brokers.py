"""Brokers, the controller, and partitions with their logs."""

from cluster.events.event import Event


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

    `reason`: `created`, `broker fenced`, `controlled shutdown`, `broker returned`, `preferred`, `unclean`, `moved`,
    `reassigned` (also of a leader that stays: a replica that left may not fetch in the new epoch).
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


class PartitionReassigned(Event, frozen=True, kw_only=True):
    """The controller gave a partition other replicas, the preferred leader first.

    `step`: `started`: `adding` and `removing` are among the replicas until it is over; `completed`, also at once;
    `cancelled`. Its change of leader or ISR is told before it. `min_insync_replicas` is the topic's, which counts up
    to the number of replicas. Source: `PartitionChangeRecord`.
    """

    partition: str
    step: str
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    min_insync_replicas: int


class ReplicaDeleted(Event, frozen=True, kw_only=True):
    """A broker learned that it has no replica of the partition any more, and deleted its log, which had `bytes`."""

    partition: str
    broker: int
    log_end: int
    bytes: int


class RecordsAppended(Event, frozen=True, kw_only=True):
    """The leader appended one batch; its log now ends at `base_offset + count`.

    A `marker` ("COMMIT" or "ABORT") is a control record that ends the transaction of its producer id here.
    `created_us`: the CreateTime of its first record. `keys`: the key of each record, a number whose decimal digits are
    sent, -1 for a record without one; empty when no record has a key.
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
    created_us: int = -1
    keys: tuple[int, ...] = ()


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
