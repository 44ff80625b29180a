"""The fold of events that were read from logs, into a model in which the unknown stays unknown.

They are of the kinds that a flight has, but no event declares the processes and partitions that they are of. So from
`LogsRead` on they change nothing of what a flight's view has, except its event log.
"""

from typing import Final

from cluster import events as e
from cluster.view.fold_cluster import note, note_of
from cluster.view.fold_table import FoldTable
from cluster.view.logged.state import UNKNOWN, LoggedGroup, LoggedMember, LoggedRebalance, LogsView
from cluster.view.state import ClusterView

SOURCE, FOLD = FoldTable(), FoldTable()
KEPT: Final = 500
NAMES_KEPT: Final = 100  # of one rebalance
NAMES_KNOWN: Final = 10_000  # of one group


@SOURCE.handles(e.LogsRead)
def logs_read(view: ClusterView, event: e.LogsRead) -> None:
    view.logs = LogsView(event.logs, event.began_us)


@SOURCE.handles(e.ClientDisconnected)
def client_disconnected(view: ClusterView, event: e.ClientDisconnected) -> None:
    """Change nothing: flights do not have it."""


def _of(view: ClusterView, name: str) -> LoggedGroup:
    """The group, made at its first event."""
    assert view.logs is not None
    return view.logs.groups.setdefault(name, LoggedGroup(name))


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


# --- what coordinators log ----------------------------------------------------------------------------------------


@FOLD.handles(e.GroupDeclared)
def group_declared(view: ClusterView, event: e.GroupDeclared) -> None:
    _of(view, event.group)


@FOLD.handles(e.MemberIdAssigned)
def member_id_assigned(view: ClusterView, event: e.MemberIdAssigned) -> None:
    _of(view, event.group).coordinator = event.broker


@FOLD.handles(e.JoinReceived)
def join_received(view: ClusterView, event: e.JoinReceived) -> None:
    group = _of(view, event.group)
    group.protocol = "classic"
    _joins(group, event.member_id, event.member, event.at_us)


@FOLD.handles(e.RebalanceStarted)
def rebalance_started(view: ClusterView, event: e.RebalanceStarted) -> None:
    group = _of(view, event.group)
    group.protocol, group.state, group.coordinator = "classic", "PreparingRebalance", event.broker
    group.generation = event.generation
    who = f" ({event.trigger})" if event.trigger else ""
    note_of(view, event, "rebalance", event.group, f" rebalances: {event.cause}{who}")
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


@FOLD.handles(e.JoinBarrierExtended)
def join_barrier_extended(view: ClusterView, event: e.JoinBarrierExtended) -> None:
    one = _of(view, event.group).under_way
    if one is not None:
        one.extensions += 1


@FOLD.handles(e.JoinBarrierCompleted)
def join_barrier_completed(view: ClusterView, event: e.JoinBarrierCompleted) -> None:
    group = _of(view, event.group)
    group.protocol, group.generation = "classic", event.generation
    _all_of(group, event.members)
    group.state = "CompletingRebalance" if event.members else "Empty"
    if group.under_way is not None:
        group.under_way.barrier_us = event.at_us
    if not event.members:
        _end(group, event.at_us)


@FOLD.handles(e.SyncReceived)
def sync_received(view: ClusterView, event: e.SyncReceived) -> None:
    """Change nothing: `group_stabilized` follows."""


@FOLD.handles(e.GroupStabilized)
def group_stabilized(view: ClusterView, event: e.GroupStabilized) -> None:
    group = _of(view, event.group)
    group.protocol, group.state, group.generation = "classic", "Stable", event.generation
    _end(group, event.at_us)
    note_of(view, event, "stable", event.group, f" is Stable in generation {event.generation}")


@FOLD.handles(e.MemberRemoved)
def member_removed(view: ClusterView, event: e.MemberRemoved) -> None:
    group = _of(view, event.group)
    group.members.pop(event.member_id, None)
    group.owned.pop(event.member, None)  # what its own log said last is out of date
    _name(group, event.member)
    group.left = event.member, event.reason, event.at_us
    one = group.under_way
    if one is not None and len(one.removed) < NAMES_KEPT:
        one.removed[event.member] = event.reason
    note_of(view, event, "member", event.member, f" left {event.group}: {event.reason}")


@FOLD.handles(e.StaticMemberReplaced)
def static_member_replaced(view: ClusterView, event: e.StaticMemberReplaced) -> None:
    group = _of(view, event.group)
    group.members.pop(event.old_member_id, None)
    group.members[event.member_id] = LoggedMember(event.member, event.at_us)
    _name(group, event.member)
    note_of(view, event, "member", event.member, f" is back in {event.group} under its instance id")


@FOLD.handles(e.StaticMemberLeft)
def static_member_left(view: ClusterView, event: e.StaticMemberLeft) -> None:
    _name(_of(view, event.group), event.member)
    note_of(view, event, "member", event.member, f" left {event.group} for a while: its partitions are kept")


@FOLD.handles(e.ConsumerMemberSubscribed)
def consumer_member_subscribed(view: ClusterView, event: e.ConsumerMemberSubscribed) -> None:
    group = _of(view, event.group)
    group.protocol = "consumer"
    _joins(group, event.member_id, event.member, event.at_us)


@FOLD.handles(e.MemberProtocolChanged)
def member_protocol_changed(view: ClusterView, event: e.MemberProtocolChanged) -> None:
    _name(_of(view, event.group), event.member)


@FOLD.handles(e.ConsumerGroupEpochBumped)
def consumer_group_epoch_bumped(view: ClusterView, event: e.ConsumerGroupEpochBumped) -> None:
    group = _of(view, event.group)
    group.protocol, group.state, group.generation, group.coordinator = "consumer", None, event.epoch, event.broker
    _end(group, None)
    one = LoggedRebalance(event.at_us, _known(event.cause), ", ".join(event.members), "", event.broker)
    one.generation, one.over = event.epoch, True
    _begin(group, one)
    who = f" ({', '.join(event.members)})" if event.members else ""
    note_of(view, event, "rebalance", event.group, f" has epoch {event.epoch}: {event.cause}{who}")


@FOLD.handles(e.TargetAssignmentComputed)
def target_assignment_computed(view: ClusterView, event: e.TargetAssignmentComputed) -> None:
    _of(view, event.group).protocol = "consumer"


@FOLD.handles(e.GroupLoaded)
def group_loaded(view: ClusterView, event: e.GroupLoaded) -> None:
    _loaded(view, "classic", event)


@FOLD.handles(e.ConsumerGroupLoaded)
def consumer_group_loaded(view: ClusterView, event: e.ConsumerGroupLoaded) -> None:
    _loaded(view, "consumer", event)


def _loaded(view: ClusterView, protocol: str, event: e.GroupLoaded | e.ConsumerGroupLoaded) -> None:
    group = _of(view, event.group)
    group.protocol, group.state, group.coordinator = protocol, _known(event.state), event.broker
    group.generation = None
    _all_of(group, event.members)
    _end(group, None)
    note_of(view, event, "election", event.group, f" is coordinated by broker-{event.broker}")


@FOLD.handles(e.GroupUnloaded)
def group_unloaded(view: ClusterView, event: e.GroupUnloaded) -> None:
    group = _of(view, event.group)
    group.state = None
    _end(group, None)


@FOLD.handles(e.ClassicGroupUpgraded)
def classic_group_upgraded(view: ClusterView, event: e.ClassicGroupUpgraded) -> None:
    _converted(view, event, "consumer", None)


@FOLD.handles(e.ConsumerGroupDowngraded)
def consumer_group_downgraded(view: ClusterView, event: e.ConsumerGroupDowngraded) -> None:
    _converted(view, event, "classic", None)


@FOLD.handles(e.GroupProtocolConverted)
def group_protocol_converted(view: ClusterView, event: e.GroupProtocolConverted) -> None:
    _all_of(_of(view, event.group), {})
    _converted(view, event, event.protocol, "Empty")


def _converted(
    view: ClusterView,
    event: e.ClassicGroupUpgraded | e.ConsumerGroupDowngraded | e.GroupProtocolConverted,
    protocol: str,
    state: str | None,
) -> None:
    group = _of(view, event.group)
    group.protocol, group.state, group.coordinator = protocol, state, event.broker
    _end(group, None)
    note_of(view, event, "member", event.group, f" is a {protocol} group from now on")


# --- what clients log ---------------------------------------------------------------------------------------------


@FOLD.handles(e.PartitionsAssigned)
def partitions_assigned(view: ClusterView, event: e.PartitionsAssigned) -> None:
    group = _of(view, event.group)
    _name(group, event.member)
    group.owned.setdefault(event.member, {}).update(dict.fromkeys(event.partitions))


@FOLD.handles(e.PartitionsRevoked)
def partitions_revoked(view: ClusterView, event: e.PartitionsRevoked) -> None:
    group = _of(view, event.group)
    _name(group, event.member)
    owned = group.owned.setdefault(event.member, {})
    for partition in event.partitions:
        owned.pop(partition, None)
    if event.lost:
        note_of(view, event, "member", event.member, f" lost {_counted(event.partitions)}")


@FOLD.handles(e.AssignmentMade)
def assignment_made(view: ClusterView, event: e.AssignmentMade) -> None:
    group = _of(view, event.group)
    now = {partition: member for member, partitions in event.assignments.items() for partition in partitions}
    one = group.rebalances[-1] if group.rebalances else None
    if one is not None and group.generation == event.generation and group.assignment is not None:
        one.moved = sum(1 for partition, member in now.items() if group.assignment.get(partition, member) != member)
    group.assignment = now


@FOLD.handles(e.CoordinatorFound)
def coordinator_found(view: ClusterView, event: e.CoordinatorFound) -> None:
    _name(_of(view, event.group), event.member)


@FOLD.handles(e.CoordinatorLost)
def coordinator_lost(view: ClusterView, event: e.CoordinatorLost) -> None:
    _name(_of(view, event.group), event.member)
    note_of(view, event, "member", event.member, f" lost the coordinator: {event.cause}")


@FOLD.handles(e.MemberStateChanged)
def member_state_changed(view: ClusterView, event: e.MemberStateChanged) -> None:
    _name(_of(view, event.group), event.member)
    if event.state == "Fenced":
        note_of(view, event, "member", event.member, f" is FENCED: {event.reason}")
    elif event.state == "Left":
        note_of(view, event, "member", event.member, f" leaves {event.group}: {event.reason}")


def _counted(partitions: tuple[str, ...]) -> str:
    return "1 partition" if len(partitions) == 1 else f"{len(partitions)} partitions"


# --- what controllers and leaders log -----------------------------------------------------------------------------


@FOLD.handles(e.BrokerFenced)
def broker_fenced(view: ClusterView, event: e.BrokerFenced) -> None:
    note(view, event, "fault", f"broker-{event.broker}", f"controller fenced broker-{event.broker}: {event.reason}")


@FOLD.handles(e.BrokerUnfenced)
def broker_unfenced(view: ClusterView, event: e.BrokerUnfenced) -> None:
    note_of(view, event, "recovery", f"broker-{event.broker}", " is unfenced: it may lead again")


@FOLD.handles(e.IsrChanged)
def isr_changed(view: ClusterView, event: e.IsrChanged) -> None:
    isr = ", ".join(map(str, event.isr))
    note_of(view, event, "election", event.partition, f": ISR {isr}")
