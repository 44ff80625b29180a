"""Options of the whole test suite."""

import hypothesis  # noqa: F401 - before a console of a test freezes what the garbage collector sees: trio registers with it
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write what the library's flights are now into tests/scenarios/golden.json",
    )
