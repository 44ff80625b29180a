"""The suite itself: where its files lie, that a process of tests that dies is one failed test, and that a leaked signal
handler is noticed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tests.support.suite_rules import MIRRORING, folders_without_a_package, helpers_outside_support, imports_from_tests

ONE_DIES = """
import os, pytest
@pytest.mark.parametrize("number", range(30))
def test_many(number):
    if number == 17:
        os._exit(3)
"""
A_GROUP_DIES = """
import os, signal, pytest
@pytest.mark.parametrize("number", range(30))
@pytest.mark.xdist_group("together")
def test_many(number):
    if number == 17:
        os.kill(os.getpid(), signal.SIGKILL)
"""
LEAKS = """
import signal
def test_leaks():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
def test_finds_what_was_there():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""


def run_pytest(directory: Path, tests: str, *options: str) -> str:
    (directory / "test_it.py").write_text(tests, encoding="utf-8")
    (directory / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert answer.returncode == 1, answer.stdout + answer.stderr
    return answer.stdout + answer.stderr


@pytest.mark.slow
def test_a_process_that_dies_is_one_failed_test_and_says_how_it_ended(tmp_path: Path) -> None:
    printed = run_pytest(tmp_path, ONE_DIES, "-n2", "--dist=loadgroup", "-p", "tests.support.worker_scheduling")
    assert "1 failed, 29 passed" in printed
    assert re.search(r"\[gw\d\] ended with exit code 3", printed)
    assert re.search(r"worker 'gw\d' crashed while running 'test_it.py::test_many\[17\]'", printed)


@pytest.mark.slow
def test_what_a_dead_process_had_left_of_its_group_is_run_elsewhere(tmp_path: Path) -> None:
    printed = run_pytest(tmp_path, A_GROUP_DIES, "-n2", "--dist=loadgroup", "-p", "tests.support.worker_scheduling")
    assert "1 failed, 29 passed" in printed
    assert re.search(r"\[gw\d\] ended by SIGKILL", printed)


@pytest.mark.slow
def test_a_test_that_leaves_another_signal_handler_fails_and_no_other(tmp_path: Path) -> None:
    printed = run_pytest(tmp_path, LEAKS, "-p", "tests.support.signal_handlers")
    assert "2 passed, 1 error" in printed
    assert "leaves other handlers of ['SIGINT', 'SIGTERM', 'SIGHUP']" in printed


# --- where files lie --------------------------------------------------------------------------------------------------

SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("tests/**/*.py"))
}
PACKAGES = {
    path.parent.relative_to(ROOT).as_posix() for name in MIRRORING for path in sorted(ROOT.glob(f"{name}/**/*.py"))
}


def test_tests_mirror_the_packages_and_share_only_what_lies_in_support() -> None:
    assert len(SOURCES) > 300
    assert imports_from_tests(SOURCES) == []
    assert folders_without_a_package(SOURCES.keys(), PACKAGES) == []
    assert helpers_outside_support(SOURCES.keys()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from tests.cluster.network.test_network import run_scene",
        "from tests.cluster.network import test_network",
        "import tests.cluster.network.test_network",
        "def f():\n    from tests.recordings.conftest import TINY",
    ],
)
def test_an_import_from_a_module_of_tests_is_caught(source: str) -> None:
    (breach,) = imports_from_tests({"tests/test_it.py": source})
    assert breach.startswith("tests/test_it.py: imports tests.")


def test_imports_that_only_look_like_one_are_none() -> None:
    harmless = "from tests.support.library import LIBRARY\nfrom cluster.test_network import x\nimport pytest"
    assert imports_from_tests({"tests/test_it.py": harmless}) == []


@pytest.mark.parametrize("path", ["tests/cluster/sockets/test_network.py", "tests/console/cli/deep/test_cli.py"])
def test_a_folder_without_a_package_is_caught(path: str) -> None:
    (breach,) = folders_without_a_package({path, "tests/cluster/test_reach.py", "tests/spark/test_page.py"}, PACKAGES)
    assert breach.startswith(f"{path}: ")


@pytest.mark.parametrize("path", ["tests/cluster/flights.py", "tests/helpers.py", "tests/spark/samples.py"])
def test_a_helper_beside_tests_is_caught(path: str) -> None:
    (breach,) = helpers_outside_support({path, "tests/conftest.py", "tests/support/library.py", "tests/test_suite.py"})
    assert breach.startswith(f"{path}: ")
