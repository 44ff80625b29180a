"""What pytest loads at its start: an option and a fixture. Everything else is imported by the first test that flies."""

# ruff: noqa: PLC0415 - see above

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from recordings.pytest_plugin.flights import Flights


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--flightdeck-update-golden`."""
    parser.getgroup("flightdeck").addoption(
        "--flightdeck-update-golden",
        action="store_true",
        help="write the golden flights of the tests that run as they are now",
    )


@pytest.fixture
def flight(request: pytest.FixtureRequest) -> "Iterator[Flights]":
    """Fly scenarios: `flight("commit-after-processing", seed=7)` begins one, a name, a path or a TOML text."""
    from recordings.pytest_plugin.flights import Flights

    update = bool(request.config.getoption("--flightdeck-update-golden"))
    flights = Flights(Path(request.path).parent, update_golden=update)
    try:
        yield flights
    finally:
        flights.close()
