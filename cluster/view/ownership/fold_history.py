"""The fold of the history: each handler runs after the one that has changed the group, and notes what is new."""

from collections.abc import Iterable
from typing import Final

from cluster import events as e
from cluster.view.fold_table import FoldTable
from cluster.view.ownership.history import MOVING, OWNED, SEVERAL, UNOWNED
from cluster.view.state import ClusterView, GroupView

FOLD = FoldTable()


@FOLD.handles(e.PartitionsAssigned)
def partitions_assigned(view: ClusterView, event: e.PartitionsAssigned) -> None:
    group = view.groups[event.group]
    history = group.history
    place = history.place_of(event.member)
    for name in event.partitions:
        history.note(name, event.at_us, 4 * place + (SEVERAL if name in group.other_holders else OWNED))
    history.count(event.at_us, len(group.unowned_since_us))


@FOLD.handles(e.PartitionsRevoked)
def partitions_revoked(view: ClusterView, event: e.PartitionsRevoked) -> None:
    _released(view.groups[event.group], event.at_us, event.partitions)


@FOLD.handles(e.MemberStopped)
def member_stopped(view: ClusterView, event: e.MemberStopped) -> None:
    _gone(view.groups[event.group], event.at_us, event.member)


@FOLD.handles(e.MemberStateChanged)
def member_state_changed(view: ClusterView, event: e.MemberStateChanged) -> None:
    if event.state == "Fenced":
        _gone(view.groups[event.group], event.at_us, event.member)


def _gone(group: GroupView, at_us: int, member: str) -> None:
    """A member holds nothing any more: not what it owned, nor what another member owned at the same time."""
    history = group.history
    if member not in history.owners:
        return
    place = history.place_of(member)
    held = [
        name
        for name, runs in history.runs.items()
        if runs[-1] & 3 == SEVERAL or (runs[-1] >> 2 == place and runs[-1] & 3 != UNOWNED)
    ]
    _released(group, at_us, held)


def _released(group: GroupView, at_us: int, partitions: Iterable[str]) -> None:
    history = group.history
    for name in partitions:
        runs = history.runs.get(name)
        if runs is None:
            continue
        code, owner = runs[-1], group.owners.get(name)
        if owner is None:
            history.note(name, at_us, code | UNOWNED)
            continue
        place = history.place_of(owner)
        if code != 4 * place + MOVING:
            history.note(name, at_us, 4 * place + (SEVERAL if name in group.other_holders else OWNED))
    history.count(at_us, len(group.unowned_since_us))


@FOLD.handles(e.GroupStabilized)
def group_stabilized(view: ClusterView, event: e.GroupStabilized) -> None:
    group = view.groups[event.group]
    given = {
        name: group.members.get(member_id, "")
        for member_id, partitions in event.assignment.items()
        for name in partitions
    }
    moving = [name for name, owner in group.owners.items() if given.get(name, "") != owner]
    _move(group, event.at_us, moving)
    if len(moving) < len(group.owners):
        _stay(group, event.at_us, [name for name, owner in group.owners.items() if given.get(name, "") == owner])
    _group_changed(view, event)


@FOLD.handles(e.MemberAssignmentChanged)
def member_assignment_changed(view: ClusterView, event: e.MemberAssignmentChanged) -> None:
    group = view.groups[event.group]
    owned = group.owners
    _move(group, event.at_us, [name for name in event.pending_revocation if owned.get(name) == event.member])
    _stay(group, event.at_us, [name for name in event.assigned if owned.get(name) == event.member])
    _enter(group, event.at_us)  # a lone member that has its next target at once ends the rebalance


def _move(group: GroupView, at_us: int, partitions: Iterable[str]) -> None:
    """The coordinator takes owned partitions away, and their owners still read them."""
    history = group.history
    for name in partitions:
        history.note(name, at_us, 4 * history.place_of(group.owners[name]) + MOVING)


def _stay(group: GroupView, at_us: int, partitions: Iterable[str]) -> None:
    """Owned partitions stay where they are: one that was moving does so no more."""
    history = group.history
    for name in partitions:
        code = history.runs[name][-1]
        if code & 3 == MOVING:
            history.note(name, at_us, code - MOVING + (SEVERAL if name in group.other_holders else OWNED))


def _group_changed(view: ClusterView, event: e.Event) -> None:
    assert isinstance(event, GROUP_CHANGES)
    _enter(view.groups[event.group], event.at_us)


def _enter(group: GroupView, at_us: int) -> None:
    """Note the group's generation, and whether a rebalance is under way."""
    group.history.enter(at_us, group.generation)
    group.history.open_or_close(at_us, group.generation, is_open=group.under_way is not None)


GROUP_CHANGES: Final = (
    e.RebalanceStarted,
    e.JoinBarrierCompleted,
    e.GroupStabilized,
    e.GroupLoaded,
    e.GroupUnloaded,
    e.GroupDeleted,
    e.GroupProtocolConverted,
    e.ClassicGroupUpgraded,
    e.ConsumerGroupDowngraded,
    e.ConsumerGroupEpochBumped,
    e.ConsumerGroupStateChanged,
    e.ConsumerGroupLoaded,
)
for _kind in GROUP_CHANGES:
    if _kind is not e.GroupStabilized:
        FOLD.handles(_kind)(_group_changed)
