"""Positions and new leaders (KIP-320): what each state makes of each event, and what brokers answer."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster import events as e
from cluster.broker.replica import Replica
from cluster.broker.request_handlers import BrokerRequests
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.positions import Positions
from cluster.clients.consumer.read_replica import ReadReplica
from cluster.config import ConsumerConfig, Value, resolve
from cluster.network import InFlightRequest
from cluster.protocol import messages as m
from cluster.protocol.api import Request
from cluster.protocol.errors import ErrorCode
from cluster.storage.partition_log import PartitionLog

P = "t-0"
BACKOFF_US, TIMEOUT_US = 100_000, 30_000_000
Answer = tuple[ErrorCode, int, int] | None
VALID, DIVERGES, UNKNOWN = (ErrorCode.NONE, 0, 600), (ErrorCode.NONE, 0, 300), (ErrorCode.NONE, -1, -1)


class Consumer:
    """A consumer without a cluster: what it asks, and what it tells."""

    name, group, owned = "g-1", "g", (P,)
    retry_backoff_us = BACKOFF_US

    def __init__(self, policy: str = "earliest") -> None:
        keys: dict[str, Value] = {"auto.offset.reset": policy, "request.timeout.ms": TIMEOUT_US // 1_000}
        self.config = ConsumerConfig.of(resolve("consumer", keys))
        self.timeline = SimpleNamespace(now_us=0)
        self.partitions = {P: m.PartitionMetadata(1, 0, (1, 2, 3), (1, 2, 3))}
        self.metadata_version = self.stale = 0
        self.emitted: list[e.Event] = []
        self.asked: list[tuple[int, Request, Callable[[Any], object]]] = []
        self.failures: list[str] = []
        self.read_replica = ReadReplica(cast(Any, self), self.group, self.request_attention)
        self.fetcher = Fetcher(cast(Any, self), 1, 1, 1)
        self.positions = Positions(cast(Any, self))
        self.validation = self.positions.validation

    def emit(self, event: e.Event) -> None:
        self.emitted.append(event)

    def fail(self, reason: str) -> None:
        self.failures.append(reason)

    def records_buffered(self) -> None:
        """The test reads the fetcher itself."""

    def fetched_records_dropped(self, partitions: tuple[str, ...], reason: str) -> None:
        """The test reads the fetcher itself."""

    def mark_metadata_stale(self) -> None:
        self.stale += 1

    def request_attention(self) -> None:
        """Poll() is a test here."""

    wake = request_attention

    def after(self, *_: object) -> None:
        """So are timers."""

    def position_out_of_range(self, partition: str) -> None:
        self.positions.out_of_range(partition)

    def connection(self, broker: int) -> SimpleNamespace:
        return SimpleNamespace(send=lambda request, handler: self.asked.append((broker, request, handler)))

    # --- what happens to it -------------------------------------------------------------------------------------------

    def led_by(self, leader: int, epoch: int) -> None:
        """Metadata comes, and the next poll() looks at it."""
        self.partitions[P] = m.PartitionMetadata(leader, epoch, (1, 2, 3), (1, 2, 3))
        self.metadata_version += 1
        assert self.validation.outdated
        self.validation.check_leader_epochs()

    def answered(self, answer: Answer, which: int = 0) -> None:
        """The answer to a question of this consumer comes; None: its connection breaks."""
        self.asked[which][2](None if answer is None else m.OffsetForLeaderEpochResponse({P: answer}))

    def due(self) -> bool:
        """Whether poll() has something to ask or to throw now."""
        return self.validation.due

    def loses_it(self) -> None:
        """A rebalance takes the partition away."""
        self.fetcher.revoke((P,), "revoked")
        self.positions.revoked((P,))

    def refused(self, error: ErrorCode) -> None:
        """A fetch of the position is answered with an error."""
        self.fetcher._answered(1, m.FetchResponse([m.FetchedPartition(P, error)]))

    @property
    def state(self) -> tuple[str, int]:
        """The state of the partition by Kafka's names, and its position."""
        if P in self.validation.awaiting:
            assert P not in self.fetcher.positions
            return "AWAIT_VALIDATION", self.validation.awaiting[P].offset
        if P in self.fetcher.positions:
            assert P not in self.positions._unknown
            return "FETCHING", self.fetcher.positions[P]
        if P in self.positions._unknown:
            return "AWAIT_RESET" if P in self.positions._reset_only else "INITIALIZING", -1
        return "REVOKED", -1


def begun(policy: str = "earliest") -> Consumer:
    """A consumer that is at offset 600, behind a record of epoch 0, and asks the leader of epoch 1 about it."""
    made = Consumer(policy)
    made.positions.assigned((P,))
    made.positions._position({P: 600}, "committed", {P: 0})
    assert made.state == ("FETCHING", 600)
    made.led_by(2, 1)
    made.validation.ask()
    return made


def again(made: Consumer) -> None:
    made.loses_it()
    made.positions.assigned((P,))


STATES: dict[str, Callable[[Consumer], object]] = {
    "INITIALIZING": again,
    "AWAIT_RESET": lambda made: made.answered(UNKNOWN),
    "AWAIT_VALIDATION": lambda made: None,
    "FETCHING": lambda made: made.answered(VALID),
    "FETCHING without an epoch": lambda made: made.positions.seek(P, 600),
}

EVENTS: dict[str, Callable[[Consumer], object]] = {
    "another leader": lambda made: made.led_by(3, 2),
    "no leader": lambda made: made.led_by(-1, 2),
    "the same leader": lambda made: made.led_by(2, 1),
    "valid": lambda made: made.answered(VALID),
    "diverges": lambda made: made.answered(DIVERGES),
    "unknown": lambda made: made.answered(UNKNOWN),
    "error": lambda made: made.answered((ErrorCode.FENCED_LEADER_EPOCH, -1, -1)),
    "no answer": lambda made: made.answered(None),
    "seek": lambda made: made.positions.seek(P, 7),
    "revoked": lambda made: made.loses_it(),
    "out of range": lambda made: made.refused(ErrorCode.OFFSET_OUT_OF_RANGE),
    "fetch fenced": lambda made: made.refused(ErrorCode.FENCED_LEADER_EPOCH),
}

AFTER: dict[tuple[str, str], tuple[str, int]] = {
    ("AWAIT_VALIDATION", "valid"): ("FETCHING", 600),
    ("AWAIT_VALIDATION", "diverges"): ("FETCHING", 300),
    ("AWAIT_VALIDATION", "unknown"): ("AWAIT_RESET", -1),
    ("FETCHING", "another leader"): ("AWAIT_VALIDATION", 600),
    ("FETCHING", "out of range"): ("AWAIT_RESET", -1),
    ("FETCHING without an epoch", "out of range"): ("AWAIT_RESET", -1),
}
"""What changes a state; whatever is not here leaves it (late answers too), but for `seek` and `revoked`."""


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", STATES)
def test_each_state_and_event(state: str, event: str) -> None:
    made = begun()
    STATES[state](made)
    before = made.state
    assert before[0] == state.partition(" ")[0]
    EVENTS[event](made)
    expected = {"seek": ("FETCHING", 7), "revoked": ("REVOKED", -1)}.get(event)
    assert made.state == (expected or AFTER.get((state, event), before))
    truncated = [one for one in made.emitted if isinstance(one, e.PositionTruncated)]
    answers = [state == "AWAIT_RESET", state == "AWAIT_VALIDATION" and event in {"diverges", "unknown"}]
    assert len(truncated) == sum(answers)


def test_every_change_of_the_table_is_of_a_state_and_an_event_that_exist() -> None:
    assert {state for state, _ in AFTER} <= set(STATES)
    assert {event for _, event in AFTER} <= set(EVENTS)


# --- questions --------------------------------------------------------------------------------------------------------


def test_the_new_leader_is_asked_where_the_epoch_of_the_last_record_ends() -> None:
    made = begun()
    ((broker, request, _),) = made.asked
    assert (broker, request) == (2, m.OffsetForLeaderEpochRequest({P: (1, 0)}))
    assert made.fetcher._by_broker == {}


def test_a_position_without_an_epoch_goes_on_with_the_new_leader_unasked() -> None:
    made = begun()
    made.positions.seek(P, 5)
    made.led_by(3, 2)
    assert (made.fetcher.leader_epochs, made.fetcher._by_broker) == ({P: 2}, {3: [P]})
    assert not made.due()


def test_another_leader_is_asked_at_once_and_the_former_ones_answer_is_ignored() -> None:
    made = begun()
    assert not made.due()
    made.led_by(3, 2)
    assert made.due()
    made.validation.ask()
    assert made.asked[1][:2] == (3, m.OffsetForLeaderEpochRequest({P: (2, 0)}))
    made.answered(DIVERGES, 0)
    assert made.state == ("AWAIT_VALIDATION", 600)
    made.answered(VALID, 1)
    assert (made.state, made.fetcher.leader_epochs) == (("FETCHING", 600), {P: 2})


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        None,
    ],
)
def test_an_error_is_tried_again_after_the_backoff_with_fresh_metadata(error: ErrorCode | None) -> None:
    made = begun()
    made.answered(None if error is None else (error, -1, -1))
    assert made.stale == 1
    made.timeline.now_us = BACKOFF_US - 1
    assert not made.due()
    made.timeline.now_us = BACKOFF_US
    assert made.due()
    made.validation.ask()
    assert [broker for broker, *_ in made.asked] == [2, 2]
    made.answered(VALID, 1)
    assert made.state == ("FETCHING", 600)


def test_a_leader_that_does_not_answer_is_asked_again_after_the_request_timeout() -> None:
    made = begun()
    made.timeline.now_us = TIMEOUT_US - 1
    assert not made.due()
    made.timeline.now_us = TIMEOUT_US
    assert made.due()


def test_without_a_policy_the_next_poll_throws_with_where_the_logs_part() -> None:
    made = begun("none")
    made.answered(DIVERGES)
    assert (made.failures, made.state) == ([], ("AWAIT_VALIDATION", 600))
    assert made.due()
    made.validation.ask()
    where = "{t-0=OffsetAndMetadata{offset=300, leaderEpoch=0, metadata=''}}"
    assert made.failures == [f"LogTruncationException: Truncated partitions detected with divergent offsets {where}"]
    assert not [one for one in made.emitted if isinstance(one, e.PositionsReset) and one.reason == "truncated"]


def test_without_a_policy_and_an_offset_it_throws_as_well() -> None:
    made = begun("none")
    made.answered(UNKNOWN)
    made.validation.ask()
    assert made.failures == ["LogTruncationException: Truncated partitions detected with divergent offsets {}"]


# --- where a commit is taken up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "led", "state"),
    [
        (-1, 1, "FETCHING"),  # an application that commits without epochs
        (1, 1, "FETCHING"),  # nothing can be missing
        (0, 1, "AWAIT_VALIDATION"),
        (2, 1, "AWAIT_VALIDATION"),  # the metadata here is old
    ],
)
def test_a_commit_of_another_leaders_epoch_is_validated(committed: int, led: int, state: str) -> None:
    made = Consumer()
    made.partitions[P] = m.PartitionMetadata(1, led, (1,), (1,))
    made.positions.assigned((P,))
    made.positions._position({P: 40}, "committed", {P: committed})
    assert made.state == (state, 40)
    assert [one.positions for one in made.emitted if isinstance(one, e.PositionsReset)] == [{P: 40}]


def test_a_commit_from_the_future_waits_for_metadata_as_new() -> None:
    made = Consumer()
    made.positions.assigned((P,))
    made.positions._position({P: 40}, "committed", {P: 2})
    made.validation.ask()
    assert (made.asked, made.stale) == ([], 1)
    made.led_by(1, 1)
    made.timeline.now_us = BACKOFF_US
    made.validation.ask()
    assert (made.asked, made.stale) == ([], 2)
    made.led_by(3, 2)
    made.validation.ask()
    assert made.asked[0][:2] == (3, m.OffsetForLeaderEpochRequest({P: (2, 2)}))


# --- the broker -------------------------------------------------------------------------------------------------------


def replica(epoch: int, *, leads: bool = True) -> Any:  # noqa: ANN401 - as much of one as is asked
    """A log of 10 records: epoch 0 from 0 on, epoch 3 from 6 on."""
    made = Replica(cast(Any, None), PartitionLog(P), 1)
    made.log.epochs.assign(0, 0)
    made.log.epochs.assign(3, 6)
    made.log.log_end = 10
    made.is_leader, made.led_epoch = leads, epoch
    made.metadata = m.PartitionMetadata(1 if leads else -1, epoch, (1,), (1,))
    return made


@pytest.mark.parametrize(
    ("of", "epoch", "error"),
    [
        (None, 3, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replica(3), 2, ErrorCode.FENCED_LEADER_EPOCH),
        (replica(3), 4, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (replica(3, leads=False), 2, ErrorCode.FENCED_LEADER_EPOCH),
        (replica(3, leads=False), 3, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (replica(3), 3, ErrorCode.NONE),
    ],
)
def test_only_the_leader_of_the_epoch_that_is_named_serves(of: Any, epoch: int, error: ErrorCode) -> None:  # noqa: ANN401
    host: Any = SimpleNamespace(replicas={} if of is None else {P: of}, buggify=SimpleNamespace(on=0))
    nothing: Any = None
    broker = BrokerRequests(host, nothing, nothing, nothing)
    answers: list[Any] = []
    asks = SimpleNamespace(request=m.OffsetForLeaderEpochRequest({P: (epoch, 0)}), reply=answers.append)
    broker.offset_for_leader_epoch(cast(InFlightRequest, asks))
    assert answers[0].ends == {P: (error, 0, 6) if error is ErrorCode.NONE else (error, -1, -1)}
    if error is not ErrorCode.NONE:
        fetches = SimpleNamespace(request=m.FetchRequest("g-1", {P: (0, epoch)}, 1, 1), reply=answers.append)
        broker.fetch(cast(InFlightRequest, fetches))
        assert [one.error for one in answers[1].partitions] == [error]
