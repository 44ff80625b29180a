"""`kafka-dump-log.sh` of a flight: the batches of a partition and their records. Source: `DumpLogSegments`.

A flight has no segment files: the log is printed as one, which begins at the log start. The tool of 4.3.1 reads files;
`--topic`, `--partition`, `--from`, `--max` and `--not-appended` are of this flight's own.
"""

from collections.abc import Iterator
from typing import Final

from cluster.events import RecordsAppended
from cluster.protocol.record_batch import LAST_SEQUENCE, NO_SEQUENCE
from cluster.view.state import ClusterView
from recordings.kafka_tools.coordinator_records import decoded, decoder_of
from recordings.kafka_tools.leader_logs import LeaderLog, LogBatch, LogOf
from recordings.kafka_tools.printed import MISSING, Printed, pretty_table
from recordings.kafka_tools.tool_lines import ToolLine
from recordings.kafka_tools.transaction_tables import partition_of

DUMP_LOG: Final = "kafka-dump-log"
NO_KEY: Final = -1
MARKER_KEY_BYTES, MARKER_VALUE_BYTES = 4, 6
"""A control record's key is a version and a type, its value a version and a coordinator epoch (`EndTxnMarker`)."""
_NOT_APPENDED = ("Timestamp", "ClientId", "Records", "BaseOffset", "Answer")


def dumped_partition(view: ClusterView, line: ToolLine) -> str:
    """The partition that a line names, by --topic and --partition or by the folder of its file. Raises CommandError."""
    if not line.has("files"):
        return partition_of(view, line, required=True)
    folder = line.one("files").rpartition("/")[0].rpartition("/")[2]
    if folder not in view.partitions:
        raise line.wrong(f"--files: `{line.one('files')[:80]}` is in no partition's folder: orders-0/…0.log", "files")
    return folder


def dumped_logs(view: ClusterView, line: ToolLine) -> list[str]:
    """The partition whose log a line asks for; none for a decoder of records that the view has."""
    return [] if decoder_of(line) else [dumped_partition(view, line)]


def dump_log(view: ClusterView, log_of: LogOf, line: ToolLine) -> Printed:
    """A partition's log, its decoded records, or what its leaders did not append.

    Raises CommandError for what is not there.
    """
    name = dumped_partition(view, line)
    if decoder_of(line):
        return decoded(view, name, line)
    log = log_of(name)
    if line.has("not-appended"):
        return _not_appended(log)
    first, most = line.number("from", 0, least=0) or 0, line.number("max", least=1)
    lines, more = [f"Dumping {name}", f"Log starting offset: {log.log_start}"], -1
    left = most
    for batch in log.left(first):
        offsets = [offset for offset in batch.offsets if offset >= first]
        if left is not None and left < len(offsets):
            offsets, more = offsets[:left], offsets[left]
        if offsets:
            lines.append(_batch_line(batch))
            lines += _record_lines(batch, offsets)
        if more >= 0:
            break
        left = None if left is None else left - len(offsets)
    hint = f"the log of {name} goes on: --from {more}\n" if more >= 0 else ""
    return Printed("".join(f"{one}\n" for one in lines), hint)


def _batch_line(one: LogBatch) -> str:
    """Source: `DumpLogSegments.printBatchLevel`."""
    batch, marker = one.appended, bool(one.appended.marker)
    size, horizon = (MISSING, MISSING) if one.cleaned else (str(batch.bytes), "OptionalLong.empty")
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.base_offset + batch.count - 1} count: {len(one.offsets)}"
        f" baseSequence: {batch.base_sequence} lastSequence: {sequence_of(batch, batch.count - 1)}"
        f" producerId: {batch.producer_id} producerEpoch: {batch.epoch} partitionLeaderEpoch: {batch.leader_epoch}"
        f" isTransactional: {_java(batch.transactional)} isControl: {_java(marker)} deleteHorizonMs: {horizon}"
        f" position: {MISSING} LogAppendTime: {batch.at_us // 1_000} size: {size} magic: 2"
        f" compresscodec: {MISSING} crc: {MISSING} isvalid: {MISSING}"
    )


def sequence_of(batch: RecordsAppended, place: int) -> int:
    """The sequence number of a batch's record; -1 without one. Source: `DefaultRecordBatch.incrementSequence`."""
    return NO_SEQUENCE if batch.base_sequence < 0 else (batch.base_sequence + place) & LAST_SEQUENCE


def _record_lines(one: LogBatch, offsets: list[int]) -> Iterator[str]:
    """Source: `DumpLogSegments.printRecordMetadata`, `printRecordContents`."""
    batch = one.appended
    for offset in offsets:
        place = offset - batch.base_offset
        key = key_of(batch, place)
        sizes = (MARKER_KEY_BYTES, MARKER_VALUE_BYTES) if batch.marker else (_key_size(batch, key), MISSING)
        created = str(batch.created_us // 1_000) if batch.created_us >= 0 and not place else MISSING
        content = ""
        if batch.marker:
            content = f" endTxnMarker: {batch.marker} coordinatorEpoch: {MISSING}"
        elif batch.producer:
            content = f"{f' key: {key}' if key >= 0 else ''} payload: {batch.producer}#{batch.first_serial + place}"
        yield (
            f"| offset: {offset} CreateTime: {created} keySize: {sizes[0]} valueSize: {sizes[1]}"
            f" sequence: {sequence_of(batch, place)} headerKeys: []{content}"
        )


def key_of(batch: RecordsAppended, place: int) -> int:
    """The key of a batch's record, a number; -1 for a record without one, or of a recording that tells none."""
    return batch.keys[place] if batch.keys else NO_KEY


def _key_size(batch: RecordsAppended, key: int) -> str:
    """The bytes of a key, which is sent as decimal digits; -1 without one, as Kafka has it."""
    if batch.created_us < 0 or not batch.producer:
        return MISSING  # an older recording, or a record of a coordinator
    return str(len(str(key))) if key >= 0 else str(NO_KEY)


def _java(value: bool) -> str:
    return "true" if value else "false"


def _not_appended(log: LeaderLog) -> Printed:
    rows = [
        (
            str(one.at_us // 1_000),
            one.client or MISSING,
            str(one.records) if one.records else MISSING,
            str(one.base_offset) if one.base_offset >= 0 else MISSING,
            one.answer,
        )
        for one in log.not_appended
    ]
    return pretty_table(_NOT_APPENDED, rows)
