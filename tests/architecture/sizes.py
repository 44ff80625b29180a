"""A function fits on a screen, a file is one idea."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.architecture.source import Breach, Module, Project

FILE_LINES = 400
ONE_CLASS_LINES = 600  # of a file that holds one class: sawn in two it would have halves that use each other's privates
FUNCTION_LINES = 50

SMALL_LINES = 40  # a module below this has two importers, or a reason: else it is a piece of the one that imports it
PACKAGE_MODULES = 20

LOOSE_MODULES: Mapping[str, int] = {"cluster": 4, "recordings": 4, "console": 18}

# Packages of more than twenty modules: how many each may have. The numbers only fall.
LARGE_PACKAGES: Mapping[str, int] = {
    "console/presenters": 27,  # one presenter for each panel
}
SMALL_MODULES: Mapping[str, str] = {
    "console/web/driver.py": "loaded by the console of a tab, which imports nothing of the server",
    "cluster/config/cluster_config.py": "one role a file, as client_config",
    "cluster/assignors/round_robin.py": "one assignor a file, as the others",
    "console/cli/__main__.py": "what `python -m console.cli` runs",
    "console/cli/spark/standalone.py": "one command a file, as the others",
    "console/cli/start.py": "the entry point: answers signals before the rest is imported",
    "console/widgets/scrubber.py": "one widget a file",
    "recordings/pytest_plugin/plugin.py": "what pytest loads at its start, also where no test flies",
    "recordings/make_samples.py": "run by hand: `python -m recordings.make_samples`",
}

# What may be longer, and why. An entry that is no longer needed is a breach too.
LONGER_FILES: Mapping[str, str] = {}
LONGER_FUNCTIONS: Mapping[str, str] = {}  # "cluster.view.fold": "one case for each event"


def check_sizes(
    project: Project,
    files: Mapping[str, str] = LONGER_FILES,
    functions: Mapping[str, str] = LONGER_FUNCTIONS,
) -> Iterator[Breach]:
    """No file above 400 lines (600 with one class), no function above 50, except those listed with a reason."""
    for module in project.modules:
        lines = len(module.text.splitlines())
        most = ONE_CLASS_LINES if _holds_one_class(module) else FILE_LINES
        yield from _judge(Breach(module.path, 1, f"{lines} lines"), module.path, lines > most, files)
        for name, node in _functions(module):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            breach = module.breach(node, f"{name} has {lines} lines")
            yield from _judge(breach, name, lines > FUNCTION_LINES, functions)


def check_loose_modules(project: Project, most: Mapping[str, int] = LOOSE_MODULES) -> Iterator[Breach]:
    """A module lies in the package of its subject; few stand loose beside the packages."""
    for top, allowed in most.items():
        loose = [each for each in project.inside(top) if each.path.count("/") == 1 and not each.is_package]
        if len(loose) > allowed:
            yield Breach(loose[-1].path, 1, f"is one of {len(loose)} loose modules of {top}/, which may have {allowed}")


def check_packages(project: Project, larger: Mapping[str, int] = LARGE_PACKAGES) -> Iterator[Breach]:
    """A package has at most twenty modules: a reader sees them at one look."""
    modules: dict[str, list[str]] = {}
    for module in project.modules:
        package, _, name = module.path.rpartition("/")
        if name != "__init__.py":
            modules.setdefault(package, []).append(module.path)
    for package, paths in modules.items():
        allowed = larger.get(package, PACKAGE_MODULES)
        if len(paths) > allowed:
            yield Breach(paths[-1], 1, f"is one of {len(paths)} modules of {package}/, which may have {allowed}")


def check_small_modules(project: Project, listed: Mapping[str, str] = SMALL_MODULES) -> Iterator[Breach]:
    """A module below 40 lines has two importers or a listed reason."""
    importers: dict[str, set[str]] = {}
    for module in project.modules:
        for imported in module.imports:
            importers.setdefault(project.resolve(imported), set()).add(module.name)
    for module in project.modules:
        lines, by = len(module.text.splitlines()), len(importers.get(module.name, ()))
        if not module.is_package:
            breach = Breach(module.path, 1, f"{lines} lines with {by} importers: a part of its importer, or a reason")
            yield from _judge(breach, module.path, lines < SMALL_LINES and by < 2, listed)


def _judge(breach: Breach, name: str, is_breach: bool, listed: Mapping[str, str]) -> Iterator[Breach]:
    if is_breach and not listed.get(name):
        yield breach
    elif name in listed and not is_breach:  # an entry for a file that is not there yet waits
        yield Breach(breach.path, breach.line, f"{name} is listed as an exception, and no longer is one")


def _holds_one_class(module: Module) -> bool:
    """Whether most of the file is one class; private ones beside it are its own."""
    classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
    public = [node for node in classes if not node.name.startswith("_")]
    if len(public) != 1:
        return False
    (only,) = public
    return (only.end_lineno or 0) - only.lineno >= len(module.text.splitlines()) / 2


def _functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    def inside(node: ast.AST, path: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{path}.{child.name}", child
            name = getattr(child, "name", None) if isinstance(child, ast.ClassDef | ast.FunctionDef) else None
            yield from inside(child, f"{path}.{name}" if name else path)

    return inside(module.tree, module.name)
