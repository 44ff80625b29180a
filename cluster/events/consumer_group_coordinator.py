"""The coordinator of groups of the new protocol (KIP-848), and their migration."""

from cluster.events.event import Event


class GroupProtocolDeclared(Event, frozen=True, kw_only=True):
    """The members of a group speak the new protocol: `protocol` is `consumer`. Classic groups do not say theirs.

    `topic_regex`: what its members subscribe to instead of topics, "" for none.
    """

    group: str
    protocol: str
    topic_regex: str = ""


class MemberProtocolDeclared(Event, frozen=True, kw_only=True):
    """A member's next process speaks another protocol than its group's first member: `consumer` or `classic`."""

    group: str
    member: str
    protocol: str


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

    `members` and `member_ids`: those that set it off, by client id and by the coordinator's id; empty for a change of
    metadata. `metadata_hash`: of the subscribed topics and their numbers of partitions.
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
