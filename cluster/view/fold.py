"""`fold(view, event)`: apply one event to the view. Live flights, playback, expectations and invariants all use it."""

from typing import Final

from cluster import events as e
from cluster.events import Event
from cluster.view import (
    fold_clients,
    fold_cluster,
    fold_consumer_groups,
    fold_groups,
    fold_positions,
    fold_producers,
    fold_transactions,
)
from cluster.view.document import group_lag
from cluster.view.fold_table import in_sequence, joined
from cluster.view.lives import fold_lives
from cluster.view.logged import fold_logs, fold_producing
from cluster.view.ownership import fold_history
from cluster.view.rolling import fold_rollouts
from cluster.view.state import ClusterView, PartitionView, Series, TopicView

SECOND_US: Final = 1_000_000
PARTITION_SECONDS: Final = 11  # whole seconds whose log ends a partition keeps: the rate of the last ten

_TABLES = (
    fold_cluster.FOLD,
    fold_producers.FOLD,
    fold_groups.FOLD,
    fold_consumer_groups.FOLD,
    fold_clients.FOLD,
    fold_positions.FOLD,
    fold_transactions.FOLD,
    fold_rollouts.FOLD,
    fold_logs.SOURCE,
)
HANDLERS: Final = joined(_TABLES)
"""Event class → the function that applies it; complete, or the import fails."""
HISTORY: Final = in_sequence((fold_history.FOLD, fold_lives.FOLD))
"""Event class → the function that notes it in the histories of owners and processes, after it has been applied."""

LOGGED: Final = in_sequence((fold_logs.FOLD, fold_producing.FOLD))
"""Event class → the function that applies it in a recording of logs: of the kinds that lines can state."""

OF_RECORDS: Final[frozenset[type[Event]]] = frozenset((
    e.BatchAcknowledged,
    e.BatchOpened,
    e.FetchedRecordsDropped,
    e.HeartbeatAnswered,
    e.HighWatermarkAdvanced,
    e.OffsetsCommitted,
    e.PollReturned,
    e.PollStarted,
    e.PositionsReset,
    e.ProduceSent,
    e.RecordsAppended,
    e.RecordsFetched,
    e.RecordsProcessed,
    e.SessionRenewed,
))  # fmt: skip
"""The frequent kinds of events, after which every broker, replica, leader and coordinator stands as before."""


def fold(view: ClusterView, event: Event) -> None:
    """Apply one event to the view (in place). Events must come in the order of `seq`."""
    at_us = event.at_us
    if view.logs is not None:  # of processes that no event declares
        view.seq, view.at_us = event.seq, at_us
        view.topology_changes += 1
        LOGGED[type(event)](view, event)
        return
    if at_us >= view.next_sample_us:
        _sample(view, at_us)
    view.seq = event.seq
    view.at_us = at_us
    kind = type(event)
    HANDLERS[kind](view, event)
    if kind not in OF_RECORDS:
        view.topology_changes += 1
    remembers = HISTORY.get(kind)
    if remembers is not None:
        remembers(view, event)


def _sample_end(topic: TopicView, partition: PartitionView, second: int) -> None:
    """Sample a log's end, from its first record on: until then it was 0 at each second that its topic has."""
    if partition.end_series is None:
        if not partition.log_end:
            return
        so_far = topic.end_series
        zeros = min(PARTITION_SECONDS, len(so_far.values))
        partition.end_series = Series(so_far.first_second + len(so_far.values) - zeros, [0] * zeros)
    partition.end_series.push(second, partition.log_end, PARTITION_SECONDS)


def _sample(view: ClusterView, at_us: int) -> None:
    """Sample the trends at the begin of a virtual second, before its first event."""
    second = at_us // SECOND_US
    view.next_sample_us = (second + 1) * SECOND_US
    for group in view.groups.values():
        group.lag_series.push(second, group_lag(view, group))
    partitions = view.partitions
    for topic in view.topics.values():
        if not topic.internal:
            ends = 0
            for name in view.partitions_by_topic.get(topic.topic, ()):
                partition = partitions[name]
                ends += partition.log_end
                _sample_end(topic, partition, second)
            topic.end_series.push(second, ends)
    for producer in view.producers.values():
        producer.acked_series.push(second, producer.acked)
