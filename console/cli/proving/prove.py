"""`flightdeck prove`: the crash at every event of a window, the bounds of its damage, and the worst schedule."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from console.cli.arguments import Json
from console.cli.errors import HELD, NOT_HELD, UsageError
from console.cli.options import AllowCode, Seed, Sets, duration_of, leave_of, settings_of, whole_number
from console.cli.proving.words import exceeded_bounds, output_of, report_of
from console.cli.streams import json_of, print_text

if TYPE_CHECKING:
    from recordings.flights.runner import Plan
    from recordings.proving.prover import Proof

MAX_JOBS = 256
Bound = Annotated[int | None, Parameter(help="Exit code 1 if it is more records.", converter=whole_number)]
Begin = Annotated[
    str | None,
    Parameter(name="--from", help="Virtual time; default: the group's first Stable state.", allow_leading_hyphen=True),
]
Instant = Annotated[str | None, Parameter(help="Virtual time; default: 10 s after --from.", allow_leading_hyphen=True)]
Jobs = Annotated[
    int | None, Parameter(help="The number of processes; default: one for each core.", converter=whole_number)
]
Victim = Literal["consumer", "producer", "coordinator", "leader"]


def prove(  # noqa: PLR0913 - options
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")],
    group: Annotated[str, Parameter(help="The consumer group whose records are counted.")],
    /,
    *,
    kill: Annotated[Victim, Parameter(help="The process that is killed.")] = "consumer",
    begin: Begin = None,
    until: Instant = None,
    down: Annotated[str, Parameter(help="From the kill to the restart.", allow_leading_hyphen=True)] = "3s",
    max_lost: Bound = None,
    max_duplicated: Bound = None,
    jobs: Jobs = None,
    seed: Seed = None,
    settings: Sets = None,
    out: Annotated[Path | None, Parameter(help="A new directory for the worst schedules.")] = None,
    allow_code: AllowCode = False,
    json: Json = False,
) -> int:
    """Kill a process at every event of a window, each time in a flight of its own: how much is lost, or done twice."""
    _check_numbers(jobs, max_lost, max_duplicated)
    window = _window(begin, until, down)
    from recordings.flights.runner import make_plan
    from recordings.proving.prover import Question, WindowError
    from recordings.proving.worst import write_worst
    from recordings.scenarios.loader import load

    plan = make_plan(load(scenario), seed=seed, settings=settings_of(settings), leave=leave_of(allow_code))
    _check_group(plan, group)
    _make_directory(out)
    question = Question(group, kill, *window)
    try:
        proof = _fly(plan, question, jobs or _cores())
    except WindowError as error:
        raise UsageError(str(error)) from None
    written = write_worst(plan, proof, out) if out is not None else []
    exceeded = exceeded_bounds(proof, max_lost, max_duplicated)
    if json:
        print_text(json_of(report_of(plan, proof, written, exceeded)))
    else:
        print_text(output_of(plan, proof, written, exceeded))
    return HELD if proof.complete and not exceeded else NOT_HELD


def _check_numbers(jobs: int | None, max_lost: int | None, max_duplicated: int | None) -> None:
    if jobs is not None and not 1 <= jobs <= MAX_JOBS:
        raise UsageError(f"--jobs: from 1 to {MAX_JOBS} processes")
    for option, bound in (("--max-lost", max_lost), ("--max-duplicated", max_duplicated)):
        if bound is not None and bound < 0:
            raise UsageError(f"{option}: at least 0")


def _window(begin: str | None, until: str | None, down: str) -> tuple[int | None, int | None, int]:
    """The beginning and the end of the window, and how long the process stays dead, in µs."""
    from_us, until_us = duration_of("--from", begin), duration_of("--until", until)
    down_us = duration_of("--down", down)
    if not down_us:
        raise UsageError("--down: a process needs time to start again; at least 1us")
    if from_us is not None and until_us is not None and until_us < from_us:
        raise UsageError("--until: the window ends before it begins")
    return from_us, until_us, down_us


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_group(plan: "Plan", group: str) -> None:
    from cluster.config import nearest

    names = [each.name for each in plan.spec.groups]
    if group not in names:
        near = nearest(group, names)
        known = f"did you mean {near}?" if near else f"it has {', '.join(names) or 'none'}"
        raise UsageError(f"{plan.scenario} has no group {group!r}; {known}")


def _make_directory(out: Path | None) -> None:
    """Make the directory first: a proof takes long, and must not end with a disk that cannot be written."""
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise UsageError(f"--out: {out} is not empty")
        if not os.access(out, os.W_OK):
            raise UsageError(f"--out: {out} cannot be written")
    except OSError as error:
        raise UsageError(f"--out: {out}: {error.strerror or error}") from None


def _fly(plan: "Plan", question: Any, jobs: int) -> "Proof":  # noqa: ANN401 - a Question
    from console.cli.output import StageProgress
    from recordings.flights import interruption
    from recordings.proving.prover import prove as prove_question

    line = StageProgress(sys.stderr)

    def show(flown: int, from_us: int, at_us: int, until_us: int) -> None:
        stage = f"{flown:,} crash points" if sys.stderr.isatty() else "killing at every event"
        line(stage, (at_us - from_us) / max(until_us - from_us, 1))

    try:
        with interruption.seen_to():
            return prove_question(plan, question, jobs, show)
    finally:
        line.clear()
