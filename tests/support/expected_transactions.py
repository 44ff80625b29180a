"""The truth about transactions, read from logs: what each transactional id wrote, and what markers made of records."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from cluster.coordinators.records import TransactionMetadata, TransactionTombstone
from cluster.protocol.record_batch import RecordBatch

UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort")


class LogFacts(NamedTuple):
    """One log's transactions: up to where everything is decided, which batches are markers, which were aborted."""

    last_stable_offset: int
    control: frozenset[int]  # base offsets
    aborted: frozenset[int]
    aborted_records: int

    def is_for(self, batch: RecordBatch, *, read_committed: bool) -> bool:
        """Whether applications of such readers get the records of a batch."""
        return batch.base_offset not in self.control and not (read_committed and batch.base_offset in self.aborted)


def log_facts(batches: Sequence[RecordBatch], high_watermark: int, log_start: int) -> LogFacts:
    """Walk a log from its beginning."""
    control: set[int] = set()
    aborted: set[int] = set()
    open_batches: dict[int, list[RecordBatch]] = {}
    undecided: list[int] = []
    records = 0
    for batch in batches:
        if batch.marker:
            control.add(batch.base_offset)
            ended = open_batches.pop(batch.producer_id, [])
            if ended and batch.base_offset >= high_watermark:
                undecided.append(ended[0].base_offset)
            if batch.marker == "ABORT":
                aborted.update(one.base_offset for one in ended)
                records += sum(one.count for one in ended)
        elif batch.transactional:
            open_batches.setdefault(batch.producer_id, []).append(batch)
    firsts = [*undecided, *(one[0].base_offset for one in open_batches.values())]
    stable = min([high_watermark, *(max(first, log_start) for first in firsts)])
    return LogFacts(stable, frozenset(control), frozenset(aborted), records)


def transactions(logs: Sequence[tuple[Sequence[RecordBatch], int]], fenced: Counter[str], now_us: int) -> Any:  # noqa: ANN401
    """The `transactions` of the view document, from the (batches, high watermark) of `__transaction_state`."""
    found: dict[str, dict[str, Any]] = {}
    for batches, high_watermark in logs:
        for batch in batches:
            if batch.next_offset > high_watermark:
                break
            for record in batch.payload:
                if isinstance(record, TransactionMetadata):
                    _write(found, record, now_us)
                elif isinstance(record, TransactionTombstone):
                    found[record.transactional_id].update(state="Dead", open_ms=0)
    for transactional_id, count in fenced.items():
        if transactional_id in found:
            found[transactional_id]["fenced"] = count
    return found


def _write(found: dict[str, dict[str, Any]], record: TransactionMetadata, now_us: int) -> None:
    entry = found.get(record.transactional_id)
    if entry is None:
        counts = dict.fromkeys(("begun", "committed", "aborted", "fenced"), 0)
        entry = found[record.transactional_id] = {"state": "", **counts}
    state = record.state.value
    if state != entry["state"]:
        entry["begun"] += state == "Ongoing"
        entry["committed"] += state == "CompleteCommit"
        entry["aborted"] += state == "CompleteAbort"
    entry["state"], entry["producer_id"], entry["epoch"] = state, record.producer_id, record.epoch
    entry["open_ms"] = (now_us - record.start_us) // 1000 if state in UNDER_WAY else 0
