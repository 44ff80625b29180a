"""Judges a conversation: each arrow against the raw event of its instant, and that none of them is missing."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from cluster import events as e
from tests.console.judge.grammar import Verdict

ARROWS = "│├┤┼─▶◀✖●"
MS = 1_000
ROWS, LONGEST, LONGEST_PRODUCES = 40, 2_500, 1_500
TELLING = (
    e.JoinReceived, e.SyncReceived, e.MemberIdAssigned, e.JoinBarrierCompleted, e.GroupStabilized, e.RebalanceStarted,
    e.MemberRemoved, e.HeartbeatAnswered, e.CoordinatorFound, e.CoordinatorLost, e.SessionRenewed, e.OffsetsCommitted,
    e.OffsetCommitRefused, e.ProducerIdAssigned, e.ProducerCoordinatorFound, e.ProduceSent, e.BatchAcknowledged,
    e.BatchRetried, e.BatchFailed, e.RecordsAppended, e.TransactionStateChanged, e.TransactionFenced,
    e.ProducerEpochRefused, e.TransactionOffsetsRefused, e.TransactionMarkerRefused,
    e.PartitionsAssigned, e.PartitionsRevoked, e.RebalanceListenerCalled, e.RebalanceListenerReturned,
)  # fmt: skip


class Told(NamedTuple):
    """What a raw event tells of a request: its sign at the ends, the ends, and what the words must hold."""

    sign: str
    source: str
    targets: tuple[str, ...]
    words: tuple[str, ...]
    about: str = ""


def _coordinator(group: str) -> str:
    return f"{group} coordinator"


def _of_groups(event: e.Event) -> Told | None:
    words: tuple[str, ...]
    match event:
        case e.JoinReceived():
            return Told("▶", event.member, (_coordinator(event.group),), ("JoinGroup", "parked"))
        case e.SyncReceived():
            words = ("SyncGroup", f"assignment of {len(event.assignments)} ") if event.leader else ("SyncGroup",)
            return Told("▶", event.member, (_coordinator(event.group),), words)
        case e.MemberIdAssigned():
            return Told("▶", _coordinator(event.group), (event.member,), ("JoinGroup", "MEMBER_ID_REQUIRED"))
        case e.JoinBarrierCompleted(generation=generation) if event.members:
            told = ("JoinGroup", "NONE", f"generation {generation} ")
            return Told("▶", _coordinator(event.group), tuple(event.members.values()), told)
        case e.JoinBarrierCompleted():
            return Told("●", _coordinator(event.group), (), (f"generation {event.generation} has no member",))
        case e.GroupStabilized():
            return Told("●", _coordinator(event.group), (), ("SyncGroup", "NONE", f"generation {event.generation} "))
        case e.RebalanceStarted():
            words = (f"rebalance: {event.cause}", event.trigger)
            return Told("●", _coordinator(event.group), (), words, event.trigger)
        case e.MemberRemoved():
            return Told("●", _coordinator(event.group), (), (f"removes {event.member}: {event.reason}",), event.member)
        case e.HeartbeatAnswered():
            return Told("▶", _coordinator(event.group), (event.member,), ("heartbeat", event.error))
        case e.CoordinatorFound():
            words = ("FindCoordinator", event.group, f"broker-{event.broker}")
            return Told("▶", "brokers", (event.member,), words)
        case e.CoordinatorLost():
            words = (
                f"marks broker-{event.broker} unavailable",
                event.cause.replace("null", "a request was disconnected"),
            )
            return Told("✖", event.member, (_coordinator(event.group),), words)
    return None


def _of_offsets(event: e.Event) -> Told | None:
    words: tuple[str, ...]
    match event:
        case e.SessionRenewed():
            return Told("▶", event.member, (_coordinator(event.group),), ("OffsetCommit",))
        case e.OffsetsCommitted(member="adminclient"):
            words = ("OffsetCommit", "NONE", "of an administrator", f"{len(event.offsets)} partition")
            return Told("●", _coordinator(event.group), (), words)
        case e.OffsetsCommitted(member=""):
            return Told("●", _coordinator(event.group), (), (f"{len(event.offsets)} partition",))
        case e.OffsetsCommitted():
            words = ("OffsetCommit", "NONE", f"generation {event.generation} ", f"{len(event.offsets)} partition")
            return Told("▶", _coordinator(event.group), (event.member,), words)
        case e.OffsetCommitRefused(error="CommitFailedException"):
            return Told("●", event.member, (), ("OffsetCommit", event.error, "not sent"))
        case e.OffsetCommitRefused():
            words = ("OffsetCommit", event.error, f"generation {event.generation}")
            return Told("▶", _coordinator(event.group), (event.member,), words)
    return None


def _of_callbacks(event: e.Event) -> Told | None:
    match event:
        case e.PartitionsAssigned():
            name = "assign()" if event.generation == -1 else "onPartitionsAssigned"
        case e.PartitionsRevoked():
            name = "onPartitionsLost" if event.lost else "onPartitionsRevoked"
        case e.RebalanceListenerCalled():
            name = "rebalance listener begins"
        case e.RebalanceListenerReturned():
            name = f"rebalance listener returns{f' · commitSync {event.commit}' if event.commit else ''}"
        case _:
            return None
    topics = {place.rpartition("-")[0] for place in event.partitions}
    return Told("●", event.member, (), (f"{name} · ", *(sorted(topics) or ["no partition"])))


def _of_producers(event: e.Event) -> Told | None:
    words: tuple[str, ...]
    leaders = "partition leaders"
    match event:
        case e.ProducerIdAssigned():
            return Told("●", event.producer, (), (f"uses producer id {event.producer_id} ", f"epoch {event.epoch}"))
        case e.ProducerCoordinatorFound():
            return Told("▶", "brokers", (event.producer,), ("FindCoordinator", event.of, f"broker-{event.broker}"))
        case e.ProduceSent():
            words = (f"Produce to broker-{event.broker} ", *(["again"] if event.retried else []))
            return Told("▶", event.producer, (leaders,), words)
        case e.BatchAcknowledged(base_offset=-1, duplicate=False):
            return Told("●", event.producer, (), ("Produce", event.partition, "no offset"))
        case e.BatchAcknowledged():
            words = ("Produce", event.partition, "duplicate" if event.duplicate else "NONE")
            return Told("▶", leaders, (event.producer,), words)
        case e.BatchRetried() | e.BatchFailed():
            words = (event.error, event.partition)
            words += (f"attempt {event.attempt}",) if isinstance(event, e.BatchRetried) else ("given up",)
            if event.disconnected_from >= 0:
                return Told("✖", event.producer, (leaders,), (f"broker-{event.disconnected_from} ", *words))
            if isinstance(event, e.BatchRetried):
                return Told("▶", leaders, (event.producer,), words)
            return Told("●", event.producer, (), words)
    return None


def _of_transactions(event: e.Event) -> Told | None:
    words: tuple[str, ...]
    leaders, coordinator = "partition leaders", "transaction coordinator"
    match event:
        case e.RecordsAppended() if _of_offsets_in_transaction(event):
            words = ("TxnOffsetCommit", f"{event.count} offset", f"{event.partition} at {event.base_offset} ")
            return Told("●", "group coordinator", (), words, f"producer id {event.producer_id}")
        case e.RecordsAppended() if event.marker:
            words = (
                "WriteTxnMarkers",
                f"{event.marker} marker",
                f"{event.partition} at {event.base_offset} ",
                f"epoch {event.epoch}",
            )
            return Told("●", leaders, (), words, f"producer id {event.producer_id}")
        case e.TransactionStateChanged(state="PrepareCommit", loaded=False):
            return Told("▶", event.transactional_id, (coordinator,), ("EndTxn", "commit", f"epoch {event.epoch}"))
        case e.TransactionStateChanged():
            words = (event.transactional_id, event.state, f"epoch {event.epoch}")
            words += () if event.loaded else (_step(event),)
            words += (f"broker-{event.broker} loads",) if event.loaded else ()
            return Told("●", coordinator, (), words, event.transactional_id)
        case e.TransactionFenced():
            words = (f"fences {event.transactional_id}", event.reason, f"epoch {event.epoch}")
            return Told("●", coordinator, (), words, event.transactional_id)
        case e.ProducerEpochRefused(partition=""):
            return Told("▶", coordinator, (event.transactional_id,), ("PRODUCER_FENCED", f"epoch {event.epoch}"))
        case e.ProducerEpochRefused():
            words = ("INVALID_PRODUCER_EPOCH", event.partition, f"epoch {event.epoch}")
            return Told("▶", leaders, (event.transactional_id,), words)
        case e.TransactionOffsetsRefused():
            return Told("▶", _coordinator(event.group), (event.transactional_id,), ("TxnOffsetCommit", event.error))
        case e.TransactionMarkerRefused():
            words = ("WriteTxnMarkers", event.error, event.partition, f"epoch {event.epoch}")
            return Told("▶", leaders, (coordinator,), words, f"producer id {event.producer_id}")
    return None


def _of_offsets_in_transaction(event: e.RecordsAppended) -> bool:
    internal = event.partition.rpartition("-")[0] == "__consumer_offsets"
    return internal and event.transactional and not event.marker


def _step(event: e.TransactionStateChanged) -> str:
    """The API that leads to a state; the partitions of a transaction stand in the order in which they joined it."""
    if event.state == "Ongoing" and event.partitions and "__consumer_offsets" in event.partitions[-1]:
        return "AddOffsetsToTxn or AddPartitionsToTxn"
    return {"Empty": "InitProducerId", "Ongoing": ": AddPartitionsToTxn"}.get(
        event.state, "transaction complete" if event.state.startswith("Complete") else ""
    )


def told_by(event: e.Event) -> Told | None:
    """What a raw event tells of a request; None for nothing."""
    return (
        _of_groups(event)
        or _of_offsets(event)
        or _of_callbacks(event)
        or _of_producers(event)
        or _of_transactions(event)
    )


class ConversationBook:
    """The raw events that tell of requests, oldest first."""

    def __init__(self) -> None:
        self.events: list[e.Event] = []

    def note(self, event: e.Event) -> None:
        """Record one event."""
        if isinstance(event, TELLING) and told_by(event) is not None:
            self.events.append(event)


class ConversationJudge:
    """The conversation of some names, or of all without names, at one instant."""

    def __init__(self, book: ConversationBook, names: Sequence[str], verdict: Verdict) -> None:
        self.book, self.names, self.verdict = book, set(names), verdict
        self.place = f"conversation of {', '.join(names) or 'all'}"

    def judge(self, header: str, rows: list[str]) -> None:
        """The newest rows, oldest first: each is the event at its place, and no event between them is missing."""
        truth: list[tuple[int, Told]] = []
        ordinary = others = 0
        for event in reversed(self.book.events):
            produces = isinstance(event, e.ProduceSent | e.BatchAcknowledged)
            ordinary, others = ordinary + produces, others + (not produces)
            told = told_by(event)
            assert told is not None
            if {told.source, *told.targets, told.about} & self.names if self.names else not produces:
                truth.append((event.at_us, told))
            if len(truth) == ROWS or others >= LONGEST or (ordinary >= LONGEST_PRODUCES and self.names):
                break
        truth.reverse()
        self.verdict.claim(len(rows) == len(truth), self.place, f"{len(rows)} rows, not {len(truth)}")
        for row, (at_us, told) in zip(reversed(rows), reversed(truth), strict=False):
            self._row(header, row, at_us, told)

    def _row(self, header: str, row: str, at_us: int, told: Told) -> None:
        match = re.match(rf"\s*(\d\d):(\d\d):(\d\d)\.(\d\d\d)( +[ {ARROWS}]*[{ARROWS}]) +(\S.*)", row)
        if match is None:
            self.verdict.claim(False, self.place, f"unknown row {row!r}")
            return
        hours, minutes, seconds, millis = map(int, match.groups()[:4])
        shown = ((hours * 60 + minutes) * 60 + seconds) * 1_000 + millis
        self.verdict.claim(shown == at_us // MS, self.place, f"{row!r} at {at_us}")
        lanes, text = match[5], match[6].rstrip() + " "
        for words in told.words if "…" not in text else ():
            self.verdict.claim(words in text or words.strip() + " " in text, self.place, f"{text!r} lacks {words!r}")
        self._arrow(lanes, header[match.start(5) :], told, row)

    def _arrow(self, lanes: str, header: str, told: Told, row: str) -> None:
        """The line leads from the source's column to each target's."""
        cells = [place for place, sign in enumerate(lanes) if sign in "│├┤┼▶◀✖●"]
        lane = cells[1] - cells[0] if len(cells) > 1 else len(header)
        titles = [header[max(0, cell - lane // 2) : cell + (lane + 1) // 2].strip() for cell in cells]
        self.verdict.claim(len(cells) == len(header.split("  ")) or all(titles), self.place, f"{titles} in {header!r}")
        column = {name: _column(titles, name) for name in (told.source, *told.targets)}
        self.verdict.claim(-1 not in column.values(), self.place, f"{column} in {titles}")
        signs = {name: lanes[cells[column[name]]] for name in column}
        right = {target: column[target] > column[told.source] for target in told.targets}
        elsewhere = [target for target in told.targets if column[target] != column[told.source]]
        for target in elsewhere:
            head = "✖" if told.sign == "✖" else "▶" if right[target] else "◀"
            self.verdict.claim(signs[target] == head, self.place, f"no {head} at {target} in {row!r}")
        start = "●" if len(elsewhere) < len(told.targets) or not told.targets else "├" if any(right.values()) else "┤"
        self.verdict.claim(signs[told.source] == start, self.place, f"no {start} at {told.source} in {row!r}")


def _column(titles: list[str], name: str) -> int:
    """The column of a name: its own, or the last, which is shared."""
    for place, title in enumerate(titles):
        first, cut, last = title.partition("…")
        if title == name or (cut and name.startswith(first) and name.endswith(last) and len(name) > len(title)):
            return place
    return len(titles) - 1 if titles[-1] in {"others", "brokers"} else -1
