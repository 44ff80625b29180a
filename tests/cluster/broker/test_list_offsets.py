"""ListOffsets: where a reader that has no position begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster import events as e
from cluster.broker.request_handlers import BrokerRequests
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import ListOffsetsRequest
from cluster.spec import GroupSpec, ProducerSpec, ScenarioSpec, TopicSpec, TransactionsSpec
from tests.support.completed_flight import flown
from tests.support.scenario_builders import THREE_BROKERS, steps_at

SECOND_US = 1_000_000
NOT_AVAILABLE = ErrorCode.OFFSET_NOT_AVAILABLE, -1


def listed(*, epoch_start: int = 0, first_since: int = 0, **asked: Any) -> tuple[ErrorCode, int]:  # noqa: ANN401 - fields
    """What a leader answers whose log is 10 … 50, committed up to 40, decided up to 30."""
    log = SimpleNamespace(log_start=10, first_since=lambda _: first_since)
    replica = SimpleNamespace(
        is_leader=True, high_watermark=40, last_stable_offset=30, epoch_start=epoch_start, log=log
    )
    answers: list[Any] = []
    call = SimpleNamespace(request=ListOffsetsRequest(["orders-0"], **asked), reply=answers.append)
    nothing: Any = None
    broker: Any = SimpleNamespace(replicas={"orders-0": replica})
    BrokerRequests(broker, nothing, nothing, nothing).list_offsets(cast(Any, call))
    answer: tuple[ErrorCode, int] = answers[0].offsets["orders-0"]
    return answer


@pytest.mark.parametrize(("committed", "end"), [(False, 40), (True, 30)])
def test_a_reader_begins_where_such_readers_may_read(committed: bool, end: int) -> None:
    assert listed(latest=False, read_committed=committed) == (ErrorCode.NONE, 10)
    assert listed(latest=True, read_committed=committed) == (ErrorCode.NONE, end)
    for offset, found in ((end - 1, end - 1), (end, -1)):
        answer = listed(latest=False, read_committed=committed, since_us=5, first_since=offset)
        assert answer == (ErrorCode.NONE, found)


def test_a_new_leader_does_not_know_the_end_before_its_high_watermark_has_come_to_its_epoch() -> None:
    assert listed(latest=True, epoch_start=41) == NOT_AVAILABLE
    assert listed(latest=True, epoch_start=40) == (ErrorCode.NONE, 40)
    assert listed(latest=False, epoch_start=41) == (ErrorCode.NONE, 10)
    assert listed(latest=False, epoch_start=41, since_us=5, first_since=39) == (ErrorCode.NONE, 39)
    assert listed(latest=False, epoch_start=41, since_us=5, first_since=45) == NOT_AVAILABLE


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_consumer_without_a_position_begins_at_the_end_of_what_it_may_read(isolation: str) -> None:
    steps = [(5.2, "abandon transaction of pay-1"), (15.0, "scale late to 1")]
    flight = flown(
        ScenarioSpec(
            title="late",
            until_us=25 * SECOND_US,
            brokers=THREE_BROKERS,
            config={"transaction.state.log.num.partitions": 1},
            topics=(TopicSpec("orders", partitions=1),),
            producers=(
                ProducerSpec(
                    "pay", ("orders",), rate_per_second=20.0, transactions=TransactionsSpec("pay-{n}", 10, 0.0, "drop")
                ),
            ),
            groups=(GroupSpec("late", ("orders",), members=0, config={"isolation.level": isolation}),),
            steps=steps_at(*steps),
        )
    )
    partition = flight.simulation.view.partitions["orders-0"]
    assert partition.last_stable_offset < partition.high_watermark
    (begun,) = flight.all(e.PositionsReset)
    end = partition.last_stable_offset if isolation == "read_committed" else partition.high_watermark
    assert (begun.reason, begun.positions) == ("latest", {"orders-0": end})
