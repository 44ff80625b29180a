"""The table of brokers: their processes, their replicas, what they coordinate."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster.protocol.names import coordinator_partition
from cluster.view.brokers import BrokerView
from cluster.view.state import ClusterView, PartitionView
from console.presenters import states
from console.presenters.active_faults import fault_labels, faults_on
from console.presenters.formatting import UNKNOWN, duration
from console.presenters.impacts.model import TRANSACTION_TOPIC
from console.presenters.list_view import BUILDING, WorstFirstListing
from console.presenters.overview import broker_state
from console.presenters.styled_text import (
    ACCENT,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    line,
)
from console.presenters.table import TableColumn, layout
from console.presenters.topology.standing import replica_counts

TIMED = frozenset({"up", "silent", "down", "starting"})
"""The states since whose begin the view knows how long they last; a restart or an end began each."""


class Hosted(NamedTuple):
    """What a broker has: partitions that it leads and follows, replicas out of sync, coordinators, requests."""

    leads: int = 0
    internal: int = 0
    replicas: int = 0
    out: int = 0
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    requests: int = 0


def hosted(view: ClusterView) -> dict[int, Hosted]:
    """For each broker, by the newest elections."""
    leads, internal, replicas, out = replica_counts(view)
    requests = dict.fromkeys(view.brokers, 0)
    for producer in view.producers.values():
        for request in producer.in_flight.values():
            if request.broker in requests:
                requests[request.broker] += 1
    groups, ids = coordinated(view)
    return {
        one: Hosted(
            leads[one], internal[one], replicas[one], out[one], tuple(groups[one]), tuple(ids[one]), requests[one]
        )
        for one in view.brokers
    }


def coordinated(view: ClusterView) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """The groups and transactional ids whose partition each broker leads."""
    groups: dict[int, list[str]] = {one: [] for one in view.brokers}
    ids: dict[int, list[str]] = {one: [] for one in view.brokers}
    for name, group in view.groups.items():
        partition = view.partitions.get(group.coordinator_partition)
        if partition is not None and partition.leader in groups:
            groups[partition.leader].append(name)
    for name in view.transactions:
        partition = transaction_partition(view, name)
        if partition is not None and partition.leader in ids:
            ids[partition.leader].append(name)
    return groups, ids


def transaction_partition(view: ClusterView, transactional_id: str) -> PartitionView | None:
    """The partition of `__transaction_state` whose leader coordinates a transactional id."""
    topic = view.topics.get(TRANSACTION_TOPIC)
    if topic is None:
        return None
    return view.partitions.get(f"{TRANSACTION_TOPIC}-{coordinator_partition(transactional_id, topic.partitions)}")


def number_of(name: str) -> int:
    """2 for `broker-2`."""
    return int(name.removeprefix("broker-"))


def state_since(broker: BrokerView, now_us: int) -> str:
    """How long a broker has been in its state; unknown where no event tells when it began."""
    return duration(now_us - broker.since_us) if broker_state(broker) in TIMED else UNKNOWN


BROKER_COLUMNS = (
    TableColumn("broker", 11, grow=1, most=14),
    TableColumn("state", 10),
    TableColumn("faults", 10, grow=3, most=36),
    TableColumn("since", 7, right=True, rank=1),
    TableColumn("rack", 6, rank=5, grow=1, most=12),
    TableColumn("leads", 7, right=True),
    TableColumn("replicas", 8, right=True, rank=3),
    TableColumn("ISR out", 7, right=True),
    TableColumn("in flight", 9, right=True, rank=4),
    TableColumn("coordinates", 18, rank=2, grow=4),
)


class BrokersTable(WorstFirstListing):
    """Every broker: its process, its replicas, what it coordinates; those that are not well come first."""

    title = "brokers"
    vacant = BUILDING

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.now_us, self.hosted = view, now_us, hosted(view)
        self.faults = {one: ", ".join(fault_labels(view, one)) for one in map("broker-{}".format, view.brokers)}
        columns = BROKER_COLUMNS if any(self.faults.values()) else BROKER_COLUMNS[:2] + BROKER_COLUMNS[3:]
        self.labelled, self.layout = len(columns) == len(BROKER_COLUMNS), layout(columns, width)
        self.order([f"broker-{broker}" for broker in sorted(view.brokers)])

    def note(self) -> Line:
        """The legend."""
        parts = line((states.CONTROLLER, ACCENT), (" controller  ", MUTED), "+n", (" internal partitions", MUTED))
        return (*parts, ("  in flight: Produce requests", MUTED)) if self.width >= 100 else parts

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.keys else ()

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`3 ● up`."""
        return line((f"{len(keys)} ● up", MUTED))

    def rank(self, key: str) -> int | None:
        """Not running, starting or shutting down, with a fault or a replica out of sync."""
        name = broker_state(self.view.brokers[number_of(key)])
        if name == "up":
            return 2 if self.hosted[number_of(key)].out or faults_on(self.view, key) else None
        return 1 if name in {"starting", "stopping"} else 0

    def rows(self, key: str) -> tuple[Line]:
        """One broker."""
        broker = self.view.brokers[number_of(key)]
        name, has = broker_state(broker), self.hosted[broker.broker]
        state = states.BROKER[name]
        cells: list[Line | Span | str] = [
            line((key, STRONG), (f" {states.CONTROLLER}" if self.view.controller == broker.broker else "", ACCENT)),
            line((f"{state.glyph} {name}", state.tone)),
            *([line((self.faults[key], WARN))] if self.labelled else []),
            state_since(broker, self.now_us),
            broker.rack or ((UNKNOWN, FAINT),),
            line(str(has.leads), (f" +{has.internal}", MUTED)),
            str(has.replicas),
            line((str(has.out), WARN if has.out else FAINT)),
            line((str(has.requests), PLAIN if has.requests else FAINT)),
            self._coordinates(has),
        ]
        return (self.layout.row(cells),)

    def _coordinates(self, has: Hosted) -> Line:
        ids = len(has.transactional_ids)
        words = f"{ids} transactional id{'s' if ids != 1 else ''}" if ids else ""
        return line((", ".join(filter(None, (*has.groups, words))), MUTED))
