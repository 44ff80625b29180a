"""Invariants of groups of the new protocol (KIP-848): epochs, owners, steps towards the target, removals (E).

The input is what the coordinator's events say, kept in books of their own. A new coordinator begins with what it has
replayed: an uncommitted step may be gone, but nothing that a member was answered.
"""

from typing import Final

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.log_state import LogState
from cluster.invariants.sentences import broken
from cluster.protocol.client_states import ConsumerMemberState
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view import ClusterView

UNKNOWN: Final = -1
MUST_REVOKE: Final = "UNREVOKED_PARTITIONS"
AWAY: Final = -2


class _Member:
    """A member: its epoch, the partitions that it owns (what it must give up, too), its target, its time limits."""

    __slots__ = ("awaited_us", "classic", "epoch", "fenced_at_us", "owned", "session_us", "target")

    def __init__(self) -> None:
        self.epoch = 0
        self.classic = False
        self.awaited_us: dict[str, int] = {}  # of a classic member: the request that it must send, until when
        self.owned: tuple[str, ...] = ()
        self.target: tuple[str, ...] = ()
        self.session_us = self.fenced_at_us = -1


class _Group:
    """A group: its epochs, its members by member id, the owner of each partition."""

    __slots__ = ("assignment_epoch", "epoch", "members", "owners")

    def __init__(self) -> None:
        self.epoch = self.assignment_epoch = UNKNOWN
        self.members: dict[str, _Member] = {}
        self.owners: dict[str, str] = {}

    def own(self, member_id: str, member: _Member, partitions: tuple[str, ...]) -> str:
        """Give a member exactly these partitions; returns one that another member owns, or ""."""
        for name in member.owned:
            if self.owners.get(name) == member_id:
                del self.owners[name]
        member.owned = partitions
        for name in partitions:
            if self.owners.setdefault(name, member_id) != member_id:
                return name
        return ""


class ConsumerGroupInvariants:
    """The sentences about groups of the new protocol."""

    def __init__(self, view: ClusterView, logs: dict[str, LogState]) -> None:
        self._view, self._logs = view, logs
        self._groups: dict[str, _Group] = {}
        self._answered: dict[str, dict[str, int]] = {}  # group → member → the epoch in which it got partitions
        self._gave_up: dict[str, list[str]] = {}  # member → what it gave up though its coordinator left it

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.ConsumerMemberSubscribed: self.member_subscribed,
            e.ConsumerGroupEpochBumped: self.epoch_bumped,
            e.TargetAssignmentComputed: self.target_computed,
            e.MemberAssignmentChanged: self.assignment_changed,
            e.StaticMemberLeft: self.static_member_left,
            e.StaticMemberReplaced: self.static_member_replaced,
            e.MemberRemoved: self.member_removed,
            e.HeartbeatAnswered: self.session_renewed,
            e.SessionRenewed: self.session_renewed,
            e.ConsumerGroupLoaded: self.group_loaded,
            e.GroupDeleted: self.group_gone,
            e.GroupProtocolConverted: self.group_gone,
            e.ClassicGroupUpgraded: self.group_upgraded,
            e.ConsumerGroupDowngraded: self.group_gone,
            e.MemberProtocolChanged: self.protocol_changed,
            e.ClassicMemberAwaited: self.classic_member_awaited,
            e.PartitionsAssigned: self.partitions_assigned,
            e.PartitionsRevoked: self.partitions_revoked,
            e.MemberStateChanged: self.member_state_changed,
        }

    def _member(self, group: str, member_id: str) -> _Member | None:
        known = self._groups.get(group)
        return None if known is None else known.members.get(member_id)

    def member_subscribed(self, event: e.ConsumerMemberSubscribed) -> None:
        """Note a member."""
        group = self._groups.setdefault(event.group, _Group())
        group.members.setdefault(event.member_id, _Member()).session_us = event.session_deadline_us

    def epoch_bumped(self, event: e.ConsumerGroupEpochBumped) -> None:
        """E1."""
        group = self._groups.setdefault(event.group, _Group())
        if event.epoch <= group.epoch:
            broken("E1", event, f"{event.group}: group epoch {event.epoch} after {group.epoch}")
        group.epoch = event.epoch

    def target_computed(self, event: e.TargetAssignmentComputed) -> None:
        """E1: a target is of the newest group epoch; E2: it gives no partition to two members."""
        group = self._groups.setdefault(event.group, _Group())
        if event.epoch != group.epoch or event.epoch <= group.assignment_epoch:
            found = f"a target of epoch {event.epoch}, the group has {group.epoch}, its last target "
            broken("E1", event, f"{event.group}: {found}{group.assignment_epoch}")
        group.assignment_epoch = event.epoch
        for member_id, partitions in event.target.items():
            group.members.setdefault(member_id, _Member()).target = partitions
        owners: dict[str, str] = {}
        for member_id, member in group.members.items():
            for name in member.target:
                if owners.setdefault(name, member_id) != member_id:
                    broken("E2", event, f"{event.group}: the target gives {name} to {owners[name]} and {member_id}")

    def assignment_changed(self, event: e.MemberAssignmentChanged) -> None:
        """E1, E2, E4."""
        group = self._groups.setdefault(event.group, _Group())
        member = group.members.setdefault(event.member_id, _Member())
        if event.epoch < member.epoch or 0 <= group.assignment_epoch < event.epoch:
            found = f"{event.member} has member epoch {event.epoch} after {member.epoch}, the target is of "
            broken("E1", event, f"{event.group}: {found}{group.assignment_epoch}")
        if event.state == MUST_REVOKE:
            new = [name for name in (*event.assigned, *event.pending_revocation) if name not in member.owned]
            if new or event.epoch != max(member.epoch, 0):
                found = f"{event.member} gets {', '.join(new) or 'a new epoch'} before it revoked its partitions"
                broken("E4", event, f"{event.group}: {found}")
        elif group.assignment_epoch != UNKNOWN:
            foreign = [name for name in event.assigned if name not in member.target]
            if foreign:
                broken("E4", event, f"{event.group}: {', '.join(foreign)} of {event.member} is not in its target")
        other = group.own(event.member_id, member, (*event.assigned, *event.pending_revocation))
        if other:
            found = f"{other} is assigned to {event.member_id}, and {group.owners[other]} has not revoked it"
            broken("E2", event, f"{event.group}: {found}")
        member.epoch, member.fenced_at_us = event.epoch, event.fenced_at_us

    def static_member_left(self, event: e.StaticMemberLeft) -> None:
        """Note a member that is away: it keeps what is assigned to it, and gave up the rest."""
        group, member = self._groups[event.group], self._member(event.group, event.member_id)
        assert member is not None
        kept = self._view.groups[event.group].assignment.get(event.member_id, ())
        group.own(event.member_id, member, kept)
        member.epoch, member.fenced_at_us = AWAY, -1

    def static_member_replaced(self, event: e.StaticMemberReplaced) -> None:
        """Note the new id of a static member: it has its predecessor's target and partitions, and epoch 0."""
        group, former = self._groups.get(event.group), self._member(event.group, event.old_member_id)
        if group is None or former is None:
            return
        del group.members[event.old_member_id]
        for name in former.owned:
            group.owners[name] = event.member_id
        group.members[event.member_id] = former
        former.epoch, former.session_us = 0, event.session_deadline_us

    def member_removed(self, event: e.MemberRemoved) -> None:
        """E5."""
        group, member = self._groups.get(event.group), self._member(event.group, event.member_id)
        if group is None or member is None:
            return
        limits = {
            RebalanceCause.SESSION_EXPIRED.value: member.session_us,
            RebalanceCause.POLL_INTERVAL_EXCEEDED.value: member.fenced_at_us,
        }
        if member.classic:
            awaited = member.awaited_us
            if event.client_reason:  # its LeaveGroup says so
                limits.pop(RebalanceCause.POLL_INTERVAL_EXCEEDED.value)
            else:
                limits[RebalanceCause.POLL_INTERVAL_EXCEEDED.value] = awaited.get("JoinGroup", member.fenced_at_us)
            limits[RebalanceCause.SYNC_TIMED_OUT.value] = awaited.get("SyncGroup", UNKNOWN)
        until_us = limits.get(event.reason)
        idle = until_us == UNKNOWN and event.reason == RebalanceCause.POLL_INTERVAL_EXCEEDED  # nothing to give up
        if until_us is not None and (idle or event.at_us < until_us):
            found = f"{event.member} is removed ({event.reason}), and has time until {until_us / 1_000:g} ms"
            broken("E5", event, f"{event.group}: {found}")
        group.own(event.member_id, member, ())
        del group.members[event.member_id]

    def session_renewed(self, event: e.HeartbeatAnswered | e.SessionRenewed) -> None:
        """Note the end of a session."""
        member = self._member(event.group, event.member_id)
        if member is not None and event.session_deadline_us >= 0:
            member.session_us = event.session_deadline_us

    def partitions_assigned(self, event: e.PartitionsAssigned) -> None:
        """Note an epoch that a member was answered."""
        if event.group in self._groups and event.generation >= 0:
            self._answered.setdefault(event.group, {})[event.member] = event.generation

    def group_loaded(self, event: e.ConsumerGroupLoaded) -> None:
        """E1: what a member was answered is committed, so that a new coordinator has it."""
        log = self._logs.get(self._view.groups[event.group].coordinator_partition)
        lossy = log is not None and log.lossy
        for name, epoch in self._answered.get(event.group, {}).items():
            if epoch > event.group_epoch and not lossy:
                found = f"broker-{event.broker} has group epoch {event.group_epoch}, {name} was answered {epoch}"
                broken("E1", event, f"{event.group}: {found}")
        group = self._groups[event.group] = _Group()
        group.epoch, group.assignment_epoch = event.group_epoch, event.assignment_epoch
        for member_id in event.members:
            member = group.members[member_id] = _Member()
            member.epoch, member.target = event.epochs[member_id], event.target.get(member_id, ())
            member.session_us = event.session_deadlines_us.get(member_id, -1)
            member.fenced_at_us = event.fenced_at_us.get(member_id, -1)
            pending = event.pending_revocation.get(member_id, ())
            other = group.own(member_id, member, (*event.assigned.get(member_id, ()), *pending))
            if other:
                broken("E2", event, f"{event.group}: {other} is of {group.owners[other]} and of {member_id}")

    def group_upgraded(self, event: e.ClassicGroupUpgraded) -> None:
        """E2: members of a classic group begin with the partitions of its last assignment."""
        group = self._groups[event.group] = _Group()
        group.epoch = group.assignment_epoch = event.epoch
        for member_id, assigned in event.assigned.items():
            member = group.members[member_id] = _Member()
            member.classic, member.epoch, member.target = True, event.epoch, assigned
            member.session_us = event.session_deadlines_us[member_id]
            other = group.own(member_id, member, assigned)
            if other:
                broken("E2", event, f"{event.group}: {other} is of {group.owners[other]} and of {member_id}")

    def protocol_changed(self, event: e.MemberProtocolChanged) -> None:
        """Note which protocol a member speaks."""
        group = self._groups.setdefault(event.group, _Group())
        member = group.members.setdefault(event.member_id, _Member())
        member.classic, member.awaited_us = event.protocol == "classic", {}

    def classic_member_awaited(self, event: e.ClassicMemberAwaited) -> None:
        """Note how long a classic member has for a request."""
        member = self._member(event.group, event.member_id)
        if member is None:
            return
        if event.request == "SyncGroup":
            member.awaited_us.pop("JoinGroup", None)
        member.awaited_us[event.request] = event.until_us

    def group_gone(self, event: e.GroupDeleted | e.GroupProtocolConverted | e.ConsumerGroupDowngraded) -> None:
        """Forget a group that is no more, or of another protocol."""
        self._groups.pop(event.group, None)
        self._answered.pop(event.group, None)

    # --- the clients --------------------------------------------------------------------------------------------------

    def partitions_revoked(self, event: e.PartitionsRevoked) -> None:
        """Note what the coordinator has not taken; close() gives up everything, in any state."""
        consumer, member = self._view.groups[event.group].consumer, self._view.members[event.member]
        known = consumer.members.get(member.member_id) if consumer is not None else None
        if known is not None and not event.lost:
            self._gave_up[event.member] = [name for name in event.partitions if name in known.assigned]

    def member_state_changed(self, event: e.MemberStateChanged) -> None:
        """E3, when the member has reconciled."""
        gave_up = self._gave_up.pop(event.member, ())
        if gave_up and event.state == ConsumerMemberState.ACKNOWLEDGING:
            broken("E3", event, f"{event.group}: {event.member} revoked {', '.join(gave_up)}, which it should keep")
