"""What a consumer's fetcher makes of a stretch of log: which records its application gets, and where it reads on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from cluster.clients.consumer.fetcher import Fetcher
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import FetchedPartition
from cluster.protocol.record_batch import ABORT, COMMIT, NO_PRODUCER_ID, RecordBatch

PARTITION = "orders-0"
AT_ONCE = 1 << 30


def read(vector: dict[str, Any]) -> tuple[list[int], int]:
    """The offsets that poll() returns of `log`, and the position behind them."""
    committed_only = vector.get("isolation", "read_committed") == "read_committed"
    batches = [_batch(entry) for entry in vector["log"]]
    if committed_only:  # the broker sends nothing behind the last stable offset
        batches = [batch for batch in batches if batch.base_offset < vector.get("lso", AT_ONCE)]
    start = vector.get("position", batches[0].base_offset if batches else 0)
    reader = SimpleNamespace(
        name="g-1",
        partitions={},
        wake=lambda: None,
        mark_metadata_stale=lambda: None,
        position_skipped=lambda *_: None,
        records_buffered=lambda: None,
        fetched_records_dropped=lambda *_: None,
    )
    fetcher = Fetcher(cast(Any, reader), AT_ONCE, AT_ONCE, 1, read_committed=committed_only)
    fetcher.assign({PARTITION: start})
    aborted = tuple(_aborted(entry, batches) for entry in vector.get("aborted", [])) if committed_only else ()
    fetched = FetchedPartition(PARTITION, ErrorCode.NONE, batches=batches, aborted=aborted)
    fetcher._keep(0, fetched, None)
    slices = fetcher.collect(AT_ONCE)
    offsets = [offset for one in slices for offset in range(one.first_offset, one.next_offset)]
    return offsets, fetcher.positions[PARTITION]


def _batch(entry: dict[str, Any]) -> RecordBatch:
    control = str(entry.get("control") or "").upper()
    marker = ABORT if control == ABORT else COMMIT if control else ""
    base = entry["base"]
    count = entry.get("last", base) - base + 1
    return RecordBatch(
        PARTITION,
        "",
        entry.get("pid", NO_PRODUCER_ID),
        entry.get("epoch", 0),
        0,
        0,
        count,
        count,
        0,
        base_offset=base,
        leader_epoch=0,
        append_us=0,
        transactional=bool(marker) or bool(entry.get("txn")),
        marker=marker,
    )


def _aborted(entry: dict[str, Any], batches: list[RecordBatch]) -> tuple[int, int, int]:
    """Producer id, first offset and marker of an aborted transaction; Kafka names no marker: it is in the log."""
    producer_id, first = entry["pid"], entry.get("first", entry.get("first_offset", 0))
    ends = (
        batch.base_offset
        for batch in batches
        if batch.marker and batch.producer_id == producer_id and batch.base_offset >= first
    )
    return producer_id, first, entry.get("last", next(ends, AT_ONCE))
