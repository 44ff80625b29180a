"""A small scenario in a file, and the command line in this process."""

from pathlib import Path

import pytest

from tests.support.console.command_processes import Flightdeck, in_this_process
from tests.support.minimal_scenario import SMALL


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


@pytest.fixture
def flightdeck(capsys: pytest.CaptureFixture[str]) -> Flightdeck:
    """The command line in this process."""
    return in_this_process(capsys)
