"""From lines of partitions' replicas to events of the kinds that a flight has: who leads, and what logs drop.

A line of a log names its partition and directory, not its broker: the line of the fetcher before it does.
"""

from collections.abc import Callable, Iterator
from typing import Final

from cluster import events as e
from cluster.events import Event
from cluster.protocol.names import TRANSACTIONS_TOPIC, topic_of
from cluster.view.logged.state import UNKNOWN
from recordings.log_reading.sentences import Said
from recordings.log_reading.writers import CONTROLLER, LogLine

Made = Iterator[Event]
_REASONS: Final = {"segment deletion": "retention", "client delete records request": "delete records"}
"""Why a log's start moves, in Kafka's words (`LogStartOffsetIncrementReason`) and in the events'."""


class FetchersTruncations:
    """What fetchers are about to truncate: partition → broker → offset."""

    def __init__(self) -> None:
        self._announced: dict[str, dict[int, str]] = {}

    def announce(self, line: LogLine, said: Said) -> None:
        """Take a fetcher's line."""
        self._announced.setdefault(said.words["partition"], {})[int(line.names[0])] = said.words["offset"]

    def of_broker(self, line: LogLine, said: Said) -> LogLine:
        """A log's line with the broker that it is of as its second name; -1 if that is not certain."""
        partition, offset = line.names[0], said.words.get("offset", "")
        announced = self._announced.get(partition, {})
        brokers = [broker for broker, one in announced.items() if one == offset]
        for broker in brokers if len(brokers) == 1 else ():
            del announced[broker]
        return line._replace(names=(partition, str(brokers[0]) if len(brokers) == 1 else "-1"))


class KnownOfPartitions:
    """What lines have said of partitions: each replica says where one is, at each change of its ISR.

    A transaction coordinator says who leads its partition after the leader has.
    """

    def __init__(self) -> None:
        self._led: set[tuple[str, int]] = set()
        self._replicas: dict[str, tuple[int, ...]] = {}

    def is_new(self, event: Event) -> bool:
        """Whether no line before has said what an event says."""
        match event:
            case e.LeaderElected():
                known_replicas = self._replicas.get(event.partition)
                self._replicas[event.partition] = event.replicas
                return known_replicas != event.replicas
            case e.LeadershipTaken():
                named = event.partition, event.leader_epoch
                known = event.log_end < 0 and named in self._led
                if topic_of(event.partition) == TRANSACTIONS_TOPIC:
                    self._led.add(named)
                return not known
            case _:
                return True


def _leader_starts(line: LogLine, said: Said) -> Made:
    yield e.LeadershipTaken(
        partition=said.words["partition"], broker=int(line.names[0]), leader_epoch=int(said.words["epoch"]),
        log_start=-1, high_watermark=int(said.words["high_watermark"]), log_end=int(said.words["offset"]), bytes=-1,
        appended=-1,
    )  # fmt: skip


def _transaction_coordinator_elected(line: LogLine, said: Said) -> Made:
    """Its broker leads the partition; without the line of the leader nothing is known of the log."""
    yield e.LeadershipTaken(
        partition=f"{TRANSACTIONS_TOPIC}-{said.words['number']}", broker=int(line.names[0]),
        leader_epoch=int(said.words["epoch"]), log_start=-1, high_watermark=-1, log_end=-1, bytes=-1, appended=-1,
    )  # fmt: skip


def _ids(words: str) -> tuple[int, ...]:
    return tuple(int(one) for one in words.split(", ") if one)


def _partition_registered(line: LogLine, said: Said) -> Made:
    """What the controller has registered of a partition; between two assignments it is neither."""
    if said.words.get("removing") or said.words.get("adding"):
        return
    yield e.LeaderElected(
        partition=said.words["partition"], leader=int(said.words["leader"]), leader_epoch=int(said.words["epoch"]),
        replicas=_ids(said.words["replicas"]), isr=_ids(said.words["isr"]),
        reason="created" if line.writer == CONTROLLER else UNKNOWN,
    )  # fmt: skip


def _log_truncated(line: LogLine, said: Said) -> Made:
    yield e.LogTruncated(
        partition=line.names[0], broker=int(line.names[1]), offset=int(said.words["offset"]), log_end=-1,
        reason=UNKNOWN, bytes=-1, appended=-1,
    )  # fmt: skip


def _log_start_advanced(line: LogLine, said: Said) -> Made:
    yield e.LogStartAdvanced(
        partition=line.names[0], broker=-1, leader_epoch=-1, log_start=int(said.words["log_start"]), bytes=-1,
        reason=_REASONS[said.words["reason"]],
    )  # fmt: skip


def _says_no_event(_line: LogLine, _said: Said) -> Made:
    return iter(())


REPLICA_FACTS: Final[dict[str, Callable[[LogLine, Said], Made]]] = {
    "leader_starts": _leader_starts,
    "transaction_coordinator_elected": _transaction_coordinator_elected,
    "partition_created": _partition_registered,
    "partition_registered": _partition_registered,
    "coordinator_changes": _says_no_event,
    "log_truncated": _log_truncated,
    "nothing_truncated": _says_no_event,
    "truncation_begins": _says_no_event,
    "log_start_advanced": _log_start_advanced,
}
"""The facts of leaders', logs' and fetchers' sentences → what makes their events."""
