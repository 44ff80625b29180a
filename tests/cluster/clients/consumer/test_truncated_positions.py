"""Consumers whose partition's log is truncated (KIP-320), in flight: where they go on, by each policy."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster import events as e
from cluster.broker import request_handlers as requests
from cluster.broker.request_handlers import BrokerRequests
from cluster.clients.consumer.position_validation import PositionValidation
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.storage.leader_epochs import EpochEnd
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load
from tests.support.broker_flights import SECOND_US, cluster, flown

UNCLEAN = (
    (6.3, "kill broker-2"),
    (27.3, "kill broker-1"),
    (37.7, "start broker-2"),
    (68.3, "elect unclean orders-0"),
    (74.3, "start broker-1"),
)
"""What broker-1 has alone from 6.3 s on is read, and then is in no log."""


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["earliest", "latest", "by_duration:PT1H"])
def test_with_any_policy_reading_goes_on_where_the_logs_part_and_nothing_is_read_twice(policy: str) -> None:
    flight = flown(cluster((20, f"set g auto.offset.reset {policy}"), *UNCLEAN, until_s=100, replication=2))
    (cut,) = flight.all(e.LogTruncated, partition="orders-0")
    (found,) = flight.all(e.PositionTruncated)
    assert (found.position, found.diverging, found.offset_epoch, found.leader_epoch) == (cut.log_end, cut.offset, 0, 2)
    (reset,) = flight.all(e.PositionsReset, 30 * SECOND_US)
    assert (reset.at_us, reset.positions, reset.reason) == (found.at_us, {"orders-0": cut.offset}, "truncated")
    counts = flight.document["delivery"]["by_group"]["g"]
    assert counts["delivered_then_lost"] == cut.log_end - cut.offset
    assert (counts["duplicated"], counts["lost"], counts["skipped"], counts["unread"]) == (0, 0, 0, 0)
    assert not flight.all(e.PositionOutOfRange)


def test_with_none_the_application_gets_a_log_truncation_exception_and_ends() -> None:
    flight = flown(cluster((20, "set g auto.offset.reset none"), *UNCLEAN, until_s=100, replication=2))
    (found,) = flight.all(e.PositionTruncated)
    (end,) = flight.all(e.MemberStopped)
    assert end.reason.startswith("LogTruncationException: Truncated partitions detected with divergent offsets {orders")
    assert (end.how, found.reset) == ("crash", "none")
    assert not flight.all(e.RecordsProcessed, found.at_us)


@pytest.mark.slow
def test_a_member_that_begins_at_a_commit_behind_the_truncation_goes_back_as_well() -> None:
    flight = flown(cluster((25, "stop g-1"), (80, "start g-1"), *UNCLEAN, until_s=100, replication=2))
    committed, truncated = flight.all(e.PositionsReset, 80 * SECOND_US)
    (cut,) = flight.all(e.LogTruncated, partition="orders-0")
    assert (committed.reason, truncated.reason) == ("committed", "truncated")
    assert truncated.positions == {"orders-0": cut.offset}
    assert committed.positions["orders-0"] > cut.offset
    counts = flight.document["delivery"]["by_group"]["g"]
    assert (counts["duplicated"], counts["skipped"], counts["unread"]) == (0, 0, 0)


def test_a_rebalance_after_a_truncation_is_not_blamed_for_what_is_gone() -> None:
    steps = ((26, "stop p-1"), *UNCLEAN, (69, "start p-1"), (71.9, "kill g-1 for 1s"))
    flight = flown(cluster(*steps, until_s=95, replication=2))  # beside the truth, at each second
    (found,) = flight.all(e.PositionTruncated)
    *_, last = flight.simulation.view.groups["g"].rebalances
    assert 0 < last.reread <= 25 < found.position - found.diverging


def test_a_leader_that_has_everything_lets_reading_go_on() -> None:
    asked: list[Request] = []
    with pytest.MonkeyPatch.context() as patch:
        serve = BrokerRequests.offset_for_leader_epoch

        def served(broker: BrokerRequests, call: InFlightRequest) -> None:
            asked.append(call.request)
            serve(broker, call)

        patch.setattr(BrokerRequests, "offset_for_leader_epoch", served)
        flight = flown(cluster((10, "kill broker-1 for 12s"), (40, "elect preferred orders-0"), until_s=60))
    assert [one.partitions["orders-0"] for one in asked if isinstance(one, m.OffsetForLeaderEpochRequest)] == [
        (1, 0),
        (2, 1),
    ]
    assert not flight.all(e.PositionTruncated)
    counts = flight.document["delivery"]["by_group"]["g"]
    assert (counts["duplicated"], counts["lost"], counts["unread"]) == (0, 0, 0)


# --- a broken one -----------------------------------------------------------------------------------------------------


def believes_every_position(validation: PositionValidation, asked: dict[str, Any], _: object) -> None:
    """It goes on, whatever the leader has answered."""
    for name, position in asked.items():
        validation._resume(name, position)


def asks_nobody(validation: PositionValidation) -> None:
    """Any leader will do for any position."""
    validation._seen = validation._consumer.metadata_version
    fetcher = validation._consumer.fetcher
    for name in fetcher.leader_epochs:
        fetcher.leader_epochs[name] = validation._consumer.partitions[name].leader_epoch
    fetcher.route()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "broken"), [("_answered", believes_every_position), ("check_leader_epochs", asks_nobody)]
)
def test_a_consumer_that_ignores_the_answer_reads_again_or_misses_records(
    monkeypatch: pytest.MonkeyPatch, method: str, broken: Callable[..., None]
) -> None:
    monkeypatch.setattr(PositionValidation, method, broken)
    at_once = flown(cluster(*UNCLEAN, until_s=100, replication=2))
    assert at_once.document["delivery"]["by_group"]["g"]["duplicated"] > 0
    late = flown(cluster((66, "stall g-1 for 30s"), *UNCLEAN, until_s=130, replication=2))
    counts = late.document["delivery"]["by_group"]["g"]
    assert counts["lost"] + counts["skipped"] > 0


def nothing_parts(*_: object) -> tuple[ErrorCode, EpochEnd]:
    """A leader that says of every epoch that it has all of it."""
    return ErrorCode.NONE, EpochEnd(0, 1 << 40)


BROKEN: list[tuple[object, str, Callable[..., object]]] = [
    (PositionValidation, "_answered", believes_every_position),
    (PositionValidation, "check_leader_epochs", asks_nobody),
    (requests, "_epoch_end", nothing_parts),
]


@pytest.mark.parametrize(("owner", "name", "broken"), BROKEN)
def test_the_library_notices(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, broken: Callable[..., object]
) -> None:
    plan = make_plan(load("unclean-election"), invariants=False)
    monkeypatch.setattr(owner, name, broken)
    failed = [str(each) for each in fly(plan).expectations if each["ok"] is False]
    assert any("position_truncated" in words for words in failed), failed
    assert any("delivery.by_group.billing.lost" in words for words in failed), failed
