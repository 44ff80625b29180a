"""The build hook refuses what mypyc would translate to other code, and its lists name what there is."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

COMPILING = ROOT / "build_hook" / "compiling.py"
PROJECT = """
[tool.flightdeck.compiled]
modules = [{modules}]
except = [{excluded}]
"""
KEPT_GENERATOR = """
def first_even(numbers: list[int]) -> int:
    even = (number for number in numbers if number % 2 == 0)
    return next(even, 0)
"""


def compiling(directory: Path, *, modules: str, excluded: str = "") -> subprocess.CompletedProcess[str]:
    (directory / "pyproject.toml").write_text(PROJECT.format(modules=modules, excluded=excluded))
    command = [sys.executable, str(COMPILING), str(directory / "made")]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.slow  # mypy reads its own library first
def test_a_generator_that_would_become_a_list_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "evens.py").write_text(KEPT_GENERATOR)
    failed = compiling(tmp_path, modules='"evens.py"')
    assert failed.returncode == 1
    assert "evens.py:3: warning: Treating generator comprehension as list" in failed.stderr
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("modules", "excluded", "complaint"),
    [
        ('"evans.py"', "", "evans.py matches no module"),
        ('"evens.py"', '"odds.py"', "odds.py excludes nothing"),
        ('"evens.py"', '"odd.py"', "odd.py matches no module"),
    ],
)
def test_a_list_that_names_nothing_fails_the_build(modules: str, excluded: str, complaint: str, tmp_path: Path) -> None:
    for name in ("evens.py", "odds.py"):
        (tmp_path / name).touch()
    failed = compiling(tmp_path, modules=modules, excluded=excluded)
    assert (failed.returncode, failed.stderr.strip()) == (
        1,
        f"flightdeck is not compiled:\npyproject.toml: {complaint}",
    )


def test_a_missing_c_compiler_is_named_before_anything_is_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evens.py").write_text(KEPT_GENERATOR)
    monkeypatch.setenv("CC", "no-such-cc -O2")
    failed = compiling(tmp_path, modules='"evens.py"')
    assert failed.returncode == 1
    assert "FLIGHTDECK_COMPILE=1 needs the C compiler no-such-cc" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_the_files_left_out_on_a_compiled_build_are_there() -> None:
    listed = (ROOT / "tests" / "compiled" / "interpreted_only.txt").read_text().splitlines()
    assert [path for path in listed if not path.startswith("#") and not (ROOT / path).is_file()] == []
