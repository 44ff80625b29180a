"""`kafka-topics.sh --describe` of a flight. Source: `TopicCommand` of release 4.3.1.

A topic has no id here, and so none is printed, as Kafka does for the id zero. The eligible leader replicas (KIP-966)
are unknown: `Elr: N/A`, Kafka's word for brokers that do not tell them.
"""

from collections.abc import Iterable, Mapping

from cluster.protocol.re2_syntax import TopicPatternError
from cluster.view.state import NEVER, ClusterView, PartitionView, TopicView
from recordings.kafka_log.java_maps import string_map_order
from recordings.kafka_log.java_patterns import InvalidRegexError, topic_filter
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import REPORTS, ToolLine

Configs = Mapping[str, Mapping[str, str]]
"""Topic, `broker-N` or `cluster` → the keys that were set for it and their values."""


def topics_of(view: ClusterView, line: ToolLine) -> list[str]:
    """The topics that a line names, by `--topic` (a regular expression, or several), by name.

    Raises InvalidRegexError, and CommandError for an expression that only Java reads.
    Source: `TopicService.getTopics`, `IncludeList`.
    """
    names = sorted(name for name, one in view.topics.items() if not (one.internal and line.has("exclude-internal")))
    if not line.has("topic"):
        return names
    try:
        wanted = topic_filter(line.one("topic"))
    except TopicPatternError as error:
        raise line.wrong(f"--topic: {error}", "topic") from None
    return [name for name in names if wanted.matches(name)]


def describe_topics(view: ClusterView, configs: Configs, line: ToolLine) -> Printed:
    """Topics and their partitions, in the order of the admin client's map."""
    try:
        topics = topics_of(view, line)
    except InvalidRegexError as error:
        return topic_failed(str(error))
    if line.has("topic") and not topics and not line.has("if-exists"):
        return topic_failed(f"Topic '{line.one('topic')}' does not exist as expected")
    lines: list[str] = []
    for name in in_admin_order(topics):
        topic = view.topics[name]
        own = topic_configs(topic, configs)
        if not any(line.has(report) for report in REPORTS) and (own or not line.has("topics-with-overrides")):
            shown = ",".join(f"{key}={value}" for key, value in own.items())
            lines.append(f"Topic: {name}\tPartitionCount: {topic.partitions}"
                         f"\tReplicationFactor: {topic.replication_factor}\tConfigs: {shown}")  # fmt: skip
        if not line.has("topics-with-overrides"):
            lines += _partition_lines(view, topic, line)
    return Printed("".join(f"{one}\n" for one in lines))


def list_topics(view: ClusterView, line: ToolLine) -> Printed:
    """Topics, by name."""
    try:
        return Printed("".join(f"{name}\n" for name in topics_of(view, line)))
    except InvalidRegexError as error:
        return topic_failed(str(error))


def in_admin_order(topics: list[str]) -> list[str]:
    """Topics in the order of the admin client's maps: of futures, of their copy, and of their results.

    Source: `KafkaAdminClient.handleDescribeTopicsByNames`, `DescribeTopicsResult.all`.
    """
    own, copy = _power_of_two(len(topics)), _power_of_two(len(topics) * 4 // 3 + 1)
    return string_map_order(string_map_order(string_map_order(topics, own), copy), own)


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()


def topic_failed(message: str) -> Printed:
    """An error of the tool in its words. Source: `TopicCommand.printException`."""
    return Printed(f"Error while executing topic command : {message}\n", ok=False)


def topic_configs(topic: TopicView, configs: Configs) -> dict[str, str]:
    """What is set; min.insync.replicas always is in a new cluster of 4.3.1 (KIP-966), and comes first."""
    own = dict(configs.get(topic.topic, {}))
    first = {"min.insync.replicas": str(topic.min_insync_replicas)}
    return {**first, **{key: value for key, value in sorted(own.items()) if key not in first}}


def _partition_lines(view: ClusterView, topic: TopicView, line: ToolLine) -> Iterable[str]:
    for name in view.partitions_by_topic.get(topic.topic, ()):
        one = view.partitions[name]
        if not any(line.has(report) for report in REPORTS) or _is_reported(view, topic, one, line):
            leader = "none" if one.leader == NEVER else str(one.leader)
            replicas, isr = (",".join(map(str, ids)) for ids in (one.replicas, one.isr))
            yield (f"\tTopic: {topic.topic}\tPartition: {one.number}\tLeader: {leader}\tReplicas: {replicas}"
                   f"\tIsr: {isr}{_reassignment(one)}\tElr: N/A\tLastKnownElr: N/A")  # fmt: skip


def _reassignment(one: PartitionView) -> str:
    """The two columns of a partition whose reassignment is in progress."""
    if not one.adding and not one.removing:
        return ""
    adding, removing = (",".join(map(str, ids)) for ids in (one.adding, one.removing))
    return f"\tAdding Replicas: {adding}\tRemoving Replicas: {removing}"


def _is_reported(view: ClusterView, topic: TopicView, one: PartitionView, line: ToolLine) -> bool:
    """Whether a report that the line asks for has the partition. Source: `PartitionDescription`."""
    leaderless, least = one.leader == NEVER, topic.min_insync_replicas
    live = {broker.broker for broker in view.brokers.values() if not broker.fenced}
    holds = {
        "under-replicated-partitions": len(one.replicas) - len(one.adding) > len(one.isr),
        "unavailable-partitions": leaderless or one.leader not in live,
        "under-min-isr-partitions": leaderless or len(one.isr) < least,
        "at-min-isr-partitions": len(one.isr) == least,
    }
    return any(line.has(report) and holds[report] for report in REPORTS)
