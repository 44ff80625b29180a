"""The panels of a partition's place: log, readers, open transactions, replicas."""

from collections.abc import Callable, Sequence

from cluster.view.brokers import BrokerView
from cluster.view.document import partition_time_lag_us, read_up_to
from cluster.view.state import NEVER, ClusterView, GroupView, PartitionView
from console.presenters import states
from console.presenters.formatting import UNKNOWN, count, duration
from console.presenters.list_view import Listing
from console.presenters.overview import broker_state
from console.presenters.partition_grids import lag_of
from console.presenters.partitions.ruler import (
    COMMITTED,
    HELD,
    NAME,
    POSITION,
    STABLE,
    UNREPLICATED,
    Ruler,
    log_bar,
    pointers,
    ruler_of,
)
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    length,
    line,
    middle,
)
from console.presenters.table import Layout, TableColumn, layout
from console.presenters.transactions import open_transaction, undecided_transaction

NOT_YET = line(("the partition does not exist at this instant", MUTED))


class PartitionListing(Listing):
    """A listing about one partition with a ruler in its second column."""

    columns: tuple[TableColumn, ...] = ()

    def __init__(self, view: ClusterView, partition: PartitionView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.partition, self.now_us = view, partition, now_us
        self.ruler: Ruler = ruler_of(partition, width)
        named = TableColumn(self.columns[0].title if self.columns else "", NAME)
        shared = (named, TableColumn("", self.ruler.cells), *self.columns[1:])
        self.layout: Layout = layout(shared, width)


class LogListing(PartitionListing):
    """Leadership, the log as a bar, and its four offsets."""

    opens = "records"

    def __init__(self, view: ClusterView, partition: PartitionView, now_us: int, width: int) -> None:
        super().__init__(view, partition, now_us, width)
        self.title = f"log of {partition.partition}"

    def note(self) -> Line:
        """The legend of the bar."""
        parts: tuple[Span, ...] = ((STABLE, ACCENT), (" stable  ", MUTED), (HELD, WARN), (" held back  ", MUTED))
        return (*parts, (UNREPLICATED, MUTED), (" not replicated", MUTED))

    def row_keys(self) -> Sequence[str]:
        """Three lines; none can be selected."""
        return ("#leader", "#bar", "#offsets")

    def rows(self, key: str) -> tuple[Line]:
        """One of the lines."""
        make: dict[str, Callable[[], Line]] = {
            "#leader": self._leadership,
            "#bar": lambda: self.layout.row([line(("log", MUTED)), log_bar(self.ruler, self.partition)]),
            "#offsets": self._offsets,
        }
        return (fit(make[key](), self.width),)

    def _leadership(self) -> Line:
        one = self.partition
        isr = f" · ISR {_numbers(one.isr)} of {_numbers(one.replicas)}{_reassignment(one)}"
        least = min(self.view.topics[one.topic].min_insync_replicas, len(one.replicas))
        short = len(one.isr) < least
        tone = ERROR if short else WARN if len(one.isr) < one.replication_factor else PLAIN
        words = f" · below min.insync.replicas {least}" if short else f" · min.insync.replicas {least}"
        end = (words, ERROR if short else MUTED)
        if one.leader < 0:
            return line("  ", ("✖ no leader", ERROR), f" · leader epoch {one.leader_epoch}", (isr, tone), end)
        state = broker_state(self.view.brokers[one.leader])
        leader = (f"leader broker-{one.leader}", STRONG) if state == "up" else _sick(one.leader, state)
        return line("  ", leader, f" · leader epoch {one.leader_epoch}", (isr, tone), end)

    def _offsets(self) -> Line:
        one = self.partition
        numbers = one.log_start, one.last_stable_offset, one.high_watermark, one.log_end
        tones = PLAIN, WARN if numbers[1] < numbers[2] else PLAIN, PLAIN, PLAIN
        forms = [
            line(
                "  ",
                *_separated(
                    [(f"{name} {number}", tone) for name, number, tone in zip(names, numbers, tones, strict=True)]
                ),
            )
            for names in (
                ("log start", "last stable offset", "high watermark", "log end"),
                ("start", "LSO", "HW", "end"),
            )
        ]
        return next((form for form in forms if length(form) <= self.width), forms[-1])


def _reassignment(one: PartitionView) -> str:
    """Which replicas a reassignment in progress adds and removes."""
    parts = (("adding", one.adding), ("removing", one.removing))
    return "".join(f" · {word} {_numbers(ids)}" for word, ids in parts if ids)


def _separated(spans: Sequence[Span]) -> Line:
    """Spans with a point between them."""
    parts: list[Span] = []
    for span in spans:
        parts += [(" · ", FAINT), span] if parts else [span]
    return tuple(parts)


def _numbers(brokers: Sequence[int]) -> str:
    return ",".join(str(broker) for broker in sorted(brokers)) or "none"


def _sick(broker: int, state: str) -> Span:
    return f"{states.BROKER[state].glyph} leader broker-{broker} {state}", states.BROKER[state].tone


class ReadersListing(PartitionListing):
    """Each group that reads the topic: its owner, its offsets as numbers and on the ruler."""

    title = "readers"
    columns = (
        TableColumn("group", NAME),
        TableColumn("committed", 9, right=True),
        TableColumn("position", 9, right=True),
        TableColumn("lag", 6, right=True),
        TableColumn("time lag", 8, right=True, rank=2),
        TableColumn("owner", 12, rank=1, grow=1),
    )

    def __init__(self, view: ClusterView, partition: PartitionView, now_us: int, width: int) -> None:
        super().__init__(view, partition, now_us, width)
        self.groups = view.topic_readers.get(partition.topic, [])
        topic = partition.topic
        self.vacant = line((f"no group subscribes to {topic}: it has no committed offset and no lag", MUTED))

    def note(self) -> Line:
        """The legend of the ruler."""
        committed = line((COMMITTED, ACCENT), (" committed, where lag begins  ", MUTED))
        return (*committed, (POSITION, STRONG), (" position", MUTED))

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.groups else ()

    def row_keys(self) -> Sequence[str]:
        """Groups, in the scenario's order."""
        return self.groups

    def rows(self, key: str) -> tuple[Line]:
        """One group."""
        group, name = self.view.groups[key], self.partition.partition
        owner, position = owner_of(self.view, group, name)
        reader = group.readers.get(name)
        committed = reader.committed if reader is not None else NEVER
        high, lag = self.partition.high_watermark, lag_of(self.view, group, self.partition)
        marks = [(committed, COMMITTED, ACCENT)] if committed != NEVER else []
        marks += [(position, POSITION, STRONG)] if position != NEVER else []
        late_us = partition_time_lag_us(self.view, group, name, self.now_us)
        cells: list[Line | Span | str] = [
            (middle(key, NAME), STRONG),
            pointers(self.ruler, marks, (read_up_to(self.view, group, name), high)),
            _offset(committed),
            _offset(position),
            line(count(lag)),
            duration(late_us) if late_us else ((UNKNOWN, FAINT),),
            line(owner) if owner else line(("‖ no owner", WARN if group.members else MUTED)),
        ]
        return (self.layout.row(cells),)


def owner_of(view: ClusterView, group: GroupView, name: str) -> tuple[str, int]:
    """The member that reads a partition for a group, and its position; ("", NEVER) without one."""
    owner = group.owners.get(name, "")
    member = view.members.get(owner)
    return owner, member.positions.get(name, NEVER) if member is not None else NEVER


def _offset(offset: int) -> Line:
    return line(str(offset)) if offset != NEVER else line((UNKNOWN, FAINT))


class OpenTransactionsListing(PartitionListing):
    """Transactions that readers of committed data cannot pass yet."""

    title = "open transactions"
    vacant = line(("none: readers of committed data read up to the high watermark", MUTED))
    columns = (
        TableColumn("producer id", NAME),
        TableColumn("first", 9, right=True),
        TableColumn("open", 6, right=True),
        TableColumn("transaction", 40, grow=1),
    )

    def __init__(self, view: ClusterView, partition: PartitionView, now_us: int, width: int) -> None:
        super().__init__(view, partition, now_us, width)
        self.spans: dict[str, tuple[int, int, int]] = {}  # key → producer id, first offset, the marker or the log end
        known = partition.transactions
        if known is not None:
            end = partition.log_end
            self.spans = {f"{one}@{first}": (one, first, end) for one, first in known.index.open.items()}
            for marker, first in known.index.undecided.items():
                producer_id = known.ended[marker].producer_id
                self.spans[f"{producer_id}@{first}"] = producer_id, first, marker

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.spans else ()

    def row_keys(self) -> Sequence[str]:
        """The one that begins first holds the last stable offset."""
        return sorted(self.spans, key=lambda key: self.spans[key][1])

    def rows(self, key: str) -> tuple[Line]:
        """One transaction."""
        producer_id, first, end = self.spans[key]
        known = self.partition.transactions
        assert known is not None
        if producer_id in known.index.open and known.index.open[producer_id] == first:
            since_us, words = open_transaction(self.view, self.partition, producer_id, self.now_us)
        else:
            since_us, words = NEVER, undecided_transaction(self.view, known, end)
        cells: list[Line | Span | str] = [
            str(producer_id),
            pointers(self.ruler, (), (first, end)),
            str(first),
            duration(self.now_us - since_us) if since_us != NEVER else ((UNKNOWN, FAINT),),
            words,
        ]
        return (self.layout.row(cells),)


REPLICA_COLUMNS = (
    TableColumn("replica", NAME),
    TableColumn("process", 11),
    TableColumn("role", 11),
    TableColumn("log end", 12, right=True),
    TableColumn("last led in epoch", 17, right=True, rank=1),
)


class ReplicasListing(Listing):
    """Each replica: its broker, its role, and what is known of its log end."""

    title = "replicas"
    vacant = line(("the controller has placed no replica yet", MUTED))

    def __init__(self, view: ClusterView, partition: PartitionView, width: int) -> None:
        super().__init__(width)
        self.view, self.partition = view, partition
        self.layout = layout(REPLICA_COLUMNS, width)

    def note(self) -> Line:
        """Why a follower's log end is a bound."""
        words = "≥: a running in-sync replica has every record below the high watermark"
        return line((words, FAINT)) if self.width >= 100 else ()

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.partition.replicas else ()

    def row_keys(self) -> Sequence[str]:
        """Brokers, the preferred leader first."""
        return [f"broker-{broker}" for broker in self.partition.replicas]

    def rows(self, key: str) -> tuple[Line]:
        """One replica."""
        one, number = self.partition, int(key.removeprefix("broker-"))
        name = broker_state(self.view.brokers[number])
        process = states.BROKER[name]
        epoch = one.led.get(number)
        cells: list[Line | Span | str] = [
            (key, STRONG),
            line((f"{process.glyph} {name}", process.tone)),
            _role(one, number),
            _log_end(one, self.view.brokers[number]),
            str(epoch) if epoch is not None else ((UNKNOWN, FAINT),),
        ]
        return (self.layout.row(cells),)


def _role(one: PartitionView, broker: int) -> Line:
    if broker == one.leader:
        return line(("leader", STRONG))
    if broker in one.isr:
        return line("in sync")
    return line("adding") if broker in one.adding else line(("out of sync", WARN))


def _log_end(one: PartitionView, broker: BrokerView) -> Line:
    """The end of the log of the last leader that took over; the least that a running in-sync follower has."""
    if broker.broker == one.taken_by:
        return line(str(one.log_end))
    if broker.broker in one.isr and broker.alive and broker.registered and one.leader == one.taken_by:
        return line(f"≥ {one.high_watermark}")
    return line((UNKNOWN, FAINT))
