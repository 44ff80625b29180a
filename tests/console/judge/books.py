"""The judge's own books of a flight, without code of the fold, the presenters or the simulation."""

from typing import NamedTuple

from cluster import events as e
from tests.console.judge.cluster_books import ClusterBooks
from tests.console.judge.consumer_group_books import AllGroupBooks
from tests.console.judge.conversation_judge import ConversationBook
from tests.console.judge.group_books import GroupBook
from tests.console.judge.life_books import LifeBooks
from tests.console.judge.member_books import MemberBook, MemberBooks
from tests.console.judge.raster_books import RasterBook
from tests.console.judge.record_books import RecordBooks
from tests.console.judge.transaction_books import TransactionBooks

SECOND_US = 1_000_000
KEPT_SECONDS = 120


class Coordinator(NamedTuple):
    """The broker that leads a group's partition (-1: none), and whether it can answer: `up` or why not."""

    broker: int
    state: str


class Books:
    """The state after the events so far, and the lag at each whole second."""

    def __init__(self) -> None:
        self.cluster = ClusterBooks()
        self.member_books = MemberBooks()
        self.transactions = TransactionBooks()
        self.records = RecordBooks()
        self.lives = LifeBooks()
        self.conversation = ConversationBook()
        self.registry = AllGroupBooks(self.member_books.holders)
        self.lags: dict[str, list[tuple[int, int]]] = {}
        self.acked: dict[str, list[tuple[int, int]]] = {}
        self.ends: dict[str, list[tuple[int, int]]] = {}
        self.rasters: dict[str, RasterBook] = {}
        self._next_second = 0

    @property
    def groups(self) -> dict[str, GroupBook]:
        """Groups by name."""
        return self.registry.groups

    @property
    def members(self) -> dict[str, MemberBook]:
        """Members by name."""
        return self.member_books.members

    def note(self, event: e.Event) -> None:
        """Record one event."""
        if event.at_us >= self._next_second * SECOND_US:
            self._sample(event.at_us // SECOND_US)
        self.cluster.note(event)
        self.transactions.note(event)
        self.records.note(event)
        self.lives.note(event)
        self.conversation.note(event)
        before = self._held_by(event)
        self.member_books.note(event)
        self.registry.note(event)
        if before:
            group, member, names = before
            book = self.members[member]  # a fenced one has its partitions until close(), and reads them no more
            gone = tuple(name for name in names if name not in book.owned or book.state == "Fenced")
            self.registry.released(group, gone, event.at_us)
        concerned = getattr(event, "group", "")
        if concerned in self.groups:
            self.rasters.setdefault(concerned, RasterBook()).note(event, self.groups[concerned])

    def _held_by(self, event: e.Event) -> tuple[str, str, tuple[str, ...]] | None:
        if isinstance(event, e.PartitionsRevoked | e.MemberStopped | e.MemberStateChanged):
            return event.group, event.member, tuple(self.members[event.member].owned)
        return None

    def _sample(self, second: int) -> None:
        """Sample the numbers at the start of a second; seconds without an event repeat them."""
        for quiet in range(max(self._next_second, second - KEPT_SECONDS), second):
            self._note_second(quiet, known=True)
        self._note_second(second)
        self._next_second = second + 1

    def _note_second(self, second: int, *, known: bool = False) -> None:
        for name, group in self.groups.items():
            if name in self.lags or not known:
                self.lags.setdefault(name, []).append((second, self.lag(group)))
        for name, partition in self.cluster.partitions.items():
            if name in self.ends or not known:
                self.ends.setdefault(name, []).append((second, partition.log_end))
        for name, producer in self.cluster.producers.items():
            if name in self.acked or not known:
                self.acked.setdefault(name, []).append((second, producer.acked))

    def quiet_since(self, now_us: int) -> bool:
        """Whether this second has no event and so no sample yet."""
        return self._next_second * SECOND_US <= now_us

    def committed(self, group: GroupBook, name: str) -> int:
        """The offset up to which a group has read a partition for sure."""
        partition = self.cluster.partitions[name]
        start = partition.high_watermark if group.reset == "latest" else partition.log_start
        return group.committed.get(name, start)

    def partitions_of(self, group: GroupBook) -> list[str]:
        """Every partition of a group's topics."""
        return [name for name, one in self.cluster.partitions.items() if one.topic in group.topics]

    def stable_offset(self, name: str) -> int:
        """The last stable offset: the end of what readers of committed data may read."""
        partition, log = self.cluster.partitions[name], self.transactions.logs.get(name)
        first = min(log.unread(partition.high_watermark), default=None) if log is not None else None
        if first is None:
            return partition.high_watermark
        return min(partition.high_watermark, max(first, partition.log_start))

    def lag_in(self, group: GroupBook, name: str) -> int:
        """The high watermark less the committed offset."""
        return max(0, self.cluster.partitions[name].high_watermark - self.committed(group, name))

    def lag(self, group: GroupBook) -> int:
        """The lag of a group, as kafka-consumer-groups sums it."""
        return sum(self.lag_in(group, name) for name in self.partitions_of(group))

    def coordinator(self, group: GroupBook) -> Coordinator:
        """Whether the group's coordinator answers: a process that leads the partition and has loaded the group."""
        leader = self.cluster.partitions[group.coordinator_partition].leader
        if leader < 0:
            return Coordinator(-1, "no leader")
        broker = self.cluster.brokers[leader]
        if not broker.up:
            return Coordinator(leader, "down")
        if broker.frozen:
            return Coordinator(leader, "frozen")
        if not broker.registered:
            return Coordinator(leader, "restarted")
        busy = group.state in {"Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"}
        if group.holder not in {-1, leader} and group.members and busy:
            return Coordinator(leader, "loading")
        return Coordinator(leader, "up")

    def outdated_producers(self) -> dict[str, tuple[int, int]]:
        """Running producers whose epoch was fenced, and the epoch that their transactional id has since."""
        stories = self.lives.producers
        known = [story.identity for story in stories.values() if story.identity is not None]
        found = {}
        for name in [name for name, one in self.cluster.producers.items() if one.state == "Running"]:
            given = stories[name].identity
            one = self.transactions.of_producer(given.producer_id) if given is not None else None
            if given is None or one is None or one.last is None or one.last.epoch <= given.epoch:
                continue
            later = any(each.producer_id == given.producer_id and each.epoch > given.epoch for each in known)
            if later or one.fenced == (given.producer_id, given.epoch):
                found[name] = (given.epoch, one.last.epoch)
        return found
