"""Lines of real producers, transaction coordinators and replicas: what they say is read, and nothing more."""

import re
from collections import Counter
from pathlib import Path

import pytest
import zstandard

from cluster import events as e
from cluster.events import Event
from cluster.view import ClusterView, fold
from cluster.view.logged.state import LogsView
from recordings.journal.reader import Recording
from recordings.log_reading.make import read_logs, reading_of
from tests.fidelity.recorder.raw import raw_of
from tests.support.log_round_trip import Fact, of_producers, of_replicas

RUNS = ("s31-timeout-epoch", "s51-delivery-timeout", "s53-split", "s60-transaction-coordinator")
AT = "[2026-11-27 05:10:11,{:03}] INFO {} (o.a.k.C)\n"
SAID = re.compile(
    r".*\[(?:Producer clientId=(?P<producer>[^,\]]+)(?:, [^\]]*)?|TransactionCoordinator id=(?P<broker>\d+))\] (?:"
    r"ProducerId set to (?P<pid>\d+) with epoch (?P<epoch>\d+)"
    r"|Got error produce response.* on topic-partition \S+, (?P<how>splitting|retrying).*Error: [A-Z_]+.*"
    r"|Initialized transactionalId (?P<txn>\S+) with producerId (?P<tpid>\d+) and producer epoch (?P<tepoch>\d+) .*"
    r"|Completed rollback of ongoing transaction for transactionalId (?P<out>\S+) .*)"
)


def read(lines: list[str], place: Path) -> tuple[list[Event], LogsView]:
    """The events of lines, and what they say at their end."""
    (place / "all.log").write_text("\n".join(lines), encoding="utf-8")
    read_logs([place / "all.log"], place / "read")
    events, view = list(Recording(place / "read", logs=True).events()), ClusterView()
    for event in events:
        fold(view, event)
    assert view.logs is not None
    return events, view.logs


def lines_of(run: str, but: str = "\0") -> list[str]:
    """The dated lines of a real run."""
    with raw_of(run, "4.3.1").open("rb") as packed:
        text = zstandard.ZstdDecompressor().stream_reader(packed).read().decode()
    return [line for line in text.splitlines() if line[:13].isdecimal() and but not in line]


@pytest.mark.parametrize("run", RUNS)
def test_what_real_producers_and_their_coordinators_say_is_read(run: str, tmp_path: Path) -> None:
    lines = lines_of(run)
    ids, retried, split, initialized, timed_out = {}, Counter[str](), Counter[str](), {}, Counter[str]()
    for found in filter(None, map(SAID.fullmatch, sorted(dict.fromkeys(lines), key=lambda line: line[:13]))):
        if found["pid"]:
            ids[found["producer"]] = int(found["pid"]), int(found["epoch"])
        elif found["how"]:
            (split if found["how"] == "splitting" else retried)[found["producer"]] += 1
        elif found["txn"]:
            initialized[found["txn"]] = int(found["broker"]), int(found["tpid"]), int(found["tepoch"])
        else:
            timed_out[found["out"]] += 1
    _, logs = read(lines, tmp_path)
    known = logs.producers.values()
    assert ids
    assert {one.producer: (one.producer_id, one.epoch) for one in known if one.producer_id is not None} == ids
    assert {one.producer: one.retried for one in known if one.retried} == retried
    assert {one.producer: one.split for one in known if one.split} == split
    of_ids = logs.transactional_ids.values()
    assert {one.transactional_id: (one.coordinator, one.producer_id, one.epoch) for one in of_ids} == initialized
    assert {one.transactional_id: one.timed_out for one in of_ids if one.timed_out} == timed_out


def test_a_real_truncation_has_its_broker_from_the_fetchers_line(tmp_path: Path) -> None:
    lines = [line for line in lines_of("s45-unclean") if "s45-0" in line]
    events, _ = read(lines, tmp_path)
    (truncated,) = [event for event in events if isinstance(event, e.LogTruncated)]
    (said,) = [line for line in lines if "Truncating partition s45-0 with" in line and "leader epoch and" in line]
    of = re.match(r".*\[ReplicaFetcher replicaId=(\d+),.*TruncationState\(offset=(\d+),", said)
    assert of is not None
    assert (truncated.broker, truncated.offset) == (int(of[1]), int(of[2]))
    assert (truncated.log_end, truncated.bytes, truncated.reason) == (-1, -1, "unknown")
    led = [re.search(r"id=(\d+)\] Leader s45-0 .* leader epoch (\d+) from offset (\d+)", line) for line in lines]
    wanted = [tuple(map(int, found.groups())) for found in led if found is not None]
    taken = [event for event in events if isinstance(event, e.LeadershipTaken)]
    assert [(event.broker, event.leader_epoch, event.log_end) for event in taken] == wanted
    assert reading_of(tmp_path / "read").unmatched == 0


ERRORS = "[Producer clientId=p-1] Transiting to {} error state due to org.apache.kafka.common.{}"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (ERRORS.format("fatal", "errors.AuthorizationException: a b."), ("FatalError", "AuthorizationException: a b.")),
        (ERRORS.format("fatal", "errors.ProducerFencedException: a"), ("Fenced", "PRODUCER_FENCED")),
        (ERRORS.format("fatal", "errors.InvalidPidMappingException: a"), ("Fenced", "INVALID_PRODUCER_ID_MAPPING")),
        (ERRORS.format("abortable", "KafkaException: a.b C"), ("AbortableError", "KafkaException: a.b C")),
        ("[Producer clientId=p-1] Closing the Kafka producer with timeoutMillis = 0 ms.", ("Stopped", "close()")),
    ],
)
def test_a_producer_has_the_state_that_its_line_says(line: str, wanted: tuple[str, str], tmp_path: Path) -> None:
    events, logs = read([AT.format(1, line)], tmp_path)
    assert (logs.producers["p-1"].state, logs.producers["p-1"].reason) == wanted
    declared = next(event for event in events if isinstance(event, e.ProducerDeclared))
    assert (declared.topics, declared.rate_per_second) == ((), -1.0)
    assert logs.producers["p-1"].producer_id is None


AT_HOST = "(kafka-3.local/10.0.0.3:9092)"
TIMED_OUT = "socket connection setup timeout. The timeout value is 9216 ms."


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("Node 3 disconnected.", (3, "disconnected")),
        ("Node -1 disconnected.", (-1, "disconnected")),
        ("Node 2147483644 disconnected.", (3, "disconnected")),  # a consumer's connection to its coordinator
        (
            f"Connection to node 3 {AT_HOST} could not be established. Node may not be available.",
            (3, "not established"),
        ),
        ("Disconnecting from node 3 due to request timeout.", (3, "request timeout")),
        (f"Disconnecting from node 3 due to {TIMED_OUT}", (3, "connection setup timeout")),
        (f"Connection to node -2 {AT_HOST} failed authentication due to: SSL handshake failed", (-1, "authentication")),
    ],
)
@pytest.mark.parametrize("client", ["Producer clientId=c-1", "Consumer clientId=c-1, groupId=g"])
def test_a_connection_that_a_client_lost_has_its_broker_and_cause(
    client: str, sentence: str, wanted: tuple[int, str], tmp_path: Path
) -> None:
    events, logs = read([AT.format(1, f"[{client}] {sentence}"), AT.format(2, f"[{client}] {sentence}")], tmp_path)
    assert [(event.broker, event.cause) for event in events if isinstance(event, e.ClientDisconnected)] == [wanted] * 2
    assert logs.connections["c-1"].lost == (0 if wanted[1] in {"not established", "authentication"} else 2)
    assert len(logs.connections["c-1"].said_us) == 1  # within ten seconds it is said once


def test_markers_and_producers_that_a_coordinator_refuses_are_in_the_event_log(tmp_path: Path) -> None:
    refused = (
        "[Transaction Marker Request Completion Handler 2]: Sending pay's transaction marker for partition orders-1 has"
        " permanently failed with error org.apache.kafka.common.errors.TransactionCoordinatorFencedException with the"
        " current coordinator epoch 4; cancel sending any more transaction markers TxnMarkerEntry{producerId=7,"
        " producerEpoch=3, coordinatorEpoch=3, result=ABORT, partitions=[orders-1], transactionVersion=2} to the"
        " brokers"
    )
    fenced = "[TransactionCoordinator id=2] Returning PRODUCER_FENCED error code to client for pay's InitProducerId"
    fenced += " request"
    events, logs = read([AT.format(1, refused), AT.format(2, fenced)], tmp_path)
    (marker,) = [event for event in events if isinstance(event, e.TransactionMarkerRefused)]
    assert (marker.partition, marker.producer_id, marker.epoch, marker.coordinator_epoch, marker.error) == (
        "orders-1", 7, 3, 4, "TRANSACTION_COORDINATOR_FENCED",
    )  # fmt: skip
    assert logs.transactional_ids["pay"].fenced == 1
    assert logs.transactional_ids["pay"].epoch is None


def test_a_truncation_that_two_brokers_may_have_made_is_of_an_unknown_one(tmp_path: Path) -> None:
    fetchers = [
        f"[ReplicaFetcher replicaId={broker}, leaderId=1, fetcherId=0] Truncating partition orders-0 with"
        " TruncationState(offset=5, completed=true) due to local high watermark 5"
        for broker in (2, 3)
    ]
    lines = [*fetchers, "[UnifiedLog partition=orders-0, dir=/var/kafka] Truncating to offset 5"]
    events, _ = read([AT.format(place, line) for place, line in enumerate(lines)], tmp_path)
    assert [event.broker for event in events if isinstance(event, e.LogTruncated)] == [-1]


def test_the_round_trip_notices_another_epoch_offset_and_instant() -> None:
    def facts(epoch: int = 3, offset: int = 7, at_us: int = 5_000) -> tuple[list[Fact], list[Fact]]:
        events = [
            e.ProducerIdAssigned(at_us=at_us, producer="p", producer_id=1, epoch=epoch),
            e.LogTruncated(at_us=at_us, partition="orders-0", broker=1, offset=offset, log_end=9),
        ]
        return of_producers(events), of_replicas(events)

    assert facts() == facts()
    assert facts(epoch=4)[0] != facts()[0]
    assert facts(offset=8)[1] != facts()[1]
    assert all(one != other for one, other in zip(facts(at_us=9_000), facts(), strict=True))


ELECTED = re.compile(
    r"\[TransactionCoordinator id=(\d+)\] Elected as the txn coordinator for partition (\d+) at epoch (\d+)"
)
LEADER = re.compile(r"\[Broker id=(\d+)\] Leader __transaction_state-(\d+) .*starts at leader epoch (\d+) from")
Led = list[tuple[str, ...]]


def led_of(events: list[Event]) -> Led:
    """Each leadership of a partition of `__transaction_state`: broker, partition, epoch, whether its log is known."""
    return sorted(
        (str(event.broker), event.partition.rpartition("-")[2], str(event.leader_epoch), str(event.log_end >= 0))
        for event in events
        if isinstance(event, e.LeadershipTaken) and event.partition.startswith("__transaction_state-")
    )


@pytest.mark.parametrize("run", ["s60-transaction-coordinator", "s30-broker-dies"])
def test_who_coordinates_transactions_is_read_once_from_either_log(run: str, tmp_path: Path) -> None:
    """By default Kafka logs leaders to state-change.log, and coordinators to server.log."""
    both = [line for line in dict.fromkeys(lines_of(run)) if LEADER.search(line) or ELECTED.search(line)]
    elected = [line for line in both if ELECTED.search(line)]
    assert 10 < len(elected) < len(both)
    for lines, told, known in ((both, LEADER, True), (elected, ELECTED, False)):
        place = tmp_path / str(known)
        place.mkdir()
        events, _ = read(lines, place)
        said = [found.groups() for found in map(told.search, lines) if found]
        assert led_of(events) == sorted((*words, str(known)) for words in said)
        reading = reading_of(place / "read")
        assert (reading.unmatched, reading.passed_over) == (0, {})
