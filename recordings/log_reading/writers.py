"""The writers of lines that are read: what stands in brackets before their sentences, and what it names."""

import re
from typing import Final, NamedTuple

COORDINATOR, CONSUMER, CONTROLLER, PARTITION = "coordinator", "consumer", "controller", "partition"
LIBRDKAFKA, PRODUCER, TRANSACTIONS = "librdkafka", "producer", "transaction coordinator"
EARLIER: Final = "earlier coordinator"
"""The group coordinator before that of KIP-848: releases 3.x, and 4.0 if it was chosen."""
COORDINATORS: Final = frozenset({COORDINATOR, EARLIER})
BROKER, LOG, FETCHER = "broker", "partition log", "replica fetcher"
WRITERS: Final = {
    COORDINATOR: r"\[GroupCoordinator id=(\d{1,9}) topic=([\w.-]+) partition=(\d{1,9})\] (.*)",
    EARLIER: r"\[GroupCoordinator (\d{1,9})\]: (.*)",
    CONSUMER: r"\[Consumer (?:instanceId=[^\]]{1,300}?, )?clientId=([^\]]{1,300}?), groupId=([^\]]{1,300}?)\] (.*)",
    CONTROLLER: r"\[QuorumController id=(\d{1,9})\] (.*)",
    LIBRDKAFKA: r"%[0-7]\|\d{10}\.\d{3}\|\w+\|([^|]{1,300}?)#consumer-\d{1,9}\| (?:\[thrd:[^\]]*\]: )?(.*)",
    PARTITION: r"\[Partition ([\w.-]{1,255}-\d{1,9}) broker=(\d{1,9})\] (.*)",
    PRODUCER: r"\[Producer clientId=([^\]]{1,300}?)(?:, transactionalId=([^\]]{1,300}?))?\] (.*)",
    TRANSACTIONS: r"\[Transaction(?:Coordinator id=| State Manager | Marker Channel Manager "
    r"| Marker Request Completion Handler )(\d{1,9})\]:? (.*)",
    BROKER: r"\[Broker id=(\d{1,9})\] (.*)",
    LOG: r"\[UnifiedLog partition=([\w.-]{1,255}-\d{1,9}), dir=[^\]]*\] (.*)",
    FETCHER: r"\[ReplicaFetcher replicaId=(\d{1,9}), leaderId=\d{1,9}, fetcherId=\d{1,9}\] (.*)",
}
"""A writer → its context, with the names in it, and the sentence behind."""

BEGINNINGS: Final = re.compile(
    rb"\[(?:GroupCoordinator (?:id=)?\d|Consumer |QuorumController id=|Partition |Producer clientId="
    rb"|Transaction(?:Coordinator id=| State Manager | Marker )|Broker id=\d+\] (?:Leader|Skipped) "
    rb"|UnifiedLog partition=[^\]]*\] (?:Trunc|Incr)|ReplicaFetcher replicaId=[^\]]*\] Trunc)|#consumer-\d+\|"
)
"""What a line has in it that may be one of theirs; of what brokers log of each partition, only what may be read."""

_CONTEXTS = {writer: re.compile(context, re.DOTALL) for writer, context in WRITERS.items()}
_BY_BEGINNING = (
    ("[GroupCoordinator id=", COORDINATOR), ("[GroupCoordinator ", EARLIER),
    ("[Consumer", CONSUMER), ("[Quorum", CONTROLLER), ("[Partition", PARTITION),
    ("[Producer", PRODUCER), ("[Transaction", TRANSACTIONS), ("[Broker", BROKER), ("[UnifiedLog", LOG),
    ("[ReplicaFetcher ", FETCHER), ("%", LIBRDKAFKA),
)  # fmt: skip


class LogLine(NamedTuple):
    """A line: its instant (µs since 1970, or virtual), its writer, the names in its context, its sentence.

    `source`: the number of its log, and of the part of it, if several logs stand one behind the other in a file.
    """

    at_us: int
    writer: str
    names: tuple[str, ...]
    message: str
    source: tuple[int, int] = (0, 0)

    @property
    def broker(self) -> int:
        """The broker of a coordinator's line."""
        return int(self.names[0])

    @property
    def partition(self) -> str:
        """The partition of a coordinator's line, as Kafka prints it; "" if the coordinator does not print it."""
        return f"{self.names[1]}-{self.names[2]}" if self.writer == COORDINATOR else ""


def line_of(at_us: int, message: str, source: tuple[int, int] = (0, 0)) -> LogLine | None:
    """The line that a message is; None if none of the writers wrote it."""
    for beginning, writer in _BY_BEGINNING:
        place = message.find(beginning)
        if place >= 0 and (found := _CONTEXTS[writer].match(message, place)) is not None:
            *names, sentence = found.groups()
            return LogLine(at_us, writer, tuple(name or "" for name in names), sentence, source)
    return None
