"""Scenario files: TOML in, a ScenarioSpec out, or every error of the file at once.

The format is the contract `scenario-format.md`. `parser` reads its structure, `validation` checks what must
fit together; this module adds the lines of the file to their errors. The library is the folder `recordings/library`.
"""

from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
from typing import TypedDict, TypeVar

import msgspec

from cluster.config import LONG_MAX, LONGEST_WORD, brief, format_duration, nearest
from cluster.spec import ScenarioSpec
from recordings.scenarios.custom_assignors import SHIPPED
from recordings.scenarios.defaults import line_of, put_defaults
from recordings.scenarios.overrides import SettingError, apply_settings, parse_setting
from recordings.scenarios.parser import check_defaults, read_scenario
from recordings.scenarios.toml_lines import Place, locate
from recordings.scenarios.toml_tables import MOST_PROBLEMS, Problem, TomlTable, TooManyProblemsError
from recordings.scenarios.toml_text import TomlError, read_text, read_toml
from recordings.scenarios.validation import check_deadlines, check_scenario, notes_on

__all__ = [
    "LIBRARY", "Scenario", "ScenarioError", "ScenarioErrors", "SettingError", "apply_settings", "library",
    "list_scenarios", "load", "parse_scenario", "parse_setting", "parse_tables", "text_of",
]  # fmt: skip

T = TypeVar("T")

LIBRARY = SHIPPED
"""The packaged scenarios, one TOML file each."""


class Scenario(msgspec.Struct, frozen=True):
    """A scenario as loaded: its spec, its name (the file's, without `.toml`) and its text.

    `file` is its name in errors; `folder`: the file's directory, None for a text without one (a recording's). `notes`:
    what the file says without an effect.
    """

    spec: ScenarioSpec
    name: str
    text: str
    file: str = ""
    folder: Path | None = None
    notes: "tuple[ScenarioError, ...]" = ()


class ScenarioError(msgspec.Struct, frozen=True):
    """One error of a file: its line, the reason, and a suggestion if there is one."""

    file: str
    line: int
    reason: str
    suggestion: str | None = None

    def __str__(self) -> str:
        """`file:line: reason (did you mean …?)`; without a line for what concerns no line."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.reason}" + (f" (did you mean {self.suggestion}?)" if self.suggestion else "")


class ScenarioErrors(Exception):  # noqa: N818 - it holds them
    """All errors of a scenario, in the order of its lines; its text is one line for each."""

    def __init__(self, errors: list[ScenarioError]) -> None:
        self.errors = errors
        super().__init__("\n".join(str(error) for error in errors))


class ScenarioInfo(TypedDict):
    """A scenario of the library as `flightdeck scenarios --json` prints it; `until` is a duration's text."""

    name: str
    title: str
    lesson: str
    module: str
    until: str


def load(path_or_name: str | Path) -> Scenario:
    """Load a scenario of the library by its name, or a file by its path.

    A text that ends in `.toml`, has a path separator or names an existing file is a path. Raises ScenarioErrors.
    """
    if isinstance(path_or_name, str) and not path_or_name.strip():
        raise ScenarioErrors([ScenarioError(repr(path_or_name), 0, "no scenario has an empty name", "first-flight")])
    path = Path(path_or_name)
    if isinstance(path_or_name, str) and path_or_name in library():
        path = LIBRARY / f"{path_or_name}.toml"
    elif (path / "header.json").is_file():
        raise ScenarioErrors([ScenarioError(str(path_or_name), 0, "it is a recording, and a scenario is asked for")])
    elif not path.is_file() and path.suffix != ".toml" and len(path.parts) == 1:
        names = library()
        suggestion = nearest(str(path_or_name), names)
        raise ScenarioErrors([ScenarioError(str(path_or_name), 0, "no scenario has this name", suggestion)])
    return parse_scenario(text_of(path), str(path), path.parent)


def text_of(path: Path) -> str:
    """The text of a file that the user named. Raises ScenarioErrors."""
    try:
        return read_text(path)
    except TomlError as error:
        raise ScenarioErrors([ScenarioError(str(path), error.line, str(error))]) from None


def parse_tables(text: str, file: str, read: Callable[[TomlTable], T]) -> T:
    """Read a text of another kind (alert rules, a sweep) by `read`, which notes errors in its table; `file` names it.

    Raises ScenarioErrors: every error with its line and a suggestion.
    """
    problems: list[Problem] = []
    lines: dict[Place, int] = {}
    try:
        data, lines = read_toml(text), locate(text)
        found = read(TomlTable(data, (), problems))
    except TomlError as error:
        raise ScenarioErrors([ScenarioError(file, error.line, str(error))]) from None
    except TooManyProblemsError:
        raise _errors_of(problems, lines, file) from None
    if problems:
        raise _errors_of(problems, lines, file)
    return found


def parse_scenario(text: str, file: str, folder: Path | None = None, *, recorded: bool = False) -> Scenario:
    """Read a scenario's text; `file` is its name in errors, and gives the scenario's. Raises ScenarioErrors.

    `recorded`: the text of a recording, which has been flown: an expectation that cannot fail does not refuse it.
    """
    text = text.removeprefix("\ufeff")
    problems: list[Problem] = []
    lines: dict[Place, int] = {(): 1}
    tables: list[int] = []  # of each step
    try:
        data = read_toml(text)
        lines = locate(text)
        spec = read_scenario(put_defaults(data, problems), problems, lines, tables)
        check_defaults(data, problems)
    except TomlError as error:
        raise ScenarioErrors([ScenarioError(file, error.line, str(error))]) from None
    except TooManyProblemsError:
        raise _errors_of([each for each in problems if not each.is_note], lines, file) from None
    if any(problem.place == ("until",) for problem in problems):
        spec = msgspec.structs.replace(spec, until_us=LONG_MAX)  # with an unknown end, no instant is after it
    notes = [each for each in problems if each.is_note]
    problems = [each for each in problems if not each.is_note]
    checks = check_scenario(spec) if recorded else chain(check_scenario(spec), check_deadlines(spec))
    problems += [_in_its_table(each, tables) for each in islice(checks, MOST_PROBLEMS)]
    if problems:
        raise _errors_of(problems, lines, file)
    notes += [_in_its_table(each, tables) for each in notes_on(spec)]
    name = Path(file).name.removesuffix(".toml")
    return Scenario(spec, name, text, file, folder, tuple(_errors_of(notes, lines, file).errors))


def _in_its_table(problem: Problem, tables: list[int]) -> Problem:
    """A problem of the spec at its place in the file: a step's number is not that of its [[at]]."""
    kind, *rest = problem.place or ("",)
    if kind != "at" or not rest or not isinstance(rest[0], int):
        return problem
    return msgspec.structs.replace(problem, place=("at", tables[rest[0]], *rest[1:]))


def _errors_of(problems: list[Problem], lines: dict[Place, int], file: str) -> ScenarioErrors:
    errors = [
        ScenarioError(file, line_of(lines, each.place), brief(each.reason), _short(each.suggestion))
        for each in problems
    ]
    return ScenarioErrors(sorted(dict.fromkeys(errors), key=lambda error: error.line)[:MOST_PROBLEMS])


def _short(suggestion: str | None) -> str | None:
    """A suggestion that is short enough to type: no longer than a few words."""
    return suggestion if suggestion is None or len(suggestion) <= 2 * LONGEST_WORD else None


def library() -> list[str]:
    """The names of the packaged scenarios, sorted."""
    return sorted(path.stem for path in LIBRARY.glob("*.toml"))


def list_scenarios() -> list[ScenarioInfo]:
    """The packaged scenarios by name, with their summaries. Raises ScenarioErrors if one of them is wrong."""
    listed: list[ScenarioInfo] = []
    for name in library():
        spec = load(name).spec
        until = format_duration(spec.until_us)
        listed.append({"name": name, "title": spec.title, "lesson": spec.lesson, "module": spec.module, "until": until})
    return listed
