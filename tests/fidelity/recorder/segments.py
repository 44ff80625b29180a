"""The batches of a real log, read from its segment files: the offsets that compaction has left, and empty batches."""

import struct
from collections.abc import Iterator
from pathlib import Path

from tests.fidelity.normalisation import EMPTY_MARKER, LoggedBatch

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Of a batch of magic 2: offset, length, leader epoch, magic, CRC, attributes, last offset delta, two timestamps, …"""

TO_LENGTH = 12  # the offset and the length itself
CONTROL, DELETE_HORIZON, COMPRESSED = 0x20, 0x40, 0x07
MARKERS = {0: "ABORT", 1: "COMMIT"}


def batches_of(partition: Path) -> list[LoggedBatch]:
    """Every batch of a partition's folder, in order."""
    return [batch for file in sorted(partition.glob("*.log")) for batch in _batches(file.read_bytes())]


def _batches(data: bytes) -> Iterator[LoggedBatch]:
    place = 0
    while place + HEADER.size <= len(data):
        base, length, _, magic, _, attributes, last_delta, *_, count = HEADER.unpack_from(data, place)
        if not length:  # the rest of a file that is larger than its log
            return
        assert magic == 2
        assert not attributes & COMPRESSED
        records = list(_records(data[place + HEADER.size : place + TO_LENGTH + length], count))
        marker = ""
        if attributes & CONTROL:
            marker = MARKERS[struct.unpack(">hh", records[0][1])[1]] if records else EMPTY_MARKER
        kept = [base + delta for delta, _ in records]
        yield LoggedBatch(base, base + last_delta, kept, marker, horizon=bool(attributes & DELETE_HORIZON))
        place += TO_LENGTH + length


def _records(data: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    """The offset delta and the key of each record."""
    place = 0
    for _ in range(count):
        length, place = _varint(data, place)
        end = place + length
        _, inside = _varint(data, place + 1)  # behind the attributes: the timestamp's delta
        delta, inside = _varint(data, inside)
        key_length, inside = _varint(data, inside)
        yield delta, data[inside : inside + max(0, key_length)]
        place = end


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number with its sign in the last bit, seven bits a byte; and where it ends."""
    raw = shift = 0
    while True:
        byte = data[place]
        raw |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), place
