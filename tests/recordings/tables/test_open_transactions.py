"""Open transactions at an instant, merely long or hanging, recounted from the raw events."""

from pathlib import Path

import pytest
import trio

from cluster import events as e
from cluster.simulation import Simulation
from cluster.view import ClusterView
from cluster.view.fold import fold
from console.cli.output import of_recording
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from recordings.tables.open_transactions import OpenTransactionRow, OpenTransactions
from recordings.tables.summary import summarize

SECOND_US = 1_000_000
FLIGHTS = {
    "hanging-transaction": (20, 35, 60, 69, 100, 130),
    "hanging-transaction-prevented": (20, 40, 63, 100),
    "stuck-last-stable-offset": (20, 60, 100),
    "zombie-producer": (10, 20, 30, 40),
    "transaction-step-by-step": (5, 10, 20),
}


def told(name: str, until_s: int) -> list[e.Event]:
    emitted: list[e.Event] = []
    spec = load(name).spec
    simulation = Simulation(spec, spec.seed, sinks=[emitted.append])

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(until_s * SECOND_US)

    trio.run(main, clock=simulation.timeline)
    return emitted


def recounted(events: list[e.Event]) -> dict[tuple[str, int], tuple[bool, int, int]]:
    """Partition and producer id of each open transaction → whether it hangs, its first offset, its records."""
    open_: dict[tuple[str, int], list[int]] = {}
    owners: dict[int, e.TransactionStateChanged] = {}
    last_of: dict[str, int] = {}
    for event in events:
        if isinstance(event, e.TransactionStateChanged):
            former = last_of.get(event.transactional_id)
            if former is not None and former != event.producer_id:
                owners.pop(former, None)
            last_of[event.transactional_id] = event.producer_id
            owners[event.producer_id] = event
        elif isinstance(event, e.RecordsAppended) and event.transactional and not event.partition.startswith("__"):
            key = event.partition, event.producer_id
            if event.marker:
                open_.pop(key, None)
            else:
                open_.setdefault(key, []).extend(range(event.base_offset, event.base_offset + event.count))
    return {
        key: (key[1] not in owners or key[0] not in owners[key[1]].partitions, min(offsets), len(offsets))
        for key, offsets in open_.items()
    }


def rows_of(events: list[e.Event], now_us: int) -> list[OpenTransactionRow]:
    view, noted = ClusterView(), OpenTransactions()
    for event in events:
        fold(view, event)
        noted.note(event)
    return noted.rows(view, now_us)


@pytest.mark.parametrize("name", FLIGHTS)
def test_what_is_open_and_what_hangs_is_what_the_events_say(name: str) -> None:
    events = told(name, max(FLIGHTS[name]))
    seen = set()
    for at_s in FLIGHTS[name]:
        so_far = [event for event in events if event.at_us <= at_s * SECOND_US]
        found = {
            (row.partition, row.producer_id): (row.state == "hanging", row.first_offset, row.records)
            for row in rows_of(so_far, at_s * SECOND_US)
        }
        assert found == recounted(so_far), at_s
        seen |= {hanging for hanging, _, _ in found.values()}
    assert (True in seen) == (name == "hanging-transaction")


def test_a_merely_long_one_has_time_left_and_a_hanging_one_has_none() -> None:
    (long,) = [row for row in rows_of(told("stuck-last-stable-offset", 60), 60 * SECOND_US) if row.waiting]
    assert long.state == "Ongoing"
    assert long.left_s is not None
    assert not long.found
    (hanging,) = rows_of(told("hanging-transaction", 100), 100 * SECOND_US)
    assert (hanging.state, hanging.left_s, hanging.transactional_id) == ("hanging", None, "gateway")
    assert 30 < hanging.open_s < 33


@pytest.mark.parametrize(("minutes", "found"), [(15, False), (18, True)])
def test_find_hanging_lists_it_after_fifteen_minutes(minutes: int, found: bool) -> None:
    events = told("hanging-transaction", 100)
    assert [row.found for row in rows_of(events, minutes * 60 * SECOND_US)] == [found]


def test_the_summary_says_it(tmp_path: Path) -> None:
    path = tmp_path / "hanging.flight"
    fly(make_plan(load("hanging-transaction"), until_us=80 * SECOND_US), record=path)
    found = summarize(path)
    assert [row.state for row in found.open_transactions] == ["hanging"]
    text = of_recording(found)
    assert "transactions that are open at the end" in text
    assert "hanging" in text
