"""`flightdeck import`: a cluster of one's own becomes a scenario."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD
from console.cli.streams import json_of, print_text
from console.presenters.formatting import many

if TYPE_CHECKING:
    from recordings.importing.make import Imported


def import_files(
    files: Annotated[
        list[Path],
        Parameter(
            help="What kafka-topics.sh, kafka-consumer-groups.sh and kafka-configs.sh print with --describe;"
            " .properties, .yaml of Spring, Quarkus and Strimzi.",
            negative="",
        ),
    ],
    /,
    *,
    out: Annotated[Path, Parameter(help="The new scenario file.")],
    json: Json = False,
) -> int:
    """Make a scenario of a cluster's descriptions and configurations; what is guessed is marked in it."""
    from recordings.importing.make import keep_scenario, read_files, scenario_of

    title = f"Imported from {', '.join(path.name for path in files[:3])}{' …' if len(files) > 3 else ''}"
    imported = scenario_of(read_files(files), title, "A cluster of one's own; its first lines say what was guessed.")
    keep_scenario(imported, out)
    print_text(_json(imported, out) if json else words_of_import(imported, out))
    return HELD


def words_of_import(imported: "Imported", out: Path) -> str:
    """What the scenario has, what was guessed, and how to fly it."""
    spec = imported.spec
    members = sum(group.members for group in spec.groups)
    partitions = sum(topic.partitions for topic in spec.topics)
    groups = f"{many(len(spec.groups), 'group')} with {many(members, 'member')}" if spec.groups else "no group"
    has = (
        f"{many(len(spec.brokers), 'broker')}, {many(len(spec.topics), 'topic')} with"
        f" {many(partitions, 'partition')}, {groups}"
    )
    lines = [f"{out}: {has}"]
    lines += [f"  guessed: {words}" for words in imported.guessed]
    lines += [f"  not in the scenario: {words}" for words in imported.left_out]
    return "\n".join([*lines, f"fly it: flightdeck --scenario {out}"])


def _json(imported: "Imported", out: Path) -> str:
    shown = {"scenario": str(out), "guessed": imported.guessed, "not_in_the_scenario": imported.left_out}
    return json_of(shown)
