"""`flightdeck key`: the partition that a key goes to, now and after partitions are added, by each client's hash."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from cluster.config import nearest
from console.cli.arguments import Json
from console.cli.errors import HELD, UsageError
from console.cli.streams import json_of, print_text
from console.operating.key_question import MOST_PARTITIONS
from console.presenters.partitions.key_placement import key_lines, key_report, producers_of

if TYPE_CHECKING:
    from cluster.spec import ScenarioSpec


def key(
    key: Annotated[str, Parameter(help="The key as text: its bytes are the text's UTF-8.", allow_leading_hyphen=True)],
    topic: Annotated[str, Parameter(help="The topic.")],
    /,
    *,
    scenario: Annotated[
        str | None, Parameter(help="Take partitions and producers from a scenario of the library, or a file.")
    ] = None,
    partitions: Annotated[
        str | None, Parameter(help="The number of partitions, and the numbers after adding: 6 or 6,12.")
    ] = None,
    json: Json = False,
) -> int:
    """Print the partition that a key goes to, now and after partitions are added."""
    if (scenario is None) == (partitions is None):
        raise UsageError("give either --scenario SCENARIO or --partitions N[,N2]")
    if scenario is not None:
        from recordings.scenarios.loader import load

        loaded = load(scenario)
        counts, producers = _counts_of(loaded.spec, topic), producers_of(loaded.spec, topic)
        report = key_report(key, topic, loaded.name, counts, producers)
    else:
        if not topic.strip():
            raise UsageError("the topic has no name")
        report = key_report(key, topic, None, [(0, count) for count in _numbers(partitions or "")], [])
    print_text(json_of(report) if json else "\n".join(key_lines(report)))
    return HELD


def _numbers(text: str) -> list[int]:
    """The numbers of partitions, each larger than the one before. Raises UsageError."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not (word.isascii() and word.isdigit() and len(word) <= 10 and 1 <= int(word) <= MOST_PARTITIONS):
            raise UsageError(f"--partitions: {word[:20]!r} is not a number of partitions: write 6, or 6,12")
    numbers = [int(word) for word in words]
    for before, after in pairwise(numbers):
        if after <= before:
            raise UsageError(f"--partitions: Kafka only adds partitions: {after} does not come after {before}")
    return numbers


def _counts_of(spec: "ScenarioSpec", topic: str) -> list[tuple[int, int]]:
    """From which instant (µs) on a topic of a scenario has how many partitions. Raises UsageError."""
    from cluster.commands import AddPartitions

    declared = {each.name: each.partitions for each in spec.topics}
    if topic not in declared:
        near = nearest(topic, declared)
        raise UsageError(f"the scenario has no topic {topic!r}" + (f" (did you mean {near}?)" if near else ""))
    counts = [(0, declared[topic])]
    for step in sorted(spec.steps, key=lambda step: step.at_us):
        command = step.command
        if isinstance(command, AddPartitions) and command.topic == topic and command.to > counts[-1][1]:
            counts.append((step.at_us, command.to))
    return counts
