"""Permission for the custom code of a scenario, and its loading.

Reading a scenario or a recording executes nothing. A flight executes the code that its spec names: the library's code
without asking, any other only with permission, after it has named the file and the class. A scenario's code is beside
its file or on Python's path. A recorded scenario's code is in a folder that the user names (`folder`), and never in the
recording: that is a directory of data, which may come from anywhere.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from cluster.commands import Set
from cluster.spec import ScenarioSpec
from recordings.scenarios import custom_assignors
from recordings.scenarios.custom_assignors import CodeError
from recordings.scenarios.defaults import line_of
from recordings.scenarios.loader import Scenario, ScenarioError, ScenarioErrors
from recordings.scenarios.toml_lines import Place, locate

ASSIGNORS_KEYS = ("assignors", "partition.assignment.strategy")


class Leave(msgspec.Struct, frozen=True):
    """The user's permission to run code: `notify` gets the name of the code before it runs.

    `folder`: where the code of a recorded scenario is; `never`: the recording itself.
    """

    notify: Callable[[str], object]
    folder: Path | None = None
    never: Path | None = None


def run_own_code(scenario: Scenario, spec: ScenarioSpec, leave: Leave | None) -> None:
    """Load the assignors that a spec (of this scenario, with its settings) names. Raises ScenarioErrors."""
    for place, name in _named(spec):
        try:
            _run(name, scenario, leave)
        except CodeError as error:
            line = line_of(locate(scenario.text), place) if name in scenario.text else 0  # else a setting names it
            raise ScenarioErrors([ScenarioError(scenario.file, line, f"assignors: {error}")]) from None


def own_code(scenario: Scenario, values: Iterable[str]) -> list[tuple[str, str]]:
    """The assignors' files that a scenario, or one of these values of `assignors`, names: (name, a hash of the file).

    Nothing is executed. Left out is a file that is not found; what such a file imports does not count.
    """
    names = [name for _, name in _named(scenario.spec)]
    names += [word.strip() for value in values for word in value.split(",")]
    found = []
    for name in dict.fromkeys(filter(custom_assignors.is_foreign, names)):
        file = custom_assignors.find(name, scenario.folder, on_path=True) if scenario.folder is not None else None
        if file is not None:
            found.append((name, sha256(file.read_bytes()).hexdigest()))
    return found


def _named(spec: ScenarioSpec) -> Iterator[tuple[Place, str]]:
    """Each foreign assignor, once, and its place in the file."""
    seen = []
    said: list[tuple[Place, tuple[str, ...]]] = [
        (("group", at, "assignors"), group.assignors) for at, group in enumerate(spec.groups)
    ]
    for at, group in enumerate(spec.groups):
        said += [(("group", at, "member", own.name, "assignors"), own.assignors or ()) for own in group.own]
    for at, step in enumerate(spec.steps):
        if isinstance(step.command, Set) and step.command.key in ASSIGNORS_KEYS:
            said.append((("at", at, "do"), tuple(word.strip() for word in step.command.value.split(","))))
    for place, names in said:
        for name in names:
            if custom_assignors.is_foreign(name) and name not in seen:
                seen.append(name)
                yield place, name


def _run(name: str, scenario: Scenario, leave: Leave | None) -> None:
    recorded = scenario.folder is None
    if leave is None or (recorded and leave.folder is None):
        where = " DIR, the directory that it is in" if recorded else ""
        whose = "a recorded scenario" if recorded else "a scenario"
        raise CodeError(f"{name} is code of {whose}, which runs only with --allow-code{where}")
    folder = leave.folder or scenario.folder
    assert folder is not None
    file = custom_assignors.find(name, folder, on_path=not recorded)
    if file is None:
        beside = f"below {folder}" if recorded else f"beside the scenario ({folder}) nor on Python's path"
        raise CodeError(f"{name} was {'not found' if recorded else 'found neither'} {beside}")
    if leave.never is not None and file.resolve().is_relative_to(leave.never.resolve()):
        raise CodeError(f"{name} would be code of the recording itself ({file}), and that never runs")
    leave.notify(
        f"running code of {'a recorded' if recorded else 'the'} scenario: {file}, class {name.rpartition('.')[2]}"
    )
    custom_assignors.load(name, file, importing=not file.is_relative_to(folder))
