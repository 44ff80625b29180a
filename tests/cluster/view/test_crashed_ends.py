"""What crashes took from a leader's log: a follower that leads next has the end before the first one, or the second."""

import pytest

from cluster import events as e
from cluster.view import ledger
from cluster.view.fold import HANDLERS
from cluster.view.placements import Run, note_run
from cluster.view.state import ClusterView, PartitionView
from tests.support.log_events import appended, crashed, folded, taken

FIRST = (taken(1, 0, 0), appended(0, 20, 0, 0))
"""Broker-1 leads; its followers copy 20 records."""
REWRITTEN = (*FIRST, crashed(1, 0, 20), taken(1, 2, 0), appended(0, 9, 2, 100), crashed(1, 5, 9))
"""It lost them all, led again with 9 others, and lost 4 of those."""
DEEPER = (*FIRST, crashed(1, 10, 20), taken(1, 2, 10), appended(10, 5, 2, 100), crashed(1, 5, 15))
"""The second crash took some of what the first one had left."""
HIGHER = (*FIRST, crashed(1, 5, 20), taken(1, 2, 5), appended(5, 10, 2, 100), crashed(1, 10, 15))
"""The second crash left some of what was written after the first one."""
IDLE = (*FIRST, crashed(1, 10, 20), taken(1, 2, 10), crashed(1, 5, 10))
"""Nothing was written between the two."""
GROWN = (*FIRST, crashed(1, 0, 20), taken(1, 2, 0), appended(0, 50, 2, 100), crashed(1, 5, 50))
"""The second log was longer than the first one."""


@pytest.mark.parametrize(
    ("history", "log_end", "expected"),
    [
        (REWRITTEN, 20, [(0, 20, "p-1", 0)]),
        (REWRITTEN, 9, [(0, 9, "p-1", 100)]),
        (REWRITTEN, 7, [(0, 7, "p-1", 100)]),
        (REWRITTEN, 5, [(0, 5, "p-1", 100)]),
        (DEEPER, 20, [(0, 20, "p-1", 0)]),
        (DEEPER, 15, [(0, 10, "p-1", 0), (10, 15, "p-1", 100)]),
        (HIGHER, 20, [(0, 20, "p-1", 0)]),
        (HIGHER, 15, [(0, 5, "p-1", 0), (5, 15, "p-1", 100)]),
        (IDLE, 20, [(0, 20, "p-1", 0)]),
        (IDLE, 8, [(0, 8, "p-1", 0)]),
        (GROWN, 50, [(0, 50, "p-1", 100)]),
    ],
)
def test_a_follower_has_either_the_first_end_or_the_second(
    history: tuple[e.Event, ...], log_end: int, expected: list[Run]
) -> None:
    """A follower of the second log truncates to it: one that ends later than that log did kept the first."""
    assert folded(*history, taken(2, 3, log_end)) == expected


def lost(first: int, records: int, serial: int) -> e.RecordsLost:
    """No log holds these any more."""
    return e.RecordsLost(
        partition="orders-0", broker=1, first_offset=first, records=records, leader_epoch=2, producer="p-1",
        first_serial=serial,
    )  # fmt: skip


@pytest.mark.parametrize("history", [REWRITTEN, GROWN])
def test_a_follower_does_not_have_what_no_log_holds(history: tuple[e.Event, ...]) -> None:
    assert folded(*history, lost(5, 4, 105), taken(2, 3, 8)) == [(0, 8, "p-1", 0)]
    assert folded(*history, lost(5, 4, 105), taken(2, 3, 20)) == [(0, 20, "p-1", 0)]


def test_a_follower_has_the_markers_behind_the_records_that_a_crash_took() -> None:
    """They make its log longer than the records do: it is the second log all the same."""
    marker = e.RecordsAppended(
        partition="orders-0", base_offset=9, count=1, bytes=0, producer="", producer_id=7, epoch=0,
        base_sequence=-1, first_serial=0, leader_epoch=2, marker="COMMIT",
    )  # fmt: skip
    history = (*REWRITTEN[:-1], marker, crashed(1, 5, 10))
    assert folded(*history, taken(2, 3, 10)) == [(0, 9, "p-1", 100)]
    assert folded(*history, taken(2, 3, 20)) == [(0, 20, "p-1", 0)]


def test_a_crash_that_takes_a_marker_holds_readers_back_again() -> None:
    """Seed 275: the log that is left has records of a transaction, and no marker, whatever a follower has."""
    view = ClusterView()
    partition = view.partitions["orders-0"] = PartitionView("orders-0", "orders", 0)
    first, marker = (
        e.RecordsAppended(
            partition="orders-0", base_offset=offset, count=count, bytes=0, producer="", producer_id=7, epoch=0,
            base_sequence=-1, first_serial=-1, leader_epoch=0, transactional=True, marker=kind,
        ) for offset, count, kind in ((3, 4, ""), (9, 1, "COMMIT"))
    )  # fmt: skip
    high = e.HighWatermarkAdvanced(partition="orders-0", leader_epoch=0, offset=10)
    for event in (taken(1, 0, 3), first, marker, high):
        HANDLERS[type(event)](view, event)
    assert partition.last_stable_offset == partition.high_watermark == 10
    HANDLERS[e.LogTruncated](view, crashed(1, 8, 10))
    assert (partition.last_stable_offset, partition.high_watermark) == (3, 8)
    HANDLERS[e.LeadershipTaken](view, taken(2, 1, 10, 0))
    HANDLERS[e.HighWatermarkAdvanced](view, e.HighWatermarkAdvanced(partition="orders-0", leader_epoch=1, offset=10))
    assert partition.last_stable_offset == 10


def test_what_no_log_holds_is_forgotten_at_the_next_crash() -> None:
    """Else a single replica that crashes often would be remembered with every end it ever had."""
    view, partition = ClusterView(), PartitionView("orders-0", "orders", 0, taken_by=1)
    for number in range(5):
        first = number * 20
        partition.placements.append(0, 20, "p-1", first)
        ledger.truncated(view, partition, 1, 0)
        assert partition.crashed == [[(0, 20, "p-1", first)]]
        note_run(partition.lost_serials, "p-1", first, first + 20)


def test_a_ledger_that_keeps_the_first_end_behind_the_second_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it once was: broker-2's log began with the second log's records and went on with the first one's."""
    monkeypatch.setattr(ledger, "_copied", _mixed)
    assert folded(*REWRITTEN, taken(2, 3, 20)) == [(0, 9, "p-1", 100), (9, 20, "p-1", 9)]


def _mixed(partition: PartitionView, _: int) -> list[Run]:
    runs: list[Run] = []
    for tail in partition.crashed:
        end = runs[-1][1] if runs else 0
        runs += [(max(first, end), stop, name, serial + max(end - first, 0)) for first, stop, name, serial in tail]
    return runs
