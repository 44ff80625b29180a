"""Invariants of groups of the new protocol (KIP-848): epochs, owners, and members that read on (E)."""

from cluster import events as e
from cluster.invariants.handlers import Handlers
from cluster.invariants.sentences import broken
from cluster.protocol.client_states import ConsumerMemberState
from cluster.view import ClusterView


class ConsumerGroupInvariants:
    """The sentences about groups of the new protocol."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._group_epochs: dict[str, int] = {}
        self._epochs: dict[str, dict[str, int]] = {}  # group → member id → its epoch at the coordinator
        self._holds: dict[str, dict[str, tuple[str, ...]]] = {}  # … → what it has, or must still give up
        self._owners: dict[str, dict[str, str]] = {}  # group → partition → member id
        self._gave_up: dict[str, list[str]] = {}  # member → what it gave up though its coordinator left it

    def handlers(self) -> Handlers:
        """Event class → the method that judges it."""
        return {
            e.ConsumerGroupEpochBumped: self.epoch_bumped,
            e.MemberAssignmentChanged: self.member_assignment_changed,
            e.ConsumerGroupLoaded: self.group_loaded,
            e.StaticMemberReplaced: self.static_member_replaced,
            e.MemberRemoved: self.member_removed,
            e.GroupDeleted: self.group_deleted,
            e.PartitionsRevoked: self.partitions_revoked,
            e.MemberStateChanged: self.member_state_changed,
        }

    def epoch_bumped(self, event: e.ConsumerGroupEpochBumped) -> None:
        """E1."""
        before = self._group_epochs.get(event.group, 0)
        if event.epoch <= before:
            broken("E1", event, f"{event.group}: group epoch {event.epoch} after {before}")
        self._group_epochs[event.group] = event.epoch

    def member_assignment_changed(self, event: e.MemberAssignmentChanged) -> None:
        """E1, E2."""
        epochs = self._epochs.setdefault(event.group, {})
        before = epochs.get(event.member_id, 0)
        if event.epoch < before:
            broken("E1", event, f"{event.group}: member epoch {event.epoch} of {event.member} after {before}")
        epochs[event.member_id] = event.epoch
        self._release(event.group, event.member_id)
        owners = self._owners.setdefault(event.group, {})
        held = self._holds.setdefault(event.group, {})[event.member_id] = event.assigned + event.pending_revocation
        for name in held:
            other = owners.setdefault(name, event.member_id)
            if other != event.member_id:
                broken("E2", event, f"{event.group}: {name} is assigned to {event.member}, and {other} still has it")

    def _release(self, group: str, member_id: str) -> None:
        owners = self._owners.get(group, {})
        for name in self._holds.get(group, {}).pop(member_id, ()):
            if owners.get(name) == member_id:
                del owners[name]

    def group_loaded(self, event: e.ConsumerGroupLoaded) -> None:
        """Note what a new coordinator found; it may revert what was never written."""
        self._group_epochs[event.group], self._epochs[event.group] = event.group_epoch, dict(event.epochs)
        pending = event.pending_revocation
        holds = {member: (*names, *pending.get(member, ())) for member, names in event.assigned.items()}
        self._holds[event.group] = holds
        self._owners[event.group] = {name: member for member, names in holds.items() for name in names}

    def static_member_replaced(self, event: e.StaticMemberReplaced) -> None:
        """Forget the old member: the new one has its partitions under another id."""
        self._release(event.group, event.old_member_id)
        self._epochs.get(event.group, {}).pop(event.old_member_id, None)

    def member_removed(self, event: e.MemberRemoved) -> None:
        """Forget the member, which may join again with any epoch."""
        self._release(event.group, event.member_id)
        self._epochs.get(event.group, {}).pop(event.member_id, None)

    def group_deleted(self, event: e.GroupDeleted) -> None:
        """Forget a deleted group."""
        for known in (self._group_epochs, self._epochs, self._holds, self._owners):
            known.pop(event.group, None)

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
            broken("E3", event, f"{event.group}: {event.member} gave up {', '.join(gave_up)}, which it is to keep")
