"""The bill of a flight: live or from its recording, it is what the view and the ledger say."""

from pathlib import Path

import msgspec
import pytest

from recordings.comparison.bill import MEASURES, Bill, payers
from recordings.comparison.meter import BillMeter
from recordings.flights.runner import FlightResult, Plan, fly
from recordings.journal.reader import Recording


def bill_of(path: Path) -> Bill:
    recording, meter = Recording(path), BillMeter()
    for event in recording.events():
        meter(event)
    return meter.bill(recording.survey().totals.virtual_us)


@pytest.fixture(scope="module")
def metered(eventful: Plan, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bill]:
    """A recording of an eventful flight, and the bill that its meter had at the end."""
    meter, path = BillMeter(), tmp_path_factory.mktemp("metered") / "a.flight"
    flown = fly(eventful, record=path, meter=meter)
    return path, meter.bill(flown.virtual_us)


@pytest.mark.slow
def test_a_live_flight_and_its_recording_have_one_bill(metered: tuple[Path, Bill]) -> None:
    path, bill = metered
    assert bill == bill_of(path)
    assert msgspec.json.decode(msgspec.json.encode(bill), type=Bill) == bill


def test_the_bill_is_what_the_view_says(recorded: tuple[Path, FlightResult]) -> None:
    path, flown = recorded
    bill = bill_of(path)
    for name, group in bill.groups.items():
        seen, delivery = flown.view["groups"][name], flown.view["delivery"]["by_group"][name]
        assert (group.unread_partition_us - group.stalled_partition_us) // 1000 == seen["stopped_partition_ms"]
        assert (group.rebalances, group.duplicated, group.lost) == (
            seen["rebalances"], delivery["duplicated"], delivery["lost"],
        )  # fmt: skip
        assert sum(group.by_cause.values()) <= group.rebalances
        assert group.peak_time_lag_us // 1000 >= seen["time_lag_ms"]
    for name, producer in bill.producers.items():
        seen = flown.view["producers"][name]
        assert (producer.failed, producer.retries) == (seen["failed"], seen["retries"])


def test_a_flight_with_faults_costs_something(metered: tuple[Path, Bill]) -> None:
    bill = metered[1]
    billing = bill.groups["billing"]
    assert billing.unread_partition_us > 0 < billing.stopped_member_us
    assert sum(billing.by_cause.values()) == billing.rebalances > 0
    assert billing.reread > 0 < billing.behind_us
    assert bill.cluster.leaderless_partition_us > 0
    assert sum(each.late for each in bill.producers.values()) > 0


def test_every_measure_is_a_field_of_its_payers(recorded: tuple[Path, FlightResult]) -> None:
    bill = bill_of(recorded[0])
    for measure in MEASURES:
        for each in payers(bill, measure.scope).values():
            assert measure.of(each) >= 0
