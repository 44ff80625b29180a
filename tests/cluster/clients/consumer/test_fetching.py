"""The fetcher and the heartbeat thread as a consumer's group sees them, in tiny flights."""

from itertools import pairwise

import pytest

from cluster import events as e
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.heartbeat_thread import HeartbeatThread
from cluster.clients.consumer.read_replica import ReadReplica
from cluster.network import InFlightRequest
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import (
    FetchedPartition,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    PartitionMetadata,
)
from cluster.protocol.record_batch import RecordBatch
from tests.support.completed_flight import flown
from tests.support.scenario_builders import SECOND_US, spec


class Reader:
    """A consumer without a cluster."""

    name = "g-1"

    def __init__(self) -> None:
        self.partitions = {f"t-{number}": PartitionMetadata(1, 0, (1,), (1,)) for number in range(2)}
        self.stale = self.woken = 0
        self.read_replica = ReadReplica(self, "g", lambda: None)  # type: ignore[arg-type]
        self.lost: list[str] = []

    def connection(self, broker: int) -> "Reader":
        return self

    def send(self, request: object, handler: object, *, long_poll: bool) -> InFlightRequest:
        return InFlightRequest(self, request, handler, long_poll, 0)  # type: ignore[arg-type]

    def wake(self) -> None:
        self.woken += 1

    def records_buffered(self) -> None:
        """The test reads the fetcher itself."""

    def fetched_records_dropped(self, partitions: tuple[str, ...], reason: str) -> None:
        """The test reads the fetcher itself."""

    def mark_metadata_stale(self) -> None:
        self.stale += 1

    def position_out_of_range(self, partition: str) -> None:
        self.lost.append(partition)


def fetcher(reader: Reader, **positions: int) -> Fetcher:
    made = Fetcher(reader, 1_000, 1_000, 500_000)  # type: ignore[arg-type]
    made.assign({name.replace("_", "-"): at for name, at in positions.items()})
    return made


def batch(name: str, offset: int, count: int) -> RecordBatch:
    return RecordBatch(name, "p-1", 0, 0, 0, 0, count, 100, 0, (), offset, 0, 0)


def answer(name: str, *batches: RecordBatch, error: ErrorCode = ErrorCode.NONE) -> FetchResponse:
    return FetchResponse([FetchedPartition(name, error, 9, 9, 0, list(batches))])


def test_poll_takes_up_to_max_records_and_moves_the_position() -> None:
    made = fetcher(Reader(), t_0=1)
    made._answered(1, answer("t-0", batch("t-0", 0, 3), batch("t-0", 3, 2)))
    assert [(one.first_offset, one.next_offset) for one in made.collect(3)] == [(1, 3), (3, 4)]
    assert made.positions == {"t-0": 4}
    assert [(one.first_offset, one.next_offset) for one in made.collect(3)] == [(4, 5)]
    assert made.collect(3) == []


def test_what_comes_for_a_revoked_partition_is_dropped() -> None:
    made = fetcher(Reader(), t_0=0, t_1=0)
    made._answered(1, answer("t-0", batch("t-0", 0, 3)))
    made.revoke(("t-0",), "revoked")
    made._answered(1, answer("t-0", batch("t-0", 0, 3)))
    assert made.collect(10) == []
    assert made.positions == {"t-1": 0}


def test_errors_ask_for_metadata_or_a_new_position() -> None:
    reader = Reader()
    made = fetcher(reader, t_0=5)
    made._answered(1, answer("t-0", error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    made._answered(1, answer("t-0", error=ErrorCode.OFFSET_OUT_OF_RANGE))
    made._answered(1, None)
    assert (reader.stale, reader.lost) == (2, ["t-0"])


@pytest.mark.parametrize(("sought", "lost"), [(75, ["t-0"]), (5, [])])
def test_an_answer_to_a_fetch_from_before_a_seek_says_nothing_of_the_new_position(sought: int, lost: list[str]) -> None:
    """Kafka's FetchCollector.handleInitializeErrors: the offset that was fetched must be the position."""
    reader = Reader()
    made = fetcher(reader, t_0=75)
    made.send()
    made.assign({"t-0": sought})
    made._answered(1, answer("t-0", error=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert reader.lost == lost
    assert made.positions == {"t-0": sought}
    made.send()
    assert made._in_flight[1].request.positions["t-0"][0] == sought


def test_a_partition_without_a_known_leader_asks_for_metadata() -> None:
    reader = Reader()
    reader.partitions["t-0"] = PartitionMetadata(-1, 1, (1,), (1,))
    fetcher(reader, t_0=0)
    assert reader.stale == 1


def test_what_a_member_takes_over_is_read_though_its_old_fetch_waits() -> None:
    flight = flown(spec((10.5, "stop p-1"), (11, "kill g-2"), until_s=25, members=2, rate=40.0))
    (removed,) = flight.all(e.MemberRemoved)
    assert removed.at_us < 18 * SECOND_US
    assert flight.document["members"]["g-1"]["lag"] == 0
    assert flight.document["delivery"]["unread"] == 0


def test_heartbeats_come_at_their_interval_and_stop_with_the_thread() -> None:
    flight = flown(spec((20.5, "pause heartbeats of g-1 for 3s"), until_s=30))
    beats = [beat.at_us for beat in flight.all(e.HeartbeatAnswered, member="g-1")]
    gaps = {after - before for before, after in pairwise(beats) if after < 20 * SECOND_US}
    assert gaps == {SECOND_US}
    assert not [at_us for at_us in beats if 20_600_000 < at_us < 23_500_000]
    assert not flight.all(e.MemberRemoved)
    assert flight.simulation.view.groups["g"].generation == 1


def test_no_heartbeat_is_sent_while_a_join_waits_at_the_barrier() -> None:
    flight = flown(spec((12.2, "kill g-2"), (13.5, "start g-2"), until_s=25, members=2))
    (opened,) = [each for each in flight.all(e.RebalanceStarted) if not each.initial]
    (removed,) = flight.all(e.MemberRemoved)  # the dead id, at the end of its session
    joined = next(one for one in flight.all(e.JoinReceived, member="g-1") if one.at_us > opened.at_us)
    assert removed.at_us - joined.at_us > 3 * SECOND_US
    beats = flight.all(e.HeartbeatAnswered, member="g-1")
    assert not [beat for beat in beats if joined.at_us <= beat.at_us <= removed.at_us]
    assert flight.simulation.view.groups["g"].generation == 2


def test_an_error_for_an_older_generation_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    flight = flown(spec(until_s=10))
    consumer = flight.simulation.consumers["g-1"]
    now = (consumer.generation, consumer.member_id)
    forgotten: list[bool] = []
    monkeypatch.setattr(consumer.membership, "reset_generation", lambda _, *, member_id: forgotten.append(member_id))
    for generation in (consumer.generation - 1, consumer.generation):
        for member_id in ("somebody-else", consumer.member_id):
            beat = HeartbeatRequest("g", generation, member_id)
            for error in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                if (generation, member_id) != now or error is not ErrorCode.FENCED_INSTANCE_ID:
                    assert isinstance(consumer.heartbeats, HeartbeatThread)
                    consumer.heartbeats._answered(beat, HeartbeatResponse(error))
    assert forgotten == [False, True]
    assert consumer.state == "Stable"
