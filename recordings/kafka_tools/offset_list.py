"""`kafka-get-offsets.sh` of a flight. Source: `GetOffsetShell` of release 4.3.1, `Partition.fetchOffsetForTimestamp`.

The records of a batch share the timestamp of its first, as for every question about time that is put to a broker here.
The tool waits for a leader that answers, and for the high watermark of a new one (KIP-207): a look is of one instant.
"""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from cluster.commands import CommandError
from cluster.protocol.re2_syntax import TopicPatternError
from cluster.view.state import ClusterView, PartitionView
from recordings.kafka_log.java_maps import string_map_order
from recordings.kafka_log.java_patterns import InvalidRegexError, TopicFilter, topic_filter
from recordings.kafka_tools.leader_logs import LeaderLog, LogBatch, LogOf
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import ToolLine, java_split
from recordings.kafka_tools.topic_tables import in_admin_order

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
_MOST_DIGITS: Final = 19
MS: Final = 1_000
_SKIPPED: Final = "Skip getting offsets for topic-partition"
_ERRORS: Final = "org.apache.kafka.common.errors"
_EVERY: Final = range(_JAVA_INT)


class _Rule(NamedTuple):
    """The topics and the partitions that one rule of a line allows."""

    topics: TopicFilter
    partitions: Collection[int]

    def has(self, topic: str, number: int) -> bool:
        """Whether the rule allows a partition."""
        return self.topics.matches(topic) and number in self.partitions


class _RefusedError(Exception):
    """What the tool refuses, in its words."""


class _Asked(NamedTuple):
    """What a line asks for: a timestamp in milliseconds or one of the negative numbers, and of which partitions."""

    timestamp_ms: int
    partitions: list[PartitionView]


def offset_logs(view: ClusterView, line: ToolLine) -> list[str]:
    """The partitions whose logs a line asks for: those whose timestamps it compares. Raises CommandError."""
    try:
        asked = _asked(view, line)
    except _RefusedError:
        return []
    compares = asked.timestamp_ms >= 0 or asked.timestamp_ms == MAX_TIMESTAMP
    return [one.partition for one in asked.partitions] if compares else []


def get_offsets(view: ClusterView, log_of: LogOf, line: ToolLine) -> Printed:
    """`TOPIC:PARTITION:OFFSET`, a line for each partition that has such an offset, in the order of their names.

    Raises CommandError for an expression that Java reads and Flightdeck does not.
    """
    try:
        asked = _asked(view, line)
    except _RefusedError as refused:
        return Printed(err=f"Error occurred: {refused}\n", ok=False)
    offsets: dict[str, int] = {}
    skipped = ""
    for one in asked.partitions:
        answer = _answer(view, one, asked.timestamp_ms, log_of)
        if isinstance(answer, int):
            offsets[one.partition] = answer
        elif answer:
            skipped += f"{_SKIPPED} {one.partition} due to error: {_ERRORS}.{answer}\n"
    places = (view.partitions[name] for name in sorted(offsets))
    return Printed("".join(f"{one.topic}:{one.number}:{offsets[one.partition]}\n" for one in places), skipped)


def _asked(view: ClusterView, line: ToolLine) -> _Asked:
    """What is asked, in the order in which the tool looks at its options. Source: `GetOffsetShell.fetchOffsets`."""
    if line.has("topic-partitions") and (line.has("topic") or line.has("partitions")):
        raise _RefusedError("--topic-partitions cannot be used with --topic or --partitions")
    timestamp_ms = _timestamp(_one(line, "time", "latest"))
    if line.has("topic-partitions"):
        rules = [_rule(text) for text in java_split(_one(line, "topic-partitions"), ",")]
    else:
        topics, numbers = _one(line, "topic", ".*"), _one(line, "partitions")
        rules = [_Rule(_topics(topics), _numbers(numbers))]
    partitions = _chosen(view, rules, internal=not line.has("exclude-internal-topics"))
    if not partitions:
        raise _RefusedError("Could not match any topic-partitions with the specified filters")
    return _Asked(timestamp_ms, partitions)


def _one(line: ToolLine, option: str, default: str = "") -> str:
    """An option's value; more than one ends this tool, as whatever it raises."""
    try:
        return line.one(option, default)
    except CommandError as error:
        raise _RefusedError(error.message) from None


def _timestamp(text: str) -> int:
    if text in _WORDS:
        return _WORDS[text]
    number = _whole(text, _JAVA_LONG)
    if number is None:
        raise _RefusedError(
            f"Malformed time argument {text}. Please use {_TIMES}, or a specified long format timestamp"
        )
    return number


def _whole(text: str, bound: int) -> int | None:
    """A whole number of Java's below a bound; None for none. Source: `Integer.parseInt`, `Long.parseLong`."""
    found = re.fullmatch(r"([-+]?)([0-9]+)", text)
    digits = found[2].lstrip("0") or "0" if found is not None else ""
    if found is None or len(digits) > _MOST_DIGITS:
        return None
    number = int(found[1] + digits)
    return number if -bound <= number < bound else None


def _answer(view: ClusterView, one: PartitionView, timestamp_ms: int, log_of: LogOf) -> int | str | None:
    """The offset that a partition's leader answers, or an error; None for UNKNOWN_OFFSET, which the tool leaves out."""
    leader = view.brokers.get(one.leader)
    if leader is None or not leader.up or leader.paused:
        return "TimeoutException: Call(callName=listOffsets(api=METADATA), …) timed out"
    if timestamp_ms < EARLIEST_PENDING_UPLOAD:
        return "UnsupportedVersionException: The version of API is not supported."
    if timestamp_ms == LATEST:
        return one.high_watermark
    if timestamp_ms in (EARLIEST, EARLIEST_LOCAL):
        return one.log_start
    if timestamp_ms in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None  # the cluster has no tiered storage
    log = log_of(one.partition)
    found = _newest(log) if timestamp_ms == MAX_TIMESTAMP else _first_since(log, timestamp_ms)
    return found if found is not None and found < one.high_watermark else None


def _newest(log: LeaderLog) -> int | None:
    """The first record with the highest timestamp in the log's files, which `delete records` leaves as they are."""
    newest = max(log.left(deleted=True), key=_timestamp_ms, default=None)  # of several, max takes the first
    return None if newest is None else newest.offsets[0]


def _first_since(log: LeaderLog, timestamp_ms: int) -> int | None:
    young = (offset for one in log.left() if _timestamp_ms(one) >= timestamp_ms for offset in one.offsets)
    return next((offset for offset in young if offset >= log.log_start), None)


def _timestamp_ms(one: LogBatch) -> int:
    batch = one.appended
    return (batch.created_us if batch.created_us >= 0 else batch.at_us) // MS  # older recordings have no CreateTime


def _chosen(view: ClusterView, rules: list[_Rule], *, internal: bool) -> list[PartitionView]:
    """The partitions that rules allow, in the order in which the tool asks for them.

    Source: `listPartitionInfos`: topics in a set, then in the admin client's maps.
    """
    listed = [name for name, one in view.topics.items() if internal or not one.internal]
    allowed = [name for name in listed if any(rule.topics.matches(name) for rule in rules)]
    topics = in_admin_order(string_map_order(allowed))
    places = (view.partitions[name] for topic in topics for name in view.partitions_by_topic[topic])
    return [one for one in places if any(rule.has(one.topic, one.number) for rule in rules)]


def _topics(text: str) -> TopicFilter:
    """The topics of an expression. Raises CommandError for one that Flightdeck alone does not read."""
    try:
        return topic_filter(text)
    except InvalidRegexError as error:
        raise _RefusedError(str(error)) from None
    except TopicPatternError as error:
        raise CommandError(str(error), 0) from None


def _numbers(text: str) -> Collection[int]:
    """The partitions of `--partitions`; every one if it names none."""
    words = java_split(text, ",") if text else []
    numbers: set[int] = set()
    for word in words:
        number = _whole(word, _JAVA_INT)
        if number is None:
            raise _RefusedError(
                f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
            )
        numbers.add(number)
    return numbers or _EVERY


def _rule(text: str) -> _Rule:
    """One of `--topic-partitions`: `orders:1`, `orders:0-3`, `orders:5-`, `orders:-3`, `orders`, `:1`."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise _RefusedError(f"org.apache.kafka.tools.TerseException: Invalid rule specification: {text}")
    topics = _topics(found[1] or ".*")
    one, low, high = (_number(group) for group in found.groups()[1:])
    if one is not None:
        return _Rule(topics, range(one, one + 1))
    return _Rule(topics, range(low or 0, _JAVA_INT - 1 if high is None else high))


def _number(text: str | None) -> int | None:
    """A number of a rule, if it is there."""
    if not text:
        return None
    number = _whole(text, _JAVA_INT)
    if number is None:
        raise _RefusedError(f'For input string: "{text}"')
    return number
