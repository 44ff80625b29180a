"""`flightdeck plan`: a scenario with every combination of some settings over the same seeds, compared in one table."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from console.cli.arguments import Invariants, Json
from console.cli.errors import HELD, NOT_HELD, UsageError, print_error
from console.cli.options import AllowCode, Sets, Until, duration_of, leave_of, settings_of, whole_number
from console.cli.streams import json_of, print_text, write_help

Vary = Annotated[
    list[str],
    Parameter(
        help="[SCOPE:]KEY=VALUE,VALUE,…: a key as for --set, and its values; may be repeated. A value that is a"
        " list is joined by +: assignors=range+cooperative-sticky,cooperative-sticky.",
        negative="",
    ),
]
Seeds = Annotated[int, Parameter(help="The number of seeds that each row flies.", converter=whole_number)]
FirstSeed = Annotated[int | None, Parameter(help="The first seed; default: the scenario's.", converter=whole_number)]
Jobs = Annotated[
    int | None, Parameter(help="The number of processes; default: one for each core.", converter=whole_number)
]
Out = Annotated[
    Path | None, Parameter(help="Keep each flight's result in this directory; the same command resumes the plan.")
]


def plan(  # noqa: PLR0913 - options
    scenario: Annotated[str, Parameter(help="A scenario of the library, or a file.")],
    /,
    *,
    vary: Vary,
    seeds: Seeds = 20,
    seed: FirstSeed = None,
    until: Until = None,
    settings: Sets = None,
    jobs: Jobs = None,
    out: Out = None,
    invariants: Invariants = True,
    allow_code: AllowCode = False,
    json: Json = False,
) -> int:
    """Fly every combination of settings over the same seeds, and recommend one."""
    from recordings.planning.grid import parse_variation, rows_of

    processes = _checked_jobs(jobs, seeds)
    until_us, fixed = duration_of("--until", until), settings_of(settings)
    rows = rows_of([parse_variation(text) for text in vary], fixed)
    from console.cli.outputs import plan as plan_output
    from recordings.planning.planner import PlanOrder, fly_plan
    from recordings.scenarios.loader import load

    order = PlanOrder(
        scenario=load(scenario),
        rows=rows,
        seeds=seeds,
        fixed=tuple(fixed),
        first_seed=seed,
        until_us=until_us,
        invariants=invariants,
    )
    progress = plan_output.progress_on(sys.stderr)
    try:
        planned = fly_plan(order, leave=leave_of(allow_code), jobs=processes, out=out, progress=progress.flown)
    finally:
        progress.clear()
    again = _run_of(scenario, until, settings, allow_code=allow_code)
    if json:
        print_text(json_of(plan_output.report_of(planned, again)))
    else:
        write_help(plan_output.of_plan(planned, again, coloured=sys.stdout.isatty()))
    if planned.interrupted:
        print_error(_how_to_resume(planned.missing, out))
    return HELD if planned.complete else NOT_HELD


def _checked_jobs(jobs: int | None, seeds: int) -> int:
    """The number of processes. Raises UsageError, also for the number of seeds."""
    from recordings.flights.processes import MOST_PROCESSES, cores
    from recordings.planning.grid import MOST_SEEDS

    if not 1 <= seeds <= MOST_SEEDS:
        raise UsageError(f"--seeds: from 1 to {MOST_SEEDS}")
    processes = cores() if jobs is None else jobs
    if not 1 <= processes <= MOST_PROCESSES:
        raise UsageError(f"--jobs: from 1 to {MOST_PROCESSES} processes")
    return processes


def _run_of(scenario: str, until: str | None, settings: list[str] | None, *, allow_code: bool) -> list[str]:
    """The command that flies the scenario with what all rows have."""
    words = ["flightdeck", "run", scenario]
    words += ["--until", until] if until is not None else []
    words += [word for text in settings or () for word in ("--set", text)]
    return words + (["--allow-code"] if allow_code else [])


def _how_to_resume(missing: int, out: Path | None) -> str:
    flights = f"{missing} {'flight is' if missing == 1 else 'flights are'} missing"
    if out is None:
        return f"interrupted: {flights}; with --out DIR the same command would continue here"
    return f"interrupted: {flights}; the same command with --out {shlex.quote(str(out))} continues"
