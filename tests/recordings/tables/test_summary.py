"""The main tables of a recording are what its flight reported."""

from pathlib import Path

import msgspec
import pytest

from cluster.view import ClusterView, fold
from cluster.view.document import group_lag
from recordings.flights.runner import FlightResult, Plan, fly
from recordings.journal.reader import Recording
from recordings.tables.summary import summarize
from tests.support.recording_files import uncompressed


def test_the_tables_agree_with_the_flight(recorded: tuple[Path, FlightResult]) -> None:
    path, flown = recorded
    found = summarize(path)
    assert (found.scenario, found.seed, found.virtual_s, found.events) == ("tiny", 5, 20.0, flown.events)
    assert (found.journal_sha256, found.complete, found.warnings) == (flown.journal_sha256, True, [])
    assert sum(found.kinds.values()) == flown.events
    assert found.delivery == flown.view["delivery"]
    (group,) = found.groups
    view = flown.view["groups"]["billing"]
    assert (group.members, group.generation, group.rebalances, group.lag) == (
        view["members"], view["generation"], view["rebalances"], view["lag"],
    )  # fmt: skip
    assert group.stopped_partition_s == view["stopped_partition_ms"] / 1000
    (producer,) = found.producers
    assert producer.acked == flown.view["producers"]["checkout-1"]["acked"]
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_faults_have_their_beginning_and_end(recorded: tuple[Path, FlightResult]) -> None:
    faults = {row.text: (row.at_s, row.ended_s) for row in summarize(recorded[0]).faults}
    assert faults["stall billing-1 for 2s"] == (7.3, 9.3)
    assert faults["kill billing-2"] == (12.0, 15.0)
    assert faults["kill broker-2"] == (9.000001, None)


@pytest.mark.slow
def test_the_highest_lag_is_the_highest_at_the_beginning_of_a_second(eventful: Plan, tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    fly(eventful, record=path)
    view, peaks, second = ClusterView(), {"billing": (0, 0), "audit": (0, 0)}, 0
    for event in Recording(path).events():
        if event.at_us // 1_000_000 > second:
            second = event.at_us // 1_000_000
            for name, group in view.groups.items():
                if (lag := group_lag(view, group)) > peaks[name][0]:
                    peaks[name] = lag, second
        fold(view, event)
    rows = {row.group: (row.peak_lag, row.peak_lag_s) for row in summarize(path).groups}
    assert rows == peaks
    assert rows["billing"][0] > 50


def test_rebalances_are_in_the_order_of_time(recorded: tuple[Path, FlightResult]) -> None:
    path, flown = recorded
    rows = summarize(path).rebalances
    assert [row.at_s for row in rows] == sorted(row.at_s for row in rows)
    last = flown.view["groups"]["billing"]["last_rebalance"]
    assert (rows[-1].cause, rows[-1].trigger, int(rows[-1].took_s * 1000)) == (
        last["cause"], last["trigger"], last["took_ms"],
    )  # fmt: skip


def test_a_recording_without_an_end_has_tables_too(recorded: tuple[Path, FlightResult]) -> None:
    path, flown = recorded
    text = uncompressed(path)
    (path / "segment-000001.jsonl.part").write_bytes(text[: len(text) // 2])
    found = summarize(path)
    assert not found.complete
    assert 0 < found.events < flown.events
    assert "no end" in found.warnings[0]
