"""Playback scripts: a recording shown by a text file. TOML in, a Script out, or every error of the file at once.

    title = "How a silent member is noticed"

    [[step]]
    at = "60s"                        # the playback goes there; without it the step happens where the one before ended
    do = "go billing"                 # a command of the console, as it is typed there, or `press KEY…`
    say = "billing-2 has just died"   # a caption
    shot = "silence.svg"              # a picture of the screen
    expect = "groups.billing.members == 3"    # CEL over the view document
    shows = "waiting for billing-3"           # words that must stand on the screen

The console executes the steps in the file's order; `at` may go back. The order within a step: at, do, say, expect,
shows, shot.
"""

from pathlib import Path

import msgspec

from recordings.scenarios.loader import ScenarioError, ScenarioErrors
from recordings.scenarios.predicates import Predicate
from recordings.scenarios.toml_lines import locate
from recordings.scenarios.toml_tables import Problem, ReadError, TomlTable, duration, filled_text
from recordings.scenarios.toml_text import TomlError, read_text, read_toml


class ScriptStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step; None for each action that it lacks. `line` is its line in the file, from 1."""

    at_us: int | None = None
    do: str | None = None
    say: str | None = None
    shot: str | None = None
    expect: str | None = None
    shows: str | None = None
    line: int = 0


class Script(msgspec.Struct, frozen=True):
    """A playback script."""

    title: str
    steps: tuple[ScriptStep, ...]


def load_script(path: Path) -> Script:
    """Read a script's file. Raises ScenarioErrors with all its errors."""
    try:
        text = read_text(path)
    except TomlError as error:
        raise ScenarioErrors([ScenarioError(str(path), error.line, str(error))]) from None
    return parse_script(text, str(path))


def parse_script(text: str, file: str) -> Script:
    """Read a script's text; `file` is its name in errors. Raises ScenarioErrors."""
    try:
        data = read_toml(text)
    except TomlError as error:
        raise ScenarioErrors([ScenarioError(file, error.line, str(error))]) from None
    lines = locate(text)
    problems: list[Problem] = []
    top = TomlTable(data, (), problems)
    title = top.take("title", filled_text, "", required=True)
    tables = top.tables("step")
    top.close()
    steps = tuple(_step(table, lines.get(table.place, 0)) for table in tables)
    if not steps and not problems:
        problems.append(Problem((), "a script has at least one [[step]]"))
    if problems:
        errors = [ScenarioError(file, lines.get(each.place, 1), each.reason, each.suggestion) for each in problems]
        raise ScenarioErrors(sorted(errors, key=lambda error: error.line))
    return Script(title, steps)


def _step(table: TomlTable, line: int) -> ScriptStep:
    step = ScriptStep(
        at_us=table.take("at", duration, None),
        do=table.take("do", filled_text, None),
        say=table.take("say", filled_text, None),
        shot=table.take("shot", _picture, None),
        expect=table.take("expect", _expression, None),
        shows=table.take("shows", filled_text, None),
        line=line,
    )
    table.close()
    if not table.data:
        table.problems.append(Problem(table.place, "the step does nothing"))
    return step


def _picture(value: object) -> str:
    name = filled_text(value)
    if Path(name).suffix != ".svg" or Path(name).name != name:
        raise ReadError(f"{name!r} is not the name of a picture: write it like overview.svg")
    return name


def _expression(value: object) -> str:
    text = filled_text(value)
    Predicate(text)
    return text
