"""`kafka-get-offsets.sh` of a flight. Source: `GetOffsetShell` of release 4.3.1, `Partition.fetchOffsetForTimestamp`.

The records of a batch share the timestamp of its first, as for every question about time that is put to a broker here.
"""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from cluster.view.state import NEVER, ClusterView, PartitionView
from recordings.kafka_log.java_maps import string_map_order
from recordings.kafka_tools.leader_logs import LeaderLog, LogBatch, LogOf
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import ToolLine, java_split
from recordings.kafka_tools.topic_tables import in_admin_order, include_list

GET_OFFSETS: Final = "kafka-get-offsets"
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
_WORDS: Final = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_TIMES: Final = " / ".join(f"{number} or {word}" for word, number in _WORDS.items())
_JAVA_INT, _JAVA_LONG = 1 << 31, 1 << 63
_MOST_DIGITS: Final = 99
MS: Final = 1_000
_SKIPPED: Final = "Skip getting offsets for topic-partition"
_ERRORS: Final = "org.apache.kafka.common.errors"
_EVERY: Final = range(_JAVA_INT)


class _Rule(NamedTuple):
    """The topics and the partitions that one rule of a line allows."""

    topics: re.Pattern[str]
    partitions: Collection[int]

    def has(self, topic: str, number: int) -> bool:
        """Whether the rule allows a partition."""
        return self.topics.fullmatch(topic) is not None and number in self.partitions


class _RefusedError(Exception):
    """What the tool refuses, in its words."""


def offset_logs(view: ClusterView, line: ToolLine) -> list[str]:
    """The partitions whose logs a line asks for: those of an instant."""
    try:
        instant = _time(line)
        return [one.partition for one in _chosen(view, line)] if _asks_logs(instant) else []
    except _RefusedError:
        return []


def get_offsets(view: ClusterView, log_of: LogOf, line: ToolLine) -> Printed:
    """`TOPIC:PARTITION:OFFSET`, a line for each partition that has such an offset, in the order of their names."""
    try:
        if line.has("topic-partitions") and (line.has("topic") or line.has("partitions")):
            raise _RefusedError("--topic-partitions cannot be used with --topic or --partitions")
        instant = _time(line)
        chosen = _chosen(view, line)
        if not chosen:
            raise _RefusedError("Could not match any topic-partitions with the specified filters")
    except _RefusedError as refused:
        return Printed(err=f"Error occurred: {refused}\n", ok=False)
    answers = {one.partition: _answer(one, instant, log_of) for one in chosen}
    skipped = "".join(
        f"{_SKIPPED} {name} due to error: {_ERRORS}.{said}\n" for name, said in answers.items() if isinstance(said, str)
    )
    found = (one for one in sorted(chosen, key=lambda each: each.partition) if isinstance(answers[one.partition], int))
    return Printed("".join(f"{one.topic}:{one.number}:{answers[one.partition]}\n" for one in found), skipped)


def _asks_logs(instant: int) -> bool:
    return instant >= 0 or instant == MAX_TIMESTAMP


def _time(line: ToolLine) -> int:
    """The timestamp that is asked for, in milliseconds, or one of the negative numbers that stand for a place."""
    text = line.one("time", "latest")
    if text in _WORDS:
        return _WORDS[text]
    if _is_whole(text, _JAVA_LONG):
        return int(text)
    raise _RefusedError(f"Malformed time argument {text}. Please use {_TIMES}, or a specified long format timestamp")


def _is_whole(text: str, bound: int) -> bool:
    """Whether a text is a whole number of Java's below a bound. Source: `Integer.parseInt`, `Long.parseLong`."""
    return len(text) <= _MOST_DIGITS and re.fullmatch(r"[-+]?[0-9]+", text) is not None and -bound <= int(text) < bound


def _answer(one: PartitionView, instant: int, log_of: LogOf) -> int | str | None:
    """The offset that a partition's leader answers, or an error; None for UNKNOWN_OFFSET, which the tool leaves out."""
    if one.leader == NEVER:
        return "TimeoutException: Call(callName=listOffsets(api=METADATA), …) timed out"
    if instant < EARLIEST_PENDING_UPLOAD:
        return "UnsupportedVersionException: The version of API is not supported."
    if instant == LATEST:
        return one.high_watermark
    if instant in (EARLIEST, EARLIEST_LOCAL):
        return one.log_start
    if instant in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None  # the cluster has no tiered storage
    found = _newest(log_of(one.partition)) if instant == MAX_TIMESTAMP else _since(log_of(one.partition), instant)
    return found if found is not None and found < one.high_watermark else None


def _newest(log: LeaderLog) -> int | None:
    newest = max(log.left(), key=_timestamp_ms, default=None)  # of several, max takes the first
    return None if newest is None else newest.appended.base_offset  # as recorded, also of a deleted record


def _since(log: LeaderLog, instant: int) -> int | None:
    return next((one.offsets[0] for one in log.left() if _timestamp_ms(one) >= instant), None)


def _timestamp_ms(one: LogBatch) -> int:
    batch = one.appended
    return (batch.created_us if batch.created_us >= 0 else batch.at_us) // MS  # older recordings have no CreateTime


def _chosen(view: ClusterView, line: ToolLine) -> list[PartitionView]:
    """The partitions that a line names, in the order in which the tool asks for them.

    Source: `listPartitionInfos`: topics in a set, then in the admin client's maps.
    """
    hidden = line.has("exclude-internal-topics")
    rules = _rules(line)
    named = [name for name, one in view.topics.items() if not (one.internal and hidden) and _matches(rules, name)]
    topics = in_admin_order(string_map_order(named))
    asked = (view.partitions[name] for topic in topics for name in view.partitions_by_topic[topic])
    return [one for one in asked if any(rule.has(one.topic, one.number) for rule in rules)]


def _matches(rules: list[_Rule], topic: str) -> bool:
    return any(rule.topics.fullmatch(topic) for rule in rules)


def _rules(line: ToolLine) -> list[_Rule]:
    if line.has("topic-partitions"):
        return [_rule(text) for text in java_split(line.one("topic-partitions"), ",")]
    return [_Rule(_topics(line.one("topic") if line.has("topic") else ".*"), _numbers(line))]


def _topics(text: str) -> re.Pattern[str]:
    try:
        return include_list(text)
    except re.error:
        raise _RefusedError(f"{text} is an invalid regex.") from None


def _numbers(line: ToolLine) -> Collection[int]:
    """The partitions of `--partitions`; every one if it names none."""
    text = line.one("partitions")
    words = java_split(text, ",") if text else []
    if not all(_is_whole(word, _JAVA_INT) for word in words):
        raise _RefusedError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        )
    return frozenset(map(int, words)) or _EVERY


def _rule(text: str) -> _Rule:
    """One of `--topic-partitions`: `orders:1`, `orders:0-3`, `orders:5-`, `orders:-3`, `orders`, `:1`."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise _RefusedError(f"org.apache.kafka.tools.TerseException: Invalid rule specification: {text}")
    for number in found.groups()[1:]:
        if number and not _is_whole(number, _JAVA_INT):
            raise _RefusedError(f'For input string: "{number}"')
    topics, one = _topics(found[1] or ".*"), found[2]
    if one:
        return _Rule(topics, range(int(one), int(one) + 1))
    return _Rule(topics, range(int(found[3] or 0), int(found[4] or _JAVA_INT - 1)))
