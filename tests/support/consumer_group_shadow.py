"""A read model of groups of the new protocol, made from nothing but events, and compared with their coordinator."""

from __future__ import annotations

from cluster import events as e
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.group import CLASSIC_JOIN, CLASSIC_SYNC


class MemberShadow:
    """A member as events tell it."""

    def __init__(self) -> None:
        self.client = ""
        self.topics: tuple[str, ...] = ()
        self.regex = ""
        self.classic = False
        self.awaited: dict[str, int] = {}
        self.step: tuple[str, int, int, tuple[str, ...], tuple[str, ...]] = ("STABLE", 0, 0, (), ())


class ConsumerGroupShadow:
    """A group as events tell it."""

    def __init__(self, offsets: dict[str, int] | None = None) -> None:
        self.state = "Empty"
        self.epoch = self.assignment_epoch = 1
        self.members: dict[str, MemberShadow] = {}
        self.targets: dict[str, tuple[str, ...]] = {}
        self.sessions: dict[str, int] = {}
        self.offsets = offsets or {}


class ConsumerGroupShadows:
    """Every group of the new protocol of one coordinator."""

    def __init__(self) -> None:
        self.groups: dict[str, ConsumerGroupShadow] = {}

    def fold(self, event: e.Event) -> bool:  # noqa: C901, PLR0912, PLR0915 - one case for each kind of event
        """Take an event; returns False if it is none of a group of the new protocol."""
        name = getattr(event, "group", "")
        begins = isinstance(
            event,
            e.ConsumerMemberSubscribed
            | e.ConsumerGroupLoaded
            | e.ConsumerGroupEpochBumped
            | e.MemberProtocolChanged
            | e.ClassicGroupUpgraded,
        )
        if name not in self.groups and not begins:
            return False
        group = self.groups.setdefault(name, ConsumerGroupShadow())
        match event:
            case e.ConsumerMemberSubscribed():
                member = group.members.setdefault(event.member_id, MemberShadow())
                member.client, member.topics, member.regex = event.member, event.topics, event.topic_regex
                group.sessions[event.member_id] = event.session_deadline_us
            case e.ConsumerGroupEpochBumped():
                assert event.epoch == group.epoch + 1
                group.epoch = event.epoch
            case e.TargetAssignmentComputed():
                assert event.epoch == group.epoch
                group.assignment_epoch = event.epoch
                group.targets.update(event.target)
            case e.MemberAssignmentChanged():
                group.members[event.member_id].step = (
                    event.state, event.epoch, event.previous_epoch, event.assigned, event.pending_revocation
                )  # fmt: skip
                limited = event.state == "UNREVOKED_PARTITIONS" and not group.members[event.member_id].classic
                assert (event.fenced_at_us >= 0) == limited
            case e.MemberRemoved():
                for known in (group.members, group.targets, group.sessions):
                    known.pop(event.member_id, None)
            case e.StaticMemberLeft():
                member = group.members[event.member_id]
                state, _, previous, assigned, _ = member.step
                member.step = state, -2, previous, assigned, ()
                assert group.sessions[event.member_id] == event.session_deadline_us
            case e.StaticMemberReplaced():
                member = group.members.pop(event.old_member_id)
                member.step = (member.step[0], 0, 0, *member.step[3:])
                group.members[event.member_id] = member
                group.targets[event.member_id] = group.targets.pop(event.old_member_id)
                del group.sessions[event.old_member_id]
                group.sessions[event.member_id] = event.session_deadline_us
            case e.ConsumerGroupStateChanged():
                assert event.state != group.state
                group.state = event.state
            case e.HeartbeatAnswered() | e.SessionRenewed() | e.OffsetCommitRefused():
                if event.session_deadline_us >= 0:
                    group.sessions[event.member_id] = event.session_deadline_us
            case e.OffsetsCommitted():
                group.offsets.update(event.offsets)
            case e.OffsetsExpired() | e.OffsetsDeleted():
                for partition in event.partitions:
                    del group.offsets[partition]
            case e.GroupDeleted() | e.GroupUnloaded():
                del self.groups[name]
            case e.ConsumerGroupLoaded():
                self._load(group, event)
            case e.ClassicGroupUpgraded():
                self._upgrade(group, event)
            case e.MemberProtocolChanged():
                group.members.setdefault(event.member_id, MemberShadow()).classic = event.protocol == "classic"
            case e.ClassicMemberAwaited():
                awaited = group.members[event.member_id].awaited
                if event.request == "SyncGroup":
                    awaited.pop("JoinGroup", None)
                awaited.pop(event.request, None)
                if event.until_us >= 0:
                    awaited[event.request] = event.until_us
            case (
                e.TopicRegexResolved()
                | e.TransactionOffsetsRefused()
                | e.ClassicMemberIdAssigned()
                | e.GroupConversionRefused()
            ):
                pass
            case _:
                raise AssertionError(f"a coordinator does not tell {event} of a group of the new protocol")
        return True

    @staticmethod
    def _upgrade(group: ConsumerGroupShadow, event: e.ClassicGroupUpgraded) -> None:
        group.epoch = group.assignment_epoch = event.epoch
        group.targets, group.sessions = dict(event.assigned), dict(event.session_deadlines_us)
        for member_id, client in event.members.items():
            member = group.members[member_id] = MemberShadow()
            member.client, member.topics, member.classic = client, event.topics[member_id], True
            member.step = ("STABLE", event.epoch, event.epoch, event.assigned[member_id], ())

    @staticmethod
    def _load(group: ConsumerGroupShadow, event: e.ConsumerGroupLoaded) -> None:
        group.state, group.epoch, group.assignment_epoch = event.state, event.group_epoch, event.assignment_epoch
        group.targets, group.sessions = dict(event.target), dict(event.session_deadlines_us)
        group.offsets = dict(event.offsets)
        group.members = {}
        for member_id, client in event.members.items():
            member = group.members[member_id] = MemberShadow()
            member.client = client
            member.topics, member.regex = (), "?"
            member.step = (
                event.states[member_id],
                event.epochs[member_id],
                event.previous_epochs[member_id],
                event.assigned.get(member_id, ()),
                event.pending_revocation.get(member_id, ()),
            )

    def compare(self, coordinator: GroupCoordinator) -> None:
        """The coordinator holds exactly what its events told."""
        assert set(coordinator.consumer_groups) == set(self.groups)
        for name, group in coordinator.consumer_groups.items():
            shadow = self.groups[name]
            assert (group.state.value, group.epoch, group.assignment_epoch) == (
                shadow.state, shadow.epoch, shadow.assignment_epoch
            )  # fmt: skip
            assert group.targets == shadow.targets
            assert set(group.members) == set(shadow.members)
            for member_id, member in group.members.items():
                told = shadow.members[member_id]
                assert member.client_id == told.client
                state, epoch, previous, assigned, pending = told.step
                assert (member.state.value, member.epoch, member.previous_epoch) == (state, epoch, previous), member_id
                assert (set(member.assigned), set(member.pending_revocation)) == (set(assigned), set(pending))
                if told.regex != "?":
                    assert (member.topics, member.topic_regex) == (told.topics, told.regex)
                assert coordinator.session_deadline_us(name, member_id) == shadow.sessions[member_id]
                assert (member.classic is not None) == told.classic
                timers = {"JoinGroup": CLASSIC_JOIN, "SyncGroup": CLASSIC_SYNC}
                deadlines = coordinator._context.deadlines
                running = {request: deadlines.get((kind, name, member_id)) for request, kind in timers.items()}
                assert {request: at for request, at in running.items() if at is not None} == told.awaited
            assert {partition: record.offset for partition, record in group.offsets.items()} == shadow.offsets
