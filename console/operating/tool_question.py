"""A line of Kafka's tools at the `:` prompt that only looks: `describe groups`, `kafka-topics.sh --describe`."""

from typing import NamedTuple

from cluster.commands import CommandError
from cluster.config import nearest
from console.flight import Flight
from recordings.kafka_tools.look import (
    SUBJECTS,
    LookedAtFlight,
    configs_of,
    line_of,
    look,
    needs_states,
    no_states,
    only_looks,
)
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import ToolLine, read_tool_line

DESCRIBE_USAGE = f"describe {' | '.join(SUBJECTS)} [OPTIONS]"


class ToolQuestion(NamedTuple):
    """What a tool is asked, and its line as it was read."""

    text: str
    line: ToolLine


def read_describe(rest: str, column: int) -> ToolQuestion:
    """Read what follows `describe`; `column` is that of its first letter. Raises CommandError."""
    subject, _, options = rest.partition(" ")
    if subject not in SUBJECTS:
        reason = f"there is no subject `{subject}`" if subject else f"an argument is missing: {DESCRIBE_USAGE}"
        raise CommandError(reason, column, nearest(subject, SUBJECTS) if subject else None)
    text = line_of(subject, options)
    try:
        return ToolQuestion(text, read_tool_line(text))
    except CommandError as error:
        shifted = column + error.column - (len(text) - len(rest))
        raise CommandError(error.message, max(column, shifted), error.suggestion) from None


def read_tool(text: str) -> ToolQuestion:
    """Read a pasted line. Raises CommandError also for a line that changes the cluster."""
    line = read_tool_line(text)
    if not only_looks(line):
        raise CommandError(f"{line.tool}.sh {line.action}: this line changes the cluster", 0)
    return ToolQuestion(text.strip(), line)


def answer(flight: Flight, question: ToolQuestion) -> Printed:
    """What the tool prints of the shown instant. Raises CommandError for what it cannot be asked."""
    if needs_states(question.line):
        raise question.line.wrong(
            "producer states are read from a recording: `flightdeck describe producers RECORDING`"
        )
    view = flight.view
    configs = configs_of(flight.source.spec, view)
    return look(LookedAtFlight(view, flight.now_us, configs, no_states), question.line)


def describe_completions(rest: str) -> list[str]:
    """The subjects that may follow."""
    return [name for name in SUBJECTS if name.startswith(rest) and name != rest]
