"""The independent recorder's notes of groups: the last coordinator, rebalances, and the owners of each partition."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cluster.coordinators.consumer_group.consumer_group import ConsumerGroup, preferred_assignor
from cluster.coordinators.consumer_group.states import ConsumerGroupState
from cluster.coordinators.group.context import GroupContext
from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.group import NOT_ARMED, SESSION, ClassicGroup
from cluster.coordinators.group.states import GroupState

if TYPE_CHECKING:
    from tests.support.independent_recorder import IndependentRecorder

CLOSED = (ConsumerGroupState.STABLE, ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)
"""States in which no rebalance of a group of the new protocol is under way."""


class Ownership:
    """Which consumers of one group hold each partition, and for how long none did after the first."""

    def __init__(self) -> None:
        self.holders: defaultdict[str, list[str]] = defaultdict(list)
        self._since_us: dict[str, int] = {}
        self._stopped_us = 0

    def changed(self, member: str, before: tuple[str, ...], now: tuple[str, ...], now_us: int) -> None:
        """A consumer holds other partitions than before."""
        for name in before:
            if name not in now:
                self.holders[name].remove(member)
                if not self.holders[name]:
                    self._since_us[name] = now_us
        for name in now:
            if name not in before:
                self.holders[name].append(member)
                self._stopped_us += now_us - self._since_us.pop(name, now_us)

    def stopped_us(self, now_us: int) -> int:
        """Σ over partitions of the time without a holder, up to now."""
        return self._stopped_us + sum(now_us - since for since in self._since_us.values())


class LastRebalance:
    """A rebalance, under way or over."""

    def __init__(self, cause: str, trigger: str, started_us: int) -> None:
        self.cause, self.trigger, self.started_us = cause, trigger, started_us
        self.waited_for = ""
        self.generation = -1
        self.took_us = self.moved = self.reread = 0
        self.classic = True


class GroupAsOf:
    """A group as its coordinator held it at some instant."""

    def __init__(self, group: ClassicGroup) -> None:
        self.state = group.state.value
        self.protocol, self.generation, self.leader = group.protocol, group.generation, group.leader_name
        self.offsets = {name: record.offset for name, record in group.offsets.items()}
        self.members = {
            member_id: (member.client_id, member.assignment, member.session_deadline_us)
            for member_id, member in group.members.items()
        }


class MemberAsOf(NamedTuple):
    """A member of a group of the new protocol; `classic`: it speaks the classic one."""

    epoch: int
    state: str
    target: tuple[str, ...]
    pending: tuple[str, ...]
    classic: bool


class ConsumerGroupAsOf:
    """A group of the new protocol as its coordinator held it at some instant; `protocol`: the assignor that came last.

    `named`: each member as (client id, member id, itself as it was).
    """

    def __init__(self, context: GroupContext, group: ConsumerGroup, assignor: str) -> None:
        self.state, self.generation, self.leader, self.protocol = group.state.value, group.epoch, "", assignor
        self.assignment_epoch = group.assignment_epoch
        self.offsets = {name: record.offset for name, record in group.offsets.items()}
        self.members = {
            member_id: (
                member.client_id,
                tuple(member.assigned),
                context.deadlines.get((SESSION, group.group_id, member_id)) or NOT_ARMED,
            )
            for member_id, member in group.members.items()
        }
        self.named = sorted(
            (
                member.client_id,
                member_id,
                MemberAsOf(
                    member.epoch,
                    member.state.value,
                    tuple(group.targets.get(member_id, ())),
                    tuple(member.pending_revocation),
                    member.classic is not None,
                ),
            )
            for member_id, member in group.members.items()
        )

    def by_client(self, current: Mapping[str, str]) -> dict[str, MemberAsOf]:
        """The member of each client id: the one with the client's `current` member id, else the last of its ids."""
        found = {client: member for client, _, member in self.named}
        return found | {client: member for client, own, member in self.named if current.get(client) == own}


AnyGroup = ClassicGroup | ConsumerGroup
AnyGroupAsOf = GroupAsOf | ConsumerGroupAsOf


class CoordinatorNotes:
    """The last coordinator that loaded each partition of `__consumer_offsets`, and what became of its groups."""

    def __init__(self, recorder: "IndependentRecorder") -> None:
        self._recorder = recorder
        self._current: dict[str, GroupCoordinator] = {}
        self._kept: dict[
            str, dict[str, AnyGroupAsOf]
        ] = {}  # what the last coordinator held when another leader was elected
        self.gone: dict[str, None] = {}  # groups that were there and are not: deleted, or in no log any more
        self.kinds: dict[str, str] = {}  # the protocol that a group was last seen with
        self.assignors: defaultdict[str, str] = defaultdict(str)  # of groups of the new protocol
        self._open: dict[str, LastRebalance] = {}
        self._closing: dict[str, str] = {}
        self.last: dict[str, LastRebalance] = {}
        self.barriers: Counter[str] = Counter()  # how many were completed
        self._all: defaultdict[str, dict[int, LastRebalance]] = defaultdict(dict)  # by generation
        self._assigned: defaultdict[str, dict[str, str]] = defaultdict(dict)  # partition → its last assignee
        self._given: dict[tuple[str, str], int] = {}  # (group, member) → the generation whose share it has
        self._fresh: dict[
            tuple[str, str], int
        ] = {}  # (group, partition) → the generation that gave it, until it is read
        self._moving: dict[tuple[str, str], LastRebalance] = {}  # as _fresh, under the new protocol
        self._had: dict[str, dict[str, list[str]]] = {}  # group → who held its partitions when it became Stable

    def group(self, partition: str, name: str) -> AnyGroupAsOf | None:
        """The group as its coordinator holds it, or the last one held it when it died or lost the partition."""
        coordinator = self._current.get(partition)
        if coordinator is None:
            return self._kept.get(partition, {}).get(name)
        return self._as_of(coordinator).get(name)

    def _as_of(self, coordinator: GroupCoordinator) -> dict[str, AnyGroupAsOf]:
        known: dict[str, AnyGroupAsOf] = {name: GroupAsOf(group) for name, group in coordinator.groups.items()}
        for name, group in coordinator.consumer_groups.items():
            known[name] = ConsumerGroupAsOf(coordinator._context, group, self.assignors[name])
        return known

    def loaded(self, partition: str, coordinator: GroupCoordinator) -> None:
        """A new coordinator has replayed its partition."""
        self._current[partition] = coordinator
        for name in self._kept.pop(partition, {}):
            if name not in coordinator.all_groups:
                self._forgotten(name)
        for name, classic in coordinator.groups.items():
            self._open.pop(name, None)
            if classic.members:
                self.kinds[name] = "classic"
        for name, group in coordinator.consumer_groups.items():
            self.kinds[name] = "consumer"
            default = coordinator._context.settings.consumer_assignors[0]
            self.assignors[name] = preferred_assignor(group.members.values(), default)  # no record has the target's
            if group.state in CLOSED:
                self._open.pop(name, None)

    def converted(self, name: str, kind: str) -> None:
        """Its coordinator keeps the group as one of another protocol: a rebalance that it began is over with it."""
        self.kinds[name] = kind
        self._open.pop(name, None)

    def protocol(self, known: AnyGroupAsOf | None, name: str, declared: str) -> str:
        """The protocol of the group: without members, that of its last ones."""
        if isinstance(known, ConsumerGroupAsOf):
            self.kinds[name] = "consumer"
        elif known is not None and known.members:
            self.kinds[name] = "classic"
        return self.kinds.get(name, declared)

    def deposed(self, partition: str) -> None:
        """The controller gives the partition away: what its coordinator does from now on is not the group's story."""
        coordinator = self._current.pop(partition, None)
        if coordinator is not None:
            self._kept[partition] = self._as_of(coordinator)
            for name in coordinator.groups:
                self._open.pop(name, None)

    def _counts(self, group: AnyGroup) -> bool:
        """Whether this is the group of its coordinator, not one that a deposed coordinator still holds."""
        return any(coordinator.all_groups.get(group.group_id) is group for coordinator in self._current.values())

    def deleted(self, group: AnyGroup) -> None:
        """Its coordinator is about to forget it."""
        if self._counts(group):
            self._forgotten(group.group_id)

    def _forgotten(self, name: str) -> None:
        """It is deleted or in no log any more: if it comes again, its generations begin anew."""
        self.gone[name] = None
        self._given = {each: generation for each, generation in self._given.items() if each[0] != name}

    def computed(self, group: ConsumerGroup, assignor: str) -> None:
        """The broker has computed a target; one of a deposed coordinator is in no log that counts."""
        if not self._counts(group):
            return
        self.assignors[group.group_id] = assignor
        self.kinds[group.group_id] = "consumer"
        self.barriers[group.group_id] += 1

    def matched(self, group: ConsumerGroup) -> None:
        """Expressions of its members are matched with these topics; it goes on having offsets of earlier ones."""
        if self._counts(group):
            found = dict.fromkeys(topic for each in group.regexes.values() for topic in each.topics)
            self._recorder.subscribed[group.group_id] |= found

    def begins(self, group: AnyGroup, cause: str, trigger: str, now_us: int) -> None:
        """The join barrier opens; a round that never became Stable goes on under its first cause, with a new wait."""
        if self._counts(group):
            opened = self._open.setdefault(group.group_id, LastRebalance(cause, trigger, now_us))
            opened.waited_for, opened.classic = "", isinstance(group, ClassicGroup)

    def closing(self, group: ClassicGroup, waited_for: str) -> None:
        """The barrier is about to close: it waited for the first that is missing, else for the last to come."""
        absent = [
            member.client_id for member_id, member in group.members.items() if member_id not in group.parked_joins
        ]
        come = [group.members[member_id].client_id for member_id in group.parked_joins]
        if group.initial:  # it closes by time only
            self._closing[group.group_id] = ""
            return
        self._closing[group.group_id] = waited_for or next(iter(absent), "") or (come[-1] if come else "")

    def closed(self, group: ClassicGroup, now_us: int) -> None:
        """The barrier closed, unless it was extended; without members the rebalance is over."""
        if group.state is GroupState.PREPARING_REBALANCE or not self._counts(group):
            return
        self.barriers[group.group_id] += 1
        if group.group_id in self._open and group.members:
            self._open[group.group_id].waited_for = self._closing[group.group_id]
        if group.state is GroupState.EMPTY:
            self.over(group, now_us)

    def over(self, group: AnyGroup, now_us: int) -> None:
        """The group is Stable, or Empty."""
        if not self._counts(group):
            return
        rebalance = self._open.pop(group.group_id, None)
        if rebalance is None:
            return
        generation = group.generation if isinstance(group, ClassicGroup) else group.epoch
        rebalance.took_us, rebalance.generation = now_us - rebalance.started_us, generation
        before = self._assigned[group.group_id]
        for client, assignment in _shares(group):
            rebalance.moved += sum(before.get(name, client) != client for name in assignment)
        for client, assignment in _shares(group):
            before |= dict.fromkeys(assignment, client)
        self.last[group.group_id] = self._all[group.group_id][generation] = rebalance
        holders = self._recorder.ownership[group.group_id].holders
        self._had[group.group_id] = {name: list(members) for name, members in holders.items()}

    def share_taken(self, group: str, member: str, generation: int, added: list[str], now_us: int) -> None:
        """A member has taken over what SyncGroup brought it, for the first time in this generation or once more."""
        if self.kinds.get(group) == "consumer":
            self.target_taken(group, member, generation, added, now_us)
        elif self._given.get((group, member)) != generation:
            self._given[group, member] = generation
            self._fresh |= {(group, name): generation for name in added}
            self._taken(group, generation, now_us)

    def target_taken(self, group: str, member: str, generation: int, added: list[str], now_us: int) -> None:
        """A member of the new protocol has taken partitions over in this member epoch, or has some back."""
        had = self._had.get(group, {})
        if group not in self._open:
            added = [name for name in added if member not in had.get(name, [])]
            for name in added:
                had.setdefault(name, []).append(member)
        current = self._open.get(group) or self.last.get(group)
        if added and current is not None:
            self._moving |= {(group, name): current for name in added}
            self._taken(group, generation, now_us)

    def _taken(self, group: str, generation: int, now_us: int) -> None:
        last = self.last.get(group)
        if last is None or (last.classic and self.kinds.get(group) == "consumer"):
            return  # the group was a classic one then
        if last.generation == generation and group not in self._open:
            last.took_us = now_us - last.started_us

    def replaced(self, group: ClassicGroup, member: str) -> None:
        """A static member came back, or its twin came: a Stable group goes on, and the share is no news."""
        if group.state is GroupState.STABLE and self._counts(group):
            self._given[group.group_id, member] = group.generation

    def positioned(self, group: str, partition: str, behind: int) -> None:
        """A member begins this far behind where the group had read; it counts for what a rebalance has just given."""
        reconciled = self._moving.pop((group, partition), None)
        if reconciled is not None:
            reconciled.reread += behind
        generation = self._fresh.pop((group, partition), None)
        if generation in self._all[group]:
            self._all[group][generation].reread += behind


def _shares(group: AnyGroup) -> list[tuple[str, Iterable[str]]]:
    """Each member's client id, and the partitions that its coordinator gives it."""
    if isinstance(group, ClassicGroup):
        return [(member.client_id, member.assignment) for member in group.members.values()]
    return [(member.client_id, tuple(member.assigned)) for member in group.members.values()]
