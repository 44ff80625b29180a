"""Groups as their coordinators hold them, and a book of each rebalance, from the raw events."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import msgspec

from cluster import events as e
from tests.console.judge.vote_judge import offers_of


class RebalanceBook(msgspec.Struct):
    """A rebalance, from its first cause until every member with a share has taken it over.

    `revoked`: of a group of the new protocol, member → what it had to revoke; `reached`: when it had its target.
    `opened_us`: each time that its barrier was opened. `joins`: of the last opening, (instant, member id, name).
    `gone`: (instant, member id, name, reason). `unowned`: partitions that had no owner for some of its time.
    """

    cause: str
    trigger: str
    detail: str
    before: int
    initial: bool
    opened_us: list[int]
    closes_us: int
    joins: list[tuple[int, str, str]] = []
    newcomers: dict[str, str] = {}
    gone: list[tuple[int, str, str, str]] = []
    extensions: list[str] = []
    synced: dict[str, None] = {}
    completed: e.JoinBarrierCompleted | None = None
    elected: e.ProtocolElected | None = None
    stable_us: int = -1
    assigned_us: int = -1
    generation: int = -1
    members: int = 0
    leader: str = ""
    broker: int = -1
    moves: dict[str, tuple[str, str]] = {}
    unowned: dict[str, None] = {}
    unowned_before_us: int = 0
    kept: int = 0
    given_up_us: int = 0
    reread: int = 0
    assignor: str = ""
    reached: dict[str, int] = {}
    revoked: dict[str, Any] | None = None

    @property
    def started_us(self) -> int:
        """The instant of its first cause."""
        return self.opened_us[0]

    @property
    def key(self) -> str:
        """The name of its row: its start, and its epoch under the new protocol."""
        return str(self.started_us) if self.revoked is None else f"{self.started_us}/{self.generation}"

    @property
    def over_us(self) -> int:
        """The instant at which every member had its share."""
        return max(self.stable_us, self.assigned_us)


class Gap(NamedTuple):
    """A partition without an owner, from … to the assignment; `over`: how many rebalances were over by then."""

    from_us: int
    to_us: int
    over: int


class GroupBook(msgspec.Struct):
    """A group. `holder`: the broker whose coordinator has it in memory. `committed`: partition → offset."""

    name: str
    topics: dict[str, None]
    assignors: tuple[str, ...]
    reset: str
    coordinator_partition: str
    read_committed: bool
    state: str = "Empty"
    generation: int = 0
    assignor: str = ""
    leader: str = ""
    holder: int = -1
    members: dict[str, str] = {}
    pending: dict[str, str] = {}
    sessions: dict[str, int] = {}
    assignment: dict[str, tuple[str, ...]] = {}
    committed: dict[str, int] = {}
    under_way: RebalanceBook | None = None
    new: Any = None  # the NewProtocolBook of a group of the new protocol
    rebalances: list[RebalanceBook] = []
    offers: dict[str, tuple[str, ...]] = {}
    owners: dict[str, None] = {}
    unowned_since_us: dict[str, int] = {}
    gaps: list[Gap] = []
    last_owner: dict[str, str] = {}
    taken: dict[str, int] = {}
    awaiting_position: dict[str, int] = {}
    to_read: dict[str, RebalanceBook] = {}  # under the new protocol: what moved, not yet positioned, and in which one
    missing: set[str] = set()  # what its assignees did not have when the last rebalance was over
    highest: dict[str, int] = {}

    def stopped_us(self, rebalance: RebalanceBook) -> int:
        """Σ over partitions of the time without an owner that this rebalance alone causes.

        Of what was unowned when it was over: from its beginning until the assignment before the next one was over.
        Besides, what members revoked later because of its assignment: until the round for which they did begins.
        """
        number = next(place for place, one in enumerate(self.rebalances, 1) if one is rebalance)
        mine = sum(
            gap.to_us - max(gap.from_us, rebalance.started_us)
            for gap in self.gaps
            if gap.over == number and gap.from_us <= rebalance.stable_us
        )
        return mine + rebalance.given_up_us


Holders = Callable[[str, str], list[str]]


class GroupBooks:
    """All groups. `holders(group, partition)`: which members hold a partition, after the event that is noted."""

    def __init__(self, holders: Holders) -> None:
        self.groups: dict[str, GroupBook] = {}
        self._holders = holders
        self._owned: dict[str, dict[str, None]] = {}  # member → partitions

    def note(self, event: e.Event) -> None:
        """Record one event."""
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def _declared(self, event: e.GroupDeclared) -> None:
        topics = dict.fromkeys(event.topics)
        self.groups[event.group] = GroupBook(
            event.group, topics, event.assignors, event.offset_reset, event.coordinator_partition, event.read_committed
        )

    def _subscribes(self, event: e.SubscriptionChanged) -> None:
        self.groups[event.group].topics.update(dict.fromkeys(event.topics))

    def _set(self, event: e.SettingChanged) -> None:
        if event.effect == "now" and event.key == "auto.offset.reset" and event.scope in self.groups:
            self.groups[event.scope].reset = event.value

    # --- the coordinator --------------------------------------------------------------------------------------------

    def _id_assigned(self, event: e.MemberIdAssigned) -> None:
        group = self.groups[event.group]
        group.pending[event.member_id] = event.member
        group.state = "Empty" if group.state == "Dead" else group.state

    def _rebalance(self, event: e.RebalanceStarted) -> None:
        group = self.groups[event.group]
        group.state, group.holder = "PreparingRebalance", event.broker
        group.sessions.update(event.session_deadlines_us)
        rebalance = group.under_way
        if rebalance is None:
            group.under_way = RebalanceBook(
                event.cause,
                event.trigger,
                event.detail,
                event.generation,
                event.initial,
                [event.at_us],
                event.closes_at_us,
                unowned=dict.fromkeys(group.unowned_since_us),
                unowned_before_us=sum(event.at_us - since for since in group.unowned_since_us.values()),
            )
            if event.cause == "partitions revoked" and group.rebalances:
                last = group.rebalances[-1]
                late = [since for since in group.unowned_since_us.values() if since >= last.stable_us]
                last.given_up_us += sum(event.at_us - since for since in late)
        else:
            rebalance.opened_us.append(event.at_us)
            rebalance.closes_us, rebalance.initial, rebalance.completed = event.closes_at_us, event.initial, None
            rebalance.joins, rebalance.newcomers, rebalance.synced, rebalance.extensions = [], {}, {}, []

    def _extended(self, event: e.JoinBarrierExtended) -> None:
        rebalance = self.groups[event.group].under_way
        if rebalance is not None:
            rebalance.closes_us = event.closes_at_us
            rebalance.extensions.append(event.reason)

    def _joined(self, event: e.JoinReceived) -> None:
        group = self.groups[event.group]
        group.pending.pop(event.member_id, None)
        group.members[event.member_id] = event.member
        group.sessions[event.member_id] = event.session_deadline_us
        group.leader = event.leader
        rebalance = group.under_way
        if rebalance is not None:
            known = [join for join in rebalance.joins if join[1] != event.member_id]
            again = len(known) < len(rebalance.joins)
            place = next((at for at, join in enumerate(rebalance.joins) if join[1] == event.member_id), len(known))
            known.insert(place if again else len(known), (event.at_us, event.member_id, event.member))
            rebalance.joins = sorted(known, key=lambda join: join[0])
            if event.newcomer:
                rebalance.newcomers[event.member_id] = event.member

    def _replaced(self, event: e.StaticMemberReplaced) -> None:
        group = self.groups[event.group]
        places = [  # it takes its predecessor's: the screen names members in this order
            (event.member_id, event.member) if known == event.old_member_id else (known, name)
            for known, name in group.members.items()
        ]
        group.members = {**dict(places), event.member_id: event.member}
        group.leader = event.leader
        if event.goes_on:  # it comes back to what the generation gave its predecessor: no part of the rebalance
            group.taken[event.member] = group.generation
        group.sessions.pop(event.old_member_id, None)
        group.sessions[event.member_id] = event.session_deadline_us
        if event.old_member_id in group.assignment:
            group.assignment[event.member_id] = group.assignment.pop(event.old_member_id)
        if group.under_way is not None:
            group.under_way.joins = [one for one in group.under_way.joins if one[1] != event.old_member_id]

    def _completed(self, event: e.JoinBarrierCompleted) -> None:
        group = self.groups[event.group]
        group.generation, group.assignor, group.leader = event.generation, event.protocol, event.leader
        group.members, group.sessions = dict(event.members), dict(event.session_deadlines_us)
        group.state = "CompletingRebalance" if event.members else "Empty"
        group.offers = {}
        rebalance = group.under_way
        if rebalance is not None:
            rebalance.completed, rebalance.elected = event, None
        if not event.members:
            group.assignment = {}
            self._over(group, event.at_us)

    def _elected(self, event: e.ProtocolElected) -> None:
        group = self.groups[event.group]
        group.offers = offers_of(event, group.members)
        if group.under_way is not None:
            group.under_way.elected = event

    def _synced(self, event: e.SyncReceived) -> None:
        group = self.groups[event.group]
        group.sessions[event.member_id] = event.session_deadline_us
        if group.under_way is not None:
            group.under_way.synced[event.member_id] = None

    def _stable(self, event: e.GroupStabilized) -> None:
        group = self.groups[event.group]
        group.state, group.assignment = "Stable", dict(event.assignment)
        group.sessions.update(event.session_deadlines_us)
        self._over(group, event.at_us)

    @staticmethod
    def _over(group: GroupBook, at_us: int) -> None:
        rebalance, group.under_way = group.under_way, None
        if rebalance is None:
            return
        rebalance.stable_us = rebalance.assigned_us = at_us
        rebalance.generation, rebalance.members, rebalance.leader = group.generation, len(group.members), group.leader
        rebalance.broker, rebalance.assignor = group.holder, group.assignor
        for member_id, partitions in group.assignment.items():
            name = group.members.get(member_id, "")
            for partition in partitions:
                before = group.last_owner.get(partition, name)
                if before != name:
                    rebalance.moves[partition] = before, name
                group.last_owner[partition] = name
        rebalance.kept = sum(1 for partition in group.owners if partition not in rebalance.unowned)
        group.rebalances.append(rebalance)

    def _removed(self, event: e.MemberRemoved) -> None:
        group = self.groups[event.group]
        for held in (group.members, group.pending, group.sessions):
            held.pop(event.member_id, None)
        group.leader = event.leader
        rebalance = group.under_way
        if rebalance is not None:
            rebalance.joins = [one for one in rebalance.joins if one[1] != event.member_id]
            rebalance.newcomers.pop(event.member_id, None)
            rebalance.synced.pop(event.member_id, None)
            rebalance.gone.append((event.at_us, event.member_id, event.member, event.reason))

    def _renewed(self, event: e.HeartbeatAnswered | e.OffsetCommitRefused | e.SessionRenewed) -> None:
        if event.session_deadline_us >= 0:
            self.groups[event.group].sessions[event.member_id] = event.session_deadline_us

    def _committed(self, event: e.OffsetsCommitted) -> None:
        group = self.groups[event.group]
        if event.session_deadline_us >= 0:
            group.sessions[event.member_id] = event.session_deadline_us
        group.committed.update(event.offsets)
        group.state = "Empty" if group.state == "Dead" else group.state

    def _expired(self, event: e.OffsetsExpired | e.OffsetsDeleted) -> None:
        for name in event.partitions:
            self.groups[event.group].committed.pop(name, None)

    def _deleted(self, event: e.GroupDeleted) -> None:
        group = self.groups[event.group]
        group.state, group.generation, group.assignor, group.leader = "Dead", 0, "", ""
        group.taken.clear()  # generation 1 of its next life is another one
        group.members, group.pending, group.sessions, group.assignment = {}, {}, {}, {}
        group.committed, group.under_way = {}, None

    def _loaded(self, event: e.GroupLoaded) -> None:
        group = self.groups[event.group]
        group.state, group.generation, group.assignor = event.state, event.generation, event.protocol
        group.leader, group.holder = event.leader, event.broker
        group.members, group.assignment = dict(event.members), dict(event.assignment)
        group.sessions, group.committed = dict(event.session_deadlines_us), dict(event.offsets)
        group.pending, group.under_way = {}, None
        group.offers = {}  # the records of a group hold the elected assignor alone

    def _unloaded(self, event: e.GroupUnloaded) -> None:
        group = self.groups[event.group]
        if group.holder in {-1, event.broker}:
            group.pending, group.under_way = {}, None

    # --- what members own, read and read again ----------------------------------------------------------------------

    def _assigned(self, event: e.PartitionsAssigned) -> None:
        group = self.groups[event.group]
        for name in event.partitions:
            group.owners[name] = None
            if (since := group.unowned_since_us.pop(name, None)) is not None:
                if group.new is not None and group.under_way is not None:  # its members take over one after the other
                    group.under_way.given_up_us += event.at_us - max(since, group.under_way.started_us)
                else:
                    group.gaps.append(Gap(since, event.at_us, len(group.rebalances)))
        names = event.partitions
        if group.new is not None:
            names = tuple(name for name in names if group.under_way is not None or name in group.missing)
            if not names:
                return
            current = group.under_way or (group.rebalances[-1] if group.rebalances else None)
            if current is not None:
                group.to_read.update(dict.fromkeys(names, current))
        elif group.taken.get(event.member) == event.generation:
            return
        group.taken[event.member] = event.generation
        group.missing.difference_update(names)
        if group.new is None:
            group.awaiting_position.update(dict.fromkeys(names, event.generation))
        if group.rebalances and group.rebalances[-1].generation == event.generation and group.under_way is None:
            last = group.rebalances[-1]
            if group.new is None or last.revoked is not None:  # else the group was a classic one then
                last.assigned_us = event.at_us

    def _let_go(self, group_name: str, names: tuple[str, ...], at_us: int) -> None:
        group = self.groups[group_name]
        for name in names:
            if name in group.owners and not self._holders(group_name, name):
                del group.owners[name]
                group.unowned_since_us[name] = at_us
                if group.under_way is not None:
                    group.under_way.unowned[name] = None

    def released(self, group: str, names: tuple[str, ...], at_us: int) -> None:
        """A member of the group has released these partitions."""
        self._let_go(group, names, at_us)

    def _positioned(self, event: e.PositionsReset) -> None:
        group = self.groups[event.group]
        for name, offset in event.positions.items():
            if event.reason == "truncated":
                group.highest[name] = offset
            generation = group.awaiting_position.pop(name, None)
            again = group.highest.get(name, offset) - offset
            group.highest.setdefault(name, offset)
            mover = group.to_read.pop(name, None)
            if mover is not None and again > 0:
                mover.reread += again
            if generation is not None and again > 0:
                for rebalance in reversed(group.rebalances):
                    if rebalance.generation == generation:
                        rebalance.reread += again
                        break

    def _read(self, event: e.PollReturned | e.PositionsMovedOn) -> None:
        highest = self.groups[event.group].highest
        for name, offset in event.positions.items():
            highest[name] = max(offset, highest.get(name, offset))

    _HANDLERS: ClassVar[dict[type[e.Event], Callable[..., None]]] = {
        e.GroupDeclared: _declared,
        e.SubscriptionChanged: _subscribes,
        e.SettingChanged: _set,
        e.MemberIdAssigned: _id_assigned,
        e.RebalanceStarted: _rebalance,
        e.JoinBarrierExtended: _extended,
        e.JoinReceived: _joined,
        e.StaticMemberReplaced: _replaced,
        e.JoinBarrierCompleted: _completed,
        e.ProtocolElected: _elected,
        e.SyncReceived: _synced,
        e.GroupStabilized: _stable,
        e.MemberRemoved: _removed,
        e.HeartbeatAnswered: _renewed,
        e.OffsetCommitRefused: _renewed,
        e.SessionRenewed: _renewed,
        e.OffsetsCommitted: _committed,
        e.OffsetsExpired: _expired,
        e.OffsetsDeleted: _expired,
        e.GroupDeleted: _deleted,
        e.GroupLoaded: _loaded,
        e.GroupUnloaded: _unloaded,
        e.PartitionsAssigned: _assigned,
        e.PositionsReset: _positioned,
        e.PollReturned: _read,
        e.PositionsMovedOn: _read,
    }
