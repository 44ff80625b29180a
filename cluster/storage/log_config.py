"""The topic keys that a log or its leader reads, as typed values (Kafka's `LogConfig`)."""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

import msgspec

MS: Final = 1_000
FOREVER: Final = -1


class Retention(NamedTuple):
    """When segments are rolled and deleted; FOREVER (-1) keeps a segment whatever its age or the log's size."""

    retention_us: int
    retention_bytes: int
    segment_bytes: int
    segment_us: int


class CompactionConfig(NamedTuple):
    """When a log is compacted, and what stays."""

    min_cleanable_dirty_ratio: float
    min_compaction_lag_us: int
    max_compaction_lag_us: int
    delete_retention_us: int


class LogConfig(msgspec.Struct, frozen=True):
    """The configuration of a topic's logs."""

    min_insync_replicas: int
    max_message_bytes: int
    unclean_leader_election_enable: bool
    flush_messages: int
    retention: Retention
    compaction: CompactionConfig | None

    @classmethod
    def of(cls, config: Mapping[str, object]) -> "LogConfig":
        """The values of a topic's resolved configuration, which has every key."""
        number = partial(_number, config)
        policy, ratio = config["cleanup.policy"], config["min.cleanable.dirty.ratio"]
        assert isinstance(policy, tuple)
        assert isinstance(ratio, float)
        deletes = "delete" in policy
        retention_ms = number("retention.ms") if deletes else FOREVER
        testing = config["internal.segment.bytes"] is not None
        segment_bytes = "internal.segment.bytes" if testing else "segment.bytes"  # LogConfig.segmentSize
        compacts, segment_us = "compact" in policy, number("segment.ms") * MS
        if compacts:  # LogConfig.maxSegmentMs
            segment_us = min(segment_us, number("max.compaction.lag.ms") * MS)
        compaction = CompactionConfig(
            min_cleanable_dirty_ratio=ratio,
            min_compaction_lag_us=number("min.compaction.lag.ms") * MS,
            max_compaction_lag_us=number("max.compaction.lag.ms") * MS,
            delete_retention_us=number("delete.retention.ms") * MS,
        )
        return cls(
            min_insync_replicas=number("min.insync.replicas"),
            max_message_bytes=number("max.message.bytes"),
            unclean_leader_election_enable=bool(number("unclean.leader.election.enable")),
            flush_messages=number("flush.messages"),
            retention=Retention(
                retention_us=retention_ms * MS if retention_ms >= 0 else FOREVER,
                retention_bytes=number("retention.bytes") if deletes else FOREVER,
                segment_bytes=number(segment_bytes),
                segment_us=segment_us,
            ),
            compaction=compaction if compacts else None,
        )


def _number(config: Mapping[str, object], name: str) -> int:
    value = config[name]
    assert isinstance(value, int), f"{name} is {value!r}"
    return value
