"""The JSON of options whose file is not read here: it stands in the place of the file's name."""

import json
from typing import Any

from cluster.protocol.names import TopicPartition
from recordings.kafka_tools.tool_lines import ToolLine


def json_of(line: ToolLine, option: str, shown: str) -> dict[str, Any]:
    """What stands in an option; `shown`: how its JSON begins. Raises CommandError."""
    text = line.one(option)
    if not text.lstrip().startswith("{"):
        raise line.wrong(f"--{option}: no file is read here; write its JSON in its place: '{shown}'", option)
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        loaded = None
    if not isinstance(loaded, dict):
        raise line.wrong(f"--{option}: this is no JSON", option)
    return loaded


def partitions_of_json(line: ToolLine, option: str, needs: str) -> list[tuple[TopicPartition, dict[str, Any]]]:
    """The partitions of a tool's JSON, each with its own words, of which it `needs` one. Raises CommandError."""
    loaded = json_of(line, option, '{"partitions": [...]}')
    try:
        return [
            (TopicPartition(str(one["topic"]), int(one["partition"])), dict(one))
            for one in loaded["partitions"]
            if one[needs] is not None
        ]
    except (ValueError, LookupError, TypeError):
        raise line.wrong(
            f"--{option}: this is not the tool's JSON: topic, partition and {needs} of each", option
        ) from None
