"""The option `--oracles DIR`, and a summary that counts every skip with its reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cluster.protocol.release_rules import CHANGED_BY
from tests.oracles.schemas import DEFAULT_DIRECTORY, Vector, VectorsError, read_directory

VECTORS = pytest.StashKey[list[Vector]]()
HERE = "tests/oracles/test_oracles.py::"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--oracles",
        metavar="DIR",
        default=None,
        help="run the vector files (*.json) of DIR instead of the project's own; needs tests/oracles on the line",
    )


def pytest_configure(config: pytest.Config) -> None:
    # A directory that cannot be run must end the session, not leave it green with nothing in it.
    if config.getoption("--oracles", default=None) is not None:
        vectors_of(config)


def vectors_of(config: pytest.Config) -> list[Vector]:
    """The vectors of this session, read once; a bad directory is a usage error."""
    if VECTORS not in config.stash:
        given = config.getoption("--oracles", default=None)
        directory = DEFAULT_DIRECTORY if given is None else Path(config.invocation_params.dir, given)
        try:
            config.stash[VECTORS] = read_directory(directory)
        except VectorsError as error:
            raise pytest.UsageError(f"--oracles: {error}") from error
    return config.stash[VECTORS]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "oracle_vector" in metafunc.fixturenames:
        vectors = vectors_of(metafunc.config)
        metafunc.parametrize("oracle_vector", [pytest.param(vector, id=vector.id) for vector in vectors])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    ours = {
        outcome: [report for report in terminalreporter.stats.get(outcome, []) if report.nodeid.startswith(HERE)]
        for outcome in ("passed", "failed", "skipped")
    }
    if not any(ours.values()):
        return
    terminalreporter.section("oracles")
    terminalreporter.line(", ".join(f"{len(reports)} {outcome}" for outcome, reports in ours.items()))
    rules = Counter(rule for report in ours["passed"] if (rule := dict(report.user_properties).get("rule")))
    for rule, count in sorted(rules.items()):
        terminalreporter.line(f"passed {count} under the rule before the release's: {CHANGED_BY[str(rule)]}")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in ours["skipped"])
    for reason, count in sorted(reasons.items()):
        terminalreporter.line(f"skipped {count}: {reason}")
