"""From lines of consumers, controllers and in-sync replicas to events of the kinds that a flight has.

A consumer is called by its `client.id`. Its generation stands in no line that says what it owns.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from cluster import events as e
from cluster.events import Event
from recordings.log_reading.producer_lines import PRODUCER_FACTS
from recordings.log_reading.replica_lines import REPLICA_FACTS
from recordings.log_reading.sentences import Said
from recordings.log_reading.writers import LogLine

Made = Iterator[Event]
HIGHEST_ID: Final = 2_147_483_647
"""A consumer's connection to its coordinator has the id of the broker, subtracted from this."""

HIGHEST_BROKER: Final = 1_000_000_000
_CAUSES: Final = {
    "refused": "not established", "request": "request timeout", "setup": "connection setup timeout",
    "authentication": "authentication",
}  # fmt: skip
"""A place in `client_disconnected`'s sentences → the cause that it stands for."""

_PARTITION = re.compile(r"[\w.-]{1,255}-\d{1,9}")
_ASSIGNED = re.compile(r"([^\s={}]{1,300})=Assignment\(partitions=\[([^\]]*)\][^)]*\)")


def _listed(words: str) -> tuple[str, ...]:
    return tuple(_PARTITION.findall(words))


def _partitions_added(line: LogLine, said: Said) -> Made:
    client, group = line.names
    if partitions := _listed(said.words["partitions"]):
        yield e.PartitionsAssigned(group=group, member=client, generation=-1, partitions=partitions)


def _partitions_given_up(line: LogLine, said: Said) -> Made:
    client, group = line.names
    if partitions := _listed(said.words["partitions"]):
        lost = said.fact == "partitions_lost"
        yield e.PartitionsRevoked(group=group, member=client, partitions=partitions, lost=lost)


def _partition_changed(line: LogLine, said: Said) -> Made:
    """One partition, as librdkafka logs each."""
    client, group = line.names
    partitions = (f"{said.words['topic']}-{said.words['number']}",)
    if said.fact == "partition_added":
        yield e.PartitionsAssigned(group=group, member=client, generation=-1, partitions=partitions)
    else:
        yield e.PartitionsRevoked(group=group, member=client, partitions=partitions, lost=False)


def _assignment_made(line: LogLine, said: Said) -> Made:
    client, group = line.names
    assignments = {found[1]: _listed(found[2]) for found in _ASSIGNED.finditer(said.words["assignments"])}
    yield e.AssignmentMade(
        group=group, member=client, generation=int(said.words["generation"]), assignments=assignments
    )


def _coordinator_found(line: LogLine, said: Said) -> Made:
    client, group = line.names
    node, connection = said.words.get("node", ""), said.words.get("connection", "")
    yield e.CoordinatorFound(group=group, member=client, broker=int(node) if node else HIGHEST_ID - int(connection))


def _coordinator_lost(line: LogLine, said: Said) -> Made:
    client, group = line.names
    yield e.CoordinatorLost(
        group=group, member=client, broker=HIGHEST_ID - int(said.words["connection"]), cause=said.words["cause"],
        disconnected=said.words["disconnected"] == "true",
    )  # fmt: skip


def _disconnected(line: LogLine, said: Said) -> Made:
    node = int(said.words["node"])
    coordinator = HIGHEST_ID - node if node > HIGHEST_BROKER else node
    cause = next((cause for name, cause in _CAUSES.items() if said.words.get(name)), "disconnected")
    yield e.ClientDisconnected(client=line.names[0], broker=max(coordinator, -1), cause=cause)


def _client_is(state: str) -> Callable[[LogLine, Said], Made]:
    """The handler of a line after which a consumer has this state."""

    def handle(line: LogLine, said: Said) -> Made:
        client, group = line.names
        generation, member_id = said.words.get("generation", ""), said.words.get("id", "")
        yield e.MemberStateChanged(
            group=group, member=client, member_id=member_id, generation=int(generation) if generation else -1,
            state=state, reason=said.words.get("reason", ""),
        )  # fmt: skip

    return handle


def _broker_fenced(_line: LogLine, said: Said) -> Made:
    reason = "session expired" if said.fact == "broker_expired" else "controlled shutdown"
    yield e.BrokerFenced(broker=int(said.words["broker"]), reason=reason)


def _broker_unfenced(_line: LogLine, said: Said) -> Made:
    yield e.BrokerUnfenced(broker=int(said.words["broker"]), broker_epoch=-1)


def _isr_changed(line: LogLine, said: Said) -> Made:
    isr = tuple(int(one) for one in said.words["isr"].split(",") if one)
    yield e.IsrChanged(partition=line.names[0], isr=isr, reason="unknown")


OTHER_FACTS: Final[dict[str, Callable[[LogLine, Said], Made]]] = {
    "partitions_added": _partitions_added,
    "partitions_revoked": _partitions_given_up,
    "partitions_lost": _partitions_given_up,
    "assignment_made": _assignment_made,
    "coordinator_found": _coordinator_found,
    "coordinator_lost": _coordinator_lost,
    "client_disconnected": _disconnected,
    "client_stable": _client_is("Stable"),
    "client_fenced": _client_is("Fenced"),
    "client_left": _client_is("Left"),
    "partition_added": _partition_changed,
    "partition_gone": _partition_changed,
    "librdkafka_steady": _client_is("Stable"),
    "librdkafka_left": _client_is("Left"),
    "librdkafka_fenced": _client_is("Fenced"),
    "broker_expired": _broker_fenced,
    "broker_shut_down": _broker_fenced,
    "broker_unfenced": _broker_unfenced,
    "isr_changed": _isr_changed,
    **PRODUCER_FACTS,
    **REPLICA_FACTS,
}
"""The facts of `sentences.tsv` that are not a group coordinator's → what makes their events."""
