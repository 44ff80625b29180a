"""The fold's tables: one handler for each kind of event, and a table that lacks or repeats one is refused."""

from __future__ import annotations

import pytest

from cluster import events as e
from cluster.view import ClusterView, fold_cluster, fold_groups
from cluster.view.fold import HANDLERS
from cluster.view.fold_table import FoldTable, joined


def ignored(view: ClusterView, event: e.Event) -> None:
    """Change nothing."""


def complete() -> FoldTable:
    table = FoldTable()
    for kind in e.EVENT_KINDS.values():
        table.handles(kind)(ignored)
    return table


def test_every_kind_of_event_has_the_handler_that_is_named_after_it() -> None:
    assert list(HANDLERS) == list(e.EVENT_KINDS.values())
    assert {kind: HANDLERS[cls].__name__ for kind, cls in e.EVENT_KINDS.items()} == {
        kind: kind for kind in e.EVENT_KINDS
    }


def test_a_kind_without_a_handler_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no handler folds .*MemberRemoved"):
        joined((fold_cluster.FOLD,))


def test_a_kind_with_two_handlers_is_refused() -> None:
    table = complete()
    with pytest.raises(ValueError, match="MemberRemoved has two handlers"):
        table.handles(e.MemberRemoved)(ignored)
    with pytest.raises(ValueError, match="GroupDeclared has two handlers"):
        joined((table, fold_groups.FOLD))
