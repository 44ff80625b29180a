"""Transactional ids and the transactional part of each log, as an administrator would note them from raw events."""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import msgspec

from cluster import events as e

UNDER_WAY = {"Ongoing", "PrepareCommit", "PrepareAbort"}


class IdBook(msgspec.Struct):
    """A transactional id by the last state that its coordinator committed.

    `raised`: its epoch was raised to abort it (PrepareEpochFence), and the abort is not committed yet. `begun`: times
    it became Ongoing. The append of a start may succeed after its coordinator gave it up. That start and the one that
    replaces it count once.
    """

    name: str
    last: e.TransactionStateChanged | None = None
    raised: bool = False
    begun: int = 0
    commits: int = 0
    aborts: int = 0
    refused: int = 0
    fenced: tuple[int, int] = (-1, -1)  # the last producer id and epoch that a coordinator fenced

    @property
    def state(self) -> str:
        """Kafka's name for it."""
        if self.raised:
            return "PrepareEpochFence"
        return self.last.state if self.last is not None else ""

    @property
    def started_us(self) -> int:
        """When the transaction under way began; -1 without one."""
        return self.last.start_us if self.last is not None and self.last.state in UNDER_WAY else -1


class Piece(NamedTuple):
    """Transactional records, or a marker, in the leader's log."""

    producer_id: int
    offset: int
    end: int
    marker: str


class LogBook(msgspec.Struct):
    """The transactional part of one partition's log, in the order of offsets; `ever`: it has had such a part."""

    pieces: list[Piece] = []
    epoch: int = -1
    ever: bool = False

    def cut(self, end: int) -> None:
        """Truncate the log at an offset."""
        while self.pieces and self.pieces[-1].end > end:
            last = self.pieces.pop()
            if last.offset < end:
                self.pieces.append(last._replace(end=end))

    def passed_over(self, log_start: int) -> tuple[set[int], set[int]]:
        """The offsets of markers, and those of aborted transactions' records, from the log start on."""
        opened: dict[int, set[int]] = {}
        markers: set[int] = set()
        aborted: set[int] = set()
        for piece in self.pieces:
            if not piece.marker:
                opened.setdefault(piece.producer_id, set()).update(range(piece.offset, piece.end))
                continue
            markers.add(piece.offset)
            records = opened.pop(piece.producer_id, set())
            aborted |= records if piece.marker == "ABORT" else set()
        return {one for one in markers if one >= log_start}, {one for one in aborted if one >= log_start}

    def unread(self, high_watermark: int) -> dict[int, tuple[int, Piece | None]]:
        """Where each transaction begins that holds readers back → its producer id and its marker, if it has one."""
        opened: dict[int, int] = {}
        found: dict[int, tuple[int, Piece | None]] = {}
        for piece in self.pieces:
            if not piece.marker:
                opened.setdefault(piece.producer_id, piece.offset)
            elif (first := opened.pop(piece.producer_id, None)) is not None and piece.offset >= high_watermark:
                found[first] = piece.producer_id, piece
        return found | {first: (producer_id, None) for producer_id, first in opened.items()}


class TransactionBooks:
    """All transactional ids and logs."""

    def __init__(self) -> None:
        self.ids: dict[str, IdBook] = {}
        self.logs: dict[str, LogBook] = {}

    def note(self, event: e.Event) -> None:
        """Record one event."""
        handler = self._HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def of_producer(self, producer_id: int) -> IdBook | None:
        """The transactional id that has this producer id now."""
        known = (one for one in self.ids.values() if one.last is not None and one.last.producer_id == producer_id)
        return next(known, None)

    def _id(self, name: str) -> IdBook:
        return self.ids.setdefault(name, IdBook(name))

    def _moved(self, event: e.TransactionStateChanged) -> None:
        one = self._id(event.transactional_id)
        before = one.last.state if one.last is not None else ""
        one.begun += event.state == "Ongoing" != before
        if not event.loaded or (before in UNDER_WAY and one.last is not None and one.last.start_us == event.start_us):
            one.commits += event.state == "CompleteCommit" != before
            one.aborts += event.state == "CompleteAbort" != before
        one.last, one.raised = event, False

    def _raised(self, event: e.TransactionFenced) -> None:
        one = self._id(event.transactional_id)
        one.raised, one.fenced = True, (event.producer_id, event.epoch - 1)

    def _refused(self, event: e.ProducerEpochRefused) -> None:
        self._id(event.transactional_id).refused += 1

    # --- logs -------------------------------------------------------------------------------------------------------

    def _log(self, partition: str) -> LogBook:
        return self.logs.setdefault(partition, LogBook())

    def _appended(self, event: e.RecordsAppended) -> None:
        log = self._log(event.partition)
        if event.transactional and event.leader_epoch >= log.epoch:
            end = event.base_offset + event.count
            log.ever = True
            log.pieces.append(Piece(event.producer_id, event.base_offset, end, event.marker))

    def _led(self, event: e.LeadershipTaken) -> None:
        log = self._log(event.partition)
        if event.leader_epoch >= log.epoch:
            log.epoch = event.leader_epoch
            log.cut(event.log_end)

    _HANDLERS: ClassVar[dict[type[e.Event], Callable[..., None]]] = {
        e.TransactionStateChanged: _moved,
        e.TransactionFenced: _raised,
        e.ProducerEpochRefused: _refused,
        e.RecordsAppended: _appended,
        e.LeadershipTaken: _led,
    }


def coordinator_partition(name: str, partitions: int) -> int:
    """The partition that a transactional id's coordinator leads: Java's String.hashCode, as Utils.abs has it."""
    value = 0
    for unit in name.encode("utf-16-be").hex(" ", 2).split():
        value = (31 * value + int(unit, 16)) % 2**32
    signed = value - 2**32 if value >= 2**31 else value
    return (0 if signed == -(2**31) else abs(signed)) % partitions  # not the sign bit cleared: that is toPositive
