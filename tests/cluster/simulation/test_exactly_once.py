"""Applications that consume, transform and produce in one transaction: what crashes, fences and rebalances leave."""

from typing import Any

import pytest

from cluster import events as e
from cluster.config import Value
from tests.support.completed_flight import flown
from tests.support.random_flights import fly, lies
from tests.support.scenario_builders import MOVED_RECORDS, MS, moving
from tests.support.slow_cases import mostly_slow, partly_campaign


def once(flight: Any) -> dict[str, Any]:  # noqa: ANN401 - a flight of either kind
    """Every input is in the output once, as its readers see it, and committed."""
    audit = flight.document["delivery"]["by_group"]["audit"]
    assert (audit["delivered"], audit["duplicated"], audit["lost"]) == (MOVED_RECORDS, 0, 0)
    assert flight.document["groups"]["g"]["lag"] == 0
    found: dict[str, Any] = flight.document["transactions"]
    return found


@pytest.mark.parametrize("version", [1, 2])
def test_each_poll_is_one_transaction_with_its_offsets(version: int) -> None:
    flight = flown(moving(version=version))
    transaction = once(flight)["g-1"]
    polls = flight.all(e.PollReturned, member="g-1")
    assert transaction["begun"] == transaction["committed"] == len(polls) > 5
    commits = flight.all(e.OffsetsCommitted, group="g")
    assert [one.member for one in commits] == [""] * len(commits)
    assert len(commits) == len(polls)


@pytest.mark.parametrize("version", [1, 2])
def test_without_output_the_offsets_alone_are_the_transaction(version: int) -> None:
    flight = flown(moving(version=version, writes=None))
    assert flight.document["groups"]["g"]["lag"] == 0
    assert flight.document["transactions"]["g-1"]["committed"] > 5
    assert flight.document["topics"]["invoices"]["records"] == 0


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("at_s", mostly_slow([5.0, 5.13, 6.37], quick=[5.13]))
def test_a_crash_leaves_nothing_twice_and_nothing_out(version: int, at_s: float) -> None:
    flight = fly(moving((at_s, "kill g-1 for 2s"), version=version), 1)
    flight.check()
    once(flight)


@pytest.mark.parametrize("version", [1, 2])
def test_a_member_that_the_group_has_given_up_cannot_commit_and_goes_back(version: int) -> None:
    steps = ((4.05, "pause g-1 for 12s"), (4.1, "scale g to 2"))
    impatient: dict[str, Value] = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
    made = moving(*steps, version=version, consumer=impatient)
    flight = fly(made, 1)
    flight.check()
    transactions = once(flight)
    assert transactions["g-1"]["aborted"] >= 1
    assert flight.document["members"]["g-1"]["alive"]


def test_who_aborts_says_why_and_has_no_positions_until_it_knows_what_is_committed() -> None:
    impatient: dict[str, Value] = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
    flight = flown(moving((4.05, "pause g-1 for 12s"), (4.1, "scale g to 2"), consumer=impatient))
    (back,) = flight.all(e.PositionsRolledBack)
    assert (back.member, back.partitions, back.reason) == ("g-1", ("orders-0", "orders-1"), "UNKNOWN_MEMBER_ID")
    again = flight.all(e.PositionsReset, back.at_us, member="g-1")[0]
    assert (again.reason, sorted(again.positions)) == ("committed", ["orders-0", "orders-1"])


@pytest.mark.parametrize(
    ("version", "ended"), [(1, ["its transactional producer ended with PRODUCER_FENCED"]), (2, [])]
)
def test_a_transaction_that_timed_out_is_aborted_and_ends_its_application_under_version_1(
    version: int, ended: list[str]
) -> None:
    """Under version 2 the application's own abort counts as a repetition of the coordinator's, and it goes on."""
    made = moving((5.52, "pause g-1 for 90s"), version=version, until_s=150, per_record_us=100 * MS)
    flight = flown(made)
    failures = flight.all(e.ApplicationFailed, member="g-1")
    assert [one.reason for one in failures] == ended
    assert flight.document["transactions"]["g-1"]["fenced"] >= 1
    if not ended:
        once(flight)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "broker"), [(1, 2), (2, 1), *partly_campaign([(1, 1), (1, 3), (2, 2), (2, 3)], 4)])
def test_any_broker_may_die(version: int, broker: int) -> None:
    made = moving((5.2, f"kill broker-{broker} for 20s"), version=version, until_s=120, members=2)
    assert not lies(made)
    flight = fly(made, 1)
    flight.check()
    once(flight)
