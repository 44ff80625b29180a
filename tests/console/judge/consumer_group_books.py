"""Groups of the new protocol as their coordinators hold them, from the raw events."""

from collections.abc import Callable
from typing import ClassVar

import msgspec

from cluster import events as e
from tests.console.judge.group_books import GroupBook, GroupBooks, RebalanceBook

ENDS = ("Stable", "Empty", "Dead")


class ConsumerBook(msgspec.Struct):
    """One member id. `asked_us`: since when it has to give something up in this rebalance, -1: nothing."""

    epoch: int = 0
    state: str = "STABLE"
    has: tuple[str, ...] = ()
    owes: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    fenced_us: int = -1
    classic: bool = False

    @property
    def keeps(self) -> set[str]:
        """What it may still own."""
        return {*self.has, *self.owes}


class NewProtocolBook(msgspec.Struct):
    """Epochs and members by id."""

    epoch: int = 0
    assigned_epoch: int = 0
    members: dict[str, ConsumerBook] = {}

    def done(self, member_id: str) -> bool:
        """Whether a member has its target."""
        one = self.members[member_id]
        return one.state == "STABLE" and one.epoch == self.assigned_epoch

    def owed(self, member_id: str) -> set[str]:
        """What a member has to revoke, whether it knows so or not."""
        one = self.members[member_id]
        if one.owes:
            return set(one.owes)
        return set() if one.epoch == self.assigned_epoch else set(one.has) - set(one.target)

    def lacks(self, member_id: str) -> dict[str, str]:
        """Partitions of its target that others own, with the other's id."""
        mine = self.members[member_id]
        wanted = set(mine.target) - mine.keeps
        return {name: other for other, one in self.members.items() if other != member_id for name in wanted & one.keeps}

    def awaited(self) -> set[str]:
        """Ids of unfinished members that do not only wait for others."""
        found = set()
        for member_id, one in self.members.items():
            waits = one.state == "UNRELEASED_PARTITIONS" and set(self.lacks(member_id)) == set(one.target) - set(
                one.has
            )
            if not self.done(member_id) and not waits:
                found.add(member_id)
        return found


class RevocationBook(msgspec.Struct):
    """What a member of a name had to revoke, from … to (-1: not yet)."""

    from_us: int
    names: dict[str, None]
    to_us: int = -1


class AllGroupBooks(GroupBooks):
    """Groups of both protocols."""

    def _protocol(self, event: e.GroupProtocolDeclared) -> None:
        if event.protocol == "consumer":
            self.groups[event.group].new = NewProtocolBook()

    def _subscribed(self, event: e.ConsumerMemberSubscribed) -> None:
        group, new = self._new(event.group)
        group.members[event.member_id] = event.member
        if event.session_deadline_us >= 0:
            group.sessions[event.member_id] = event.session_deadline_us
        new.members.setdefault(event.member_id, ConsumerBook())

    def _converted(self, event: e.GroupProtocolConverted) -> None:
        group = self.groups[event.group]
        group.holder, group.under_way = event.broker, None
        group.new = NewProtocolBook() if event.protocol == "consumer" else None
        group.taken = {}  # generations begin again with 1: who had that number before is no static member coming back

    def _upgraded(self, event: e.ClassicGroupUpgraded) -> None:
        group = self.groups[event.group]
        group.new = NewProtocolBook(event.epoch, event.epoch)
        group.holder, group.generation, group.leader = event.broker, event.epoch, ""
        group.members, group.assignment = dict(event.members), dict(event.assigned)
        group.sessions, group.pending, group.under_way, group.offers = dict(event.session_deadlines_us), {}, None, {}
        for one, names in event.assigned.items():
            group.new.members[one] = ConsumerBook(event.epoch, "STABLE", names, (), names, -1, True)

    def _downgraded(self, event: e.ConsumerGroupDowngraded) -> None:
        group = self.groups[event.group]
        group.new, group.under_way, group.pending, group.offers = None, None, {}, {}
        group.state, group.holder, group.generation = "Stable", event.broker, event.generation
        group.assignor, group.leader = event.protocol, event.leader
        group.members, group.assignment = dict(event.members), dict(event.assignment)
        group.sessions = dict(event.session_deadlines_us)

    def _speaks(self, event: e.MemberProtocolChanged) -> None:
        group, new = self._new(event.group)
        group.members[event.member_id] = event.member
        new.members.setdefault(event.member_id, ConsumerBook()).classic = event.protocol == "classic"

    def _loaded_group(self, event: e.GroupLoaded) -> None:
        self._loaded(event)
        if event.members:
            self.groups[event.group].new = None

    def _new(self, name: str) -> tuple[GroupBook, NewProtocolBook]:
        group = self.groups[name]
        if group.new is None:
            group.new = NewProtocolBook()
        return group, group.new

    def _bumped(self, event: e.ConsumerGroupEpochBumped) -> None:
        group, new = self._new(event.group)
        group.holder, group.generation, new.epoch = event.broker, event.epoch, event.epoch
        if group.under_way is None:
            group.under_way = RebalanceBook(
                event.cause,
                event.members[0] if event.members else "",
                "",
                event.epoch - 1,
                group.state in {"Empty", "Dead"},
                [event.at_us],
                -1,
                unowned=dict.fromkeys(group.unowned_since_us),
                unowned_before_us=sum(event.at_us - since for since in group.unowned_since_us.values()),
                revoked={},
            )
        else:
            group.under_way.opened_us.append(event.at_us)
        if event.cause == "member joined":
            group.under_way.newcomers.update(zip(event.member_ids, event.members, strict=True))

    def _target(self, event: e.TargetAssignmentComputed) -> None:
        group, new = self._new(event.group)
        new.assigned_epoch, group.assignor = event.epoch, event.assignor
        for member_id, names in event.target.items():
            if member_id in new.members:
                new.members[member_id].target = names
        if group.under_way is not None:
            group.under_way.reached = {}

    def _matched(self, event: e.TopicRegexResolved) -> None:
        self.groups[event.group].topics.update(dict.fromkeys(event.topics))

    def _moved(self, event: e.MemberAssignmentChanged) -> None:
        group, new = self._new(event.group)
        one = new.members.setdefault(event.member_id, ConsumerBook())
        one.epoch, one.state, one.has = event.epoch, event.state, event.assigned
        one.owes, one.fenced_us = event.pending_revocation, event.fenced_at_us
        group.assignment[event.member_id] = event.assigned
        rebalance = group.under_way
        if rebalance is None or rebalance.revoked is None:
            return
        rebalance.reached.pop(event.member, None)
        if new.done(event.member_id):
            rebalance.reached[event.member] = event.at_us
        given = rebalance.revoked.get(event.member)
        if one.owes:
            given = rebalance.revoked.setdefault(event.member, RevocationBook(event.at_us, {}))
            given.names.update(dict.fromkeys(one.owes))
            given.to_us = -1
        elif given is not None and given.to_us < 0:
            given.to_us = event.at_us
        if group.state == "Stable" and len(new.members) == 1 and new.done(event.member_id) and one.epoch == new.epoch:
            self._settled(group, event.at_us)

    def _state(self, event: e.ConsumerGroupStateChanged) -> None:
        group, _ = self._new(event.group)
        group.state, group.holder = event.state, event.broker
        if event.state in ENDS and group.under_way is not None:
            self._settled(group, event.at_us)

    def _settled(self, group: GroupBook, at_us: int) -> None:
        self._over(group, at_us)
        group.missing = {
            name
            for member_id, names in group.assignment.items()
            for name in names
            if group.members.get(member_id) not in self._holders(group.name, name)
        }

    def _away(self, event: e.StaticMemberLeft) -> None:
        group, new = self._new(event.group)
        one = new.members[event.member_id]
        one.epoch, one.owes, one.fenced_us = -2, (), -1
        group.sessions[event.member_id] = event.session_deadline_us

    def _replaced_member(self, event: e.StaticMemberReplaced) -> None:
        self._replaced(event)
        new = self.groups[event.group].new
        if new is not None and event.old_member_id in new.members:
            new.members[event.member_id] = new.members.pop(event.old_member_id)

    def _unloaded_by(self, event: e.GroupUnloaded) -> None:
        if self.groups[event.group].new is None:  # else the next coordinator goes on with the reconciliation
            self._unloaded(event)

    def _deleted_group(self, event: e.GroupDeleted) -> None:
        self._deleted(event)
        group = self.groups[event.group]
        group.new = NewProtocolBook() if group.new is not None else None

    def _removed_member(self, event: e.MemberRemoved) -> None:
        self._removed(event)
        group = self.groups[event.group]
        if group.new is None:
            return
        group.new.members.pop(event.member_id, None)
        group.assignment.pop(event.member_id, None)
        rebalance = group.under_way
        if rebalance is not None and rebalance.revoked is not None and event.member not in group.members.values():
            rebalance.reached.pop(event.member, None)
            given = rebalance.revoked.get(event.member)
            if given is not None and given.to_us < 0:
                given.to_us = event.at_us

    def _loaded_members(self, event: e.ConsumerGroupLoaded) -> None:
        group, new = self._new(event.group)
        group.state, group.holder, group.assignor = event.state, event.broker, event.assignor
        group.generation = new.epoch = event.group_epoch
        new.assigned_epoch = event.assignment_epoch
        group.members, group.assignment = dict(event.members), dict(event.assigned)
        group.sessions, group.committed = dict(event.session_deadlines_us), dict(event.offsets)
        new.members = {
            one: ConsumerBook(
                event.epochs[one],
                event.states[one],
                event.assigned.get(one, ()),
                event.pending_revocation.get(one, ()),
                event.target.get(one, ()),
                event.fenced_at_us.get(one, -1),
            )
            for one in event.members
        }
        if event.state in ENDS:
            group.under_way = None

    _HANDLERS: ClassVar[dict[type[e.Event], Callable[..., None]]] = GroupBooks._HANDLERS | {
        e.GroupProtocolDeclared: _protocol,
        e.ConsumerMemberSubscribed: _subscribed,
        e.ConsumerGroupEpochBumped: _bumped,
        e.TargetAssignmentComputed: _target,
        e.TopicRegexResolved: _matched,
        e.MemberAssignmentChanged: _moved,
        e.ConsumerGroupStateChanged: _state,
        e.StaticMemberLeft: _away,
        e.MemberRemoved: _removed_member,
        e.GroupDeleted: _deleted_group,
        e.GroupUnloaded: _unloaded_by,
        e.StaticMemberReplaced: _replaced_member,
        e.ConsumerGroupLoaded: _loaded_members,
        e.GroupLoaded: _loaded_group,
        e.GroupProtocolConverted: _converted,
        e.ClassicGroupUpgraded: _upgraded,
        e.ConsumerGroupDowngraded: _downgraded,
        e.MemberProtocolChanged: _speaks,
    }
