"""A line of Kafka's tools at the `:` prompt: it looks (`describe groups`), or stands for commands."""

from typing import NamedTuple

from cluster.commands import Command, CommandError, Elect, Names, text_of
from cluster.config import format_duration, nearest
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView
from cluster.view.state import NEVER
from console.flight import Flight
from console.presenters.impact import PREDICTORS, impact_line, impact_of
from console.presenters.styled_text import ERROR, MUTED, STRONG, Line, Span, line
from recordings.kafka_tools import reassignments
from recordings.kafka_tools.look import (
    SUBJECTS,
    LookedAtFlight,
    configs_of,
    line_of,
    logs_needed,
    look,
    no_log,
    only_looks,
    subject_of,
)
from recordings.kafka_tools.orders import orders_of
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.refusals import only_plans, refusal_of
from recordings.kafka_tools.tool_lines import ToolLine, read_tool_line

DESCRIBE_USAGE = f"describe {{{' | '.join(SUBJECTS)}}} [OPTIONS]"


class ToolOrder(NamedTuple):
    """The commands that a tool's line stands for."""

    text: str
    line: ToolLine
    commands: tuple[Command, ...]


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


def read_tool(text: str, names: Names) -> "ToolQuestion | ToolOrder":
    """Read a pasted line. Raises CommandError also for what the cluster has no command for."""
    read = read_tool_line(text)
    if only_looks(read) or only_plans(read):
        return ToolQuestion(text.strip(), read)
    try:
        return ToolOrder(text.strip(), read, tuple(orders_of(read, names)))
    except CommandError:
        if read.tool != "kafka-consumer-groups":
            raise
        return ToolQuestion(text.strip(), read)  # the cluster may refuse it as Kafka does


def answer(flight: Flight, question: ToolQuestion) -> Printed:
    """What the tool prints of the shown instant. Raises CommandError for what it cannot be asked."""
    asked = question.line
    view = flight.view
    if only_looks(asked) and logs_needed(view, asked):
        raise asked.wrong(
            f"the console keeps no logs: `flightdeck describe {subject_of(asked)} RECORDING"
            f" --at {format_duration(flight.now_us)}` reads them; `E` shows the newest records"
        )
    if not only_looks(asked):
        refusal = refusal_of(view, asked)
        if refusal is None:
            orders_of(asked, flight.names())  # raises why the cluster cannot do it
        return refusal or Printed()
    configs = configs_of(flight.source.spec, view)
    return look(LookedAtFlight(view, flight.now_us, configs, no_log), asked)


def why_refused(view: ClusterView, order: ToolOrder) -> str:
    """The words of the tool when Kafka refuses, or has nothing to do; empty when the commands can be given."""
    refusal = refusal_of(view, order.line)
    if refusal is None:
        return ""
    reason, *tables = refusal.streams.strip().split("\n\n")
    with_rows = [table for table in tables if "\n" in table.strip()]  # the tool prints a header above nothing, too
    return " ".join(" ".join([reason, *with_rows]).split())


def due_commands(view: ClusterView, order: ToolOrder) -> tuple[Command, ...]:
    """The commands of an order, or for `--all-topic-partitions` those of every partition that needs an election.

    Source: `ReplicationControlManager.electLeaders`, which tells nothing of the others.
    """
    if not order.line.has("all-topic-partitions"):
        return order.commands
    kind = next(command.kind for command in order.commands if isinstance(command, Elect))
    return tuple(
        Elect(kind, one.topic, one.number)
        for one in view.partitions.values()
        if (one.leader not in one.replicas[:1] if kind == "preferred" else one.leader == NEVER)
    )


def output_of(view: ClusterView, order: ToolOrder) -> Printed | None:
    """What the tool prints of an order that is given now; None for a tool of which only refusals are shown."""
    return reassignments.done(view, order.line) if order.line.tool == "kafka-reassign-partitions" else None


def order_preview(
    view: ClusterView, now_us: int, text: str, names: Names, session_us: int, spec: ScenarioSpec | None = None
) -> Line:
    """What a pasted line would hit now: each of its commands, or why it cannot be given; empty for a look."""
    try:
        order = read_tool(text, names)
    except CommandError:
        return ()
    if isinstance(order, ToolQuestion):
        return ()
    refused = why_refused(view, order)
    if refused:
        return line(("✖ ", ERROR), (refused, STRONG))
    spans: list[Span] = []
    for command in due_commands(view, order):
        spans += [(f"{' · ' if spans else ''}{text_of(command)} ", MUTED)]
        if type(command) in PREDICTORS:
            spans += impact_line(impact_of(view, command, now_us, session_us, spec))
    return line(*spans)


def describe_completions(rest: str) -> list[str]:
    """The subjects that may follow."""
    return [name for name in SUBJECTS if name.startswith(rest) and name != rest]
