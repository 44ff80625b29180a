"""The first divergence that matters: the first line of the event log that only one of two flights has.

Lines are compared by their words; the same words within a second are the same line, because any change shifts latencies
by some milliseconds. What an operator or the scenario gives to one flight only (commands, settings, and what a command
does at once to its own target) is no divergence but the change itself; it is listed apart. So is a topic that only one
flight has: a command has created it. The configuration that it begins with belongs to that command.
"""

from collections import defaultdict
from collections.abc import Container, Sequence
from typing import Final

import msgspec

from cluster.protocol.names import topic_of
from cluster.view.state import LogEntry

SAME_US: Final = 1_000_000
CONTEXT: Final = 3

GIVEN: Final = frozenset(
    {"fault_started", "fault_ended", "setting_changed", "command_refused", "partitions_added", "topic_created"}
)
AT_ONCE: Final = frozenset(
    {
        "member_stopped",
        "member_started",
        "subscription_changed",
        "broker_stopped",
        "broker_started",
        "broker_state_changed",
        "producer_state_changed",
    }
)
"""What a command does to its target at once."""


class LogDivergence(msgspec.Struct, frozen=True, kw_only=True):
    """The instant of the first line that only one flight has, the last lines of both before, the next of each."""

    at_us: int
    before: list[LogEntry]
    a: list[LogEntry]
    b: list[LogEntry]


class ComparedLogs(msgspec.Struct, frozen=True, kw_only=True):
    """The first divergence that matters, if there is one, and the lines given to one flight only."""

    divergence: LogDivergence | None
    given_a: list[LogEntry]
    given_b: list[LogEntry]


def compared_logs(a: Sequence[LogEntry], b: Sequence[LogEntry]) -> ComparedLogs:
    """Compare the lines of two logs, both in the order of time."""
    alone_a, alone_b = _alone(a, b)
    given_a, rest_a = _given(a, alone_a, _created(b))
    given_b, rest_b = _given(b, alone_b, _created(a))
    divergence = None
    if rest_a or rest_b:
        at_us = min(entries[rest[0]].at_us for entries, rest in ((a, rest_a), (b, rest_b)) if rest)
        alone = {id(a[place]) for place in alone_a}
        shared = [entry for entry in a if entry.at_us <= at_us and id(entry) not in alone]
        divergence = LogDivergence(
            at_us=at_us, before=shared[-CONTEXT:], a=_from(a, rest_a, at_us), b=_from(b, rest_b, at_us)
        )
    return ComparedLogs(divergence=divergence, given_a=given_a, given_b=given_b)


def _from(entries: Sequence[LogEntry], alone: Sequence[int], at_us: int) -> list[LogEntry]:
    """The next lines of one flight from this instant on, the ones that only it has first of all."""
    if alone and entries[alone[0]].at_us == at_us:
        return list(entries[alone[0] : alone[0] + CONTEXT])
    return [entry for entry in entries if entry.at_us > at_us][:CONTEXT]


def _alone(a: Sequence[LogEntry], b: Sequence[LogEntry]) -> tuple[list[int], list[int]]:
    """The places of lines without the same words within a second in the other flight."""
    places: defaultdict[tuple[str, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, entries in enumerate((a, b)):
        for place, entry in enumerate(entries):
            places[entry.event, entry.text][side].append(place)
    alone: tuple[list[int], list[int]] = ([], [])
    for of_a, of_b in places.values():
        i = j = 0
        while i < len(of_a) and j < len(of_b):
            apart_us = a[of_a[i]].at_us - b[of_b[j]].at_us
            if abs(apart_us) <= SAME_US:
                i, j = i + 1, j + 1
            elif apart_us < 0:
                alone[0].append(of_a[i])
                i += 1
            else:
                alone[1].append(of_b[j])
                j += 1
        alone[0].extend(of_a[i:])
        alone[1].extend(of_b[j:])
    return sorted(alone[0]), sorted(alone[1])


def _created(entries: Sequence[LogEntry]) -> dict[str, int]:
    """The topics that are created in flight, each with the place of its line."""
    return {entry.subject: place for place, entry in enumerate(entries) if entry.event == "topic_created"}


def _begun_with(entries: Sequence[LogEntry]) -> set[int]:
    """The places of the settings that a new topic begins with: they follow its creation, before its first leader."""
    found: set[int] = set()
    for topic, place in _created(entries).items():
        for after in range(place + 1, len(entries)):
            if (entries[after].event, entries[after].subject) != ("setting_changed", topic):
                break
            found.add(after)
    return found


def _given(
    entries: Sequence[LogEntry], alone: Sequence[int], created_there: Container[str]
) -> tuple[list[LogEntry], list[int]]:
    """Part the lines of one flight only into what was given to it, and the rest (places).

    `created_there`: the topics that are created in the other flight, at another instant or with another size.
    """
    begun_with = _begun_with(entries)
    own = [
        place
        for place in alone
        if entries[place].event in GIVEN
        and not (entries[place].event == "topic_created" and entries[place].subject in created_there)
    ]
    given = [entries[place] for place in own if place not in begun_with]
    touched: defaultdict[str, list[int]] = defaultdict(list)
    for entry in given:
        for name in (entry.subject, *entry.targets):
            touched[name].append(entry.at_us)
    rest: list[int] = []
    known = set(own)
    for place in alone:
        entry = entries[place]
        about = topic_of(entry.subject) if entry.elected_for == "created" else entry.subject
        caused = place in known
        if entry.event in AT_ONCE or entry.elected_for == "created":
            caused = any(abs(entry.at_us - at_us) <= SAME_US for at_us in touched[about])
            if caused:
                touched[about].append(entry.at_us)  # a restart starts what it has stopped
        if not caused:
            rest.append(place)
    return given, rest
