"""What must hold of assignments and of static members: every partition dealt, nothing taken away too early, fencing.

Judged by what the members themselves say when they join: what they subscribe to, and what they hold. What counts of it
is what the coordinator in office has: each member id's last JoinGroup that it received, or that was written with the
generation that it loaded.
"""

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.sentences import broken
from cluster.protocol.names import topic_of
from cluster.view import ClusterView

BUILT_IN = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""An assignor of one's own may assign as it likes."""
COOPERATIVE = "cooperative-sticky"
UNDER_WAY_US = 11_000_000  # twice offsets.commit.timeout.ms: what a coordinator accepted is written or failed by then


class _Said:
    """What a member said in a JoinGroup: its topics, those of the time before, and what it held."""

    __slots__ = ("before", "owned", "topics")

    def __init__(self, topics: tuple[str, ...], before: tuple[str, ...], owned: tuple[str, ...]) -> None:
        self.topics, self.before, self.owned = topics, before, owned


class AssignmentInvariants:
    """The sentences about who is dealt what."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._counts: dict[str, int] = {}  # topic → partitions that it was created with
        self._sent: dict[str, _Said] = {}  # member, or member id once it has one → its last JoinGroup
        self._received: dict[str, _Said] = {}  # member id → the last one that its coordinator has
        self._joined: dict[str, dict[int, dict[str, _Said]]] = {}  # group → generation → member id → the one for it
        self._replaced: dict[str, dict[str, int]] = {}  # group → replaced member id → since when

    def handlers(self) -> Handlers:
        """What it looks at."""
        return {
            e.TopicCreated: self.topic_created,
            e.MemberStateChanged: self.member_state_changed,
            e.JoinBarrierCompleted: self.join_barrier_completed,
            e.GroupStabilized: self.group_stabilized,
            e.StaticMemberReplaced: self.static_member_replaced,
            e.GroupLoaded: self.group_loaded,
            e.JoinReceived: self.join_received,
            e.SyncReceived: self.sync_received,
            e.HeartbeatAnswered: self.heartbeat_answered,
            e.OffsetsCommitted: self.offsets_committed,
        }

    def topic_created(self, event: e.TopicCreated) -> None:
        """Partitions that are added later may be unknown to a leader for `metadata.max.age.ms`."""
        self._counts[event.topic] = event.partitions

    def member_state_changed(self, event: e.MemberStateChanged) -> None:
        """A JoinGroup leaves with what the member wants and holds now."""
        if event.state == "Joining":
            member, known = self._view.members[event.member], self._sent.get(event.member)
            before = known.topics if known is not None else member.topics
            said = _Said(member.topics, before, tuple(member.owned))
            self._sent[event.member] = self._sent[event.member_id or event.member] = said

    def _receive(self, member_id: str, member: str) -> None:
        """A static member that starts sends its JoinGroup without an id; any other has one of its own by now."""
        said = self._sent.get(member_id)
        if said is None and member_id not in self._received:
            said = self._sent.get(member)
        if said is not None:
            self._received[member_id] = said

    def join_barrier_completed(self, event: e.JoinBarrierCompleted) -> None:
        """Who joins from now on, joins for the next generation; a static member need not have come anew."""
        received = self._received
        said = {member_id: received[member_id] for member_id in event.members if member_id in received}
        self._joined.setdefault(event.group, {})[event.generation] = said

    def group_stabilized(self, event: e.GroupStabilized) -> None:
        """G11, G12."""
        group = self._view.groups[event.group]
        generations = self._joined.setdefault(event.group, {})
        for generation in [each for each in generations if each < event.generation]:
            del generations[generation]  # this one is written: no coordinator loads an earlier one
        joined = generations.get(event.generation, {})
        if group.assignor not in BUILT_IN or any(member_id not in joined for member_id in group.members):
            return  # what some of them said was lost with its coordinator
        said = {member_id: joined[member_id] for member_id in group.members}
        owners = {name: member_id for member_id, dealt in event.assignment.items() for name in dealt}
        claims: dict[str, list[str]] = {}
        for member_id, each in said.items():
            for name in each.owned:
                claims.setdefault(name, []).append(member_id)
        for topic in dict.fromkeys(topic for each in said.values() for topic in each.topics if topic in each.before):
            for number in range(self._counts.get(topic, 0)):
                name = f"{topic}-{number}"
                withheld = group.assignor == COOPERATIVE and name in claims
                if name not in owners and not withheld:
                    broken("G11", event, f"{event.group}: generation {event.generation} assigns {name} to no member")
        for name, member_id in owners.items():
            each = said[member_id]
            if topic_of(name) not in (*each.topics, *each.before):
                broken("G11", event, f"{event.group}: {name} is assigned to {member_id}, which has not subscribed")
            others = claims.get(name, ())
            if group.assignor == COOPERATIVE and others and member_id not in others:
                found = f"{name} is assigned to {member_id} while {', '.join(others)} holds it"
                broken("G12", event, f"{event.group}: {found}")
        for each in said.values():
            each.before = each.topics

    # --- static members -----------------------------------------------------------------------------------------------

    def static_member_replaced(self, event: e.StaticMemberReplaced) -> None:
        """From now on the old member id is fenced; when it could not be written, the new one."""
        replaced = self._replaced.setdefault(event.group, {})
        replaced.pop(event.member_id, None)
        replaced[event.old_member_id] = event.at_us
        self._receive(event.member_id, event.member)
        if event.goes_on and event.member_id in self._received:  # it is written with its generation
            generations = self._joined.setdefault(event.group, {})
            written = generations.setdefault(self._view.groups[event.group].generation, {})
            written[event.member_id] = self._received[event.member_id]

    def group_loaded(self, event: e.GroupLoaded) -> None:
        """A coordinator that loads a group may take back what was never written."""
        self._replaced.pop(event.group, None)
        written = self._joined.get(event.group, {}).get(event.generation, {})
        for member_id in event.members:
            if member_id in written:
                self._received[member_id] = written[member_id]
            else:
                self._received.pop(member_id, None)

    def join_received(self, event: e.JoinReceived) -> None:
        """G13, and what its member says counts."""
        self._taken_in(event)
        self._receive(event.member_id, event.member)

    def sync_received(self, event: e.SyncReceived) -> None:
        """G13."""
        self._taken_in(event)

    def _taken_in(self, event: e.JoinReceived | e.SyncReceived) -> None:
        since_us = self._replaced.get(event.group, {}).get(event.member_id)
        if since_us is not None:
            broken("G13", event, f"{event.group}: {event.member_id} joins or syncs, replaced at {since_us / 1e6} s")

    def heartbeat_answered(self, event: e.HeartbeatAnswered) -> None:
        """G13: any coordinator in office fences it; one that was deposed cannot know."""
        since_us = self._replaced.get(event.group, {}).get(event.member_id)
        if since_us is not None and event.error in {"NONE", "REBALANCE_IN_PROGRESS"} and event.session_deadline_us >= 0:
            broken("G13", event, f"{event.group}: {event.member_id} heartbeats, replaced at {since_us / 1e6} s")

    def offsets_committed(self, event: e.OffsetsCommitted) -> None:
        """G13: what was accepted before the replacement may be written after it."""
        since_us = self._replaced.get(event.group, {}).get(event.member_id)
        if since_us is not None and event.at_us - since_us > UNDER_WAY_US:
            broken("G13", event, f"{event.group}: {event.member_id} commits, replaced at {since_us / 1e6} s")
