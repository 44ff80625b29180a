"""Fetching from followers, at the consumer: what ends a preference for a replica that is not the leader (KIP-392)."""

from collections.abc import Callable

import pytest

from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.read_replica import ReadReplica
from cluster.events import PreferredReadReplicaChanged
from cluster.network import InFlightRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchedPartition, FetchRequest, FetchResponse, PartitionMetadata

AGE_US = 5_000_000


class Reader:
    """A consumer without a cluster: it is the connection to each broker, and its clock."""

    name = "g-1"
    now_us = 0
    unconnectable: tuple[int, ...] = ()
    not_before_us = 30

    def __init__(self) -> None:
        self.partitions = {"t-0": PartitionMetadata(1, 4, (1, 2), (1, 2))}
        self.live_brokers: tuple[int, ...] = (1, 2)
        self.timeline = self.attempts = self
        self.asked: list[tuple[int, FetchRequest]] = []
        self.told: list[tuple[int, str]] = []
        self.timers: list[tuple[int, Callable[[], None]]] = []
        self.stale = self.out_of_range = 0
        self.read_replica = ReadReplica(self, "g", self.changed)  # type: ignore[arg-type]
        self.fetcher = Fetcher(self, 1_000, 1_000, 500_000)  # type: ignore[arg-type]
        self.fetcher.stand_in("b", AGE_US)
        self.fetcher.assign({"t-0": 7})
        self.fetcher.send()

    def changed(self) -> None:
        self.fetcher.route()
        self.fetcher.send()

    def connection(self, broker: int) -> "Reader":
        self.to = broker
        return self

    def send(self, request: FetchRequest, handler: object, *, long_poll: bool) -> InFlightRequest:
        self.asked.append((self.to, request))
        return InFlightRequest(self, request, handler, long_poll, 0)  # type: ignore[arg-type]

    def backs_off(self, broker: int) -> bool:
        return broker in self.unconnectable

    def after(self, delay_us: int, action: Callable[[], None]) -> None:
        self.timers.append((self.now_us + delay_us, action))

    def emit(self, event: PreferredReadReplicaChanged) -> None:
        self.told.append((event.broker, event.reason))

    def wake(self) -> None:
        self.fetcher.send()

    def records_buffered(self) -> None:
        """The test reads the fetcher itself."""

    def fetched_records_dropped(self, partitions: tuple[str, ...], reason: str) -> None:
        """The test reads the fetcher itself."""

    def mark_metadata_stale(self) -> None:
        self.stale += 1

    def position_out_of_range(self, _: str) -> None:
        self.out_of_range += 1

    def answers(self, error: ErrorCode = ErrorCode.NONE, prefers: int = -1) -> None:
        """The broker that was asked last answers."""
        found = FetchedPartition("t-0", error, 9, 9, 0, preferred_read_replica=prefers)
        self.fetcher._answered(self.asked[-1][0], FetchResponse([found]))

    @property
    def asks(self) -> list[int]:
        """The brokers that were asked."""
        return [broker for broker, _ in self.asked]


@pytest.fixture
def reader() -> Reader:
    """A consumer that fetches from broker 2, which broker 1 prefers for it."""
    made = Reader()
    made.answers(prefers=2)
    return made


def test_the_leader_is_asked_with_the_rack_and_the_preferred_replica_with_the_leaders_epoch(reader: Reader) -> None:
    assert [(broker, one.rack, one.positions) for broker, one in reader.asked] == [
        (1, "b", {"t-0": (7, 4)}),
        (2, "b", {"t-0": (7, 4)}),
    ]
    assert reader.told == [(2, "selected")]


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH])
def test_an_error_of_the_follower_sends_the_reader_to_the_leader_with_fresh_metadata(
    reader: Reader, error: ErrorCode
) -> None:
    reader.answers(error)
    assert (reader.asks, reader.told[-1], reader.stale, reader.out_of_range) == ([1, 2, 1], (-1, error.name), 1, 0)


def test_a_position_that_the_follower_does_not_have_is_not_reset_before_the_leader_has_refused_it_too(
    reader: Reader,
) -> None:
    reader.answers(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert (reader.asks, reader.out_of_range, reader.stale) == ([1, 2, 1], 0, 0)
    reader.answers(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert reader.out_of_range == 1


def test_a_broken_connection_ends_the_preference(reader: Reader) -> None:
    reader.fetcher._answered(2, None)
    assert (reader.asks, reader.told[-1]) == ([1, 2, 1], (-1, "disconnected"))


def test_a_preferred_replica_that_cannot_be_connected_to_is_waited_for(reader: Reader) -> None:
    reader.fetcher._answered(2, None)
    reader.unconnectable = (2,)
    reader.answers(prefers=2)
    assert reader.asks == [1, 2, 1]
    reader.unconnectable = ()
    due_us, again = reader.timers[-1]
    assert due_us == reader.not_before_us
    again()
    assert reader.asks == [1, 2, 1, 2]


def test_a_preferred_replica_that_metadata_has_offline_is_left(reader: Reader) -> None:
    reader.live_brokers = (1,)
    reader.changed()
    assert (reader.asks, reader.told[-1], reader.stale) == ([1, 2, 1], (-1, "offline"), 1)


def test_the_same_preference_again_renews_nothing_and_it_ends_after_its_age(reader: Reader) -> None:
    [(due_us, expire)] = reader.timers
    assert due_us == AGE_US + 1_000
    reader.now_us = AGE_US
    reader.fetcher._answered(1, FetchResponse([FetchedPartition("t-0", ErrorCode.NONE, preferred_read_replica=2)]))
    assert len(reader.timers) == 1
    reader.now_us = due_us
    expire()
    assert (reader.asks, reader.told[-1]) == ([1, 2, 1], (-1, "expired"))


def test_a_preference_for_a_position_that_a_seek_has_changed_is_stale(reader: Reader) -> None:
    made = Reader()
    call = made.fetcher._in_flight[1]
    made.fetcher.positions["t-0"] = 3
    made.fetcher._in_flight[1] = call
    made.answers(prefers=2)
    assert made.told == []
