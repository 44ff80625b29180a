"""The group coordinator: classic groups, and offsets of all groups."""

from cluster.events.event import Event


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


class OffsetsDeleted(Event, frozen=True, kw_only=True):
    """Committed offsets of the group that an administrator deleted, alone or with the group, are dropped."""

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
