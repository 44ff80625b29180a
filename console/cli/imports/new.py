"""`flightdeck new`: five questions, and a scenario of their answers."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.errors import HELD, UsageError
from console.cli.imports.import_files import words_of_import
from console.cli.streams import print_text, write

if TYPE_CHECKING:
    from recordings.importing.answers import Answers

MOST_TRIES = 5


def new(
    *,
    out: Annotated[Path, Parameter(help="The new scenario file.")],
    protocol: Annotated[str | None, Parameter(help="classic or consumer (KIP-848).")] = None,
    partitions: Annotated[str | None, Parameter(help="Partitions of the topic.")] = None,
    members: Annotated[str | None, Parameter(help="Members of the group.")] = None,
    per_record: Annotated[str | None, Parameter(help="How long one record takes: 5ms.")] = None,
    worry: Annotated[
        str | None,
        Parameter(help="restarts, deployment, crash, slow-processing, broker-loss, network or nothing."),
    ] = None,
) -> int:
    """Write a scenario of your own: five questions, each also an option."""
    from recordings.bounded_files import refuse_existing
    from recordings.importing.answers import scenario_of_answers
    from recordings.importing.make import keep_scenario

    refuse_existing(out)
    given = {"protocol": protocol, "partitions": partitions, "members": members, "per-record": per_record}
    imported = scenario_of_answers(_answers({**given, "worry": worry}))
    keep_scenario(imported, out)
    print_text(words_of_import(imported, out))
    return HELD


def _answers(given: dict[str, str | None]) -> "Answers":
    """The answers of options, and of questions for the others. Raises UsageError."""
    from recordings.importing.answers import PROTOCOLS, WORRIES, Answers

    questions = {
        "protocol": (f"Which group protocol do the members speak? ({', '.join(PROTOCOLS)})", "classic"),
        "partitions": ("How many partitions has the topic?", "12"),
        "members": ("How many members has the group?", "4"),
        "per-record": ("How long does a member work on one record?", "5ms"),
        "worry": (f"What worries you? ({', '.join(WORRIES)})", "restarts"),
    }
    read = {name: _read(name, text) for name, text in given.items() if text is not None}  # before any question
    found = [read[name] if name in read else _asked(name, *question) for name, question in questions.items()]
    return Answers(*found)  # type: ignore[arg-type]  # each is read by its name


def _asked(name: str, question: str, usual: str) -> object:
    """The answer to a question; an empty line, or the end of the input, takes the usual one. Raises UsageError."""
    for _ in range(MOST_TRIES):
        write(f"{question} [{usual}] ")
        line = sys.stdin.readline()
        if not line.endswith("\n"):
            write("\n")
        try:
            return _read(name, line.strip() or usual)
        except UsageError as error:
            write(f"{error}\n")
    raise UsageError(f"--{name}: no answer in {MOST_TRIES} tries")


def _read(name: str, text: str) -> object:
    """The value of an answer. Raises UsageError."""
    from cluster.config import nearest, parse_duration
    from cluster.spec import MOST_MEMBERS, MOST_PARTITIONS
    from recordings.importing.answers import PROTOCOLS, WORRIES

    if name == "per-record":
        try:
            return parse_duration(text)
        except ValueError as error:
            raise UsageError(f"--{name}: {error}") from None
    if name in ("protocol", "worry"):
        words = PROTOCOLS if name == "protocol" else WORRIES
        if text not in words:
            near = nearest(text, words)
            hint = f"did you mean {near}?" if near else f"it is one of {', '.join(words)}"
            raise UsageError(f"--{name}: there is no {text!r}; {hint}")
        return text
    most = MOST_PARTITIONS if name == "partitions" else MOST_MEMBERS
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= most):
        raise UsageError(f"--{name}: {text!r} is not a whole number from 1 to {most:,}")
    return int(text)
