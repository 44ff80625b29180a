"""Invariants of assignments and static members: complete assignments, cooperative steps, fencing.

The input is the members' own JoinGroups: their subscriptions and owned partitions. The JoinGroup that counts is the one
that the coordinator in office has: each member id's last received one, or the one written with its loaded generation.
"""

from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.sentences import broken
from cluster.protocol.names import topic_of
from cluster.view import ClusterView

BUILT_IN = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""Kafka's assignors. A custom assignor may leave partitions unassigned."""
COOPERATIVE: Final = "cooperative-sticky"
# twice offsets.commit.timeout.ms: an accepted request is written or has failed by then
UNDER_WAY_US: Final = 11_000_000


class _JoinMetadata:
    """A JoinGroup's metadata: the member's topics, those of its previous JoinGroup, its owned partitions."""

    __slots__ = ("before", "owned", "topics")

    def __init__(self, topics: tuple[str, ...], before: tuple[str, ...], owned: tuple[str, ...]) -> None:
        self.topics, self.before, self.owned = topics, before, owned


class AssignmentInvariants:
    """The sentences about assignments."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._counts: dict[str, int] = {}  # topic → its number of partitions at creation
        self._sent: dict[str, _JoinMetadata] = {}  # member, or member id once it has one → its last JoinGroup
        self._received: dict[str, _JoinMetadata] = {}  # member id → the last JoinGroup that its coordinator has
        # group → generation → member id → the JoinGroup for that generation
        self._joined: dict[str, dict[int, dict[str, _JoinMetadata]]] = {}
        self._assigned: dict[str, tuple[str, ...]] = {}  # member → the partitions that it named in assign()
        self._replaced: dict[str, dict[str, int]] = {}  # group → replaced member id → since when

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.TopicCreated: self.topic_created,
            e.MemberStateChanged: self.member_state_changed,
            e.JoinBarrierCompleted: self.join_barrier_completed,
            e.GroupStabilized: self.group_stabilized,
            e.StaticMemberReplaced: self.static_member_replaced,
            e.GroupLoaded: self.group_loaded,
            e.ConsumerGroupLoaded: self.consumer_group_loaded,
            e.JoinReceived: self.join_received,
            e.SyncReceived: self.sync_received,
            e.HeartbeatAnswered: self.heartbeat_answered,
            e.OffsetsCommitted: self.offsets_committed,
            e.PartitionsAssigned: self.partitions_assigned,
            e.PositionsReset: self.positions_reset,
        }

    def topic_created(self, event: e.TopicCreated) -> None:
        """Note the first partitions. A leader may not know added ones for `metadata.max.age.ms`."""
        self._counts[event.topic] = event.partitions

    def member_state_changed(self, event: e.MemberStateChanged) -> None:
        """Note the metadata of a JoinGroup that a member sends now."""
        if event.state == "Joining":
            member, known = self._view.members[event.member], self._sent.get(event.member)
            before = known.topics if known is not None else member.topics
            metadata = _JoinMetadata(member.topics, before, tuple(member.owned))
            self._sent[event.member] = self._sent[event.member_id or event.member] = metadata

    def _receive(self, member_id: str, member: str) -> None:
        """Note a received JoinGroup. A starting static member sends its first one without a member id."""
        metadata = self._sent.get(member_id)
        if metadata is None and member_id not in self._received:
            metadata = self._sent.get(member)
        if metadata is not None:
            self._received[member_id] = metadata

    def join_barrier_completed(self, event: e.JoinBarrierCompleted) -> None:
        """Note the JoinGroups of a generation; a static member's may be from an earlier one."""
        received = self._received
        metadata = {member_id: received[member_id] for member_id in event.members if member_id in received}
        self._joined.setdefault(event.group, {})[event.generation] = metadata

    def group_stabilized(self, event: e.GroupStabilized) -> None:
        """G11, G12."""
        group = self._view.groups[event.group]
        generations = self._joined.setdefault(event.group, {})
        for generation in [each for each in generations if each < event.generation]:
            del generations[generation]  # this generation is written: no coordinator loads an earlier one
        joined = generations.get(event.generation, {})
        if group.assignor not in BUILT_IN or any(member_id not in joined for member_id in group.members):
            return  # some JoinGroups were lost with their coordinator
        metadata = {member_id: joined[member_id] for member_id in group.members}
        owners = {name: member_id for member_id, partitions in event.assignment.items() for name in partitions}
        claims: dict[str, list[str]] = {}
        for member_id, each in metadata.items():
            for name in each.owned:
                claims.setdefault(name, []).append(member_id)
        for topic in dict.fromkeys(
            [topic for each in metadata.values() for topic in each.topics if topic in each.before]
        ):
            for number in range(self._counts.get(topic, 0)):
                name = f"{topic}-{number}"
                withheld = group.assignor == COOPERATIVE and name in claims
                if name not in owners and not withheld:
                    broken("G11", event, f"{event.group}: generation {event.generation} assigns {name} to no member")
        for name, member_id in owners.items():
            each = metadata[member_id]
            topic = topic_of(name)
            if topic not in each.topics and topic not in each.before:
                broken("G11", event, f"{event.group}: {name} is assigned to {member_id}, which has not subscribed")
            others = claims.get(name, ())
            if group.assignor == COOPERATIVE and others and member_id not in others:
                found = f"{name} is assigned to {member_id} while {', '.join(others)} holds it"
                broken("G12", event, f"{event.group}: {found}")
        for each in metadata.values():
            each.before = each.topics

    # --- assign() -----------------------------------------------------------------------------------------------------

    def partitions_assigned(self, event: e.PartitionsAssigned) -> None:
        """Note what a consumer named in assign(); G15 for one that gets partitions from a group, too."""
        if event.generation < 0:
            self._assigned[event.member] = event.partitions
        elif event.member in self._assigned:
            found = f"{event.member} called assign(), and gets partitions in generation {event.generation}"
            broken("G15", event, f"{event.group}: {found}")

    def positions_reset(self, event: e.PositionsReset) -> None:
        """G15."""
        if event.member in self._assigned:
            for name in event.positions:
                if name not in self._assigned[event.member]:
                    broken(
                        "G15", event, f"{event.group}: {event.member} reads {name}, which it did not name in assign()"
                    )

    # --- static members -----------------------------------------------------------------------------------------------

    def static_member_replaced(self, event: e.StaticMemberReplaced) -> None:
        """Note the fenced member id: the old one, or the new one if the replacement was not written."""
        replaced = self._replaced.setdefault(event.group, {})
        replaced.pop(event.member_id, None)
        if event.old_member_id != event.member_id:  # a member of the new protocol that was slow to poll() comes back
            replaced[event.old_member_id] = event.at_us
        self._receive(event.member_id, event.member)
        if event.goes_on and event.member_id in self._received:  # the replacement is written with the generation
            generations = self._joined.setdefault(event.group, {})
            written = generations.setdefault(self._view.groups[event.group].generation, {})
            written[event.member_id] = self._received[event.member_id]

    def group_loaded(self, event: e.GroupLoaded) -> None:
        """Drop what was never written: a loading coordinator may revert it."""
        self._replaced.pop(event.group, None)
        written = self._joined.get(event.group, {}).get(event.generation, {})
        for member_id in event.members:
            if member_id in written:
                self._received[member_id] = written[member_id]
            else:
                self._received.pop(member_id, None)

    def consumer_group_loaded(self, event: e.ConsumerGroupLoaded) -> None:
        """Drop a replacement that was never written."""
        self._replaced.pop(event.group, None)

    def join_received(self, event: e.JoinReceived) -> None:
        """G13, G15; the received metadata counts from now on."""
        self._check_replaced(event)
        if event.member in self._assigned:
            broken("G15", event, f"{event.group}: {event.member} called assign(), and joins")
        self._receive(event.member_id, event.member)

    def sync_received(self, event: e.SyncReceived) -> None:
        """G13."""
        self._check_replaced(event)

    def _check_replaced(self, event: e.JoinReceived | e.SyncReceived) -> None:
        since_us = self._replaced.get(event.group, {}).get(event.member_id)
        if since_us is not None:
            broken("G13", event, f"{event.group}: {event.member_id} joins or syncs, replaced at {since_us / 1e6} s")

    def heartbeat_answered(self, event: e.HeartbeatAnswered) -> None:
        """G13: a coordinator in office fences the old id. A deposed coordinator may not know of the replacement."""
        since_us = self._replaced.get(event.group, {}).get(event.member_id)
        if since_us is not None and event.error in {"NONE", "REBALANCE_IN_PROGRESS"} and event.session_deadline_us >= 0:
            broken("G13", event, f"{event.group}: {event.member_id} heartbeats, replaced at {since_us / 1e6} s")

    def offsets_committed(self, event: e.OffsetsCommitted) -> None:
        """G13: a commit accepted before the replacement may be written after it."""
        since_us = self._replaced.get(event.group, {}).get(event.member_id)
        if since_us is not None and event.at_us - since_us > UNDER_WAY_US:
            broken("G13", event, f"{event.group}: {event.member_id} commits, replaced at {since_us / 1e6} s")
