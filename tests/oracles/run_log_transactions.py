"""log_transactions.json: transactions in one log, its aborted index, and what a reader of committed data keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster.protocol.record_batch import ABORT, NO_PRODUCER_ID, RecordBatch
from cluster.storage.partition_log import PartitionLog
from cluster.storage.transaction_index import AbortedTransaction, TransactionIndex
from tests.oracles.outcome import Skip
from tests.oracles.reading import read

LATE_TIMEOUT_US = 900_000_000 + 300_000_000  # transaction.max.timeout.ms + 5 minutes


class Bench:
    """A leader's log, its high watermark and its clock."""

    def __init__(self) -> None:
        self.log = PartitionLog("orders-0")
        self.high_watermark = self.log_start = self.now_us = 0
        self.sequences: dict[int, int] = {}
        self.completed: dict[str, Any] | None = None  # by the last marker
        self.lso_of_completed: int | None = None

    def append(self, op: dict[str, Any], **more: Any) -> None:  # noqa: ANN401 - fields of a batch
        """So many records (a marker is one), at the log's end."""
        producer_id, count = op.get("pid", NO_PRODUCER_ID), op.get("records", 1)
        sequence = -1
        if producer_id != NO_PRODUCER_ID and not more.get("marker"):
            sequence = self.sequences.get(producer_id, 0)
            self.sequences[producer_id] = sequence + count
        known = self.log.transactions.open
        batch = RecordBatch(
            "orders-0",
            "",
            producer_id,
            op.get("epoch", 0),
            sequence,
            0,
            count,
            0,
            self.now_us,
            base_offset=self.log.log_end,
            leader_epoch=0,
            append_us=self.now_us,
            **more,
        )
        if batch.marker:
            first = known.get(producer_id)
            aborted = {"first": first, "last": batch.base_offset, "aborted": batch.marker == ABORT}
            self.completed = {"pid": producer_id, **aborted} if first is not None else None
        self.log.append_as_leader(batch)
        if batch.marker and self.completed is not None:
            self.lso_of_completed = min(known.values(), default=batch.next_offset)


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    if vector.get("situation"):
        raise Skip(f"situation {vector['situation']!r} cannot be set up")
    if "steps" in vector:
        _steps(vector)
    elif "index" in vector:
        _index(vector)
    elif "log" in vector:
        _consumer(vector)
    else:
        raise Skip("the vector's kind is not known")


def _steps(vector: dict[str, Any]) -> None:
    bench = Bench()
    for number, op in enumerate(vector["steps"], 1):
        apply = OPS.get(op["op"])
        if apply is None:
            raise Skip(f"op {op['op']!r} is not known")
        apply(bench, op)
        for name, wanted in op.get("expect", {}).items():
            look = LOOKS.get(name)
            if look is None:
                raise Skip(f"expectation {name!r} is not known")
            found = look(bench, op)
            assert found == wanted, f"step {number} {op['op']}: {name} is {found}, not {wanted}"


def _at(bench: Bench, op: dict[str, Any]) -> None:
    missing = op["offset"] - bench.log.log_end
    assert missing >= 0
    if missing:
        bench.append({"records": missing})


def _high_watermark(bench: Bench, op: dict[str, Any]) -> None:
    bench.high_watermark = op["offset"]
    bench.log.transactions.high_watermark_at(op["offset"])


def _truncate(bench: Bench, op: dict[str, Any]) -> None:
    bench.log.truncate_to(op.get("offset", op.get("log_end", 0)))
    bench.log.recall_producers()
    bench.high_watermark = min(bench.high_watermark, bench.log.log_end)
    bench.log.transactions.high_watermark_at(bench.high_watermark)


def _delete(bench: Bench, op: dict[str, Any]) -> None:
    bench.log_start = op["log_start"]


def _sleep(bench: Bench, op: dict[str, Any]) -> None:
    duration = op["ms"]
    if isinstance(duration, str):
        less = int(duration.partition("late_timeout")[2] or 0)
        bench.now_us += LATE_TIMEOUT_US + less * 1000
    else:
        bench.now_us += duration * 1000


OPS: dict[str, Callable[[Bench, dict[str, Any]], None]] = {
    "append": lambda bench, op: bench.append(op),
    "append_txn": lambda bench, op: bench.append(op, transactional=True),
    "marker": lambda bench, op: bench.append(
        op, transactional=True, marker=op["type"], coordinator_epoch=op.get("coordinator_epoch", 0)
    ),
    "at": _at,
    "high_watermark": _high_watermark,
    "truncate_to": _truncate,
    "delete_records": _delete,
    "sleep": _sleep,
}


def _completed(bench: Bench, op: dict[str, Any]) -> object:
    """The transaction that the last marker completed, as far as the vector says it; or whether there was one."""
    wanted, found = op["expect"]["completed"], bench.completed
    if isinstance(wanted, bool) or found is None:
        return found is not None if isinstance(wanted, bool) else None
    names = {"first_offset": "first", "last_offset": "last", "producer_id": "pid", "is_aborted": "aborted"}
    return {field: found[names.get(field, field)] for field in wanted}


def _aborted(bench: Bench, _: dict[str, Any]) -> list[dict[str, int]]:
    return [_as_vector(entry) for entry in bench.log.transactions.aborted]


def _as_vector(entry: AbortedTransaction) -> dict[str, int]:
    return dict(zip(("pid", "first", "last", "lso"), entry, strict=True))


LOOKS: dict[str, Callable[[Bench, dict[str, Any]], object]] = {
    "first_unstable": lambda bench, _: bench.log.transactions.first_unstable(bench.log_start),
    "first_undecided": lambda bench, _: bench.log.transactions.first_open(),
    "lso": lambda bench, _: bench.log.transactions.last_stable_offset(bench.high_watermark, bench.log_start),
    "log_end": lambda bench, _: bench.log.log_end,
    "aborted_index": _aborted,
    "completed": _completed,
    "lso_of_completed": lambda bench, _: bench.lso_of_completed,
    "late": lambda bench, _: bool(bench.log.producers.late(bench.now_us, LATE_TIMEOUT_US)),
}


def _entries(vector: dict[str, Any]) -> list[AbortedTransaction]:
    return [AbortedTransaction(one["pid"], one["first"], one["last"], one["lso"]) for one in vector["index"]]


def _index(vector: dict[str, Any]) -> None:
    if "query" in vector:
        index = _filled(vector)
        query, expect = vector["query"], vector["expect"]
        found, complete = index.collect(query["fetch_offset"], query["upper_bound"])
        assert [entry.producer_id for entry in found] == expect["aborted_pids"]
        if "complete" in expect:
            assert complete == expect["complete"]
    elif "append" in vector:
        index, entry = _filled(vector), vector["append"]
        accepted = index.follows(entry["last"])
        expect = vector["expect"]
        wanted = expect.get("append", expect.get("accepted")) if isinstance(expect, dict) else expect
        assert wanted in (accepted, "accepted" if accepted else "rejected"), f"append: accepted is {accepted}"
    elif "cases" in vector:
        for case in vector["cases"]:
            index = _filled(vector)
            if case.get("reset"):
                index.reset()
            else:
                index.truncate_to(case["truncate_to"])
            assert [entry.producer_id for entry in index.aborted] == case["left_pids"], case
    else:
        raise Skip("what is done with the index is not known")


def _consumer(vector: dict[str, Any]) -> None:
    offsets, position = read(vector)
    expect = vector["expect"]
    assert offsets == expect.get("returned_offsets", offsets), f"returned {offsets}"
    assert position == expect.get("position_after", position), f"position {position}"


def _filled(vector: dict[str, Any]) -> TransactionIndex:
    index = TransactionIndex()
    index.aborted = _entries(vector)
    return index
