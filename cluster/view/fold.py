"""`fold(view, event)`: one fact more. Live, playback, expectations and invariants all go through here."""

from collections.abc import Callable
from typing import Any

from cluster.events import EVENT_KINDS, Event
from cluster.view import fold_clients, fold_cluster, fold_groups, fold_transactions
from cluster.view.document import group_lag
from cluster.view.state import ClusterView

SECOND_US = 1_000_000

_MODULES = (fold_cluster, fold_groups, fold_clients, fold_transactions)


def _handler(kind: str) -> Callable[[ClusterView, Any], None]:
    for module in _MODULES:
        handler: Callable[[ClusterView, Any], None] | None = getattr(module, kind, None)
        if handler is not None:
            return handler
    raise AssertionError(f"no fold for {kind}: a new event must say what it changes")


HANDLERS: dict[type[Event], Callable[[ClusterView, Any], None]] = {
    cls: _handler(kind) for kind, cls in EVENT_KINDS.items()
}


def fold(view: ClusterView, event: Event) -> None:
    """Apply one event to the view (in place). Events must come in the order of `seq`."""
    at_us = event.at_us
    if at_us >= view.next_sample_us:
        _sample(view, at_us)
    view.seq = event.seq
    view.at_us = at_us
    HANDLERS[event.__class__](view, event)


def _sample(view: ClusterView, at_us: int) -> None:
    """Before the first event of a new virtual second: note the trends as they stood at its beginning."""
    second = at_us // SECOND_US
    view.next_sample_us = (second + 1) * SECOND_US
    for group in view.groups.values():
        group.lag_series.push(second, group_lag(view, group))
    partitions = view.partitions
    for topic in view.topics.values():
        if not topic.internal:
            ends = sum(partitions[name].log_end for name in view.partitions_by_topic.get(topic.topic, ()))
            topic.end_series.push(second, ends)
    for producer in view.producers.values():
        producer.acked_series.push(second, producer.acked)
