"""The records of a partition's log, newest first: batches, their records, markers; and what its leaders refused."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from itertools import islice
from typing import Final

from cluster.events import RecordsAppended
from cluster.protocol.record_batch import COMMIT
from cluster.view.state import PartitionView
from console.presenters.formatting import UNKNOWN, clock, many
from console.presenters.list_view import Listing, RowValue
from console.presenters.styled_text import ERROR, FAINT, MUTED, OK, PLAIN, STRONG, WARN, Line, Span, line
from console.presenters.table import TableColumn, for_names, layout
from recordings.kafka_tools.leader_logs import LeaderLog, LogBatch, NotAppended
from recordings.kafka_tools.log_dump import key_of, sequence_of

SHOWN: Final = 300  # newest batches
MOST_RECORDS: Final = 500  # of a batch that is unfolded
PART: Final = "/"
DIGITS: Final = 3
HOUR_US: Final = 3_600_000_000
COMMITTED, ABORTED, OPEN = ("committed", OK), ("aborted", ERROR), ("open", WARN)
BEYOND: Final = "above HW"
COORDINATORS: Final = "coordinator"
PRODUCER, SEQUENCES = 3, 6  # the places of these columns

COLUMNS = (
    TableColumn("offsets", 9, right=True),
    TableColumn("records", 7, rank=2, right=True),
    TableColumn("appended", 9, right=True),
    TableColumn("producer", 12, grow=1, most=24),
    TableColumn("id", 5, right=True),
    TableColumn("epoch", 5, right=True),
    TableColumn("sequence", 9, right=True),
    TableColumn("leader epoch", 12, rank=3, right=True),
    TableColumn("state", 12, grow=2, most=40),
)


def _offsets(one: LogBatch) -> str:
    """`120–139`, or `120` alone."""
    first, count = one.appended.base_offset, one.appended.count
    return str(first) if count == 1 else f"{first}–{first + count - 1}"


def _sequences(one: LogBatch) -> str:
    """The same of its sequence numbers, if it has some."""
    batch = one.appended
    first, last = sequence_of(batch, 0), sequence_of(batch, batch.count - 1)
    return str(first) if batch.count == 1 else f"{first}–{last}" if first >= 0 else UNKNOWN


def outcomes(newest_first: Iterable[LogBatch]) -> dict[int, Span]:
    """How the transaction of each transactional batch ended, by its base offset: the next marker of its producer id."""
    markers: dict[int, Span] = {}
    found: dict[int, Span] = {}
    for batch in (one.appended for one in newest_first):
        if batch.marker:
            markers[batch.producer_id] = COMMITTED if batch.marker == COMMIT else ABORTED
        elif batch.transactional:
            found[batch.base_offset] = markers.get(batch.producer_id, OPEN)
    return found


def duplicates_of(log: LeaderLog) -> Counter[tuple[str, int]]:
    """How often a leader refused a batch that the log has already, by its producer and base offset."""
    return Counter((one.client, one.base_offset) for one in log.not_appended if one.base_offset >= 0)


class RecordsListing(Listing):
    """Batches that the log of the partition's leader has; enter on one shows its records. A key is a base offset."""

    title = "records"
    newest_first = True
    vacant = line(("no batch is known: the log has none, or its last ones are long ago", MUTED))

    def __init__(self, partition: PartitionView, log: LeaderLog, width: int, unfolded: Container[str] = ()) -> None:
        super().__init__(width)
        self.partition, self.unfolded = partition, unfolded
        known = log.left(partition.log_start, newest_first=True)
        newest = islice((one for one in known if one.appended.base_offset < partition.log_end), SHOWN)
        self.batches = {str(one.appended.base_offset): one for one in newest}
        self.outcomes = outcomes(self.batches.values())
        self.duplicates = duplicates_of(log)
        columns = for_names(COLUMNS, (_offsets(one) for one in self.batches.values()))
        columns = for_names(columns, (_sequences(one) for one in self.batches.values()), SEQUENCES)
        self.layout = layout(columns, width)

    def note(self) -> Line:
        """Where the known batches begin, if the log begins earlier."""
        oldest = next(reversed(self.batches.values()), None)
        if oldest is None or oldest.appended.base_offset <= self.partition.log_start:
            return ()
        return line((f"from offset {oldest.appended.base_offset} on; `describe records` prints all", MUTED))

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.batches else ()

    def row_keys(self) -> list[str]:
        """Newest first; the records of an unfolded batch follow it."""
        keys: list[str] = []
        for key, one in self.batches.items():
            keys.append(key)
            if key in self.unfolded and len(one.offsets) > 1:
                keys += [f"{key}{PART}{offset}" for offset in one.offsets[:MOST_RECORDS]]
        return keys

    def rows(self, key: str) -> tuple[Line]:
        """A batch, or one of its records."""
        base, _, offset = key.partition(PART)
        one = self.batches[base]
        return (self.layout.row(self._record(one, int(offset)) if offset else self._batch(one)),)

    def _batch(self, one: LogBatch) -> list[Line | Span | str]:
        batch = one.appended
        number = f"#{batch.first_serial}" if batch.count == 1 and batch.first_serial >= 0 else ""
        if len(batch.producer) + len(number) > self.layout.width_of(PRODUCER):
            number = ""
        writer: Line = line((batch.producer or COORDINATORS, STRONG if batch.producer else MUTED), (number, MUTED))
        return [
            _offsets(one),
            str(len(one.offsets)),
            (_instant(batch.at_us), MUTED),
            writer,
            _known(batch.producer_id),
            _known(batch.epoch),
            line(_sequences(one)) if batch.base_sequence >= 0 else _known(batch.base_sequence),
            str(batch.leader_epoch),
            self._state(one),
        ]

    def _record(self, one: LogBatch, offset: int) -> list[Line | Span | str]:
        batch, place = one.appended, offset - one.appended.base_offset
        number = f"  #{batch.first_serial + place}" if batch.first_serial >= 0 else ""
        created = f"created {_instant(batch.created_us)}" if batch.created_us >= 0 and not place else ""
        content = line((" · ".join(filter(None, (_key_words(batch, place), created))), MUTED))
        return [str(offset), "", "", (number, MUTED), "", "", _known(sequence_of(batch, place)), "", content]

    def _state(self, one: LogBatch) -> Line:
        """Its marker, or the state of its transaction; whether all in-sync replicas have it; how to see its records."""
        batch, spans = one.appended, list[Span]()
        if batch.marker:
            spans.append((f"{batch.marker} marker", OK if batch.marker == COMMIT else ERROR))
        elif batch.transactional:
            spans.append(self.outcomes[batch.base_offset])
        if batch.base_offset + batch.count > self.partition.high_watermark:
            spans += [*([(" · ", FAINT)] if spans else []), (BEYOND, WARN)]
        if repeated := self.duplicates[batch.producer, batch.base_offset]:
            spans += [*([(" · ", FAINT)] if spans else []), (f"{many(repeated, 'duplicate')} refused", WARN)]
        if not spans and len(one.offsets) > 1:
            spans.append(("enter: records", FAINT) if str(batch.base_offset) not in self.unfolded else ("", PLAIN))
        elif batch.count == 1 and not batch.marker and (words := _key_words(batch, 0)):
            spans += [*([(" · ", FAINT)] if spans else []), (words, MUTED)]
        return line(*spans)

    def unfolds(self, key: str) -> bool:
        """Whether the batch has several records."""
        return PART not in key and len(self.batches[key].offsets) > 1

    def instant_of(self, key: str) -> int | None:
        """When the leader appended it; None for a batch that unfolds."""
        return None if self.unfolds(key) else self.batches[key.partition(PART)[0]].appended.at_us

    def sortable(self) -> Mapping[str, RowValue]:
        """By offset, size, producer, producer id and leader epoch."""
        if any(key in self.unfolded for key in self.batches):
            return {}
        batches = self.batches
        return {
            "offsets": lambda key: batches[key].appended.base_offset,
            "records": lambda key: len(batches[key].offsets),
            "producer": lambda key: batches[key].appended.producer,
            "id": lambda key: batches[key].appended.producer_id,
            "leader epoch": lambda key: batches[key].appended.leader_epoch,
        }


def _instant(at_us: int) -> str:
    """`12:41.350`, with hours when there are any."""
    text = clock(at_us, DIGITS)
    return text[3:] if at_us < HOUR_US else text


def _key_words(batch: RecordsAppended, place: int) -> str:
    """The key of a record; nothing of a coordinator's record, or where a recording tells no keys."""
    if batch.created_us < 0 or not batch.producer:
        return ""
    key = key_of(batch, place)
    return f"key {key}" if key >= 0 else "no key"


def _known(number: int) -> Line:
    return line(str(number)) if number >= 0 else line((UNKNOWN, FAINT))


class RefusedListing(Listing):
    """What leaders answered and did not append, newest first: duplicates, old epochs, retriable errors."""

    title = "not appended"
    newest_first = True
    vacant = line(("none known: events tell duplicates, retriable errors and old epochs", MUTED))
    columns = (
        TableColumn("answered", 12, right=True),
        TableColumn("client", 14, grow=1, most=30),
        TableColumn("records", 7, right=True),
        TableColumn("answer", 36, grow=2),
    )

    def __init__(self, log: LeaderLog, width: int) -> None:
        super().__init__(width)
        answers = log.not_appended[-SHOWN:]
        self.answers = {str(number): one for number, one in reversed(list(enumerate(answers)))}
        self.layout = layout(self.columns, width)

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.answers else ()

    def row_keys(self) -> list[str]:
        """Newest first."""
        return list(self.answers)

    def rows(self, key: str) -> tuple[Line]:
        """One answer."""
        one = self.answers[key]
        cells: list[Line | Span | str] = [
            (_instant(one.at_us), MUTED),
            (one.client, STRONG) if one.client else ("transaction coordinator", MUTED),
            str(one.records) if one.records else ((UNKNOWN, FAINT),),
            line(words_of(one)),
        ]
        return (self.layout.row(cells),)

    def instant_of(self, key: str) -> int | None:
        """When the client learned it, or the leader refused it."""
        return self.answers[key].at_us


def words_of(one: NotAppended) -> Span:
    """The answer, and where the log has the batch already."""
    if one.base_offset >= 0:
        return f"duplicate of the batch at offset {one.base_offset}", OK
    return one.answer, ERROR
