"""Where members begin to read: committed offsets, each policy of auto.offset.reset, positions out of range."""

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.config import ConfigError, Value, coerce, parse_iso_duration
from cluster.protocol import messages as m
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.spec import CommitPolicy
from tests.support.completed_flight import flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import SECOND_US, spec

EARLIEST: dict[str, Value] = {"auto.offset.reset": "earliest"}
NONE: dict[str, Value] = {"auto.offset.reset": "none"}


def test_without_an_offset_and_a_policy_the_process_ends_with_kafkas_words() -> None:
    flight = flown(spec(until_s=10, consumer=NONE, initial_delay_ms=0))
    (end,) = flight.all(e.MemberStopped)
    assert end.how == "crash"
    assert end.reason.startswith("NoOffsetForPartitionException: undefined offset with no reset policy for orders-0")
    assert flight.document["groups"]["g"]["members"] == 0 or not flight.document["members"]["g-1"]["alive"]
    assert not flight.all(e.PollReturned)


def test_with_a_committed_offset_nobody_asks_for_the_policy() -> None:
    first: dict[str, Value] = {"auto.offset.reset": "earliest", "auto.commit.interval.ms": 1_000}
    scenario = spec((10, "restart g-1 for 5s"), until_s=25, consumer=first, commit="auto", initial_delay_ms=0)
    resets = flown(scenario).all(e.PositionsReset)
    assert {(reset.reason, reset.at_us > 10 * SECOND_US) for reset in resets} == {
        ("earliest", False),
        ("committed", True),
    }


def test_by_duration_begins_at_the_first_record_that_young() -> None:
    young: dict[str, Value] = {"auto.offset.reset": "by_duration:PT4S"}
    flight = flown(spec((2, "stop g-1"), (20, "start g-1"), until_s=30, consumer=young, initial_delay_ms=0))
    reset = next(reset for reset in flight.all(e.PositionsReset) if reset.at_us > 20 * SECOND_US)
    assert reset.reason == "by_duration"
    sent = {name: offset for reset in [reset] for name, offset in reset.positions.items()}
    for name, offset in sent.items():
        log = flight.simulation.brokers[1 if name == "orders-0" else 2].replicas[name].log
        (batch,) = (batch for batch in log.batches if batch.base_offset == offset)
        before = [one.created_us for one in log.batches if one.base_offset < offset]
        assert batch.created_us >= reset.at_us - 4 * SECOND_US - 10_000
        assert max(before) < reset.at_us - 4 * SECOND_US


def test_by_duration_without_a_record_that_young_asks_again_after_the_request_timeout() -> None:
    young: dict[str, Value] = {"auto.offset.reset": "by_duration:PT2S", "request.timeout.ms": 5_000}
    steps = ((2, "stop p-1"), (10, "restart g-1"), (22, "start p-1"))
    flight = flown(spec(*steps, until_s=40, consumer=young, initial_delay_ms=0))
    resets = flight.all(e.PositionsReset, 10 * SECOND_US)
    began = flight.all(e.PartitionsAssigned, 10 * SECOND_US)[0].at_us
    assert resets
    waited_us = resets[0].at_us - began
    assert waited_us > 10 * SECOND_US
    assert waited_us % (5 * SECOND_US) < SECOND_US // 10


@pytest.mark.parametrize("policy", ["none", "by_duration:PT5S", "latest"])
def test_the_truth_agrees_about_every_policy(policy: str) -> None:
    consumer: dict[str, Value] = {"auto.offset.reset": policy}
    steps = ((5, "kill g-1 for 10s"),)
    assert lies(spec(*steps, until_s=30, consumer=consumer, members=2, commit="auto", initial_delay_ms=0)) == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("PT1H", 3_600), ("P1DT2H3M4.5S", 93_784.5), ("pt30m", 1_800), ("PT0S", 0)]
)
def test_java_durations_are_read(text: str, seconds: float) -> None:
    assert parse_iso_duration(text) == seconds * SECOND_US
    assert coerce("consumer", "auto.offset.reset", f"by_duration:{text}") == f"by_duration:{text}"


@pytest.mark.parametrize("text", ["", "1h", "P", "PT", "P1DT", "PT-1H", "PT1.5H"])
def test_anything_else_is_not_a_duration(text: str) -> None:
    with pytest.raises(ConfigError):
        coerce("consumer", "auto.offset.reset", f"by_duration:{text}")


# --- positions that the log has left behind ---------------------------------------------------------------------------

DELETED = (
    (2, "stall g-1 for 10s"),
    (9, "delete records orders-0 before 100"),
    (9, "delete records orders-1 before 100"),
)


@pytest.mark.parametrize("commit", ["never", "after-each-poll"])
def test_what_was_deleted_unread_is_skipped_and_reading_goes_on_at_the_start(commit: CommitPolicy) -> None:
    made = spec(*DELETED, until_s=30, consumer=dict(EARLIEST), rate=40.0, commit=commit, initial_delay_ms=0)
    flight = flown(made)
    resets = flight.all(e.PositionsReset, 9 * SECOND_US)
    assert {reset.reason for reset in resets} == {"earliest"}
    deleted = {name: log_start for reset in resets for name, log_start in reset.positions.items()}
    finished = flight.all(e.RecordsProcessed)
    done = [(each.partition, at) for each in finished for at in range(each.first_offset, each.next_offset)]
    missed = sum((name, at) not in done for name, log_start in deleted.items() for at in range(log_start))
    assert missed > 0
    delivery = flight.document["delivery"]
    assert (delivery["skipped"], delivery["lost"], delivery["duplicated"]) == (missed, 0, 0)
    assert lies(made) == []


def test_with_latest_what_was_not_deleted_is_lost_too_once_a_commit_has_passed_it() -> None:
    made = spec(*DELETED, until_s=30, rate=40.0, commit="after-each-poll", initial_delay_ms=0)
    earliest = spec(
        *DELETED, until_s=30, consumer=dict(EARLIEST), rate=40.0, commit="after-each-poll", initial_delay_ms=0
    )
    flight = flown(made)
    skipped = [at - 100 for reset in flight.all(e.PositionsReset, 9 * SECOND_US) for at in reset.positions.values()]
    assert skipped
    assert min(skipped) > 0
    assert flight.document["delivery"]["lost"] == sum(skipped)
    assert flown(earliest).document["delivery"]["lost"] == 0
    assert lies(made) == []


def test_offsets_that_expired_send_a_group_back_to_its_policy() -> None:
    made = spec((10, "stop g-1"), (100, "start g-1"), until_s=130, consumer=dict(EARLIEST), commit="auto")
    short: dict[str, Value] = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 10_000}
    made = msgspec.structs.replace(made, config={**made.config, **short})
    flight = flown(made)
    (expired,) = flight.all(e.OffsetsExpired)
    assert 70 * SECOND_US <= expired.at_us <= 81 * SECOND_US
    assert {reset.reason for reset in flight.all(e.PositionsReset, 100 * SECOND_US)} == {"earliest"}
    assert flight.document["delivery"]["duplicated"] > 50


# --- commits ----------------------------------------------------------------------------------------------------------


def test_a_commit_that_only_the_leader_has_fails_after_five_seconds_and_an_auto_commit_then_comes_again() -> None:
    consumer: dict[str, Value] = {**EARLIEST, "auto.commit.interval.ms": 30_000}
    alone = ("cut broker-2 broker-1 for 6500ms", "cut broker-2 broker-3 for 6500ms")  # the coordinator
    made = spec(*((29.0, text) for text in alone), until_s=50, consumer=consumer, commit="auto", initial_delay_ms=0)
    flight = flown(made)
    (refused,) = flight.all(e.OffsetCommitRefused)
    assert refused.error == "COORDINATOR_NOT_AVAILABLE"
    assert 35_000_000 < refused.at_us < 35_100_000
    stored = flight.all(e.OffsetsCommitted)  # the one that failed is in the log, and another one behind it
    assert [one.at_us // SECOND_US for one in stored] == [35, 35]


def test_one_that_commits_before_it_works_does_not_work_on_what_it_could_not_commit() -> None:
    steps = ((10, "pause g-1 for 20s"),)  # its session ends meanwhile, and g-2 takes over
    consumer: dict[str, Value] = {**EARLIEST, "max.poll.records": 5}
    made = spec(*steps, until_s=60, members=2, consumer=consumer, commit="before-processing", initial_delay_ms=0)
    delivery = flown(made).document["delivery"]
    assert (delivery["duplicated"], delivery["lost"]) == (0, 0)
    assert lies(made) == []


def test_while_one_partition_is_unstable_a_member_begins_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """OffsetFetchResponseHandler raises UnstableOffsetCommitException: the offsets of the others count for nothing."""
    ask = Consumer.ask_coordinator

    async def unstable_until_eight(self: Consumer, request: Request) -> m.OffsetFetchResponse:
        answer: m.OffsetFetchResponse = await ask(self, request)
        if isinstance(request, m.OffsetFetchRequest) and 4 * SECOND_US < self.timeline.now_us < 8 * SECOND_US:
            pending = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1, -1, "")
            return msgspec.structs.replace(answer, offsets=answer.offsets | {"orders-0": pending})
        return answer

    monkeypatch.setattr(Consumer, "ask_coordinator", unstable_until_eight)
    config = EARLIEST | {"auto.commit.interval.ms": 1_000}
    flight = flown(spec((4, "restart g-1"), until_s=12, consumer=config, commit="auto", initial_delay_ms=0))
    again = flight.all(e.PositionsReset, 4 * SECOND_US)
    assert {name for reset in again for name in reset.positions} >= {"orders-0", "orders-1"}
    assert all(reset.at_us >= 8 * SECOND_US for reset in again)
