"""The fold of what logs tell: the events of groups, once more, into a model in which the unknown stays unknown.

A flight has no such model: without `LogsRead` before them the events of groups change nothing here.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from cluster import events as e
from cluster.events import Event
from cluster.view.fold_table import FoldTable
from cluster.view.logged.state import UNKNOWN, LoggedGroup, LoggedMember, LoggedRebalance, LogsView
from cluster.view.state import ClusterView

SOURCE, FOLD = FoldTable(), FoldTable()
KEPT: Final = 500
NAMES_KEPT: Final = 100  # of one rebalance
NAMES_KNOWN: Final = 10_000  # of one group

EventT = TypeVar("EventT", bound=Event)


@SOURCE.handles(e.LogsRead)
def logs_read(view: ClusterView, event: e.LogsRead) -> None:
    view.logs = LogsView(event.logs, event.began_us)


def _logged(kind: type[EventT]) -> Callable[[Callable[[LoggedGroup, EventT], None]], object]:
    """Enter the decorated function for events that were read from logs; the group is made at its first event."""

    def enter(take: Callable[[LoggedGroup, EventT], None]) -> object:
        def handler(view: ClusterView, event: Any) -> None:  # noqa: ANN401 - of the kind, which has a group
            if view.logs is not None:
                groups = view.logs.groups
                take(groups.setdefault(event.group, LoggedGroup(event.group)), event)

        return FOLD.handles(kind)(handler)

    return enter


def _name(group: LoggedGroup, name: str) -> None:
    if name not in {"", UNKNOWN} and len(group.named) < NAMES_KNOWN:
        group.named[name] = None


def _known(word: str) -> str | None:
    return word if word != UNKNOWN else None


def _begin(group: LoggedGroup, one: LoggedRebalance) -> None:
    group.rebalances.append(one)
    group.counted += 1
    del group.rebalances[:-KEPT]


def _end(group: LoggedGroup, at_us: int | None) -> None:
    """End the rebalance under way; None: no line says when."""
    one = group.under_way
    if one is not None:
        one.over, one.assigned_us = True, at_us
        if at_us is None:
            one.generation = one.members = None
        else:
            one.generation = group.generation
            one.members = len(group.members) if group.complete else None


def _joins(group: LoggedGroup, member_id: str, name: str, at_us: int) -> None:
    group.members[member_id] = LoggedMember(name, at_us)
    _name(group, name)
    one = group.under_way
    if one is not None and len(one.joined) < NAMES_KEPT:
        one.joined[name] = at_us


def _all_of(group: LoggedGroup, members: dict[str, str]) -> None:
    """These are all members; of each stays what was known."""
    group.members = {one: group.members.get(one, LoggedMember(name)) for one, name in members.items()}
    group.complete = True


@_logged(e.MemberIdAssigned)
def member_id_assigned(group: LoggedGroup, event: e.MemberIdAssigned) -> None:
    group.coordinator = event.broker


@_logged(e.JoinReceived)
def join_received(group: LoggedGroup, event: e.JoinReceived) -> None:
    group.protocol = "classic"
    _joins(group, event.member_id, event.member, event.at_us)


@_logged(e.RebalanceStarted)
def rebalance_started(group: LoggedGroup, event: e.RebalanceStarted) -> None:
    group.protocol, group.state, group.coordinator = "classic", "PreparingRebalance", event.broker
    group.generation = event.generation
    before = group.under_way
    if before is not None:
        before.attempts += 1
        before.barrier_us = None
        return
    began = LoggedRebalance(
        event.at_us, _known(event.cause), event.trigger, event.detail, event.broker, event.generation
    )
    newest = group.members.get(event.member_id)
    if newest is not None and newest.since_us == event.at_us:  # its line is the one before
        began.joined[newest.name] = event.at_us
    name, reason, at_us = group.left
    if name == event.trigger and at_us == event.at_us:  # so is that of a departure
        began.removed[name] = reason
    _begin(group, began)


@_logged(e.JoinBarrierExtended)
def join_barrier_extended(group: LoggedGroup, event: e.JoinBarrierExtended) -> None:
    del event
    if group.under_way is not None:
        group.under_way.extensions += 1


@_logged(e.JoinBarrierCompleted)
def join_barrier_completed(group: LoggedGroup, event: e.JoinBarrierCompleted) -> None:
    group.protocol, group.generation = "classic", event.generation
    _all_of(group, event.members)
    group.state = "CompletingRebalance" if event.members else "Empty"
    if group.under_way is not None:
        group.under_way.barrier_us = event.at_us
    if not event.members:
        _end(group, event.at_us)


@_logged(e.GroupStabilized)
def group_stabilized(group: LoggedGroup, event: e.GroupStabilized) -> None:
    group.protocol, group.state, group.generation = "classic", "Stable", event.generation
    _end(group, event.at_us)


@_logged(e.MemberRemoved)
def member_removed(group: LoggedGroup, event: e.MemberRemoved) -> None:
    group.members.pop(event.member_id, None)
    _name(group, event.member)
    group.left = event.member, event.reason, event.at_us
    one = group.under_way
    if one is not None and len(one.removed) < NAMES_KEPT:
        one.removed[event.member] = event.reason


@_logged(e.StaticMemberReplaced)
def static_member_replaced(group: LoggedGroup, event: e.StaticMemberReplaced) -> None:
    group.members.pop(event.old_member_id, None)
    group.members[event.member_id] = LoggedMember(event.member, event.at_us)
    _name(group, event.member)


@_logged(e.ConsumerMemberSubscribed)
def consumer_member_subscribed(group: LoggedGroup, event: e.ConsumerMemberSubscribed) -> None:
    group.protocol = "consumer"
    _joins(group, event.member_id, event.member, event.at_us)


@_logged(e.ConsumerGroupEpochBumped)
def consumer_group_epoch_bumped(group: LoggedGroup, event: e.ConsumerGroupEpochBumped) -> None:
    group.protocol, group.state, group.generation, group.coordinator = "consumer", None, event.epoch, event.broker
    _end(group, None)
    one = LoggedRebalance(event.at_us, _known(event.cause), ", ".join(event.members), "", event.broker)
    one.generation, one.over = event.epoch, True
    _begin(group, one)


@_logged(e.GroupLoaded)
def group_loaded(group: LoggedGroup, event: e.GroupLoaded) -> None:
    _loaded(group, "classic", event)


@_logged(e.ConsumerGroupLoaded)
def consumer_group_loaded(group: LoggedGroup, event: e.ConsumerGroupLoaded) -> None:
    _loaded(group, "consumer", event)


def _loaded(group: LoggedGroup, protocol: str, event: e.GroupLoaded | e.ConsumerGroupLoaded) -> None:
    group.protocol, group.state, group.coordinator = protocol, _known(event.state), event.broker
    group.generation = None
    _all_of(group, event.members)
    _end(group, None)


@_logged(e.GroupUnloaded)
def group_unloaded(group: LoggedGroup, event: e.GroupUnloaded) -> None:
    del event
    group.state = None
    _end(group, None)


@_logged(e.ClassicGroupUpgraded)
def classic_group_upgraded(group: LoggedGroup, event: e.ClassicGroupUpgraded) -> None:
    group.protocol, group.state, group.coordinator = "consumer", None, event.broker
    _end(group, None)


@_logged(e.ConsumerGroupDowngraded)
def consumer_group_downgraded(group: LoggedGroup, event: e.ConsumerGroupDowngraded) -> None:
    group.protocol, group.state, group.coordinator = "classic", None, event.broker
    _end(group, None)


@_logged(e.GroupProtocolConverted)
def group_protocol_converted(group: LoggedGroup, event: e.GroupProtocolConverted) -> None:
    group.protocol, group.state, group.coordinator = event.protocol, "Empty", event.broker
    _all_of(group, {})
    _end(group, None)
