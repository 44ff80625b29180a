"""A flight's facts, and the same facts of the recording that was read from its log lines: two lists to compare."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from cluster import events as e
from cluster.events import Event
from cluster.protocol.rebalance_causes import RebalanceCause
from recordings.flights.runner import fly, make_plan
from recordings.journal.reader import Recording
from recordings.kafka_log.renderer import KafkaLog
from recordings.log_reading.make import read_logs
from recordings.scenarios.loader import load

Fact = tuple[object, ...]

WHY_UNKNOWN = {
    RebalanceCause.COORDINATOR_MOVED: "the new coordinator's line has the member's own reason, which does not say that",
    RebalanceCause.MEMBER_JOINED: "a known member joins once more: the line does not say why",
    RebalanceCause.SUBSCRIPTION_CHANGED: "the changed topics are in the request, not in the line",
    RebalanceCause.METADATA_CHANGED: "a consumer group's line has a hash of the metadata, not what changed",
}
"""Causes for which a log may say `unknown`, and why. Every other cause, and every member, must be the same."""


def fly_and_read(scenario: str, place: Path) -> tuple[list[Event], list[Event]]:
    """The events of a flight, and those that were read from its log."""
    told: list[Event] = []
    with (place / "server.log").open("w", encoding="utf-8") as file:
        log = KafkaLog(lambda line: file.write(line + "\n"))

        def sink(event: Event) -> None:
            told.append(event)
            log(event)

        fly(make_plan(load(scenario)), log=sink)
    read_logs([place / "server.log"], place / "read")
    return told, list(Recording(place / "read", logs=True).events())


def causes(events: Iterable[Event]) -> list[Fact]:
    """Each beginning of a rebalance: instant (ms), group, generation or epoch, cause, member id."""
    rows: list[Fact] = []
    for event in events:
        if isinstance(event, e.RebalanceStarted):
            rows.append((event.at_us // 1000, event.group, event.generation, event.cause, event.member_id))
        elif isinstance(event, e.ConsumerGroupEpochBumped):
            rows.append((event.at_us // 1000, event.group, event.epoch, event.cause, event.member_ids))
    return rows


def rounds(events: Iterable[Event]) -> list[Fact]:
    """Each generation: group, number, instants (ms) of the barrier's opening, its closing and the leader's assignment.

    And the number of its members. A generation without an assignment has -1 for its instant.
    """
    opened: dict[str, int] = {}
    rows: list[list[object]] = []
    waiting: dict[str, list[object]] = {}
    for event in events:
        ms = event.at_us // 1000
        if isinstance(event, e.RebalanceStarted):
            opened[event.group] = ms
        elif isinstance(event, e.JoinBarrierCompleted):
            row: list[object] = [event.group, event.generation, opened.get(event.group, -1), ms, -1, len(event.members)]
            rows.append(row)
            waiting[event.group] = row
        elif isinstance(event, e.SyncReceived) and event.leader and event.group in waiting:
            waiting.pop(event.group)[4] = ms
    return [tuple(row) for row in rows]


def removals(events: Iterable[Event]) -> list[Fact]:
    """Each member that a coordinator removed: instant (ms), group, member id, reason."""
    return sorted(
        (event.at_us // 1000, event.group, event.member_id, event.reason)
        for event in events
        if isinstance(event, e.MemberRemoved)
    )


def differing_causes(flown: Sequence[Fact], read: Sequence[Fact]) -> list[tuple[Fact, Fact]]:
    """The rows that differ, where the log does not just say `unknown` for a reason of `WHY_UNKNOWN`."""
    assert len(flown) == len(read), (flown, read)
    differ = []
    for real, told in zip(flown, read, strict=True):
        less = told[3] == "unknown" and real[3] in WHY_UNKNOWN
        if real != told and not (less and real[:3] == told[:3] and real[4] == told[4]):
            differ.append((real, told))
    return differ
