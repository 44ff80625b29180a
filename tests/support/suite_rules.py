"""Rules about the tests themselves: where a test lies, where a helper lies, and from where a test may import.

A path is relative to the project and has forward slashes; each function returns one sentence for each breach.
"""

import ast
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import PurePosixPath

MIRRORING = ("cluster", "console", "recordings")
"""Folders of tests whose sub-folders are packages of the product."""
WITH_HELPERS = (
    "tests/architecture", "tests/bench", "tests/console/judge", "tests/fidelity", "tests/fuzz", "tests/mutants",
    "tests/oracles", "tests/support",
)  # fmt: skip
"""Folders that may hold modules without tests: helpers that many tests share, and programs that are run by hand."""


def imports_from_tests(sources: Mapping[str, str]) -> list[str]:
    """Imports from a module of tests or a conftest.py: what two tests share lies in tests/support."""
    breaches = []
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            breaches += [f"{path}: imports {name}" for name in _imported(node) if _is_tests(name)]
    return breaches


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _is_tests(name: str) -> bool:
    modules = name.split(".")
    return modules[0] == "tests" and any(each.startswith("test_") or each == "conftest" for each in modules[1:])


def folders_without_a_package(paths: AbstractSet[str], packages: AbstractSet[str]) -> list[str]:
    """Modules of tests in a folder that has no package of the same name in the product."""
    breaches = []
    for path in sorted(paths):
        folder = PurePosixPath(path).parent.relative_to("tests")
        mirrored = folder.parts and folder.parts[0] in MIRRORING and str(folder) not in packages
        if mirrored and f"tests/{folder}" not in WITH_HELPERS:
            breaches.append(f"{path}: the product has no package {folder}")
    return breaches


def helpers_outside_support(paths: AbstractSet[str]) -> list[str]:
    """Modules without tests that lie beside tests."""
    return [
        f"{path}: helpers lie in tests/support"
        for path in sorted(paths)
        if not PurePosixPath(path).name.startswith(("test_", "conftest.py")) and not path.startswith(WITH_HELPERS)
    ]
