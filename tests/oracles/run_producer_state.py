"""producer_state.json: appends, markers, expirations; `layer` says whether duplicates are looked for in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cluster.protocol.errors import ErrorCode
from cluster.protocol.record_batch import NO_PRODUCER_ID, RecordBatch
from cluster.storage.producer_state import ProducerStates
from tests.oracles.outcome import Skip
from tests.oracles.rules import IN_FORCE

EXPIRATION_US = 86_400_000_000
VALIDATED = ("client", "coordinator")


class Bench:
    """The producer state of one log, its end and its clock."""

    def __init__(self, layer: str) -> None:
        self.states = ProducerStates(IN_FORCE.get())
        self.duplicates = layer == "log"
        self.log_end = 0
        self.now_us = 0

    def batch(self, op: dict[str, Any], **more: Any) -> RecordBatch:  # noqa: ANN401 - fields of a batch
        """What an op appends, at its own offset or the log's end."""
        offset = op.get("offset", op.get("first_offset", self.log_end))
        count = op["last_seq"] - op["base_seq"] + 1 if "last_seq" in op else 1
        if op.get("base_seq", 0) < 0:
            count = 1
        if "last_offset" in op:
            count = op["last_offset"] - offset + 1
        self.log_end = offset
        return RecordBatch(
            "orders-0",
            "",
            op.get("pid", NO_PRODUCER_ID),
            op.get("epoch", -1),
            op.get("base_seq", -1),
            0,
            count,
            0,
            self.now_us,
            base_offset=offset,
            append_us=self.now_us,
            transactional=op.get("transactional", False),
            **more,
        )

    def take(self, batch: RecordBatch) -> str:
        """Append it."""
        self.states.update(batch)
        self.log_end = batch.next_offset
        return "accepted"


def run(vector: dict[str, Any], document: dict[str, Any]) -> None:
    bench = Bench(vector["layer"])
    for number, op in enumerate(vector["steps"], 1):
        if op.get("situation"):
            raise Skip(f"situation {op['situation']!r} cannot be set up")
        apply = OPS.get(op["op"])
        if apply is None:
            raise Skip(f"op {op['op']!r} is not known")
        outcome = apply(bench, op)
        if "expect" in op:
            assert outcome == op["expect"], f"step {number} {op['op']}: {outcome} instead of {op['expect']}"
        _check_after(bench, op, op.get("after", {}))


def _append(bench: Bench, op: dict[str, Any]) -> str:
    batch = bench.batch(op)
    if op.get("origin", "client") not in VALIDATED:
        return bench.take(batch)
    error, duplicate_of = bench.states.check(batch) if bench.duplicates else (bench.states.refusal(batch), -1)
    if duplicate_of >= 0:
        return "duplicate"
    return bench.take(batch) if error is ErrorCode.NONE else error.name


def _marker(bench: Bench, op: dict[str, Any]) -> str:
    epoch = op.get("coordinator_epoch", 0)
    batch = bench.batch({**op, "transactional": True}, marker=op["type"], coordinator_epoch=epoch)
    if op.get("origin", "coordinator") in VALIDATED:
        error = bench.states.check_marker(op["pid"], op["epoch"], epoch, op.get("version", 1))
        if error is not ErrorCode.NONE:
            return error.name
    return bench.take(batch)


def _expire(bench: Bench, op: dict[str, Any]) -> str:
    bench.now_us += op["after_ms"] * 1000
    bench.states.expire(bench.now_us, EXPIRATION_US)
    return "kept" if op["pid"] in bench.states.entries else "forgotten"


def _forget(bench: Bench, op: dict[str, Any]) -> str:
    bench.states.entries.pop(op["pid"], None)
    return "forgotten"


def _verification_started(bench: Bench, op: dict[str, Any]) -> str:
    sequence = op.get("lowest_seq", op.get("base_seq", op.get("seq", 0)))
    with_epochs = bool(op.get("supports_epoch_bump", op.get("version", 1) >= 2))
    bench.states.verification_started(op["pid"], op.get("epoch", 0), sequence, with_epochs=with_epochs)
    return "accepted"


OPS: dict[str, Callable[[Bench, dict[str, Any]], str]] = {
    "append": _append,
    "marker": _marker,
    "expire": _expire,
    "forget": _forget,
    "verification_started": _verification_started,
}


def _check_after(bench: Bench, op: dict[str, Any], after: dict[str, Any]) -> None:
    producer_id = op.get("pid", NO_PRODUCER_ID)
    for field, wanted in after.items():
        if field == "lowest_seq":
            found: object = bench.states.verifying[producer_id].lowest_sequence
        elif field == "epoch" and op["op"] == "verification_started":
            found = bench.states.verifying[producer_id].epoch
        elif field == "verifying":
            found = producer_id in bench.states.verifying
        else:
            entry = bench.states.entries[producer_id]
            newest = entry.batches[-1] if entry.batches else None
            known = {
                "epoch": entry.epoch,
                "last_seq": newest.last_sequence if newest else -1,
                "first_seq": entry.batches[0].first_sequence if newest else -1,
                "last_offset": newest.base_offset if newest else -1,
                "first_offset": entry.batches[0].base_offset if newest else -1,
                "ongoing_txn": entry.first_offset >= 0,
                "coordinator_epoch": entry.coordinator_epoch,
            }
            if field not in known:
                raise Skip(f"state {field!r} is not known")
            found = known[field]
        assert found == wanted, f"after: {field} is {found}, not {wanted}"
