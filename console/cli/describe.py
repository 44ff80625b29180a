"""`flightdeck describe`: a recorded flight at an instant, in the shape of Kafka's own tools."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from console.cli.arguments import Salvage
from console.cli.errors import HELD, NOT_HELD, UsageError, warn
from console.cli.options import duration_of
from console.cli.streams import print_text

ANY = Parameter(help="Options of Kafka's tool: --group billing --members --verbose.", allow_leading_hyphen=True)


def describe(
    subject: Annotated[
        str,
        Parameter(
            help="groups, group-list, topics, configs, reassignments, transactions, transaction, producers, hanging,"
            " offsets, records; or a whole line of a tool: 'kafka-topics.sh --describe'."
        ),
    ],
    recording: Annotated[Path, Parameter(help="The recording's directory.", allow_leading_hyphen=True)],
    /,
    *options: Annotated[str, ANY],
    at: Annotated[str | None, Parameter(help="The instant in virtual time; default: the end.")] = None,
    salvage: Salvage = False,
) -> int:
    """Print groups, topics, transactions, producers … of a recording at an instant, as Kafka's tools print them."""
    at_us = duration_of("--at", at)
    if str(recording).startswith("-"):
        raise UsageError(f"describe: the recording comes before {recording}: `flightdeck describe SUBJECT RECORDING …`")
    from cluster.config import nearest
    from recordings.kafka_tools.look import SUBJECTS, line_of, only_looks
    from recordings.kafka_tools.refusals import only_plans
    from recordings.kafka_tools.tool_lines import is_tool_line, read_tool_line
    from recordings.tables.tool_look import look_at

    text = shlex.join(options)
    if subject in SUBJECTS:
        text = line_of(subject, text)
    elif is_tool_line(subject):
        text = f"{subject} {text}".rstrip()
    else:
        if Path(subject).is_dir():
            raise UsageError(f"describe: `{subject}` is a directory: write `flightdeck describe SUBJECT RECORDING`")
        near = nearest(subject, SUBJECTS)
        hint = f"did you mean {near}?" if near else f"known are {', '.join(SUBJECTS)}"
        raise UsageError(f"describe: there is no subject `{subject}`: {hint}")
    line = read_tool_line(text)
    if not only_looks(line) and not only_plans(line):
        raise UsageError(f"{text}: this line changes a cluster; a recording can only be described")
    printed, warnings = look_at(recording, line, at_us, salvage=salvage)
    warn(warnings)
    print_text(printed.streams.strip("\n"))
    return HELD if printed.ok else NOT_HELD
