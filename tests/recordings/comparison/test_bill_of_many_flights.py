"""The bill of every flight of the library, and of random ones, is what the raw lines of its journal say.

And what the view and the ledger say: both are compared, live.
"""

from collections.abc import Callable

import msgspec
import pytest

from cluster import events as e
from cluster.events import Event
from cluster.view.delivery import fates_in_full
from cluster.view.document import group_partitions
from recordings.comparison import meter as meter_module
from recordings.comparison import stalled as stalled_module
from recordings.comparison.availability import AvailabilityMeter
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.comparison.stalled import StalledMeter
from recordings.flights.runner import Plan, fly, make_plan
from recordings.journal.format import Settings
from recordings.scenarios.loader import load
from recordings.swarm.generator import draw
from tests.support.independent_bill import IndependentBill, Line
from tests.support.library import LIBRARY
from tests.support.slow_cases import mostly_slow, partly_campaign

SECOND_US = 1_000_000
FEW = {
    "paused-by-hand": 80,
    "failing-dependency": 100,
    "unclean-election": 60,
    "static-twins": 60,
    "coordinator-failover": 60,
    "below-min-isr": 60,
}
SEEN_BY_BUGS = {
    "below-min-isr": None, "failing-dependency": 100, "transaction-abort": None, "pause-and-resume": 100,
    "offset-reset": 100,
}  # fmt: skip
once = pytest.mark.xdist_group("bills")  # one process: the flights are flown once
LARGE = {"reference-l": 5, "reference-m": 12, "reference-xl": 7}


class Flown(msgspec.Struct):
    """A flight's events, and the bill that its journal, view and ledger give."""

    events: list[Event]
    until_us: int
    expected: Line


def flown(plan: Plan, meter: BillMeter) -> Flown:
    """Fly a plan; the meter shares the flight's view."""
    journal, events = IndependentBill(), list[Event]()

    def take(lines: bytes) -> None:
        for line in lines.splitlines():
            journal.take(msgspec.json.decode(line))

    flight = fly(msgspec.structs.replace(plan, invariants=False), meter=meter, on_lines=take, log=events.append)
    expected = journal.bill(flight.virtual_us)
    for name, group in expected["groups"].items():
        delivery = flight.view["delivery"]["by_group"][name]
        group["lost"] = delivery["lost"]
        read = meter.view.groups[name]
        apart = fates_in_full(meter.view, read, group_partitions(meter.view, read))
        group |= {reason: apart[reason] for reason in ("deleted", "compacted")}
        unowned_us = group["unread_partition_us"] - group["stalled_partition_us"]
        assert group["duplicated"] == delivery["duplicated"], name
        assert unowned_us // 1000 == flight.view["groups"][name]["stopped_partition_ms"], name
    return Flown(events, flight.virtual_us, expected)


def differences(plan: Plan) -> list[str]:
    """What is another amount in the meter's bill than in the journal, the view or the ledger."""
    meter = BillMeter()
    found = flown(plan, meter)
    return _different(found.expected, plain(meter.bill(found.until_us)))


def plain(bill: Bill) -> Line:
    found: Line = msgspec.to_builtins(bill)
    del found["at_us"]
    return found


def _different(expected: object, found: object, place: str = "") -> list[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = dict.fromkeys((*expected, *found))
        return [each for key in keys for each in _different(expected.get(key), found.get(key), f"{place}.{key}")]
    return [] if expected == found else [f"{place}: the journal says {expected}, the bill {found}"]


def library_plan(name: str, seconds: int | None) -> Plan:
    return make_plan(load(name), until_us=None if seconds is None else seconds * SECOND_US)


def swarm_plan(seed: int) -> Plan:
    spec = draw(seed, 60 * SECOND_US, ()).spec
    return Plan(scenario=spec.title, text="", spec=spec, settings=Settings(seed=spec.seed, until_us=spec.until_us))


@pytest.mark.parametrize("name", mostly_slow(FEW, quick=list(FEW)[::3]))
def test_the_bill_of_a_few_lessons_is_what_their_journals_say(name: str) -> None:
    assert not differences(library_plan(name, FEW[name]))


def test_a_group_that_was_deleted_reads_again_in_another_generation_of_the_same_number() -> None:
    """`forgotten` comes back after its deletion: generation 1 again, and the 100 records of its first life."""
    meter = BillMeter()
    found = flown(library_plan("offset-reset", None), meter)
    [deleted] = [one.at_us for one in found.events if isinstance(one, e.GroupDeleted) and one.group == "forgotten"]
    assigned = [one for one in found.events if isinstance(one, e.PartitionsAssigned) and one.group == "forgotten"]
    assert [(one.generation, one.at_us > deleted) for one in assigned] == [(1, False), (1, True)]
    assert found.expected["groups"]["forgotten"]["reread"] == 100
    assert meter.bill(found.until_us).groups["forgotten"].reread == 100


@pytest.mark.parametrize("name", partly_campaign(LIBRARY, 30))
def test_the_bill_of_every_lesson_is_what_its_journal_says(name: str) -> None:
    assert not differences(library_plan(name, LARGE.get(name)))


@pytest.mark.parametrize("seed", range(1, 4))
def test_the_bill_of_a_random_flight_is_what_its_journal_says(seed: int) -> None:
    assert not differences(swarm_plan(seed))


@pytest.mark.parametrize("first", partly_campaign(range(4, 204, 20), 4))
def test_the_bills_of_200_random_flights_are_what_their_journals_say(first: int) -> None:
    for seed in range(first, first + 20):
        assert not differences(swarm_plan(seed)), seed


@pytest.mark.parametrize("seed", [36, 46, 194])
def test_the_bill_of_a_group_that_migrates_amid_faults_is_what_its_journal_says(seed: int) -> None:
    """36: conversion cuts rebalances short. 46: generations begin anew. 194: a member takes back what it had."""
    assert not differences(swarm_plan(seed))


# --- a meter with a bug -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flights(eventful: Plan) -> list[Flown]:
    """Flights in which every measure but lost records has an amount."""
    settings = msgspec.structs.replace(eventful.settings, until_us=130 * SECOND_US)
    lessons = [library_plan(name, seconds) for name, seconds in SEEN_BY_BUGS.items()]
    plans = (msgspec.structs.replace(eventful, settings=settings), *lessons)
    return [flown(plan, BillMeter()) for plan in plans]


def metered(flight: Flown) -> list[str]:
    meter = BillMeter()
    for event in flight.events:
        meter(event)
    return _different(flight.expected, plain(meter.bill(flight.until_us)))


@pytest.mark.slow
@once
def test_a_sound_meter_has_no_difference(flights: list[Flown]) -> None:
    assert not [each for flight in flights for each in metered(flight)]


def nothing(*_: object) -> None:
    """Do nothing, in the place of a method."""


BUGS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "late": lambda patch: patch.setattr(meter_module, "LATE_US", 5_000_000),
    "behind_us": lambda patch: patch.setattr(meter_module, "BEHIND_US", 0),
    "stopped_member_us": lambda patch: patch.setattr(BillMeter, "_partitions_revoked", nothing),
    "by_cause": lambda patch: patch.setattr(BillMeter, "_rebalance_closed", nothing),
    "peak_time_lag_us": lambda patch: patch.setattr(BillMeter, "_sample", nothing),
    "refused": lambda patch: patch.setattr(BillMeter, "_batch_answered", nothing),
    "leaderless_partition_us": lambda patch: patch.setattr(AvailabilityMeter, "_all_changed", nothing),
    "below_min_isr_partition_us": lambda patch: patch.setattr(AvailabilityMeter, "_partition_changed", nothing),
    "dead_lettered": lambda patch: patch.setattr(BillMeter, "_record_dead_lettered", nothing),
    "stalled_partition_us": lambda patch: patch.setattr(stalled_module, "STALLED_US", 0),
    "unread_partition_us": lambda patch: patch.setattr(meter_module, "stopped_partition_us", lambda *_: 0),
}


STALLED_BUGS = (
    "_pause_changed",
    "_high_watermark_advanced",
    "_partitions_changed",
    "_positions_reset",
    "_positions_moved_on",
    "_member_stopped",
    "_records_processed",
)


@once
@pytest.mark.parametrize("method", STALLED_BUGS)
def test_a_meter_that_misses_what_ends_a_stall_is_caught(
    method: str, flights: list[Flown], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StalledMeter, method, nothing)
    assert any(".stalled_partition_us" in each for flight in flights for each in metered(flight))


@once
@pytest.mark.parametrize("field", BUGS)
def test_a_meter_with_a_bug_is_caught(field: str, flights: list[Flown], monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[field](monkeypatch)
    assert any(f".{field.partition(',')[0]}" in each for flight in flights for each in metered(flight))
