"""The tables of the fold: for each kind of event the one function that applies it to the view."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from cluster.events import EVENT_KINDS, Event
from cluster.view.state import ClusterView

EventT = TypeVar("EventT", bound=Event)
Handler = Callable[[ClusterView, EventT], None]


class FoldTable:
    """The handlers of one module, each entered by `@FOLD.handles(RecordsAppended)` above its function."""

    __slots__ = ("handlers",)

    def __init__(self) -> None:
        self.handlers: dict[type[Event], Handler[Any]] = {}

    def handles(self, kind: type[EventT]) -> Callable[[Handler[EventT]], Handler[EventT]]:
        """Enter the decorated function for `kind`; mypy checks that the function takes such an event."""

        def enter(handler: Handler[EventT]) -> Handler[EventT]:
            if kind in self.handlers:
                raise ValueError(f"{kind.__name__} has two handlers")
            self.handlers[kind] = handler
            return handler

        return enter


def joined(tables: Iterable[FoldTable]) -> dict[type[Event], Handler[Any]]:
    """One table of all. Raises ValueError if a kind of event has no handler, or two."""
    handlers: dict[type[Event], Handler[Any]] = {}
    for table in tables:
        for kind, handler in table.handlers.items():
            if kind in handlers:
                raise ValueError(f"{kind.__name__} has two handlers")
            handlers[kind] = handler
    missing = [kind.__name__ for kind in EVENT_KINDS.values() if kind not in handlers]
    if missing:
        raise ValueError(f"no handler folds {', '.join(missing)}")
    return {kind: handlers[kind] for kind in EVENT_KINDS.values()}


def in_sequence(tables: Iterable[FoldTable]) -> dict[type[Event], Handler[Any]]:
    """One table of all, for some kinds of events; a kind with several handlers goes through them in this order."""
    found: dict[type[Event], list[Handler[Any]]] = {}
    for table in tables:
        for kind, handler in table.handlers.items():
            found.setdefault(kind, []).append(handler)
    return {kind: handlers[0] if len(handlers) == 1 else _one_by_one(handlers) for kind, handlers in found.items()}


def _one_by_one(handlers: list[Handler[Any]]) -> Handler[Any]:
    def apply(view: ClusterView, event: Event) -> None:
        for handler in handlers:
            handler(view, event)

    return apply
