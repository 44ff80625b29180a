"""The independent recorder's notes of groups: the last coordinator, rebalances, and the owners of each partition."""

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from cluster.coordinators.group.coordinator import GroupCoordinator
from cluster.coordinators.group.group import ClassicGroup
from cluster.coordinators.group.states import GroupState

if TYPE_CHECKING:
    from tests.support.independent_recorder import IndependentRecorder


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


class CoordinatorNotes:
    """The last coordinator that loaded each partition of `__consumer_offsets`, and what became of its groups."""

    def __init__(self, recorder: "IndependentRecorder") -> None:
        self._recorder = recorder
        self._current: dict[str, GroupCoordinator] = {}
        self._kept: dict[
            str, dict[str, GroupAsOf]
        ] = {}  # what the last coordinator held when another leader was elected
        self.gone: dict[str, None] = {}  # groups that were there and are not: deleted, or in no log any more
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

    def group(self, partition: str, name: str) -> GroupAsOf | None:
        """The group as its coordinator holds it, or the last one held it when it died or lost the partition."""
        coordinator = self._current.get(partition)
        if coordinator is None:
            return self._kept.get(partition, {}).get(name)
        group = coordinator.groups.get(name)
        return GroupAsOf(group) if group is not None else None

    def loaded(self, partition: str, coordinator: GroupCoordinator) -> None:
        """A new coordinator has replayed its partition."""
        self._current[partition] = coordinator
        self.gone |= dict.fromkeys(name for name in self._kept.pop(partition, {}) if name not in coordinator.groups)
        for name in coordinator.groups:
            self._open.pop(name, None)

    def deposed(self, partition: str) -> None:
        """The controller gives the partition away: what its coordinator does from now on is not the group's story."""
        coordinator = self._current.pop(partition, None)
        if coordinator is not None:
            self._kept[partition] = {name: GroupAsOf(group) for name, group in coordinator.groups.items()}
            for name in coordinator.groups:
                self._open.pop(name, None)

    def _counts(self, group: ClassicGroup) -> bool:
        """Whether this is the group of its coordinator, not one that a deposed coordinator still holds."""
        return any(coordinator.groups.get(group.group_id) is group for coordinator in self._current.values())

    def deleted(self, group: ClassicGroup) -> None:
        """Its coordinator is about to forget it."""
        if self._counts(group):
            self.gone[group.group_id] = None

    def begins(self, group: ClassicGroup, cause: str, trigger: str, now_us: int) -> None:
        """The join barrier opens; a round that never became Stable goes on under its first cause, with a new wait."""
        if self._counts(group):
            self._open.setdefault(group.group_id, LastRebalance(cause, trigger, now_us)).waited_for = ""

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

    def over(self, group: ClassicGroup, now_us: int) -> None:
        """The group is Stable, or Empty."""
        if not self._counts(group):
            return
        rebalance = self._open.pop(group.group_id, None)
        if rebalance is None:
            return
        rebalance.took_us, rebalance.generation = now_us - rebalance.started_us, group.generation
        before = self._assigned[group.group_id]
        for member in group.members.values():
            rebalance.moved += sum(before.get(name, member.client_id) != member.client_id for name in member.assignment)
        for member in group.members.values():
            before |= dict.fromkeys(member.assignment, member.client_id)
        self.last[group.group_id] = self._all[group.group_id][group.generation] = rebalance

    def share_taken(self, group: str, member: str, generation: int, added: list[str], now_us: int) -> None:
        """A member has taken over what SyncGroup brought it, for the first time in this generation or once more."""
        if self._given.get((group, member)) == generation:
            return
        self._given[group, member] = generation
        self._fresh |= {(group, name): generation for name in added}
        last = self.last.get(group)
        if last is not None and last.generation == generation and group not in self._open:
            last.took_us = now_us - last.started_us

    def replaced(self, group: ClassicGroup, member: str) -> None:
        """A static member came back, or its twin came: a Stable group goes on, and the share is no news."""
        if group.state is GroupState.STABLE and self._counts(group):
            self._given[group.group_id, member] = group.generation

    def positioned(self, group: str, partition: str, behind: int) -> None:
        """A member begins this far behind where the group had read; it counts for what a rebalance has just given."""
        generation = self._fresh.pop((group, partition), None)
        if generation in self._all[group]:
            self._all[group][generation].reread += behind
