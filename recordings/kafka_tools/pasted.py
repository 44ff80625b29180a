"""A command as it is typed, or as a line of Kafka's tools: in scenarios, forks and `impact`."""

from cluster.commands import Command, Mark, Names, parse
from recordings.kafka_tools.look import only_looks
from recordings.kafka_tools.orders import orders_of
from recordings.kafka_tools.refusals import only_plans
from recordings.kafka_tools.tool_lines import is_tool_line, read_tool_line


def commands_of(text: str, names: Names | None = None) -> list[Command]:
    """The commands of a line; a tool's line that only looks is a mark, so that it can be asked of the recording.

    Raises CommandError.
    """
    if not is_tool_line(text):
        return [parse(text, names)]
    line = read_tool_line(text)
    if only_looks(line) or only_plans(line):
        return [Mark(" ".join(text.split()))]
    return orders_of(line, names)
