"""A classic consumer group in its coordinator's memory: members, generation, parked calls.

Theory of operation. A rebalance has two phases. The *join barrier* (PreparingRebalance) parks every JoinGroup until
every member has one outstanding, or the rebalance timeout ends. Then the coordinator fixes the generation and answers
all of them at once. The *sync* (CompletingRebalance) parks every SyncGroup until the leader's assignment is committed.

Durable (rebuilt by replay after a failover): `stored`, `logged_offsets`, `transactional_offsets`. Memory only: members
of a generation that is not stored yet, parked calls, pending member ids, deadlines.

Order. Where Kafka depends on the order of a hash map, this coordinator uses the order in which members were added. A
replaced static member keeps its predecessor's place; a loaded group has the order of its record. So the next leader is
the earliest member, and a tied protocol vote goes to the protocol with the earliest vote.
Source: Kafka's `ClassicGroup` and `ClassicGroupMember`.
"""

from collections import Counter
from typing import Final

from cluster.coordinators.decision import Call, DeadlineName
from cluster.coordinators.group.group_offsets import GroupOffsets
from cluster.coordinators.group.states import GROUP_STATES, GroupEvent, GroupState
from cluster.coordinators.records import GroupMetadataValue, StoredMember
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import JoinGroupMember, JoinGroupRequest, MemberMetadata
from cluster.reach import reached

SESSION, JOIN_BARRIER, SYNC, RETENTION, REVOCATION, REGEX, CLASSIC_JOIN, CLASSIC_SYNC = range(8)
"""Kinds of deadlines, in the order of their handling at equal instants.

The last two: how long a consumer group waits for a request of a member that speaks the classic protocol."""

NOT_ARMED: Final = -1
"""The session deadline of a member with a parked JoinGroup or SyncGroup: it cannot expire before the answer."""

RETIRED: Final = -1  # the generation of a group object that another has replaced


class GroupMember:
    """One member of a group.

    `session_deadline_us` is when the coordinator removes the member unless a request renews the session. It is
    `NOT_ARMED` while a join or sync is parked; only a new member's parked join still fails, after five minutes.
    `assignment` holds the partitions of the last stored assignment; a rebalance keeps it until the next one is stored.
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
        """The member's first protocol among `candidates`, the protocols that every member supports."""
        return next(protocol for protocol in self.protocols if protocol in candidates)

    def stored(self, protocol: str, assignment: tuple[str, ...]) -> StoredMember:
        """The member as the log stores it."""
        return StoredMember(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.session_timeout_ms,
            self.rebalance_timeout_ms,
            self.protocols[protocol],
            assignment,
        )


class ClassicGroup(GroupOffsets):
    """One group. Its methods keep its maps consistent; the protocol's rules are in the package's other modules."""

    def __init__(self, group_id: str, now_us: int) -> None:
        super().__init__(group_id)
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.since_us = now_us
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader = ""  # a member id
        self.members: dict[str, GroupMember] = {}
        self.static_members: dict[str, str] = {}  # group.instance.id → member id
        self.pending: dict[str, str] = {}  # assigned member id → client id, until a JoinGroup brings it
        self._supporters: Counter[str] = Counter()  # protocol → number of members that support it

        self.parked_joins: dict[str, Call] = {}  # member id → parked call, in the order of arrival
        self.parked_syncs: dict[str, Call] = {}
        self.awaited_syncs: dict[str, None] = {}  # members of this generation without a SyncGroup so far
        self.barrier_deadline_us = NOT_ARMED
        self.rebalance_started_us = now_us
        self.interrupted = False  # loaded from the log, after a join that failed with the former coordinator
        self.loaded_again = False  # loaded from the log, and no generation completed since
        self.assignment_reset = False  # the members' assignment is void: its distribution was broken off
        self.newcomer_in_window = False  # a member joined an initial barrier since its last extension
        self.window_us = 0
        self.remaining_us = 0

        self.stored: GroupMetadataValue | None = None

    @property
    def initial(self) -> bool:
        """Whether the open join barrier belongs to a group that was Empty: it closes by time only."""
        return self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY

    @property
    def all_joined(self) -> bool:
        """Whether every member has a parked JoinGroup and no pending member id is outstanding."""
        return len(self.parked_joins) == len(self.members) and not self.pending

    @property
    def dead(self) -> bool:
        """Whether the coordinator has dropped the group."""
        return self.state is GroupState.DEAD

    @property
    def unused(self) -> bool:
        """Whether the group has no members and no durable state: its first append failed."""
        durable = self.stored is not None or self.logged_offsets or self.transactional_offsets
        return not (durable or self.pending_commits or self.members or self.pending)

    @property
    def rebalance_timeout_us(self) -> int:
        """The longest rebalance timeout of the members (for consumers: max.poll.interval.ms); 0 without members."""
        return 1000 * max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def leader_name(self) -> str:
        """The leader's client id, or "" without a leader."""
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
        """The common first checks of every member's request (KIP-345). Returns NONE for a current member."""
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
        """Whether a member with these protocols may join: every member must support one of them."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        member_count = len(self.members)
        return self.protocol_type == protocol_type and any(self._supporters[name] == member_count for name in protocols)

    def add(self, member: GroupMember, protocol_type: str) -> None:
        """Add a member; a group without a leader takes it as leader."""
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
        """Remove a member or a pending member id, with its parked calls; the earliest member becomes leader."""
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
        """Give a static member a new id in the same place, with everything that it had except parked calls.

        Kafka keeps the old client id. Here the client id is the new process's, since events name members by it.
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

    def retire(self) -> None:
        """A consumer group has taken this one's place: what this one has begun goes on with nothing."""
        for held in (self.members, self.static_members, self.pending, self.parked_joins, self.parked_syncs):
            held.clear()
        self.awaited_syncs.clear()
        self.generation = RETIRED

    def update(
        self,
        member: GroupMember,
        protocols: dict[str, MemberMetadata],
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
    ) -> None:
        """Take over protocols and timeouts from a member's new JoinGroup."""
        self._supporters.subtract(member.protocols.keys())
        self._supporters.update(protocols.keys())
        member.protocols = protocols
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms

    def park_join(self, member_id: str, call: Call) -> None:
        """Park a JoinGroup at the barrier. An earlier one of the member is dropped without an answer, as in Kafka."""
        self.parked_joins.pop(member_id, None)
        self.parked_joins[member_id] = call

    def candidates(self) -> list[str]:
        """The protocols that every member supports."""
        member_count = len(self.members)
        return [protocol for protocol, supporters in self._supporters.items() if supporters == member_count]

    def select_protocol(self) -> str:
        """The protocol of the next generation: the one with the most votes, in a tie the one with the earliest vote."""
        candidates = self.candidates()
        votes = Counter([member.vote(candidates) for member in self.members.values()])
        return max(votes, key=votes.__getitem__)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else elect the earliest member that has. Returns False if none has."""
        if self.leader not in self.parked_joins:
            joined = next((member_id for member_id in self.members if member_id in self.parked_joins), None)
            if joined is None:
                return False
            self.leader = joined
        return True

    def member_list(self) -> tuple[JoinGroupMember, ...]:
        """Every member with its subscription, for the leader's JoinGroup response."""
        return tuple(
            JoinGroupMember(member.member_id, member.instance_id, member.protocols[self.protocol])
            for member in self.members.values()
        )

    def record(self, assignment: dict[str, tuple[str, ...]]) -> GroupMetadataValue:
        """The group with this assignment, as the log stores it."""
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
        """Take over the logged state on a new coordinator: Stable with members, else Empty."""
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
    """Whether a JoinGroup has the member's known protocols, in the same order, with the same metadata."""
    return list(member.protocols.items()) == list(request.protocols.items())
