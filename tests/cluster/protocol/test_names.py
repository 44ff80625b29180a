"""Names and the two hashes. Kafka's own examples are in the oracles; here is what holds for every input."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cluster.protocol import TopicPartition, coordinator_partition, java_string_hash, murmur2, to_positive
from cluster.protocol.names import crc32_place, murmur2_place

SIGNED_32 = range(-(2**31), 2**31)


@pytest.mark.parametrize(
    ("text", "partition"),
    [
        ("orders-0", TopicPartition("orders", 0)),
        ("orders-eu-12", TopicPartition("orders-eu", 12)),
        ("orders--3", TopicPartition("orders-", 3)),
        ("__consumer_offsets-49", TopicPartition("__consumer_offsets", 49)),
    ],
)
def test_a_partition_is_written_and_read_with_its_last_dash(text: str, partition: TopicPartition) -> None:
    assert TopicPartition.parse(text) == partition
    assert str(partition) == text


@pytest.mark.parametrize("text", ["", "orders", "-1", "orders-", "orders-x", "orders- 1", "orders-1_0", "orders-²"])
def test_what_is_no_partition_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not a partition: expected TOPIC-NUMBER"):
        TopicPartition.parse(text)


@given(st.text(min_size=1), st.integers(min_value=0))
def test_reading_undoes_writing(topic: str, number: int) -> None:
    assert TopicPartition.parse(str(TopicPartition(topic, number))) == (topic, number)


def test_partitions_sort_by_topic_then_by_number_not_by_text() -> None:
    partitions = [TopicPartition.parse(text) for text in ("b-1", "a-10", "a-9")]
    assert [str(partition) for partition in sorted(partitions)] == ["a-9", "a-10", "b-1"]


def murmur2_byte_by_byte(key: bytes) -> int:
    """The same hash, written after the definition of MurmurHash2 with no thought of speed."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for place in range(0, whole, 4):
        k = key[place] | key[place + 1] << 8 | key[place + 2] << 16 | key[place + 3] << 24
        k = k * m & mask
        k ^= k >> 24
        k = k * m & mask
        h = h * m & mask ^ k
    tail = key[whole:]
    for place in reversed(range(len(tail))):
        h ^= tail[place] << 8 * place
    if tail:
        h = h * m & mask
    h ^= h >> 13
    h = h * m & mask
    h ^= h >> 15
    return h - 2**32 if h & 0x80000000 else h


@given(st.binary(max_size=64))
@example(b"")
@example(b"\xff\xff\xff")
def test_murmur2_is_the_textbook_hash(key: bytes) -> None:
    assert murmur2(key) == murmur2_byte_by_byte(key)
    assert murmur2(key) in SIGNED_32


def crc32_bit_by_bit(key: bytes) -> int:
    """CRC-32 by the parameters in librdkafka's `rdcrc32.h`: reflected, polynomial 0x04c11db7, all ones in and out."""
    rest = 0xFFFFFFFF
    for byte in key:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0xEDB88320 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


@given(st.binary(max_size=64), st.integers(1, 50_000))
@example(b"", 3)
@example(b"0", 4)
def test_librdkafka_places_a_key_by_the_textbook_crc32(key: bytes, partitions: int) -> None:
    assert crc32_place(key, partitions) == crc32_bit_by_bit(key) % partitions


LIBRDKAFKA_VECTORS = {
    b"23456": (0xB1B451D7, 0x058D780F),
    b"this is another string with more length to it perhaps": (0xB0150DF7, 0x4F7703DA),
    b"hejsan": (0xD077037E, 0x5EC19395),
    b"": (0x0, 0x106E08D9),
}
"""Of librdkafka's own test `0048-partitioner.c`: keys, their CRC-32, and their murmur2 without its sign bit."""


@pytest.mark.parametrize("partitions", [7, 17])
@pytest.mark.parametrize(("key", "hashes"), LIBRDKAFKA_VECTORS.items())
def test_both_hashes_pass_librdkafkas_own_test(key: bytes, hashes: tuple[int, int], partitions: int) -> None:
    crc32, masked_murmur2 = hashes
    assert crc32_place(key, partitions) == crc32 % partitions
    assert murmur2_place(key, partitions) == masked_murmur2 % partitions


@given(st.text())
@example("\N{AIRPLANE}\N{SMALL AIRPLANE}")
def test_the_java_hash_runs_over_utf_16_units(text: str) -> None:
    units = text.encode("utf-16-be", "surrogatepass")
    h = 0
    for place in range(0, len(units), 2):
        h = (31 * h + (units[place] << 8 | units[place + 1])) % 2**32
    assert java_string_hash(text) % 2**32 == h
    assert java_string_hash(text) in SIGNED_32


@given(st.text(), st.integers(min_value=1, max_value=1000))
def test_a_coordinator_is_found_by_the_absolute_value(text: str, partitions: int) -> None:
    expected = 0 if java_string_hash(text) == -(2**31) else abs(java_string_hash(text)) % partitions
    assert coordinator_partition(text, partitions) == expected


def test_the_hash_without_an_absolute_value_goes_to_partition_0() -> None:
    assert java_string_hash("polygenelubricants") == -(2**31)
    assert coordinator_partition("polygenelubricants", 7) == 0


def test_keys_are_masked_and_ids_are_not() -> None:
    assert to_positive(-1) == 2**31 - 1
    assert to_positive(-(2**31)) == 0
    assert coordinator_partition("my-group") == 12
    assert to_positive(java_string_hash("my-group")) % 50 == 36
