"""What is asked of `kafka-reassign-partitions.sh`: the options of each action, and the JSON of two of them.

Source: `ReassignPartitionsCommand.validateAndParseArgs`, `parsePartitionReassignmentData`,
`parseGenerateAssignmentArgs` of release 4.3.1.
"""

from collections.abc import Sequence
from typing import Any, Final

from cluster.protocol.names import TopicPartition
from recordings.kafka_tools.json_options import json_of, partitions_of_json
from recordings.kafka_tools.tool_lines import ToolLine

_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "list": (),
}
_PERMITTED: Final[dict[str, tuple[str, ...]]] = {
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout",
                "disallow-replication-factor-change"),
    "verify": ("preserve-throttles",),
    "cancel": ("bootstrap-controller", "preserve-throttles", "timeout"),
    "generate": ("disable-rack-aware",),
    "list": ("bootstrap-controller",),
}  # fmt: skip
_ALWAYS: Final = ("bootstrap-server", "command-config")
_NO_QUOTAS: Final = "replication has no quotas in a flight"
_NOT_HERE: Final = {
    "throttle": _NO_QUOTAS,
    "replica-alter-log-dirs-throttle": _NO_QUOTAS,
    "disallow-replication-factor-change": "each partition gets as many replicas as its list has",
}
_JSON: Final = "reassignment-json-file"
_VERSION: Final = 1


def check_reassignment(line: ToolLine) -> None:
    """Raise CommandError for an option that an action lacks, and for one that does not go with it."""
    for option in _NEEDED[line.action]:
        if not line.has(option):
            raise line.wrong(f'Missing required argument "[{option}]"')
    known = (line.action, *_NEEDED[line.action], *_PERMITTED[line.action], *_ALWAYS)
    for option in line.options:
        if option not in known:
            raise line.wrong(f'Option "[{option}]" can\'t be used with action "[{line.action}]"', option)
    for option, why in _NOT_HERE.items():
        if line.has(option):
            raise line.wrong(f"--{option} is not understood here: {why}", option)


def reassigned_to(line: ToolLine) -> list[tuple[TopicPartition, tuple[int, ...]]]:
    """The partitions of a reassignment's JSON and their replicas. Raises CommandError."""
    _of_version(line, _JSON, json_of(line, _JSON, '{"partitions": [...]}'))
    found = []
    for place, one in partitions_of_json(line, _JSON, "replicas"):
        replicas = one["replicas"]
        if not isinstance(replicas, list) or not all(type(broker) is int and broker >= 0 for broker in replicas):
            raise line.wrong(f"{place}: replicas are a list of broker ids", _JSON)
        directories = one.get("log_dirs", ["any"] * len(replicas))
        if not isinstance(directories, list) or len(directories) != len(replicas):
            sizes = f"replicas list {_java(replicas)} is different from size of log dirs list {_java(directories)}"
            raise line.wrong(f"Size of {sizes} for partition {place}", _JSON)
        if directories != ["any"] * len(replicas):
            raise line.wrong(f"{place}: a broker has one log directory here: `any`", _JSON)
        found.append((place, tuple(replicas)))
    return found


def check_targets(line: ToolLine, places: Sequence[tuple[TopicPartition, tuple[int, ...]]]) -> None:
    """Raise CommandError for partitions or replicas that `--execute` does not take."""
    if not places:
        raise line.wrong("Partition reassignment list cannot be empty", _JSON)
    if not all(replicas for _, replicas in places):
        raise line.wrong("Partition replica list cannot be empty", _JSON)
    twice = repeated([str(place) for place, _ in places])
    if twice:
        raise line.wrong(f"Partition reassignment contains duplicate topic partitions: {','.join(twice)}", _JSON)
    doubled = [
        f"{place} contains multiple entries for {','.join(map(str, repeated(replicas)))}"
        for place, replicas in places
        if repeated(replicas)
    ]
    if doubled:
        raise line.wrong(f"Partition replica lists may not contain duplicate entries: {'. '.join(doubled)}", _JSON)


def to_generate(line: ToolLine) -> tuple[list[int], list[str]]:
    """The brokers and the topics of `--generate`. Raises CommandError."""
    option = "topics-to-move-json-file"
    words = line.one("broker-list").split(",")
    wrong = next((word for word in words if not (word.isascii() and word.isdigit() and len(word) < 10)), None)
    if wrong is not None:
        raise line.wrong(f'For input string: "{wrong}"', "broker-list")
    brokers = [int(word) for word in words]
    if repeated(brokers):
        raise line.wrong(f"Broker list contains duplicate entries: {_java(repeated(brokers))}", "broker-list")
    loaded = json_of(line, option, '{"topics": [...]}')
    _of_version(line, option, loaded)
    try:
        topics = [str(one["topic"]) for one in loaded.get("topics", [])]
    except (LookupError, TypeError):
        raise line.wrong(f"--{option}: this is not the tool's JSON: the topic of each", option) from None
    if repeated(topics):
        raise line.wrong(f"List of topics to reassign contains duplicate entries: {_java(repeated(topics))}", option)
    return brokers, topics


def _of_version(line: ToolLine, option: str, loaded: dict[str, Any]) -> None:
    version = loaded.get("version", _VERSION)
    if version != _VERSION:
        raise line.wrong(f"Not supported version field value {version}", option)


def repeated(words: Sequence[Any]) -> list[Any]:
    """The words that are there more than once."""
    return [word for word in dict.fromkeys(words) if words.count(word) > 1]


def _java(values: object) -> str:
    """A list as Java prints it."""
    return f"[{', '.join(map(str, values))}]" if isinstance(values, list) else str(values)
