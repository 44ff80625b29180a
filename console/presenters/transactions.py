"""The screen of transactions: transactional ids, transactions that hold readers back, and the legal states."""

from collections.abc import Container, Iterator

from cluster.protocol.names import coordinator_partition
from cluster.protocol.transaction_states import TRANSACTION_STATES, TransactionState
from cluster.view.state import NEVER, ClusterView, PartitionView, ProducerView
from cluster.view.transactions import PartitionTransactions, TransactionView, is_hanging
from console.presenters import states
from console.presenters.event_log import EventLogListing
from console.presenters.formatting import UNKNOWN, count, countdown, duration, ranges
from console.presenters.list_view import BUILDING, Listing, RowValue
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MOVING,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    line,
    middle,
)
from console.presenters.table import TableColumn, for_names, layout

NONE_DECLARED = line(("no producer of this flight has a transactional.id", MUTED))
LOG = "__transaction_state"
ONGOING = TransactionState.ONGOING.value
FENCE = TransactionState.PREPARE_EPOCH_FENCE.value
UNDER_WAY = (ONGOING, TransactionState.PREPARE_COMMIT.value, TransactionState.PREPARE_ABORT.value)

TRANSACTION_COLUMNS = (
    TableColumn("id", 12, grow=1, most=20),
    TableColumn("state", 16),
    TableColumn("pid", 4, right=True),
    TableColumn("epoch", 5, right=True),
    TableColumn("coordinator", 11, rank=3),
    TableColumn("open", 6, right=True),
    TableColumn("times out", 9, right=True),
    TableColumn("begun", 6, right=True, rank=5),
    TableColumn("commits", 7, right=True, rank=2),
    TableColumn("aborts", 6, right=True, rank=1),
    TableColumn("fenced", 6, right=True),
    TableColumn("partitions", 10, rank=4, grow=4),
)


class TransactionsListing(Listing):
    """Every transactional id with the state of its coordinator."""

    title = "transactional ids"
    vacant = NONE_DECLARED

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.now_us = view, now_us
        if not view.brokers:
            self.vacant = BUILDING
        self.layout = layout(for_names(TRANSACTION_COLUMNS, view.transactions), width)

    def note(self) -> Line:
        """The end of a transaction after its timeout."""
        words = "after its timeout the coordinator's next scan fences and aborts it"
        return line((words, FAINT)) if self.width >= 100 and self.view.transactions else ()

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def sortable(self) -> dict[str, RowValue]:
        """By the age of the open transaction and by totals."""
        known, now_us = self.view.transactions, self.now_us
        return {
            "open": lambda key: now_us - known[key].start_us if known[key].start_us != NEVER else None,
            "begun": lambda key: known[key].begun,
            "commits": lambda key: known[key].committed,
            "aborts": lambda key: known[key].aborted,
            "fenced": lambda key: known[key].fenced,
            "id": str,
        }

    def row_keys(self) -> list[str]:
        """Transactional ids, in the order of their first event."""
        return list(self.view.transactions)

    def rows(self, key: str) -> tuple[Line]:
        """One transactional id."""
        one = self.view.transactions[key]
        name = shown_state(one)
        state = states.transaction(name)
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            line((f"{state.glyph} {_short(name) or UNKNOWN}", state.tone)),
            _known(one.producer_id),
            _known(one.epoch),
            coordinator(self.view, one),
            duration(self.now_us - one.start_us) if one.start_us != NEVER else ((UNKNOWN, FAINT),),
            times_out(one, self.now_us),
            line((count(one.begun), PLAIN)),
            line((count(one.committed), PLAIN if one.committed else FAINT)),
            line((count(one.aborted), WARN if one.aborted else FAINT)),
            line((count(one.fenced), ERROR if one.fenced else FAINT)),
            line((ranges(list(one.partitions)) or UNKNOWN, MUTED if one.partitions else FAINT)),
        ]
        return (self.layout.row(cells),)


def shown_state(one: TransactionView) -> str:
    """The state of a transactional id; PrepareEpochFence, held only in memory, until the abort is committed."""
    return FENCE if one.fencing else one.state


def coordinator(view: ClusterView, one: TransactionView) -> Line:
    """The broker that leads the id's partition of __transaction_state; a sign marks one that cannot coordinate."""
    if one.coordinator == NEVER:
        return line((UNKNOWN, FAINT))
    number = one.coordinator
    partitions = view.partitions_by_topic.get(LOG)
    if partitions:
        number = view.partitions[partitions[coordinator_partition(one.transactional_id, len(partitions))]].leader
    broker = view.brokers.get(number)
    if broker is None:
        return line(("✖ no leader", ERROR))
    name = f"broker-{number}"
    if not broker.alive:
        return line((f"✖ {name}", ERROR))
    if broker.paused:
        return line((f"‖ {name}", WARN))
    if not broker.registered or number != one.coordinator:  # the new coordinator has not loaded the id yet
        return line((f"↻ {name}", MOVING))
    return line((name, PLAIN))


def _short(state: str) -> str:
    """Kafka's name of a state, shortened where it is too long for its column."""
    return "EpochFence" if state == FENCE else state


def _known(number: int) -> Line:
    return line(str(number)) if number >= 0 else line((UNKNOWN, FAINT))


def times_out(one: TransactionView, now_us: int) -> Line:
    """The end of `transaction.timeout.ms`; the coordinator's next scan aborts an Ongoing transaction after it."""
    if one.state != ONGOING or one.start_us == NEVER:
        return line((UNKNOWN, FAINT))
    left_us = left_of_timeout_us(one, now_us)
    if left_us <= 0:
        return line(("▲ overdue", ERROR))
    return line((f"in {countdown(left_us)}", WARN if left_us < 10_000_000 else PLAIN))


def left_of_timeout_us(one: TransactionView, now_us: int) -> int:
    """The rest of an open transaction's `transaction.timeout.ms` in µs; negative after its end."""
    return one.start_us + 1_000 * one.timeout_ms - now_us


def transaction_of(view: ClusterView, producer_id: int) -> TransactionView | None:
    """The transactional id of a producer id; None without one."""
    if producer_id < 0:
        return None
    return next((one for one in view.transactions.values() if one.producer_id == producer_id), None)


def outdated_producers(view: ClusterView) -> dict[str, TransactionView]:
    """Running producers with an epoch that their coordinator has fenced, and the transactional id of each.

    Such a producer has heard nothing of it: its next request is refused. An epoch that its own EndTxn raises is not
    fenced; the producer learns it from the answer.
    """
    ids = {one.producer_id: one for one in view.transactions.values() if one.producer_id >= 0}
    found: dict[str, TransactionView] = {}
    for producer in view.producers.values() if ids else ():
        one = ids.get(producer.producer_id)
        if one is None or producer.state != "Running" or producer.epoch >= one.epoch:
            continue
        others = (each for each in view.producers.values() if each.producer_id == producer.producer_id)
        if any(each.epoch > producer.epoch for each in others) or _was_fenced(view, one, producer):
            found[producer.producer] = one
    return found


def _was_fenced(view: ClusterView, one: TransactionView, producer: ProducerView) -> bool:
    """Whether the id's last transaction was this producer's, and its coordinator fenced it to abort that."""
    life = view.lives.transactions.get(one.transactional_id)
    if life is None:
        return False
    last = life.under_way or next(reversed(life.finished), None)
    if last is None or not last.fenced_for:
        return False
    return (last.producer_id, last.epoch) == (producer.producer_id, producer.epoch)


def hanging_words(one: TransactionView | None, producer_id: int) -> str:
    """Why no coordinator will end an open transaction; `one` is the transactional id of its producer id."""
    if one is None:
        return f"no transactional id has producer id {producer_id}"
    if one.state in UNDER_WAY:
        return f"{one.transactional_id}'s {one.state} transaction lacks this partition"
    return f"{one.transactional_id} is {_short(one.state)}: its coordinator has no such ongoing transaction"


HELD_COLUMNS = (
    TableColumn("partition", 10, grow=1, most=24),
    TableColumn("LSO", 7, right=True),
    TableColumn("HW", 7, right=True, rank=1),
    TableColumn("waiting", 7, right=True),
    TableColumn("since", 8, right=True),
    TableColumn("held back by", 33, grow=4),
)


def held_back(view: ClusterView) -> Iterator[PartitionView]:
    """Partitions in which the last stable offset holds readers of committed data below the high watermark."""
    for partition in view.partitions.values():
        if partition.transactions is not None and partition.last_stable_offset < partition.high_watermark:
            yield partition


class HeldBackListing(Listing):
    """The partitions whose last stable offset is below the high watermark, with the transaction that holds it."""

    title = "held back"
    vacant = line(("nothing held back: every last stable offset equals its high watermark", MUTED))

    def __init__(self, view: ClusterView, now_us: int, width: int) -> None:
        super().__init__(width)
        if not view.brokers:
            self.vacant = BUILDING
        self.view, self.now_us = view, now_us
        self.held = {partition.partition: partition for partition in held_back(view)}
        self.layout = layout(for_names(HELD_COLUMNS, self.held), width)

    def note(self) -> Line:
        """The unit of the column `waiting`."""
        words = "waiting: offsets from the last stable (LSO) to the high watermark"
        return line((words, FAINT)) if self.held and self.width >= 80 else ()

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.held else ()

    def row_keys(self) -> list[str]:
        """Partitions, in the order of their topics."""
        return list(self.held)

    def rows(self, key: str) -> tuple[Line]:
        """One partition."""
        partition = self.held[key]
        stable = partition.last_stable_offset
        since_us, words = holder(self.view, partition, self.now_us)
        cells: list[Line | Span | str] = [
            (middle(key, self.layout.width_of(0)), STRONG),
            str(stable),
            str(partition.high_watermark),
            line((count(partition.high_watermark - stable), WARN)),
            duration(self.now_us - since_us) if since_us != NEVER else ((UNKNOWN, FAINT),),
            words,
        ]
        return (self.layout.row(cells),)


def holder(view: ClusterView, partition: PartitionView, now_us: int) -> tuple[int, Line]:
    """The start of the transaction that holds readers of a partition back, and its id in words."""
    known = partition.transactions
    assert known is not None
    producer_id = known.index.holds_back()
    if producer_id is None or known.index.open[producer_id] > partition.last_stable_offset:
        first_of = known.index.undecided
        return NEVER, undecided_transaction(view, known, min(first_of, key=lambda offset: first_of[offset]))
    return open_transaction(view, partition, producer_id, now_us)


def open_transaction(view: ClusterView, partition: PartitionView, producer_id: int, now_us: int) -> tuple[int, Line]:
    """The start of a producer id's open transaction, and its transactional id and state; NEVER if it hangs."""
    one = transaction_of(view, producer_id)
    if is_hanging(one, partition.partition) or one is None:
        return NEVER, line(("hanging: ", ERROR), (hanging_words(one, producer_id), PLAIN))
    state = states.transaction(one.state)
    words = line((f"{one.transactional_id}, {one.state}", state.tone))
    if one.state != ONGOING:
        return one.start_us, line(*words, (": its markers are on their way", MUTED))
    left_us = left_of_timeout_us(one, now_us)
    ending = ("▲ overdue", ERROR) if left_us <= 0 else (f"{countdown(left_us)} left", PLAIN)
    return one.start_us, line(*words, (", ", MUTED), ending)


def is_stuck(view: ClusterView, partition: PartitionView, now_us: int) -> bool:
    """Whether an open transaction holds a partition back that hangs, or has used half of its transaction.timeout.ms."""
    known = partition.transactions
    producer_id = known.index.holds_back() if known is not None else None
    if known is None or producer_id is None or known.index.open[producer_id] > partition.last_stable_offset:
        return False
    if partition.last_stable_offset >= partition.high_watermark:  # not yet replicated: holds nothing
        return False
    one = transaction_of(view, producer_id)
    if one is None or is_hanging(one, partition.partition):
        return True
    return is_long(one, now_us)


def is_long(one: TransactionView, now_us: int) -> bool:
    """Whether an open transaction has used half of its transaction.timeout.ms."""
    return one.state == ONGOING and 2 * left_of_timeout_us(one, now_us) <= 1_000 * one.timeout_ms


def undecided_transaction(view: ClusterView, known: PartitionTransactions, marker: int) -> Line:
    """A transaction with a marker: readers pass it only after the high watermark does."""
    ended = known.ended[marker]
    one = transaction_of(view, ended.producer_id)
    name = one.transactional_id if one is not None else f"producer id {ended.producer_id}"
    end = "committed" if ended.committed else "aborted"
    return line((name, PLAIN), (f", {end}: HW not past its marker at {marker}", MUTED))


STATE_COLUMNS = (
    TableColumn("state", 19),
    TableColumn("next states", 34, grow=1, most=46),
    TableColumn("now", 10, grow=1),
    TableColumn("what it means", 30, rank=2, grow=3, most=58),
)


class StatesListing(Listing):
    """Every state of a transaction, its next states, and the transactional ids in it."""

    title = "states"

    def __init__(self, view: ClusterView, width: int) -> None:
        super().__init__(width)
        self.layout = layout(STATE_COLUMNS, width)
        self.here: dict[str, list[str]] = {}
        for one in view.transactions.values():
            self.here.setdefault(shown_state(one), []).append(one.transactional_id)

    def note(self) -> Line:
        """The moves that transaction.version 2 adds."""
        words = "transaction.version 2 also aborts from Empty and Complete…"
        return line((words, FAINT)) if self.width >= 100 else ()

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """States in Kafka's order; states cannot be selected."""
        return [f"#{state.value}" for state in TransactionState]

    def rows(self, key: str) -> tuple[Line]:
        """One state; highlighted while a transactional id is in it."""
        name = key[1:]
        ids = self.here.get(name, [])
        state = states.transaction(name)
        cells: list[Line | Span | str] = [
            line((f"{state.glyph} {name}", state.tone if ids else FAINT)),
            line((_listed(goes_to(TransactionState(name)), self.layout.width_of(1)), PLAIN if ids else FAINT)),
            line((f"◀ {', '.join(ids)}" if ids else "", ACCENT)),
            line((state.meaning, MUTED if ids else FAINT)),
        ]
        return (self.layout.row(cells),)


def _listed(names: list[str], width: int) -> str:
    """Names in sequence; a narrow column holds their common prefix once: `PrepareCommit, …Abort`."""
    text = ", ".join(names)
    if len(text) <= width or not names:
        return text or "(final)"
    first, *others = names
    return ", ".join([first, *(name.replace("Prepare", "…") for name in others)])


def goes_to(state: TransactionState) -> list[str]:
    """The other states that may follow, by Kafka's table of transitions."""
    return [to.value for to in TRANSACTION_STATES.successors(state) if to is not state]


class TransactionEventsListing(EventLogListing):
    """Events of transactional ids: fenced producers with the reason and the error, aborted transactions."""

    title = "fenced and aborted"
    vacant = line(("no producer was fenced, no transaction aborted", MUTED))

    def __init__(self, view: ClusterView, width: int, unfolded: Container[str] = ()) -> None:
        super().__init__(view, width, view.transactions, unfolded)
