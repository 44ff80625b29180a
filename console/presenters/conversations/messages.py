"""Requests and answers that events tell of: both ends, with Kafka's API name, error, epoch or generation.

An event tells of one end of a request: a client's or a broker's. Where it names no broker, the other end is a role: the
group's coordinator, the transaction coordinator, the leaders of partitions, any broker.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from cluster import events as e
from cluster.protocol.names import ADMIN_CLIENT
from console.presenters.formatting import duration, many, ranges

KEPT, KEPT_PRODUCES = 2_500, 1_500
REQUEST, ANSWER, REFUSED, LOST, NOTE = "request", "answer", "refused", "lost", "note"
TRANSACTIONS, LEADERS, BROKERS = "transaction coordinator", "partition leaders", "brokers"
GROUPS, OFFSETS_TOPIC = "group coordinator", "__consumer_offsets-"
STEPS = {
    "Empty": "InitProducerId · ",
    "Ongoing": "AddPartitionsToTxn · ",
    "CompleteCommit": "transaction complete · ",
    "CompleteAbort": "transaction complete · ",
}
"""What has led a transactional id to a state; an abort has several causes."""


class Message(NamedTuple):
    """A request, an answer, or a note of one end (`targets` empty). `about` names a process that is not an end.

    `lost`: the client gave the request up, because its connection ended or no answer came.
    """

    event: e.Event
    kind: str
    source: str
    targets: tuple[str, ...]
    text: str
    about: str = ""

    def concerns(self, names: Container[str]) -> bool:
        """Whether one of the names has a part in it."""
        return self.source in names or self.about in names or any(name in names for name in self.targets)


def coordinator_of(group: str) -> str:
    """The role of a group's coordinator."""
    return f"{group} coordinator"


def producer_id_name(producer_id: int) -> str:
    """What a marker names in place of its transactional id."""
    return f"producer id {producer_id}"


def _offsets(event: e.OffsetsCommitted) -> Message:
    role, words = coordinator_of(event.group), f"{many(len(event.offsets), 'partition')}"
    if event.member == ADMIN_CLIENT:
        return Message(event, NOTE, role, (), f"OffsetCommit · NONE · of an administrator · {words}")
    if not event.member:
        return Message(event, NOTE, role, (), f"offsets committed without a member · {words}")
    return Message(
        event, ANSWER, role, (event.member,), f"OffsetCommit · NONE · generation {event.generation} · {words}"
    )


def _offsets_refused(event: e.OffsetCommitRefused) -> Message:
    words = f"OffsetCommit · {event.error} · generation {event.generation}"
    if event.error == "CommitFailedException":
        return Message(event, NOTE, event.member, (), f"{words} · not sent")
    return Message(event, REFUSED, coordinator_of(event.group), (event.member,), words)


def _cause(event: e.CoordinatorLost) -> str:
    """The cause in Kafka's words; its log says `null` of a DisconnectException, which has no message."""
    return "a request was disconnected" if event.cause == "null" else event.cause


def _heartbeat(event: e.HeartbeatAnswered) -> Message:
    kind = ANSWER if event.error == "NONE" else REFUSED
    return Message(event, kind, coordinator_of(event.group), (event.member,), f"heartbeat · {event.error}")


def _barrier(event: e.JoinBarrierCompleted) -> Message:
    role, members = coordinator_of(event.group), tuple(event.members.values())
    if not members:
        return Message(event, NOTE, role, (), f"generation {event.generation} has no member")
    words = f"JoinGroup · NONE · generation {event.generation} · after {duration(event.waited_us)}"
    return Message(event, ANSWER, role, members, words)


def _callback(event: e.PartitionsAssigned | e.PartitionsRevoked) -> Message:
    """A callback of the rebalance listener, or what moves the partitions of a consumer without one."""
    if isinstance(event, e.PartitionsRevoked):
        name = "onPartitionsLost" if event.lost else "onPartitionsRevoked"
    else:
        name = "assign()" if event.generation < 0 else "onPartitionsAssigned"
    return Message(event, NOTE, event.member, (), f"{name} · {_places(event.partitions)}")


def _listener(event: e.RebalanceListenerCalled | e.RebalanceListenerReturned) -> Message:
    words = f"rebalance listener begins · {_places(event.partitions)}"
    if isinstance(event, e.RebalanceListenerReturned):
        stored = f" · commitSync {event.commit}" if event.commit else ""
        words = f"rebalance listener returns{stored} · {_places(event.partitions)}"
    return Message(event, NOTE, event.member, (), words)


def _places(partitions: tuple[str, ...]) -> str:
    return ranges(list(partitions)) or "no partition"


def _produce(event: e.ProduceSent) -> Message:
    again = f" · again {ranges(list(event.retried))}" if event.retried else ""
    first = f" · {ranges(list(event.records))}" if event.records else ""
    return Message(event, REQUEST, event.producer, (LEADERS,), f"Produce to broker-{event.broker}{first}{again}")


def _acknowledged(event: e.BatchAcknowledged) -> Message:
    if event.base_offset < 0 and not event.duplicate:
        return Message(event, NOTE, event.producer, (), f"Produce · {event.partition} · no offset in an answer")
    error = "duplicate" if event.duplicate else "NONE"
    words = f"Produce · {error} · {event.partition} · after {duration(event.latency_us)}"
    return Message(event, ANSWER, LEADERS, (event.producer,), words)


def _unanswered(event: e.BatchRetried | e.BatchFailed, words: str) -> Message:
    if event.disconnected_from >= 0:
        words = f"Produce to broker-{event.disconnected_from} · {event.error} · {event.partition}{words}"
        return Message(event, LOST, event.producer, (LEADERS,), words)
    words = f"Produce · {event.error} · {event.partition}{words}"
    if isinstance(event, e.BatchFailed):  # the application was told; no answer need have said so
        return Message(event, NOTE, event.producer, (), words)
    return Message(event, REFUSED, LEADERS, (event.producer,), words)


def _identity(event: e.ProducerIdAssigned) -> Message:
    """InitProducerId's answer, EndTxn's, or the epoch that an idempotent producer raises: the event is the same."""
    return Message(event, NOTE, event.producer, (), f"uses producer id {event.producer_id} · epoch {event.epoch}")


def _state(event: e.TransactionStateChanged) -> Message:
    own, name = f"{event.state} · epoch {event.epoch}", event.transactional_id
    if event.loaded:
        return Message(event, NOTE, TRANSACTIONS, (), f"broker-{event.broker} loads {name}: {own}", name)
    if event.state == "PrepareCommit":
        return Message(event, REQUEST, name, (TRANSACTIONS,), f"EndTxn · commit · {own}")
    where, step = "", STEPS.get(event.state, "")
    if event.state == "Ongoing" and event.partitions:
        where = f" · {ranges(list(event.partitions))}"
        if event.partitions[-1].startswith(OFFSETS_TOPIC):  # the newest is the last: transaction.version 2 has one API
            step = "AddOffsetsToTxn or AddPartitionsToTxn · "
    return Message(event, NOTE, TRANSACTIONS, (), f"{name}: {step}{own}{where}", name)


def _epoch_refused(event: e.ProducerEpochRefused) -> Message:
    words = f"epoch {event.epoch}"
    if event.partition:
        words = f"Produce · INVALID_PRODUCER_EPOCH · {event.partition} · {words}"
        return Message(event, REFUSED, LEADERS, (event.transactional_id,), words)
    return Message(event, REFUSED, TRANSACTIONS, (event.transactional_id,), f"PRODUCER_FENCED · {words}")


def _appended(event: e.RecordsAppended) -> Message | None:
    about = producer_id_name(event.producer_id)
    where = f"{event.partition} at {event.base_offset} · epoch {event.epoch}"
    if event.marker:
        return Message(event, NOTE, LEADERS, (), f"WriteTxnMarkers · {event.marker} marker · {where}", about)
    if event.transactional and event.partition.startswith(OFFSETS_TOPIC):
        return Message(event, NOTE, GROUPS, (), f"TxnOffsetCommit · {many(event.count, 'offset')} · {where}", about)
    return None


TABLE: dict[type[e.Event], Callable[[Any], Message | None]] = {
    e.CoordinatorFound: lambda x: Message(
        x, ANSWER, BROKERS, (x.member,), f"FindCoordinator · {x.group} · broker-{x.broker}"
    ),
    e.CoordinatorLost: lambda x: Message(
        x, LOST, x.member, (coordinator_of(x.group),), f"marks broker-{x.broker} unavailable: {_cause(x)}"
    ),
    e.MemberIdAssigned: lambda x: Message(
        x, REFUSED, coordinator_of(x.group), (x.member,), "JoinGroup · MEMBER_ID_REQUIRED"
    ),
    e.JoinReceived: lambda x: Message(x, REQUEST, x.member, (coordinator_of(x.group),), "JoinGroup · parked"),
    e.JoinBarrierCompleted: _barrier,
    e.SyncReceived: lambda x: Message(
        x,
        REQUEST,
        x.member,
        (coordinator_of(x.group),),
        f"SyncGroup · assignment of {many(len(x.assignments), 'member')}" if x.leader else "SyncGroup",
    ),
    e.GroupStabilized: lambda x: Message(
        x, NOTE, coordinator_of(x.group), (), f"SyncGroup · NONE · generation {x.generation} · to every parked member"
    ),
    e.RebalanceStarted: lambda x: Message(
        x, NOTE, coordinator_of(x.group), (), f"rebalance: {x.cause}{f' ({x.trigger})' if x.trigger else ''}", x.trigger
    ),
    e.MemberRemoved: lambda x: Message(
        x, NOTE, coordinator_of(x.group), (), f"removes {x.member}: {x.reason}", x.member
    ),
    e.HeartbeatAnswered: _heartbeat,
    e.SessionRenewed: lambda x: Message(x, REQUEST, x.member, (coordinator_of(x.group),), "OffsetCommit"),
    e.OffsetsCommitted: _offsets,
    e.OffsetCommitRefused: _offsets_refused,
    e.PartitionsAssigned: _callback,
    e.PartitionsRevoked: _callback,
    e.RebalanceListenerCalled: _listener,
    e.RebalanceListenerReturned: _listener,
    e.ProducerIdAssigned: _identity,
    e.ProducerCoordinatorFound: lambda x: Message(
        x, ANSWER, BROKERS, (x.producer,), f"FindCoordinator · {x.of} · broker-{x.broker}"
    ),
    e.ProduceSent: _produce,
    e.BatchAcknowledged: _acknowledged,
    e.BatchRetried: lambda x: _unanswered(x, f" · attempt {x.attempt}"),
    e.BatchFailed: lambda x: _unanswered(x, " · given up"),
    e.TransactionStateChanged: _state,
    e.TransactionFenced: lambda x: Message(
        x, NOTE, TRANSACTIONS, (), f"fences {x.transactional_id}: {x.reason} · epoch {x.epoch}", x.transactional_id
    ),
    e.ProducerEpochRefused: _epoch_refused,
    e.TransactionOffsetsRefused: lambda x: Message(
        x, REFUSED, coordinator_of(x.group), (x.transactional_id,), f"TxnOffsetCommit · {x.error}"
    ),
    e.TransactionMarkerRefused: lambda x: Message(
        x, REFUSED, LEADERS, (TRANSACTIONS,), f"WriteTxnMarkers · {x.error} · {x.partition} · epoch {x.epoch}",
        producer_id_name(x.producer_id),
    ),
    e.RecordsAppended: _appended,
}  # fmt: skip
PRODUCES = (e.ProduceSent, e.BatchAcknowledged)


class ConversationLog:
    """The newest messages up to the shown instant; ordinary Produce requests and answers apart.

    `more`: how many more of each kind it keeps. `noted`: how many it has ever had of each kind.
    """

    def __init__(self, more: int = 0) -> None:
        self._messages: deque[Message] = deque(maxlen=KEPT + more)
        self._produces: deque[Message] = deque(maxlen=KEPT_PRODUCES + more)
        self.noted = (0, 0)

    def observe(self, event: e.Event) -> None:
        """Take one event; those that tell of no request are ignored."""
        make = TABLE.get(event.__class__)
        if make is None:
            return
        message = make(event)
        if message is not None:
            messages, produces = self.noted
            if isinstance(event, PRODUCES):
                self._produces.append(message)
                self.noted = (messages, produces + 1)
            else:
                self._messages.append(message)
                self.noted = (messages + 1, produces)

    def begin(self, names: Collection[str] = ()) -> int:
        """The number of the event from which on `messages` has all of these processes, so that there is no gap."""
        kept = (self._messages, self._produces) if names else (self._messages,)
        return max((one[0].event.seq for one in kept if len(one) == one.maxlen), default=0)

    def messages(self, names: Collection[str] = (), after: tuple[int, int] = (0, 0)) -> Iterator[Message]:
        """Those that concern the names, oldest first; without names all but ordinary Produce requests and answers.

        `after`: only those that have come since `noted` had this value.
        """
        newer = self._newest(self._messages, self.noted[0] - after[0])
        if not names:
            return iter(newer)
        first = self.begin(names)
        every = merge(newer, self._newest(self._produces, self.noted[1] - after[1]), key=_sequence)
        return (message for message in every if message.event.seq >= first and message.concerns(names))

    @staticmethod
    def _newest(kept: deque[Message], count: int) -> Iterable[Message]:
        return kept if count >= len(kept) else list(islice(reversed(kept), count))[::-1]


def _sequence(message: Message) -> int:
    return message.event.seq
