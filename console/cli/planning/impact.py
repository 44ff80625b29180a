"""`flightdeck impact`: the predicted impact of a command at an instant of a scenario."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter

from console.cli.errors import HELD, NOT_HELD, UsageError
from console.cli.options import AllowCode, Seed, Sets, duration_of, leave_of, settings_of
from console.cli.streams import json_of, print_text

if TYPE_CHECKING:
    from cluster.commands import Command, CommandError, Names
    from cluster.spec import ScenarioSpec
    from console.presenters.impacts.model import Impact


def impact(
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")],
    command: Annotated[str, Parameter(help="The command as it is typed: 'kill broker-2'; or a line of Kafka's tools.")],
    /,
    *,
    at: Annotated[str, Parameter(help="The instant in virtual time.", allow_leading_hyphen=True)] = "30s",
    seed: Seed = None,
    settings: Sets = None,
    allow_code: AllowCode = False,
    json: Annotated[bool, Parameter(help="Print one JSON object instead of sentences.", negative="")] = False,
) -> int:
    """Predict the impact of a command at an instant of a flight, without executing it."""
    at_us, changes = duration_of("--at", at) or 0, settings_of(settings)
    from cluster.spec import deployed
    from console.presenters.formatting import clock
    from console.presenters.impact import impact_of
    from recordings.flights.runner import make_plan, view_at
    from recordings.kafka_tools.refusals import refused_line
    from recordings.scenarios.loader import load

    plan = make_plan(load(scenario), seed=seed, settings=changes, leave=leave_of(allow_code))
    until_us = plan.settings.until_us
    if until_us is not None and at_us > until_us:
        raise UsageError(f"--at: the flight ends at {clock(until_us, 0)}")
    wanted, only_refused = _commands(command, plan.spec.names())
    _check_settings(wanted, command, deployed(plan.spec, [given for _, given in plan.spec.given_before(at_us + 1)]))
    view = view_at(plan, at_us)
    refused = refused_line(view, command)
    if refused is not None and refused.streams.strip():
        print_text(refused.streams.strip("\n"))
        return HELD if refused.ok else NOT_HELD
    if only_refused is not None:
        raise only_refused
    found = [impact_of(view, each, at_us, plan.spec.broker_session_us, plan.spec) for each in wanted]
    _print(found, f"{plan.scenario} at {clock(at_us, 3)}", at_us, json=json)
    return HELD


def _commands(text: str, names: "Names") -> "tuple[list[Command], CommandError | None]":
    """The commands of a text; or why a tool's line is refused, unless Kafka refuses it as well."""
    from cluster.commands import CommandError, check
    from recordings.kafka_tools.pasted import commands_of
    from recordings.kafka_tools.refusals import is_of_groups

    wanted: list[Command] = []
    try:
        wanted = commands_of(text, names)
        for each in wanted:
            check(each, names)
    except CommandError as error:
        if not is_of_groups(text):
            raise
        return wanted, error
    return wanted, None


def _check_settings(wanted: "list[Command]", text: str, running: "ScenarioSpec") -> None:
    """Raises UsageError for a `set` that the running cluster refuses."""
    from cluster.commands import Set
    from cluster.spec import why_not

    for each in wanted:
        reason = why_not(running, each.scope, each.key, each.value) if isinstance(each, Set) else None
        if reason is not None:
            raise UsageError(f"{text}: {reason}")


def _report(found: "Impact", at_us: int) -> dict[str, Any]:
    """An impact as JSON."""
    from console.presenters.impact import sentences

    report: dict[str, Any] = msgspec.to_builtins(found)
    return report | {"at_ms": at_us // 1_000, "offline": found.offline, "words": [one for _, one in sentences(found)]}


def _print(found: "list[Impact]", where: str, at_us: int, *, json: bool) -> None:
    """Print what each command would hit."""
    from console.presenters.impact import sentences

    if json:
        reports = [_report(each, at_us) for each in found]
        print_text(json_of(reports[0] if len(reports) == 1 else reports))
    else:
        for one in found:
            predictions = [f"  {words}" for _, words in sentences(one)]
            print_text("\n".join([f"{where}: {one.command} would hit", *predictions]))
