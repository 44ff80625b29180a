"""A classic consumer group as its coordinator knows it: members, generation, and who is waiting for what.

Theory of operation. A rebalance has two phases. The *join barrier* (PreparingRebalance) parks every JoinGroup until all
members have one outstanding, or time is up; then the generation is fixed and all are answered at once. The *sync*
(CompletingRebalance) parks every SyncGroup until the leader's has brought the assignment and it is safe in the log.

Durable (it survives a failover, by replay): `stored`, `logged_offsets`, `transactional_offsets`. All else is memory:
members of a generation that is not stored yet, parked calls, handed-out ids, deadlines.

Order. Where Kafka depends on the order of a hash map, this coordinator takes the order in which members were added; a
replaced static member keeps its predecessor's place, and a loaded group has the order of its record. So: the next
leader is the earliest member, a tie of the protocol vote goes to the protocol that was voted for first.
Source: Kafka's `ClassicGroup` and `ClassicGroupMember`.
"""

from collections import Counter, deque

from cluster.coordinators.decision import Call, DeadlineName
from cluster.coordinators.group.states import GROUP_STATES, GroupEvent, GroupState
from cluster.coordinators.records import CommittedOffset, GroupMetadataValue, StoredMember
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupMember, JoinGroupRequest, MemberMetadata, OffsetCommitRequest
from cluster.reach import reached

SESSION, JOIN_BARRIER, SYNC, RETENTION = range(4)
"""Kinds of deadlines, in the order in which equal instants are handled."""

NOT_ARMED = -1
"""The session deadline of a member whose JoinGroup or SyncGroup is parked: it cannot expire until it is answered."""


class GroupMember:
    """One member of a group.

    `session_deadline_us` is when the coordinator drops it unless something renews the session; `NOT_ARMED` while a
    join or sync of it is parked, except that a brand-new member's parked join fails after five minutes.
    `assignment` is what the last stored assignment gave it; a rebalance does not clear it, the next one replaces it.
    """

    __slots__ = (
        "assignment",
        "client_id",
        "instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_deadline_us",
        "session_name",
        "session_timeout_ms",
    )

    def __init__(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        timeouts_ms: tuple[int, int],
        protocols: dict[str, MemberMetadata],
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.session_timeout_ms, self.rebalance_timeout_ms = timeouts_ms
        self.protocols = protocols
        self.assignment: tuple[str, ...] = ()
        self.is_new = False  # true until its first JoinGroup is answered
        self.session_deadline_us = NOT_ARMED
        self.session_name: DeadlineName = (SESSION, group_id, member_id)

    def vote(self, candidates: list[str]) -> str:
        """Its first protocol that every member supports."""
        return next(protocol for protocol in self.protocols if protocol in candidates)

    def stored(self, protocol: str, assignment: tuple[str, ...]) -> StoredMember:
        """It, as the log keeps it."""
        return StoredMember(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.session_timeout_ms,
            self.rebalance_timeout_ms,
            self.protocols[protocol],
            assignment,
        )


class PendingCommit:
    """An accepted OffsetCommit whose records are in the log, or on their way into it.

    `renewed_us` is until when its arrival lets its member's session run; `settled` says that its client was answered.
    """

    __slots__ = ("call", "errors", "member", "records", "renewed_us", "request", "settled")

    def __init__(self, request: OffsetCommitRequest, call: Call, member: GroupMember | None) -> None:
        self.request = request
        self.call = call
        self.member = member
        self.records: list[CommittedOffset] = []
        self.errors: dict[str, ErrorCode] = {}
        self.renewed_us = NOT_ARMED
        self.settled = False


class ClassicGroup:
    """One group. Its methods keep its maps in step with each other; the rules of the protocol are in `group_*.py`."""

    def __init__(self, group_id: str, now_us: int) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.since_us = now_us
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader = ""  # a member id
        self.members: dict[str, GroupMember] = {}
        self.static_members: dict[str, str] = {}  # group.instance.id → member id
        self.pending: dict[str, str] = {}  # handed-out member id → client id, until it joins with it
        self._supporters: Counter[str] = Counter()  # protocol → how many members support it

        self.parked_joins: dict[str, Call] = {}  # member id → whom to answer, in the order of arrival
        self.parked_syncs: dict[str, Call] = {}
        self.awaited_syncs: dict[str, None] = {}  # members of this generation that have not sent a SyncGroup
        self.barrier_deadline_us = NOT_ARMED
        self.rebalance_started_us = now_us
        self.interrupted = False  # loaded from the log, and somebody's join had ended with the coordinator before
        self.loaded_again = False  # until the first generation that this coordinator completes
        self.newcomer_in_window = False  # somebody joined at an initial barrier since it, or one before, was extended
        self.window_us = 0
        self.remaining_us = 0

        self.stored: GroupMetadataValue | None = None
        self.logged_offsets: dict[str, CommittedOffset] = {}
        self.transactional_offsets: dict[int, dict[str, tuple[int, CommittedOffset]]] = {}  # producer id → partition
        self.log_positions: dict[str, int] = {}  # this and the next: see group_offset_log
        self.last_log_position = 0
        self.offsets: dict[str, CommittedOffset] = {}  # what is safe: all that anybody may read
        self.pending_commits: deque[PendingCommit] = deque()  # in the log, in its order, and not yet safe
        self.parked_fetches: list[tuple[Call, tuple[str, ...]]] = []

    @property
    def initial(self) -> bool:
        """Whether the open join barrier is that of a group that was Empty: it closes by time only."""
        return self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY

    @property
    def all_joined(self) -> bool:
        """Whether every member has a JoinGroup parked and no handed-out id is still to come back."""
        return len(self.parked_joins) == len(self.members) and not self.pending

    @property
    def unused(self) -> bool:
        """Whether there is nothing that the group is kept for: it began with an append that did not happen."""
        durable = self.stored is not None or self.logged_offsets or self.transactional_offsets
        return not (durable or self.pending_commits or self.members or self.pending)

    @property
    def rebalance_timeout_us(self) -> int:
        """The longest rebalance timeout of the members (for consumers: max.poll.interval.ms); 0 without members."""
        return 1000 * max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def leader_name(self) -> str:
        """The leader's client id, "" without a leader."""
        leader = self.members.get(self.leader)
        return leader.client_id if leader else ""

    @property
    def assignment(self) -> dict[str, tuple[str, ...]]:
        """Member id → partitions, as last stored."""
        return {member_id: member.assignment for member_id, member in self.members.items()}

    def transition(self, event: GroupEvent, now_us: int) -> None:
        """Change the state by the table of legal transitions. Raises IllegalTransition."""
        self.previous_state, self.state = self.state, GROUP_STATES.next_state(self.state, event)
        self.since_us = now_us

    def validate_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """The common first checks of every member's request; NONE when it is who it says it is (KIP-345)."""
        if self.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                reached("static: fenced")
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def supports(self, protocol_type: str, protocols: dict[str, MemberMetadata]) -> bool:
        """Whether a member with these protocols can be in the group: one of them must be common to all."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        everybody = len(self.members)
        return self.protocol_type == protocol_type and any(self._supporters[name] == everybody for name in protocols)

    def add(self, member: GroupMember, protocol_type: str) -> None:
        """Take a member in; the first one ever leads."""
        if not self.members:
            self.protocol_type = protocol_type
        if not self.leader:
            self.leader = member.member_id
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._supporters.update(member.protocols.keys())
        self.pending.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Forget a member or a handed-out id, with everything that waits for it; the earliest member leads next."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supporters.subtract(member.protocols.keys())
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), "")
        self.pending.pop(member_id, None)
        self.parked_joins.pop(member_id, None)
        self.parked_syncs.pop(member_id, None)
        self.awaited_syncs.pop(member_id, None)

    def replace_static(self, old: GroupMember, new_member_id: str, client_id: str) -> GroupMember:
        """Give a static member a new id, in the same place, with everything that it had except parked calls.

        Kafka keeps the old client id; here it is the newest process's, since it is how a member is named.
        """
        new = GroupMember(
            self.group_id,
            new_member_id,
            old.instance_id,
            client_id,
            (old.session_timeout_ms, old.rebalance_timeout_ms),
            old.protocols,
        )
        new.assignment = old.assignment
        self.members = {member.member_id: member for member in [new if m is old else m for m in self.members.values()]}
        assert old.instance_id is not None
        self.static_members[old.instance_id] = new_member_id
        if self.leader == old.member_id:
            self.leader = new_member_id
        self.parked_joins.pop(old.member_id, None)
        self.parked_syncs.pop(old.member_id, None)
        self.awaited_syncs.pop(old.member_id, None)
        return new

    def update(
        self,
        member: GroupMember,
        protocols: dict[str, MemberMetadata],
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
    ) -> None:
        """Take over what a member's new JoinGroup says of it."""
        self._supporters.subtract(member.protocols.keys())
        self._supporters.update(protocols.keys())
        member.protocols = protocols
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms

    def park_join(self, member_id: str, call: Call) -> None:
        """Keep a JoinGroup for the barrier; an earlier one of the same member is forgotten, as in Kafka, unanswered."""
        self.parked_joins.pop(member_id, None)
        self.parked_joins[member_id] = call

    def select_protocol(self) -> str:
        """The protocol of the next generation: every member votes, most votes win, a tie goes to the earliest vote."""
        everybody = len(self.members)
        candidates = [protocol for protocol, supporters in self._supporters.items() if supporters == everybody]
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=votes.__getitem__)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take the earliest member that has; False when nobody has."""
        if self.leader not in self.parked_joins:
            joined = next((member_id for member_id in self.members if member_id in self.parked_joins), None)
            if joined is None:
                return False
            self.leader = joined
        return True

    def member_list(self) -> tuple[JoinGroupMember, ...]:
        """The subscriptions that only the leader receives."""
        return tuple(
            JoinGroupMember(member.member_id, member.instance_id, member.protocols[self.protocol])
            for member in self.members.values()
        )

    def record(self, assignment: dict[str, tuple[str, ...]]) -> GroupMetadataValue:
        """The group with this assignment, as the log keeps it."""
        return GroupMetadataValue(
            group=self.group_id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=self.leader,
            since_us=self.since_us,
            members=tuple(
                member.stored(self.protocol, assignment.get(member.member_id, ())) for member in self.members.values()
            ),
        )

    def restore(self) -> None:
        """Become what the log says, on a new coordinator: Stable with members, else Empty."""
        self.loaded_again = True
        self.offsets = dict(self.logged_offsets)
        stored = self.stored
        if stored is None:
            return
        self.generation, self.protocol = stored.generation, stored.protocol
        self.since_us = stored.since_us
        for kept in stored.members:
            member = GroupMember(
                self.group_id,
                kept.member_id,
                kept.instance_id,
                kept.client_id,
                (kept.session_timeout_ms, kept.rebalance_timeout_ms),
                {stored.protocol: kept.metadata},
            )
            member.assignment = kept.assignment
            self.add(member, stored.protocol_type)
        self.protocol_type, self.leader = stored.protocol_type, stored.leader
        if self.members:
            self.state = GROUP_STATES.next_state(self.state, GroupEvent.LOADED)


def same_protocols(member: GroupMember, request: JoinGroupRequest) -> bool:
    """Whether a JoinGroup repeats what the coordinator knows of the member: protocols, their order, their metadata."""
    return list(member.protocols.items()) == list(request.protocols.items())
