"""From lines of producers and transaction coordinators to events of the kinds that a flight has.

A producer is called by its `client.id`. What a line does not tell is -1, or "": how many records a batch has, which
attempt it was, which partitions a transaction has.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from cluster import events as e
from cluster.events import Event
from recordings.log_reading.sentences import Said
from recordings.log_reading.writers import LogLine

Made = Iterator[Event]
FENCED: Final = frozenset({"PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING"})
"""Fatal errors after which another producer has the transactional id, or the coordinator has forgotten this one."""

_ERRORS: Final = {
    "InvalidPidMappingException": "INVALID_PRODUCER_ID_MAPPING",
    "InvalidProducerEpochException": "INVALID_PRODUCER_EPOCH",
    "OutOfOrderSequenceException": "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "ProducerFencedException": "PRODUCER_FENCED",
    "TransactionCoordinatorFencedException": "TRANSACTION_COORDINATOR_FENCED",
}
"""Java's exceptions whose error has another name (`Errors.java`)."""

_PACKAGE = re.compile(r"(?:[a-z]\w*\.)+(?=[A-Z])")
_DISCONNECTED = re.compile(r"Disconnected from node (\d{1,9})(?: due to timeout)?")


def _error(exception: str) -> str:
    """The error of an exception as Kafka names it; of one that is not in the table, its class."""
    name = _PACKAGE.sub("", exception.partition(":")[0], count=1)
    return _ERRORS.get(name, name)


def _producer_is(state: str, reason: str) -> Callable[[LogLine, Said], Made]:
    """The handler of a line after which a producer has this state."""

    def handle(line: LogLine, _said: Said) -> Made:
        yield e.ProducerStateChanged(producer=line.names[0], state=state, reason=reason)

    return handle


def _producer_fails(line: LogLine, said: Said) -> Made:
    """A fatal error ends the producer's work, an abortable one its transaction."""
    exception = _PACKAGE.sub("", said.words["exception"], count=1)
    if said.fact == "producer_abortable":
        yield e.ProducerStateChanged(producer=line.names[0], state="AbortableError", reason=exception)
        return
    error = _error(exception)
    state, reason = ("Fenced", error) if error in FENCED else ("FatalError", exception)
    yield e.ProducerStateChanged(producer=line.names[0], state=state, reason=reason)


def _producer_id_set(line: LogLine, said: Said) -> Made:
    producer_id, epoch = int(said.words["producer_id"]), int(said.words["epoch"])
    yield e.ProducerIdAssigned(producer=line.names[0], producer_id=producer_id, epoch=epoch)


def _producer_coordinator_found(line: LogLine, said: Said) -> Made:
    yield e.ProducerCoordinatorFound(producer=line.names[0], of=said.words["of"], broker=int(said.words["broker"]))


def _sequence_in_doubt(line: LogLine, said: Said) -> Made:
    yield e.SequenceInDoubt(
        producer=line.names[0], partition=said.words["partition"], acknowledged=int(said.words["acknowledged"]),
        following=int(said.words["following"]),
    )  # fmt: skip


def _batch_retried(line: LogLine, said: Said) -> Made:
    disconnected = _DISCONNECTED.fullmatch(said.words["cause"])
    yield e.BatchRetried(
        producer=line.names[0], partition=said.words["partition"], records=-1, error=said.words["error"], attempt=-1,
        disconnected_from=int(disconnected[1]) if disconnected else -1,
    )  # fmt: skip


def _batch_split(line: LogLine, said: Said) -> Made:
    yield e.BatchSplit(
        producer=line.names[0], partition=said.words["partition"], records=-1, pieces=-1, freed_bytes=-1,
        error=said.words["error"],
    )  # fmt: skip


def _batch_failed(line: LogLine, said: Said) -> Made:
    yield e.BatchFailed(
        producer=line.names[0], partition=said.words["partition"], records=-1, freed_bytes=-1,
        error=_error(said.words["exception"]), sent=True,
    )  # fmt: skip


def _transaction_is(line: LogLine, said: Said, state: str) -> e.TransactionStateChanged:
    return e.TransactionStateChanged(
        transactional_id=said.words["transactional_id"], broker=int(line.names[0]), state=state,
        producer_id=int(said.words.get("producer_id", -1)), epoch=int(said.words.get("epoch", -1)), timeout_ms=-1,
        start_us=-1, partitions=(),
    )  # fmt: skip


def _transactional_id_initialized(line: LogLine, said: Said) -> Made:
    yield _transaction_is(line, said, "Empty")


def _transaction_timed_out(line: LogLine, said: Said) -> Made:
    """Logged when the abort is written; the fence, of whose instant no line tells, was before it."""
    yield e.TransactionFenced(
        transactional_id=said.words["transactional_id"], broker=int(line.names[0]), producer_id=-1, epoch=-1,
        reason="timeout",
    )  # fmt: skip
    yield _transaction_is(line, said, "PrepareAbort")


def _producer_epoch_refused(_line: LogLine, said: Said) -> Made:
    yield e.ProducerEpochRefused(transactional_id=said.words["transactional_id"], producer_id=-1, epoch=-1)


def _marker_refused(_line: LogLine, said: Said) -> Made:
    yield e.TransactionMarkerRefused(
        partition=said.words["partition"], producer_id=int(said.words["producer_id"]), epoch=int(said.words["epoch"]),
        coordinator_epoch=int(said.words["coordinator_epoch"]), error=_error(said.words["exception"]),
    )  # fmt: skip


PRODUCER_FACTS: Final[dict[str, Callable[[LogLine, Said], Made]]] = {
    "producer_begins": _producer_is("Running", "started"),
    "producer_closes": _producer_is("Stopped", "close()"),
    "producer_abortable": _producer_fails,
    "producer_fatal": _producer_fails,
    "producer_id_set": _producer_id_set,
    "producer_coordinator_found": _producer_coordinator_found,
    "sequence_in_doubt": _sequence_in_doubt,
    "batch_retried": _batch_retried,
    "batch_split": _batch_split,
    "batch_failed": _batch_failed,
    "transactional_id_initialized": _transactional_id_initialized,
    "transaction_timed_out": _transaction_timed_out,
    "producer_epoch_refused": _producer_epoch_refused,
    "marker_refused": _marker_refused,
}
"""The facts of producers' and transaction coordinators' sentences → what makes their events."""
