"""The Kafka-phrased log and the events tell the same story."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from cluster import events as e
from cluster.events import EVENT_KINDS, Event
from cluster.protocol.names import coordinator_partition
from recordings.flights.runner import Plan, fly
from recordings.kafka_log.handlers import LogWriter
from recordings.kafka_log.renderer import RENDERERS, KafkaLog, timestamp
from recordings.kafka_log.state import KafkaLogState, Line

SILENT = {
    "logs_read", "client_disconnected",  # of recordings of logs
    "group_declared", "member_declared", "producer_declared",  # the scenario's, before anything runs
    "group_protocol_declared", "member_protocol_declared",  # the members' own lines differ
    "consumer_group_state_changed",  # Kafka logs epochs and targets
    "classic_member_awaited",  # a timer begins
    "member_assignors_declared", "protocol_elected",  # a coordinator says the elected assignor alone
    "broker_paused", "broker_resumed", "member_paused", "member_resumed", "member_stopped",  # SIGSTOP, SIGKILL
    "batch_opened", "produce_sent", "batch_acknowledged",
    "producer_epoch_refused",  # an error in an answer
    "records_lost", "records_survived", "truncated_records_processed",  # no process of Kafka can know
    "records_appended", "high_watermark_advanced",  # only noted, for lines that come later
    "positions_moved_on", "positions_given_up", "transaction_offsets_refused", "transaction_marker_refused",
    "records_fetched", "fetched_records_dropped",  # at level DEBUG
    "poll_returned", "poll_started", "records_processed", "record_skipped", "setting_changed", "key_order_broken",
    "record_failed", "record_dead_lettered", "rebalance_listener_returned",  # the application's own
    "application_stalled", "heartbeats_paused", "member_starting_up", "member_ready",
    "preferred_read_replica_changed", "partitions_paused", "partitions_resumed",
    "member_epoch_changed",  # the state that it leads to has a line
    "rolling_restart_started", "rollout_started", "rollout_advanced", "rollout_ended", "group_autoscaled",
}  # fmt: skip
"""Facts of which Kafka's logs, at level INFO, say nothing."""


@pytest.fixture(scope="module")
def flight(eventful: Plan) -> tuple[list[Event], list[str]]:
    """Four eventful minutes: their events and their log."""
    told: list[Event] = []
    lines: list[str] = []
    log = KafkaLog(lines.append)

    def sink(event: Event) -> None:
        told.append(event)
        log(event)

    fly(eventful, log=sink)
    return told, lines


def test_every_kind_has_its_words_or_is_known_to_be_silent() -> None:
    assert {kind for kind, cls in EVENT_KINDS.items() if cls not in RENDERERS} <= SILENT
    assert set(EVENT_KINDS) >= SILENT


def found(lines: list[str], pattern: str) -> list[tuple[str, ...]]:
    """The timestamp and the groups of every line that has the pattern."""
    whole = re.compile(r"\[(\d\d:\d\d:\d\d,\d\d\d)\] (?:DEBUG|INFO|WARN|ERROR) (?:\[[^]]*\]:? )??" + pattern)
    return [match.groups() for line in lines if (match := whole.match(line))]


def ids(numbers: tuple[int, ...]) -> str:
    return ",".join(str(number) for number in numbers)


def told(partition: str) -> bool:
    """Partitions that the log speaks of: those of topics, and those that coordinate the groups of the flight."""
    coordinating = {f"__consumer_offsets-{coordinator_partition(group, 50)}" for group in ("billing", "audit")}
    return not partition.startswith("__") or partition in coordinating


COORDINATOR = r"\[GroupCoordinator id=(\d) topic=__consumer_offsets partition=\d+\] "
CONSUMER = r"\[Consumer clientId=(\S+), groupId=(\S+)\] "
STORY: list[tuple[type[Event], str, Callable[[Any], tuple[str, ...] | None]]] = [
    (
        e.RebalanceStarted,
        COORDINATOR
        + r"Preparing to rebalance group (\S+) in state \S+ with old generation (\d+) \(reason: (.+)\)\. \(",
        lambda it: (str(it.broker), it.group, str(it.generation), it.detail),
    ),
    (
        e.JoinBarrierCompleted,
        r"Stabilized group (\S+) generation (\d+) with (\d+) members\.",
        lambda it: (it.group, str(it.generation), str(len(it.members))) if it.members else None,
    ),
    (
        e.JoinBarrierCompleted,
        r"Group (\S+) with generation (\d+) is now empty\.",
        lambda it: (it.group, str(it.generation)) if not it.members else None,
    ),
    (
        e.SyncReceived,
        r"Assignment received from leader (\S+) for group (\S+) for generation \d+\.",
        lambda it: (it.member_id, it.group) if it.leader else None,
    ),
    (
        e.MemberRemoved,
        r"Member (\S+) in group (\S+) has failed, removing it from the group\.",
        lambda it: (it.member_id, it.group) if it.reason == "session expired" else None,
    ),
    (
        e.MemberRemoved,
        r"\[Group (\S+)\] Member (\S+) has left group through explicit `LeaveGroup` request; client rea.*: (.+) \(",
        lambda it: (it.group, it.member_id, it.client_reason) if it.client_reason else None,
    ),
    (
        e.MemberIdAssigned,
        r"Dynamic member with unknown member id joins group (\S+) in \S+ state. Created a new member id (\S+) and req",
        lambda it: (it.group, it.member_id),
    ),
    (
        e.PartitionsAssigned,
        CONSUMER + r"Adding newly assigned partitions: \[(.*)\] \(",
        lambda it: (it.member, it.group, ", ".join(it.partitions)),
    ),
    (
        e.PartitionsRevoked,
        CONSUMER + r"(?:Revoke|Lost) previously assigned partitions \[(.*)\] \(",
        lambda it: (it.member, it.group, ", ".join(it.partitions)),
    ),
    (
        e.MemberStateChanged,
        CONSUMER + r"\(Re-\)joining group",
        lambda it: (it.member, it.group) if it.state == "Joining" and "encountered" not in it.reason else None,
    ),
    (
        e.CoordinatorFound,
        CONSUMER + r"Discovered group coordinator broker-(\d)",
        lambda it: (it.member, it.group, str(it.broker)),
    ),
    (
        e.BrokerFenced,
        r"Fencing broker (\d) because its session has timed out",
        lambda it: (str(it.broker),) if it.reason == "session expired" else None,
    ),
    (
        e.LeaderElected,
        r"partition change for (\S+): .*leaderEpoch: \d+ -> (\d+)",
        lambda it: (it.partition, str(it.leader_epoch)) if it.reason != "created" and told(it.partition) else None,
    ),
    (
        e.IsrChanged,
        r"\[Partition (\S+) broker=\d\] ISR updated to (\S+) ",
        lambda it: (it.partition, ids(it.isr)) if told(it.partition) and "fenced" not in it.reason else None,
    ),
    (
        e.IsrChanged,
        r"\[Broker id=\d\] Skipped the become-leader state change for (\S+) since it is already .*, ISR \[(\S+)\], ad",
        lambda it: (it.partition, ids(it.isr)) if told(it.partition) and "fenced" in it.reason else None,
    ),
    (
        e.AssignmentMade,
        CONSUMER + r"Finished assignment for group at generation \d+: \{(\S+)=Assignment\(partitions=\[",
        lambda it: (it.member, it.group, next(iter(it.assignments))),
    ),
    (
        e.PartitionsAssigned,
        CONSUMER + r"Notifying assignor about the new Assignment\(partitions=\[(.*)\]\) \(",
        lambda it: (it.member, it.group, ", ".join(it.partitions)),
    ),
    (e.FaultStarted, r"fault (\d+) begins: (.+) \(", lambda it: (str(it.fault), it.text)),
]


def unordered(fields: tuple[str, ...]) -> list[str]:
    """Lists of broker ids sorted: a log lists who came back last."""
    return [",".join(sorted(field.split(","))) if re.fullmatch(r"[\d,]+", field) else field for field in fields]


@pytest.mark.parametrize(("kind", "pattern", "expected"), STORY, ids=[row[1][:60] for row in STORY])
def test_each_event_has_its_line_and_each_line_its_event(
    flight: tuple[list[Event], list[str]],
    kind: type[Event],
    pattern: str,
    expected: Callable[[Any], tuple[str, ...] | None],
) -> None:
    events, lines = flight
    wanted = [
        (timestamp(event.at_us), *fields)
        for event in events
        if isinstance(event, kind) and (fields := expected(event)) is not None
    ]
    assert [unordered(fields) for fields in found(lines, pattern)] == [unordered(fields) for fields in wanted]


def test_the_story_is_about_something(flight: tuple[list[Event], list[str]]) -> None:
    events, lines = flight
    assert sum(isinstance(event, e.RebalanceStarted) for event in events) >= 4
    assert sum("Stabilized group billing" in line for line in lines) >= 4
    assert any("on heartbeat expiration" in line for line in lines)
    assert any("due to consumer poll timeout has expired." in line for line in lines)
    assert any("due to the consumer is being closed" in line for line in lines)
    assert any("Found no committed offset for partition" in line for line in lines)
    assert any("Fencing broker 2" in line for line in lines)


def test_virtual_time_stands_in_the_form_of_kafkas_logs() -> None:
    assert timestamp(0) == "00:00:00,000"
    assert timestamp(3_723_004_999) == "01:02:03,004"


def test_who_leaves_says_so_before_the_coordinator_does(flight: tuple[list[Event], list[str]]) -> None:
    _, lines = flight
    heard = [
        (at, match[1]) for at, line in enumerate(lines) if (match := re.search(r"Member (\S+) has left group", line))
    ]
    assert len(heard) >= 2
    for at, member_id in heard:
        said = next(place for place, line in enumerate(lines) if f"Member {member_id} sending LeaveGroup" in line)
        assert said < at


def test_a_writer_has_one_handler_for_a_class_of_events() -> None:
    writer = LogWriter()

    def lines(log: KafkaLogState, event: e.BrokerStarted) -> list[Line]:
        return [Line("INFO", "", f"{event.broker} of {len(log.partitions)}", "")]

    assert writer.handles(e.BrokerStarted)(lines) is lines
    assert writer.renderers == {e.BrokerStarted: lines}
    with pytest.raises(ValueError, match="two handlers of BrokerStarted"):
        writer.handles(e.BrokerStarted)(lines)


def test_clients_write_first_of_what_they_caused() -> None:
    assert [each.__module__.rpartition(".")[2] for each in RENDERERS[e.JoinBarrierCompleted]] == [
        "assignments",
        "group_coordinators",
    ]
