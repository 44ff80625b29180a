"""The fold of what moves positions besides poll() and drops committed offsets, and of what is fetched from where."""

from cluster import events as e
from cluster.view.fold_cluster import note_of
from cluster.view.fold_table import FoldTable
from cluster.view.lives.batches import FetchedView
from cluster.view.state import NEVER, ClusterView, ReaderView

FOLD = FoldTable()


@FOLD.handles(e.PositionsRolledBack)
def positions_given_up(view: ClusterView, event: e.PositionsRolledBack) -> None:
    positions = view.members[event.member].positions
    for name in event.partitions:
        positions.pop(name, None)
    words = f"aborted its transaction ({event.reason}) and goes back to what {event.group} has committed"
    note_of(view, event, "member", event.member, f" {words}")


@FOLD.handles(e.PositionOutOfRange)
def position_out_of_range(view: ClusterView, event: e.PositionOutOfRange) -> None:
    view.members[event.member].positions.pop(event.partition, None)
    words = f"position {event.position} of {event.partition} is not in the log: {event.reset} decides"
    note_of(view, event, "member", event.member, f": {words}")


@FOLD.handles(e.PositionTruncated)
def position_truncated(view: ClusterView, event: e.PositionTruncated) -> None:
    if event.reset != "none" and event.diverging < 0:
        view.members[event.member].positions.pop(event.partition, None)
    where = f"offset {event.diverging}" if event.diverging >= 0 else "an offset that its leader does not know"
    words = f"the log of {event.partition} diverges from what it read up to {event.position}, at {where}"
    note_of(view, event, "member", event.member, f": {words}")


@FOLD.handles(e.RecordsFetched)
def records_fetched(view: ClusterView, event: e.RecordsFetched) -> None:
    member = view.members[event.member]
    for name, next_offset in event.next_offsets.items():
        position, records, size = member.positions[name], event.records[name], event.bytes[name]
        member.buffered[name] = FetchedView(event.at_us, event.broker, position, next_offset, records, size)


@FOLD.handles(e.FetchedRecordsDropped)
def fetched_records_dropped(view: ClusterView, event: e.FetchedRecordsDropped) -> None:
    for name in event.partitions:
        view.members[event.member].buffered.pop(name, None)


@FOLD.handles(e.PartitionsPaused)
def partitions_paused(view: ClusterView, event: e.PartitionsPaused) -> None:
    paused = view.members[event.member].paused_partitions
    for name in event.partitions:
        paused.setdefault(name, event.at_us)


@FOLD.handles(e.PartitionsResumed)
def partitions_resumed(view: ClusterView, event: e.PartitionsResumed) -> None:
    for name in event.partitions:
        view.members[event.member].paused_partitions.pop(name, None)


@FOLD.handles(e.RebalanceListenerCalled)
def rebalance_listener_called(view: ClusterView, event: e.RebalanceListenerCalled) -> None:
    member = view.members[event.member]
    member.polling, member.last_poll_us = False, event.at_us  # its time counts against max.poll.interval.ms
    note_of(view, event, "member", event.member, f" runs onPartitionsRevoked for {_many(event.partitions)}")


@FOLD.handles(e.RebalanceListenerReturned)
def rebalance_listener_returned(view: ClusterView, event: e.RebalanceListenerReturned) -> None:
    view.members[event.member].polling = True
    if event.commit == "failed":
        words = f" cannot commit in onPartitionsRevoked, and revokes {_many(event.partitions)}"
        note_of(view, event, "fault", event.member, words)


def _many(partitions: tuple[str, ...]) -> str:
    return f"{len(partitions)} partition{'s' * (len(partitions) != 1)}"


@FOLD.handles(e.PreferredReadReplicaChanged)
def preferred_read_replica_changed(view: ClusterView, event: e.PreferredReadReplicaChanged) -> None:
    read_from = view.members[event.member].read_from
    if event.broker >= 0:
        read_from[event.partition] = event.broker
        reader = view.groups[event.group].readers.setdefault(event.partition, ReaderView())
        if event.broker not in reader.replicas:
            reader.replicas = (*reader.replicas, event.broker)
    else:
        read_from.pop(event.partition, None)


@FOLD.handles(e.OffsetsExpired)
def offsets_expired(view: ClusterView, event: e.OffsetsExpired) -> None:
    _drop(view, event, "expired")


@FOLD.handles(e.OffsetsDeleted)
def offsets_deleted(view: ClusterView, event: e.OffsetsDeleted) -> None:
    _drop(view, event, "are deleted")


def _drop(view: ClusterView, event: e.OffsetsExpired | e.OffsetsDeleted, how: str) -> None:
    readers = view.groups[event.group].readers
    for name in event.partitions:
        if name in readers:
            readers[name].committed = NEVER
    note_of(view, event, "member", event.group, f": offsets of {len(event.partitions)} partitions {how}")
