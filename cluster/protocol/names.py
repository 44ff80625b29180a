"""Partition names, and the hashes that place record keys, group ids and transactional ids.

Kafka has two unrelated hashes. Record keys go to partitions by murmur2 with the sign bit *masked*; group ids and
transactional ids go to partitions of the internal topics by Java's `String.hashCode` with the sign *removed*.
Confusing them is the classic mistake: it finds the wrong coordinator for every second id. librdkafka places keys by
CRC-32, unless it is told to use murmur2.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Final, NamedTuple
from zlib import crc32

_MASK_32: Final = 0xFFFF_FFFF
_SIGN_32: Final = 0x8000_0000
_MURMUR2_SEED: Final = 0x9747_B28C
_MURMUR2_M: Final = 0x5BD1_E995

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"

ADMIN_CLIENT: Final = "adminclient"
"""The client id of an administrator's tool. No member has it: their names end in a number."""


class TopicPartition(NamedTuple):
    """A partition of a topic; sorts by topic, then number; `str()` is Kafka's "orders-0".

    Source: `org.apache.kafka.common.TopicPartition`.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Read "orders-eu-0" as partition 0 of "orders-eu": the split is at the last dash.

        Raises ValueError when there is no topic, no dash, or no plain decimal number after the last dash.
        """
        topic, dash, number = text.rpartition("-")
        if not (dash and topic and number.isascii() and number.isdigit() and len(number) <= 100):
            raise ValueError(f"{text[:80]!r} is not a partition: expected TOPIC-NUMBER, for example orders-0")
        return cls(topic, int(number))


def topic_of(partition: str) -> str:
    """The topic of a partition named as Kafka prints it: `orders` of `orders-0`."""
    return partition.rpartition("-")[0]


def murmur2(key: bytes) -> int:
    """Hash a record key as Kafka's clients do.

    Returns a signed 32-bit integer. The partition is `to_positive(murmur2(key)) % partitions`.
    Source: `org.apache.kafka.common.utils.Utils.murmur2`.
    """
    length = len(key)
    words, rest = length >> 2, length & 3
    h = _MURMUR2_SEED ^ length
    for word in unpack_from(f"<{words}I", key):
        k = word * _MURMUR2_M & _MASK_32
        h = (h * _MURMUR2_M & _MASK_32) ^ ((k ^ k >> 24) * _MURMUR2_M & _MASK_32)
    if rest:
        h = (h ^ int.from_bytes(key[-rest:], "little")) * _MURMUR2_M & _MASK_32
    h = (h ^ h >> 13) * _MURMUR2_M & _MASK_32
    h ^= h >> 15
    return h - (h >> 31 << 32)


def to_positive(number: int) -> int:
    """Mask the sign bit of a signed 32-bit integer: not an absolute value.

    Source: `Utils.toPositive`; used for keys, never for coordinators.
    """
    return number & 0x7FFF_FFFF


def murmur2_place(key: bytes, partitions: int) -> int:
    """The partition of a key by Java's clients, and by librdkafka's `murmur2_random`.

    Source: `BuiltInPartitioner.partitionForKey`.
    """
    return to_positive(murmur2(key)) % partitions


def crc32_place(key: bytes, partitions: int) -> int:
    """The partition of a key by librdkafka's default, `consistent_random`.

    Source: librdkafka's `rd_kafka_msg_partitioner_consistent`; `rd_crc32` is zlib's CRC-32.
    """
    return crc32(key) % partitions


def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`: a signed 32-bit integer over the UTF-16 code units."""
    units = text.encode("utf-16-le", "surrogatepass")
    h = 0
    for unit in unpack_from(f"<{len(units) >> 1}H", units):
        h = (31 * h + unit) & _MASK_32
    return h - (h >> 31 << 32)


def coordinator_partition(coordinator_key: str, partitions: int = 50) -> int:
    """The partition of an internal topic whose leader coordinates a group id or a transactional id.

    `partitions` is offsets.topic.num.partitions or transaction.state.log.num.partitions. The absolute value of the
    hash is taken, and the one integer without one, −2³¹, counts as 0.
    Source: `GroupMetadataManager.partitionFor`, `TransactionStateManager.partitionFor`, `Utils.abs`.
    """
    h = abs(java_string_hash(coordinator_key))
    return 0 if h == _SIGN_32 else h % partitions
