"""A small scenario in a file, and the command line in this process."""

from pathlib import Path

import pytest

from console.cli import execution as cli
from tests.support.console.command_processes import Ended, Flightdeck
from tests.support.minimal_scenario import SMALL


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


@pytest.fixture
def flightdeck(capsys: pytest.CaptureFixture[str]) -> Flightdeck:
    """The command line in this process."""

    def run(*words: object) -> Ended:
        try:
            code = cli._run([str(word) for word in words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run
